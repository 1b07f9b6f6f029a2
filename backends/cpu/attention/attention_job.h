/* SPDX-License-Identifier: Apache-2.0 */
/* attention_job.h - addresses, steps and tasks of attention.
 *
 * A query block has as many queries of one head as a tile has columns.
 * Query blocks of all heads that share a head of keys have consecutive numbers.
 * Keys are divided into blocks. Neither depends on the number of threads, and
 * each sum is one chain, over elements, keys or queries in order. So no bit
 * depends on it. */
#ifndef BACKENDS_CPU_ATTENTION_ATTENTION_JOB_H
#define BACKENDS_CPU_ATTENTION_ATTENTION_JOB_H

#include "backends/cpu/attention/attention_kernels.h"
#include "backends/cpu/cpu.h"
#include "lib/op/attention/attention.h"

/** [batch, heads, t, ..]; data NULL: absent. */
struct attention_operand {
    char *data;
    uint32_t dtype;
    int64_t step[4]; /* elements */
};

struct attention_job {
    const struct attention_params *p;
    const struct gemm_kernels *gemm;
    const struct attention_kernels *kernels;
    struct attention_operand q, k, v, mask, y, lse, dy, dq, dk, dv;
    const float *rests;           /* rounding errors of lse; NULL: 0 */
    uint32_t dtype;               /* of q, k and v */
    uint32_t step;                /* of the random stream */
    uint32_t query_block;         /* queries of one */
    int64_t query_blocks_of_head; /* of one head of queries */
    int64_t query_blocks;         /* of the heads that share keys */
    uint32_t keys;                /* of a block */
    int64_t blocks;               /* of a head's keys */
};

/** A task of a thread: query blocks and key blocks of a head of keys. */
struct attention_task {
    const struct attention_job *job;
    int64_t batch, kv;
    int64_t query_block, query_blocks; /* the first, and their number */
    int64_t block, blocks;             /* of keys, likewise */
};

/** A query block. */
struct attention_query_block {
    int64_t head, query; /* the first one */
    uint32_t queries, vectors;
};

/** A block of keys. */
struct attention_block {
    int64_t key; /* the first one */
    uint32_t keys;
};

/** A thread's memory, from which parts are taken in order. If memory is NULL,
 * only `used` is counted. */
struct attention_memory {
    float *memory;
    size_t used; /* floats */
};

/** Set steps and sizes. Operands of the other direction are absent. */
void attention_job_fill(struct attention_job *job,
                        const struct backend_device *device,
                        const struct attention_params *p, const struct view *q,
                        const struct view *k, const struct view *v,
                        const struct view *mask, const struct view *step);
struct attention_operand attention_operand(const struct view *v);

/** Return the elements of a head from number `index` of t, as lines along the
 * head's elements, or along t if `turned` is set. */
struct gemm_source attention_lines(const struct attention_operand *o,
                                   int64_t batch, int64_t head, int64_t index,
                                   bool turned);

/** Return task `index`. A head of keys has `tasks_of_head` tasks of `each`
 *  query blocks; the last task of a head may have fewer query blocks. */
struct attention_task attention_task_at(const struct attention_job *job,
                                        uint32_t index, int64_t tasks_of_head,
                                        int64_t each);
struct attention_query_block
attention_query_block(const struct attention_task *t, int64_t query_block);
struct attention_block attention_block(const struct attention_task *t,
                                       int64_t block);
/** Return how many keys of a block a query block sees; they come first. */
uint32_t attention_seen(const struct attention_job *job,
                        const struct attention_query_block *s,
                        const struct attention_block *b);
/** Return the parameters of the scores. bias: memory for a mask. */
struct attention_scores attention_scores(const struct attention_task *t,
                                         const struct attention_query_block *s,
                                         const struct attention_block *b,
                                         uint32_t keys, float *bias);

/** Take floats, rounded up to whole cache lines. */
float *attention_take(struct attention_memory *memory, size_t floats);
/** Take panels for `lines`, with at most `most` in each. */
struct gemm_panels attention_panels(struct attention_memory *memory,
                                    int64_t lines, uint32_t most,
                                    uint32_t depth);
/** Take a panel of a query block's columns, `depth` long, without padding. */
struct gemm_panels attention_panel(const struct attention_job *job,
                                   struct attention_memory *memory,
                                   int64_t depth);
/** Return whether all elements of these panels are finite. */
bool attention_finite(const struct attention_job *job,
                      const struct gemm_panels *panels, uint32_t lines,
                      uint32_t depth);

/** Write rows x columns sums to `to`, or add them: panels of a times panels of
 * b. some: elements that are TILE_SKIP are not multiplied. */
void attention_multiply(const struct attention_job *job, bool some,
                        const struct gemm_panels *a, uint32_t rows,
                        const struct gemm_panels *b, uint32_t columns,
                        uint32_t depth, float *to, size_t to_row, bool add);

/** Write the columns of a query block, which are its queries, as rows of o,
 * multiplied by a factor. rows: memory for a row of each query, each a
 * multiple of tiles wide. */
void attention_store(const struct attention_task *t,
                     const struct attention_query_block *s,
                     const struct attention_operand *o, const float *columns,
                     int64_t length, float factor, float *rows);
/** Return the floats of a row of `length` elements, in whole tiles. */
uint32_t attention_row(const struct attention_job *job, int64_t length);

/** Call task(context, i, ..) for all i below n, on all threads, unless the op
 * is too small. */
void attention_for(const struct attention_job *job,
                   const struct backend_device *device, int64_t n,
                   team_task task, void *context);

/** attention_rest.c: compute the rounding error of each lse, as the first
 * floats of *block, [batch, heads, tq]: kernels/attention/saved.h. NULL: all
 * are negligible. Release it with scratch_return(). */
ssq_status attention_find_rests(const struct attention_job *job,
                                struct backend_device *device,
                                struct backend_mem **block);

/** attention_forward.c and attention_backward.c: run a whole op. */
ssq_status attention_forward(const struct attention_job *job,
                             struct backend_device *device);
ssq_status attention_backward(const struct attention_job *job,
                              struct backend_device *device);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - functions of 16 bits as tables of all their values.
 *
 * A table is made by the kernel that does without it, and so has its bits. A
 * device keeps the last few: they are made when an op first wants them, and
 * stay for as long as an op holds them. */
#ifndef BACKENDS_CPU_TABLE_H
#define BACKENDS_CPU_TABLE_H

#include "backends/cpu/isa.h"
#include "backends/cpu/threads/parallel.h"

#include <pthread.h>
#include <stddef.h>

#include <sesqui/dtype.h>
#include <sesqui/status.h>

/** How many values a table has: of each u16, in its order. */
#define TABLE_SIZE 65536u
/** Tables of a device: as many as forward and backward passes of a model use in
 *  turns. They have 2 MiB at most. */
#define TABLES 8u

/** The key of a table: kernel is KERNEL_unary, and then its values are 16 bits
 *  of dtype y, or KERNEL_unary_backward, for slopes in float32. */
struct table_key {
    uint32_t kernel, kind;
    float alpha, beta;
    uint32_t x, y; /* dtypes; y is 0 for slopes */
};

struct table {
    struct table_key key;
    uint32_t holders; /* the device, while it keeps this one, and ops */
    uint64_t used;    /* when: a count of uses of all tables */
    void *values;
};

struct tables {
    pthread_mutex_t lock; /* of no loop: one op may run within another's */
    uint64_t uses;
    struct table *kept[TABLES]; /* NULL: room for one */
};

/** Neighbours that are floats. */
struct floats_at {
    void *p;
    ssq_dtype is;
};

/** The functions of an instruction set for n elements of `all`: results of
 *  many go past the caches (kernels/dialect/stream.h). */
struct table_kernels {
    /* y[i] = values[x[i]]; y may be x */
    void (*map)(uint16_t *y, const uint16_t *x, const uint16_t *values,
                size_t n, size_t all);
    /* dx[i] = dy[i] slopes[x[i]], rounded; dx may be x or dy */
    void (*slope)(struct floats_at dx, struct floats_at dy, const uint16_t *x,
                  const float *slopes, size_t n, size_t all);
};

/** The same by the kernel itself, without a table. */
void table_exact_map(const struct table_key *key,
                     const struct backend_kernel *code, uint16_t *y,
                     uint16_t *x, uint32_t n);
/** dy_step is 1, or 0 where dy is one element for all. */
void table_exact_slope(const struct table_key *key,
                       const struct backend_kernel *code, struct floats_at dx,
                       struct floats_at dy, uint32_t dy_step, uint16_t *x,
                       uint32_t n);

/** @return SSQ_ERR_NOMEM, text set */
ssq_status tables_init(struct tables *t);
void tables_destroy(struct tables *t);

/** Return the table of a key, which is valid until table_return(). If there is
 *  no memory for it, return NULL, which must not be returned. A table gives the
 *  bits of `code`, the variant of the kernel for this kind. */
struct table *table_take(struct tables *t, const struct table_key *key,
                         const struct backend_kernel *code, struct team *team);
void table_return(struct tables *t, struct table *table);

/** Keep others out while the process is copied, and let them in again. */
void tables_hold(struct tables *t);
void tables_let_go(struct tables *t);

#endif

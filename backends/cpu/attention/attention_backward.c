/* SPDX-License-Identifier: Apache-2.0 */
/* attention_backward.c - the loops of attention's gradients.
 *
 *     for each task: a head of keys                         (all threads)
 *         for each block of keys
 *             pack k and v
 *             for each query block of all heads that share the keys
 *                 scores, weights, slopes, changes of scores
 *                 what they add to dq, dk, dv
 *
 * If there are too few heads for the threads, or a head's dq is too long for
 * the cache, dq is computed first, by tasks of several query blocks, and then
 * dk and dv, by tasks of several key blocks. Scores are then computed twice.
 */
#include "backends/cpu/attention/attention_job.h"

#include "lib/core/base/size.h"

/* Most words of dq that are kept until a head's last block. */
#define MOST_WAITING (INT64_C(1) << 20)
/* Most query blocks of a task that computes only dq. */
#define MOST_QUERY_BLOCKS 16
/* Tasks per thread, if there are enough blocks: their times differ. */
#define TASKS_OF_THREAD 4
/* Heads per thread from which heads alone are enough tasks. */
#define HEADS_OF_THREAD 2

struct cpu_attention_backward {
    const struct attention_job *job;
    bool queries, keys;           /* compute dq; compute dk and dv */
    int64_t query_blocks, blocks; /* most of a task */
    /* tasks of a head: along query blocks, along key blocks */
    int64_t across, down;
    float *memory;
    size_t floats; /* of a thread's memory */
};

/* A thread's memory for the present block and query block. */
struct attention_backward_work {
    struct gemm_panels k, v, k_turned;         /* of the block */
    struct gemm_panels q, dy, q_rows, dy_rows; /* of the query block */
    struct gemm_panels weights, changes;       /* of both, transposed */
    float *scores, *slopes, *bias, *bend;
    float *dk, *dv, *rows;
    float *of_query_blocks; /* for each query block, one after the other */
    size_t of_query_block;
    bool finite; /* k and v are finite */
};

static struct attention_backward_work
attention_backward_make_work(const struct cpu_attention_backward *f,
                             struct attention_memory *memory)
{
    const struct attention_job *job = f->job;
    const uint32_t rows = job->gemm->rows, query_block = job->query_block;
    const uint32_t d = (uint32_t)job->p->d, dv = (uint32_t)job->p->dv;
    const size_t block = (size_t)job->keys * query_block;
    const uint32_t row = attention_row(job, d), row_v = attention_row(job, dv);
    struct attention_backward_work x;
    x.k = attention_panels(memory, job->keys, rows, d);
    x.v = attention_panels(memory, job->keys, rows, dv);
    x.k_turned = attention_panels(memory, d, rows, job->keys);
    x.q = attention_panel(job, memory, d);
    x.dy = attention_panel(job, memory, dv);
    x.q_rows = attention_panels(memory, row, query_block, query_block);
    x.dy_rows = attention_panels(memory, row_v, query_block, query_block);
    x.weights = attention_panels(memory, job->keys, rows, query_block);
    x.changes = attention_panels(memory, job->keys, rows, query_block);
    x.scores = attention_take(memory, block);
    x.slopes = attention_take(memory, block);
    x.bias = attention_take(memory, job->mask.data == NULL ? 0 : block);
    x.bend = attention_take(memory, job->p->softcap == 0.0f ? 0 : block);
    x.dk = attention_take(memory, (size_t)job->keys * row);
    x.dv = attention_take(memory, (size_t)job->keys * row_v);
    x.rows = attention_take(memory, (size_t)query_block * row);
    x.of_query_block = sizeof(struct attention_saved) / sizeof(float);
    if (f->queries)
        x.of_query_block += (size_t)d * query_block;
    x.of_query_blocks =
        attention_take(memory, (size_t)f->query_blocks * x.of_query_block);
    return x;
}

/* ---- query blocks ---- */

/* Return the saved words of a query block. Its dq, [d][query block], follows
 * them. */
static struct attention_saved *
attention_backward_saved_of(const struct attention_backward_work *x, int64_t i)
{
    return (void *)(x->of_query_blocks + (size_t)i * x->of_query_block);
}

static float *dq_of(const struct attention_backward_work *x, int64_t i)
{
    return x->of_query_blocks + (size_t)i * x->of_query_block +
           sizeof(struct attention_saved) / sizeof(float);
}

static void pack_queries(const struct attention_task *t,
                         const struct attention_query_block *s,
                         const struct attention_operand *o, int64_t length,
                         const struct gemm_panels *to)
{
    struct gemm_source from =
        attention_lines(o, t->batch, s->head, s->query, false);
    t->job->gemm->pack(&from, 0, s->queries, 0, (uint32_t)length, to);
}

/* Load the saved words and delta of a task's query block i, and clear its dq.
 */
static void
attention_backward_begin_query_block(const struct attention_task *t, int64_t i,
                                     const struct attention_backward_work *x)
{
    const struct attention_job *job = t->job;
    const struct attention_operand *o = &job->lse;
    const struct attention_query_block s =
        attention_query_block(t, t->query_block + i);
    struct attention_saved *k = attention_backward_saved_of(x, i);
    const float *lse = (const float *)(void *)o->data + t->batch * o->step[0] +
                       s.head * o->step[1] + s.query * o->step[2];
    memset(k, 0, x->of_query_block * sizeof(float));
    for (uint32_t q = 0; q < s.queries; q++)
        k->lse[q] = lse[q * o->step[2]];
    if (job->rests != NULL)
        memcpy(k->rest,
               job->rests + (t->batch * job->p->heads + s.head) * job->p->tq +
                   s.query,
               s.queries * sizeof(float));
    pack_queries(t, &s, &job->dy, job->p->dv, &x->dy);
    /* the memory of slopes is not in use */
    struct gemm_panels y = {x->dy_rows.to, job->query_block, 0};
    pack_queries(t, &s, &job->y, job->p->dv, &y);
    job->kernels->dots(y.to, x->dy.to, (uint32_t)job->p->dv, k->delta);
}

static void
attention_backward_end_query_block(const struct attention_task *t, int64_t i,
                                   const struct attention_backward_work *x)
{
    const struct attention_job *job = t->job;
    const struct attention_query_block s =
        attention_query_block(t, t->query_block + i);
    attention_store(t, &s, &job->dq, dq_of(x, i), job->p->d, job->p->scale,
                    x->rows);
}

/* ---- blocks ---- */

static void attention_backward_begin_block(const struct attention_task *t,
                                           const struct attention_block *b,
                                           struct attention_backward_work *x)
{
    const struct attention_job *job = t->job;
    const uint32_t d = (uint32_t)job->p->d, dv = (uint32_t)job->p->dv;
    struct gemm_source k =
        attention_lines(&job->k, t->batch, t->kv, b->key, false);
    struct gemm_source v =
        attention_lines(&job->v, t->batch, t->kv, b->key, false);
    struct gemm_source turned =
        attention_lines(&job->k, t->batch, t->kv, b->key, true);
    job->gemm->pack(&k, 0, b->keys, 0, d, &x->k);
    job->gemm->pack(&v, 0, b->keys, 0, dv, &x->v);
    job->gemm->pack(&turned, 0, d, 0, b->keys, &x->k_turned);
    x->finite = attention_finite(job, &x->k, b->keys, d) &&
                attention_finite(job, &x->v, b->keys, dv);
    memset(x->dk, 0, b->keys * attention_row(job, d) * sizeof(float));
    memset(x->dv, 0, b->keys * attention_row(job, dv) * sizeof(float));
}

static void store_keys(const struct attention_task *t,
                       const struct attention_block *b,
                       const struct attention_operand *o, const float *sums,
                       int64_t length, float factor)
{
    if (o->data == NULL)
        return;
    struct gemm_source to = attention_lines(o, t->batch, t->kv, b->key, false);
    t->job->kernels->store((void *)(uintptr_t)to.data, o->dtype, o->step[2],
                           sums, attention_row(t->job, length), b->keys,
                           (uint32_t)length, factor);
}

static void end_block(const struct attention_task *t,
                      const struct attention_block *b,
                      const struct attention_backward_work *x)
{
    const struct attention_params *p = t->job->p;
    store_keys(t, b, &t->job->dk, x->dk, p->d, p->scale);
    store_keys(t, b, &t->job->dv, x->dv, p->dv, 1.0f);
}

/* ---- a block and a query block ---- */

/* Add the factors of a block, multiplied by queries, to dk or dv. */
static void add_keys(const struct attention_task *t,
                     const struct attention_query_block *s, bool some,
                     uint32_t keys, const float *factors,
                     const struct gemm_panels *turned,
                     const struct attention_operand *o, int64_t length,
                     const struct gemm_panels *rows, float *sums)
{
    const struct attention_job *job = t->job;
    struct gemm_source from = {factors, SSQ_F32, job->query_block, 1};
    struct gemm_source of =
        attention_lines(o, t->batch, s->head, s->query, true);
    job->gemm->pack(&from, 0, keys, 0, s->queries, turned);
    job->gemm->pack(&of, 0, length, 0, s->queries, rows);
    attention_multiply(job, some, turned, keys, rows, (uint32_t)length,
                       s->queries, sums, attention_row(job, length), true);
}

/* Compute the factors of the first keys of a block. True if some are marks. */
static bool make_factors(const struct attention_task *t,
                         const struct attention_query_block *s,
                         const struct attention_block *b, uint32_t keys,
                         const struct attention_backward_work *x,
                         const struct attention_saved *k)
{
    const struct attention_job *job = t->job;
    const uint32_t columns = s->vectors * job->query_block / 2;
    const uint32_t d = (uint32_t)job->p->d, dv = (uint32_t)job->p->dv;
    pack_queries(t, s, &job->q, d, &x->q);
    pack_queries(t, s, &job->dy, dv, &x->dy);
    attention_multiply(job, false, &x->k, keys, &x->q, columns, d, x->scores,
                       job->query_block, false);
    attention_multiply(job, false, &x->v, keys, &x->dy, columns, dv, x->slopes,
                       job->query_block, false);
    struct attention_scores scores = attention_scores(t, s, b, keys, x->bias);
    scores.bend = job->p->softcap == 0.0f ? NULL : x->bend;
    scores.mark = !x->finite || !attention_finite(job, &x->q, 1, d) ||
                  !attention_finite(job, &x->dy, 1, dv);
    job->kernels->factors(&scores, x->scores, x->slopes, k);
    return scores.mark;
}

static void attention_backward_meet(const struct attention_task *t,
                                    const struct cpu_attention_backward *f,
                                    const struct attention_block *b, int64_t i,
                                    const struct attention_backward_work *x)
{
    const struct attention_job *job = t->job;
    const struct attention_query_block s =
        attention_query_block(t, t->query_block + i);
    const uint32_t keys = attention_seen(job, &s, b);
    const uint32_t d = (uint32_t)job->p->d, dv = (uint32_t)job->p->dv;
    if (keys == 0)
        return;
    bool some =
        make_factors(t, &s, b, keys, x, attention_backward_saved_of(x, i));
    struct gemm_panels changes = {x->scores, job->query_block, 0};
    if (f->queries)
        attention_multiply(job, some, &x->k_turned, d, &changes,
                           s.vectors * job->query_block / 2, keys, dq_of(x, i),
                           job->query_block, true);
    if (f->keys && job->dk.data != NULL)
        add_keys(t, &s, some, keys, x->scores, &x->changes, &job->q, d,
                 &x->q_rows, x->dk);
    if (f->keys && job->dv.data != NULL)
        add_keys(t, &s, some, keys, x->slopes, &x->weights, &job->dy, dv,
                 &x->dy_rows, x->dv);
}

/* ---- tasks ---- */

static void attention_backward_task(void *context, uint32_t index,
                                    uint32_t worker)
{
    const struct cpu_attention_backward *f = context;
    const struct attention_job *job = f->job;
    struct attention_memory memory = {f->memory + worker * f->floats, 0};
    struct attention_backward_work x = attention_backward_make_work(f, &memory);
    int64_t of_head = f->across * f->down, head = index / of_head;
    struct attention_task t = {
        .job = job,
        .batch = head / job->p->kv_heads,
        .kv = head % job->p->kv_heads,
        .query_block = index % of_head % f->across * f->query_blocks,
        .block = index % of_head / f->across * f->blocks};
    t.query_blocks =
        size_least(job->query_blocks - t.query_block, f->query_blocks);
    t.blocks = size_least(job->blocks - t.block, f->blocks);
    for (int64_t i = 0; i < t.query_blocks; i++)
        attention_backward_begin_query_block(&t, i, &x);
    for (int64_t j = 0; j < t.blocks; j++) {
        struct attention_block b = attention_block(&t, t.block + j);
        attention_backward_begin_block(&t, &b, &x);
        for (int64_t i = 0; i < t.query_blocks; i++)
            attention_backward_meet(&t, f, &b, i, &x);
        if (f->keys)
            end_block(&t, &b, &x);
    }
    for (int64_t i = 0; i < t.query_blocks && f->queries; i++)
        attention_backward_end_query_block(&t, i, &x);
}

static ssq_status attention_backward_run(struct cpu_attention_backward *f,
                                         struct backend_device *device)
{
    const struct attention_job *job = f->job;
    const uint32_t threads = team_size(device->team);
    struct attention_memory none = {NULL, 0};
    struct backend_mem *block;
    (void)attention_backward_make_work(f, &none);
    f->floats = none.used;
    f->across = size_div_up(job->query_blocks, f->query_blocks);
    f->down = size_div_up(job->blocks, f->blocks);
    ssq_status st = scratch_take(&device->scratch,
                                 f->floats * threads * sizeof(float), &block);
    if (st != SSQ_OK)
        return st;
    f->memory = block->host;
    attention_for(job, device,
                  job->p->batch * job->p->kv_heads * f->across * f->down,
                  attention_backward_task, f);
    scratch_return(&device->scratch, block);
    return SSQ_OK;
}

static ssq_status make_gradients(const struct attention_job *job,
                                 struct backend_device *device)
{
    const int64_t threads = team_size(device->team);
    const int64_t heads = job->p->batch * job->p->kv_heads;
    const bool near =
        job->query_blocks * job->p->d * job->query_block <= MOST_WAITING;
    const bool queries = job->dq.data != NULL;
    const bool keys = job->dk.data != NULL || job->dv.data != NULL;
    struct cpu_attention_backward f = {.job = job,
                                       .queries = queries,
                                       .keys = keys,
                                       .query_blocks = job->query_blocks,
                                       .blocks = job->blocks};
    if (threads == 1 ? near : near && heads >= HEADS_OF_THREAD * threads)
        return attention_backward_run(&f, device);
    ssq_status st = SSQ_OK;
    f.keys = false;
    f.query_blocks = size_least(job->query_blocks, MOST_QUERY_BLOCKS);
    if (queries)
        st = attention_backward_run(&f, device);
    f.keys = keys;
    f.queries = false;
    f.query_blocks = job->query_blocks;
    f.blocks = size_most(1, heads * job->blocks / (threads * TASKS_OF_THREAD));
    f.blocks = size_least(f.blocks, job->blocks);
    if (keys && st == SSQ_OK)
        st = attention_backward_run(&f, device);
    return st;
}

ssq_status attention_backward(const struct attention_job *job,
                              struct backend_device *device)
{
    struct attention_job with = *job;
    struct backend_mem *rests;
    ssq_status st = attention_find_rests(job, device, &rests);
    if (st != SSQ_OK)
        return st;
    if (rests != NULL)
        with.rests = rests->host;
    st = make_gradients(&with, device);
    if (rests != NULL)
        scratch_return(&device->scratch, rests);
    return st;
}

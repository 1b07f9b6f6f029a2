/* SPDX-License-Identifier: Apache-2.0 */
/* attention_rest.c - compute the rounding errors of the saved lse.
 *
 *     for each task: some query blocks that share a head of keys  (all threads)
 *         for each block of keys, if a query block needs it
 *             pack k
 *             for each such query block: scores, and sums of exponentials
 *
 * If no lse is large, this does nothing and takes no memory. */
#include "backends/cpu/attention/attention_job.h"

#include "kernels/attention/saved.h"
#include "lib/core/base/size.h"

/* Most query blocks of a task: their queries stay in the L2 cache. */
#define MOST_QUERY_BLOCKS 16

struct rests {
    const struct attention_job *job;
    float *to; /* for each query of all heads */
    int64_t each, tasks_of_head;
    float *memory;
    size_t floats; /* of a thread's memory */
};

/* The state of a query block within a task. */
struct attention_rest_kept {
    struct attention_query_block s;
    struct gemm_panels q;
    struct attention_state *state;
    bool wanted;
};

/* Memory of a thread for the current block. */
struct attention_rest_work {
    struct gemm_panels k;
    float *scores, *bias;
};

static struct attention_rest_work
attention_rest_make_work(const struct attention_job *job,
                         struct attention_memory *memory)
{
    const size_t block = (size_t)job->keys * job->query_block;
    struct attention_rest_work w;
    w.k = attention_panels(memory, job->keys, job->gemm->rows,
                           (uint32_t)job->p->d);
    w.scores = attention_take(memory, block);
    w.bias = attention_take(memory, job->mask.data == NULL ? 0 : block);
    return w;
}

static struct attention_rest_kept
attention_rest_make_kept(const struct attention_job *job,
                         struct attention_memory *memory)
{
    const size_t floats = sizeof(struct attention_state) / sizeof(float);
    struct attention_rest_kept k = {
        .q = attention_panel(job, memory, job->p->d)};
    k.state = (void *)attention_take(memory, floats);
    return k;
}

static const float *lse_of(const struct attention_operand *o, int64_t batch,
                           int64_t head, int64_t query)
{
    return (const float *)(const void *)o->data + batch * o->step[0] +
           head * o->step[1] + query * o->step[2];
}

/* Pack the queries of a query block, if it needs its sums. */
static void attention_rest_begin_query_block(const struct attention_task *t,
                                             struct attention_rest_kept *k)
{
    const struct attention_job *job = t->job;
    const struct attention_operand *o = &job->lse;
    const float *lse = lse_of(o, t->batch, k->s.head, k->s.query);
    for (uint32_t i = 0; i < k->s.queries && !k->wanted; i++)
        k->wanted = attention_large(lse[i * o->step[2]]);
    if (!k->wanted)
        return;
    struct gemm_source q =
        attention_lines(&job->q, t->batch, k->s.head, k->s.query, false);
    job->gemm->pack(&q, 0, k->s.queries, 0, (uint32_t)job->p->d, &k->q);
    memset(k->state, 0, sizeof(*k->state));
    for (uint32_t i = 0; i < GEMM_LINES; i++)
        k->state->most[i] = -(float)INFINITY;
}

/* Add the first keys of a block to the sums of a query block. The sums are
 * those before dropout. */
static void attention_rest_meet(const struct attention_task *t,
                                const struct attention_block *b, uint32_t keys,
                                const struct attention_rest_work *w,
                                const struct attention_rest_kept *k)
{
    const struct attention_job *job = t->job;
    attention_multiply(job, false, &w->k, keys, &k->q,
                       k->s.vectors * job->query_block / 2, (uint32_t)job->p->d,
                       w->scores, job->query_block, false);
    struct attention_scores x = attention_scores(t, &k->s, b, keys, w->bias);
    x.dropout.given = false;
    job->kernels->weights(&x, w->scores, k->state);
}

/* A block of keys is packed when the first query block needs it. */
static void attention_rest_meet_all(const struct attention_task *t,
                                    const struct attention_block *b,
                                    const struct attention_rest_work *w,
                                    const struct attention_rest_kept *kept)
{
    const struct attention_job *job = t->job;
    struct gemm_source k =
        attention_lines(&job->k, t->batch, t->kv, b->key, false);
    bool packed = false;
    for (int64_t i = 0; i < t->query_blocks; i++) {
        uint32_t keys = attention_seen(job, &kept[i].s, b);
        if (keys == 0 || !kept[i].wanted)
            continue;
        if (!packed)
            job->gemm->pack(&k, 0, b->keys, 0, (uint32_t)job->p->d, &w->k);
        packed = true;
        attention_rest_meet(t, b, keys, w, &kept[i]);
    }
}

static void attention_rest_end_query_block(const struct attention_task *t,
                                           const struct rests *r,
                                           const struct attention_rest_kept *k)
{
    const struct attention_params *p = t->job->p;
    const struct attention_operand *o = &t->job->lse;
    const float *lse = lse_of(o, t->batch, k->s.head, k->s.query);
    float *to = r->to + (t->batch * p->heads + k->s.head) * p->tq + k->s.query;
    for (uint32_t i = 0; i < k->s.queries; i++) {
        float x = lse[i * o->step[2]];
        to[i] = attention_large(x) ? attention_rest_of(x, k->state->most[i],
                                                       k->state->total[i])
                                   : 0.0f;
    }
}

static void attention_rest_task(void *context, uint32_t index, uint32_t worker)
{
    const struct rests *r = context;
    const struct attention_job *job = r->job;
    struct attention_memory memory = {r->memory + worker * r->floats, 0};
    struct attention_rest_work work = attention_rest_make_work(job, &memory);
    struct attention_rest_kept kept[MOST_QUERY_BLOCKS];
    struct attention_task t =
        attention_task_at(job, index, r->tasks_of_head, r->each);
    for (int64_t i = 0; i < t.query_blocks; i++) {
        kept[i] = attention_rest_make_kept(job, &memory);
        kept[i].s = attention_query_block(&t, t.query_block + i);
        attention_rest_begin_query_block(&t, &kept[i]);
    }
    for (int64_t j = 0; j < job->blocks; j++) {
        struct attention_block b = attention_block(&t, j);
        attention_rest_meet_all(&t, &b, &work, kept);
    }
    for (int64_t i = 0; i < t.query_blocks; i++)
        attention_rest_end_query_block(&t, r, &kept[i]);
}

static bool some_large(const struct attention_job *job)
{
    const struct attention_params *p = job->p;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads; h++) {
            const float *lse = lse_of(&job->lse, b, h, 0);
            for (int64_t i = 0; i < p->tq; i++)
                if (attention_large(lse[i * job->lse.step[2]]))
                    return true;
        }
    return false;
}

static size_t attention_rest_floats_of_thread(const struct rests *r)
{
    struct attention_memory memory = {NULL, 0};
    (void)attention_rest_make_work(r->job, &memory);
    for (int64_t i = 0; i < r->each; i++)
        (void)attention_rest_make_kept(r->job, &memory);
    return memory.used;
}

ssq_status attention_find_rests(const struct attention_job *job,
                                struct backend_device *device,
                                struct backend_mem **block)
{
    const uint32_t threads = team_size(device->team);
    const int64_t heads = job->p->batch * job->p->kv_heads;
    const size_t rows = (size_t)(job->p->batch * job->p->heads * job->p->tq);
    struct rests r = {.job = job};
    *block = NULL;
    if (!some_large(job))
        return SSQ_OK;
    r.each = size_least(MOST_QUERY_BLOCKS, job->query_blocks);
    r.tasks_of_head = size_div_up(job->query_blocks, r.each);
    r.floats = attention_rest_floats_of_thread(&r);
    /* the memory of threads begins at a cache line */
    const size_t first = (rows + 15) / 16 * 16;
    ssq_status st = scratch_take(
        &device->scratch, (first + r.floats * threads) * sizeof(float), block);
    if (st != SSQ_OK)
        return st;
    r.to = (*block)->host;
    r.memory = r.to + first;
    attention_for(job, device, heads * r.tasks_of_head, attention_rest_task,
                  &r);
    return SSQ_OK;
}

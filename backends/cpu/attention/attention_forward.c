/* SPDX-License-Identifier: Apache-2.0 */
/* attention_forward.c - the loops of attention.
 *
 *     for each task: some query blocks that share a head of keys  (all threads)
 *         for each block of keys
 *             pack k and v
 *             for each query block: scores, weights, means of the values */
#include "backends/cpu/attention/attention_job.h"

#include "lib/core/base/size.h"

/* Most query blocks of a task: their queries and means stay in the L2 cache. */
#define MOST_QUERY_BLOCKS 16
/* Tasks per thread, if there are enough query blocks: their times differ. */
#define TASKS_OF_THREAD 4

struct cpu_attention_forward {
    const struct attention_job *job;
    int64_t each, tasks_of_head;
    float *memory;
    size_t floats; /* of a thread's memory */
};

/* A thread's memory for the present block. */
struct attention_forward_work {
    struct gemm_panels k, v;
    float *scores, *bias, *rows;
    bool finite; /* v is finite */
};

/* The state of a query block within a task. */
struct attention_forward_kept {
    struct attention_query_block s;
    struct gemm_panels q;
    float *means;
    struct attention_state *state;
};

static struct attention_forward_work
attention_forward_make_work(const struct attention_job *job,
                            struct attention_memory *memory)
{
    const uint32_t rows = job->gemm->rows;
    const size_t block = (size_t)job->keys * job->query_block;
    struct attention_forward_work w;
    w.k = attention_panels(memory, job->keys, rows, (uint32_t)job->p->d);
    w.v = attention_panels(memory, job->p->dv, rows, job->keys);
    w.scores = attention_take(memory, block);
    w.bias = attention_take(memory, job->mask.data == NULL ? 0 : block);
    w.rows = attention_take(memory, (size_t)job->query_block *
                                        attention_row(job, job->p->dv));
    return w;
}

static struct attention_forward_kept
attention_forward_make_kept(const struct attention_job *job,
                            struct attention_memory *memory)
{
    const size_t floats = sizeof(struct attention_state) / sizeof(float);
    struct attention_forward_kept k = {
        .q = attention_panel(job, memory, job->p->d)};
    k.means = attention_take(memory, (size_t)job->p->dv * job->query_block);
    k.state = (void *)attention_take(memory, floats);
    return k;
}

static void
attention_forward_begin_query_block(const struct attention_task *t,
                                    struct attention_forward_kept *k)
{
    const struct attention_job *job = t->job;
    struct gemm_source q =
        attention_lines(&job->q, t->batch, k->s.head, k->s.query, false);
    job->gemm->pack(&q, 0, k->s.queries, 0, (uint32_t)job->p->d, &k->q);
    memset(k->means, 0, (size_t)job->p->dv * job->query_block * sizeof(float));
    memset(k->state, 0, sizeof(*k->state));
    for (uint32_t i = 0; i < GEMM_LINES; i++)
        k->state->most[i] = -(float)INFINITY;
}

static void pack_block(const struct attention_task *t,
                       const struct attention_block *b,
                       struct attention_forward_work *w)
{
    const struct attention_job *job = t->job;
    const uint32_t dv = (uint32_t)job->p->dv;
    struct gemm_source k =
        attention_lines(&job->k, t->batch, t->kv, b->key, false);
    struct gemm_source v =
        attention_lines(&job->v, t->batch, t->kv, b->key, true);
    job->gemm->pack(&k, 0, b->keys, 0, (uint32_t)job->p->d, &w->k);
    job->gemm->pack(&v, 0, dv, 0, b->keys, &w->v);
    w->finite = attention_finite(job, &w->v, dv, b->keys);
}

/* Update a query block's means by the first keys of a block. */
static void attention_forward_meet(const struct attention_task *t,
                                   const struct attention_block *b,
                                   uint32_t keys,
                                   const struct attention_forward_work *w,
                                   const struct attention_forward_kept *k)
{
    const struct attention_job *job = t->job;
    const uint32_t columns = k->s.vectors * job->query_block / 2;
    const uint32_t dv = (uint32_t)job->p->dv;
    struct gemm_panels weights = {w->scores, job->query_block, 0};
    attention_multiply(job, false, &w->k, keys, &k->q, columns,
                       (uint32_t)job->p->d, w->scores, job->query_block, false);
    struct attention_scores x = attention_scores(t, &k->s, b, keys, w->bias);
    x.mark = !w->finite;
    job->kernels->weights(&x, w->scores, k->state);
    if (b->key > 0)
        job->kernels->rescale(k->means, dv, k->state->kept);
    attention_multiply(job, x.mark, &w->v, dv, &weights, columns, keys,
                       k->means, job->query_block, true);
}

/* Update all query blocks. A block of keys is packed for the first that needs
 * it. */
static void attention_forward_meet_all(
    const struct attention_task *t, const struct attention_block *b,
    struct attention_forward_work *w, const struct attention_forward_kept *kept)
{
    bool packed = false;
    for (int64_t i = 0; i < t->query_blocks; i++) {
        uint32_t keys = attention_seen(t->job, &kept[i].s, b);
        if (keys == 0)
            continue;
        if (!packed)
            pack_block(t, b, w);
        packed = true;
        attention_forward_meet(t, b, keys, w, &kept[i]);
    }
}

/* Write results, which lie along dv, from means, which lie along queries. */
static void
attention_forward_end_query_block(const struct attention_task *t,
                                  const struct attention_forward_work *w,
                                  const struct attention_forward_kept *k)
{
    const struct attention_job *job = t->job;
    const struct attention_operand *o = &job->lse;
    float logs[GEMM_LINES];
    attention_store(t, &k->s, &job->y, k->means, job->p->dv, 1.0f, w->rows);
    if (o->data == NULL)
        return;
    float *lse = (float *)(void *)o->data + t->batch * o->step[0] +
                 k->s.head * o->step[1] + k->s.query * o->step[2];
    job->kernels->logs(k->state, k->s.queries, logs);
    for (uint32_t i = 0; i < k->s.queries; i++)
        lse[i * o->step[2]] = logs[i];
}

static void attention_forward_task(void *context, uint32_t index,
                                   uint32_t worker)
{
    const struct cpu_attention_forward *f = context;
    const struct attention_job *job = f->job;
    struct attention_memory memory = {f->memory + worker * f->floats, 0};
    struct attention_forward_work work =
        attention_forward_make_work(job, &memory);
    struct attention_forward_kept kept[MOST_QUERY_BLOCKS];
    struct attention_task t =
        attention_task_at(job, index, f->tasks_of_head, f->each);
    for (int64_t i = 0; i < t.query_blocks; i++) {
        kept[i] = attention_forward_make_kept(job, &memory);
        kept[i].s = attention_query_block(&t, t.query_block + i);
        attention_forward_begin_query_block(&t, &kept[i]);
    }
    for (int64_t j = 0; j < job->blocks; j++) {
        struct attention_block b = attention_block(&t, j);
        attention_forward_meet_all(&t, &b, &work, kept);
    }
    for (int64_t i = 0; i < t.query_blocks; i++)
        attention_forward_end_query_block(&t, &work, &kept[i]);
}

static size_t
attention_forward_floats_of_thread(const struct cpu_attention_forward *f)
{
    struct attention_memory memory = {NULL, 0};
    (void)attention_forward_make_work(f->job, &memory);
    for (int64_t i = 0; i < f->each; i++)
        (void)attention_forward_make_kept(f->job, &memory);
    return memory.used;
}

ssq_status attention_forward(const struct attention_job *job,
                             struct backend_device *device)
{
    const uint32_t threads = team_size(device->team);
    const int64_t heads = job->p->batch * job->p->kv_heads;
    struct cpu_attention_forward f = {.job = job};
    struct backend_mem *block;
    f.each = size_div_up(heads * job->query_blocks,
                         (int64_t)threads * TASKS_OF_THREAD);
    f.each =
        size_least(size_least(f.each, MOST_QUERY_BLOCKS), job->query_blocks);
    f.tasks_of_head = size_div_up(job->query_blocks, f.each);
    f.floats = attention_forward_floats_of_thread(&f);
    ssq_status st = scratch_take(&device->scratch,
                                 f.floats * threads * sizeof(float), &block);
    if (st != SSQ_OK)
        return st;
    f.memory = block->host;
    attention_for(job, device, heads * f.tasks_of_head, attention_forward_task,
                  &f);
    scratch_return(&device->scratch, block);
    return SSQ_OK;
}

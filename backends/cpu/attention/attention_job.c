/* SPDX-License-Identifier: Apache-2.0 */
/* attention_job.c - the tasks of attention, and what both directions share. */
#include "backends/cpu/attention/attention_job.h"

#include "lib/core/base/size.h"

/* Keys of a block. Their scores with a query block, 16 KiB with the widest
 * vectors, stay in the L1 cache while weights are computed from them. */
#define KEYS 128

/* Multiplications that are not worth another thread: waking takes longer. */
#define FEW 1e5

/* A larger offset of the diagonal changes nothing within a block. */
#define MOST_FIRST (INT32_MAX / 2)

struct attention_operand attention_operand(const struct view *v)
{
    struct attention_operand o = {.dtype = v->dtype};
    if (v->buffer == NULL)
        return o;
    o.data = view_host(v);
    for (int i = 0; i < v->rank && i < 4; i++)
        o.step[i] = v->shape[i] > 1 ? v->stride[i] : 0;
    return o;
}

void attention_job_fill(struct attention_job *job,
                        const struct backend_device *device,
                        const struct attention_params *p, const struct view *q,
                        const struct view *k, const struct view *v,
                        const struct view *mask, const struct view *step)
{
    *job = (struct attention_job){.p = p,
                                  .gemm = device->isa->gemm,
                                  .kernels = isa_attention(device->isa),
                                  .q = attention_operand(q),
                                  .k = attention_operand(k),
                                  .v = attention_operand(v),
                                  .mask = attention_operand(mask),
                                  .dtype = q->dtype,
                                  .query_block = device->isa->gemm->columns};
    if (step->buffer != NULL)
        memcpy(&job->step, view_host(step), sizeof(job->step));
    job->query_blocks_of_head = size_div_up(p->tq, job->query_block);
    job->query_blocks = job->query_blocks_of_head * (p->heads / p->kv_heads);
    job->blocks = size_div_up(p->tk, KEYS);
    job->keys = (uint32_t)size_div_up(p->tk, job->blocks);
}

static const void *attention_job_element(const struct attention_operand *o,
                                         int64_t at)
{
    return o->data + at * (o->dtype == SSQ_F32 ? 4 : 2);
}

struct gemm_source attention_lines(const struct attention_operand *o,
                                   int64_t batch, int64_t head, int64_t index,
                                   bool turned)
{
    int64_t at = batch * o->step[0] + head * o->step[1] + index * o->step[2];
    struct gemm_source s = {attention_job_element(o, at), o->dtype, o->step[2],
                            1};
    if (turned) {
        s.line = 1;
        s.step = o->step[2];
    }
    return s;
}

struct attention_task attention_task_at(const struct attention_job *job,
                                        uint32_t index, int64_t tasks_of_head,
                                        int64_t each)
{
    const int64_t head = index / tasks_of_head;
    struct attention_task t = {.job = job,
                               .batch = head / job->p->kv_heads,
                               .kv = head % job->p->kv_heads,
                               .query_block = index % tasks_of_head * each};
    t.query_blocks = size_least(job->query_blocks - t.query_block, each);
    return t;
}

struct attention_query_block
attention_query_block(const struct attention_task *t, int64_t query_block)
{
    const struct attention_job *job = t->job;
    int64_t group = job->p->heads / job->p->kv_heads;
    int64_t query = query_block % job->query_blocks_of_head * job->query_block;
    int64_t queries = size_least(job->query_block, job->p->tq - query);
    bool narrow = queries <= job->query_block / 2;
    return (struct attention_query_block){
        .head = t->kv * group + query_block / job->query_blocks_of_head,
        .query = query,
        .queries = (uint32_t)queries,
        .vectors = narrow ? 1 : 2};
}

struct attention_block attention_block(const struct attention_task *t,
                                       int64_t block)
{
    int64_t key = block * t->job->keys;
    int64_t keys = size_least(t->job->keys, t->job->p->tk - key);
    return (struct attention_block){key, keys > 0 ? (uint32_t)keys : 0};
}

/* Query i sees the keys up to i + causal_offset. Offsets beyond tq and tk have
 * the same effect as these. */
static int64_t attention_job_offset(const struct attention_params *p)
{
    if (!p->causal)
        return p->tk;
    return size_most(-p->tq, size_least(p->causal_offset, p->tk));
}

uint32_t attention_seen(const struct attention_job *job,
                        const struct attention_query_block *s,
                        const struct attention_block *b)
{
    int64_t last = s->query + s->queries - 1 + attention_job_offset(job->p);
    int64_t n = size_least(last + 1 - b->key, b->keys);
    return n < 0 ? 0 : (uint32_t)n;
}

/* ---- masks ---- */

static float mask_element(const struct attention_operand *m, int64_t at)
{
    uint16_t half;
    float x;
    if (m->dtype == SSQ_U8)
        return m->data[at] != 0 ? 0.0f : -(float)INFINITY;
    if (m->dtype == SSQ_F32) {
        memcpy(&x, m->data + 4 * at, sizeof(x));
        return x;
    }
    memcpy(&half, m->data + 2 * at, sizeof(half));
    return m->dtype == SSQ_F16 ? f16_load(half) : bf16_load(half);
}

/* Write the mask for some keys and a query block as float32, in the order of
 * scores. Floats that are adjacent along keys or queries are packed. */
static void make_bias(const struct attention_task *t,
                      const struct attention_query_block *s,
                      const struct attention_block *b, uint32_t keys, float *to)
{
    const struct attention_operand *m = &t->job->mask;
    const uint32_t query_block = t->job->query_block;
    int64_t at = t->batch * m->step[0] + s->head * m->step[1] +
                 s->query * m->step[2] + b->key * m->step[3];
    if (m->dtype != SSQ_U8 && (m->step[2] == 1 || m->step[3] == 1)) {
        struct gemm_source from = {attention_job_element(m, at), m->dtype,
                                   m->step[2], m->step[3]};
        struct gemm_panels panel = {to, query_block, 0};
        t->job->gemm->pack(&from, 0, s->queries, 0, keys, &panel);
        return;
    }
    for (uint32_t j = 0; j < keys; j++)
        for (uint32_t i = 0; i < query_block; i++)
            to[j * query_block + i] =
                i < s->queries
                    ? mask_element(m, at + i * m->step[2] + j * m->step[3])
                    : 0.0f;
}

struct attention_scores attention_scores(const struct attention_task *t,
                                         const struct attention_query_block *s,
                                         const struct attention_block *b,
                                         uint32_t keys, float *bias)
{
    const struct attention_params *p = t->job->p;
    int64_t first = b->key - s->query - attention_job_offset(p);
    int64_t row = (t->batch * p->heads + s->head) * p->tq + s->query;
    first = size_most(-MOST_FIRST, size_least(first, MOST_FIRST));
    struct attention_scores x = {.keys = keys,
                                 .vectors = s->vectors,
                                 .dtype = t->job->dtype,
                                 .scale = p->scale,
                                 .softcap = p->softcap,
                                 .first =
                                     p->causal ? (int32_t)first : -MOST_FIRST,
                                 .dropout.given = p->dropout};
    if (t->job->mask.data != NULL) {
        make_bias(t, s, b, keys, bias);
        x.bias = bias;
    }
    if (p->dropout)
        x.dropout = (struct attention_dropout){
            .given = true,
            .all = p->drop.always,
            .threshold = p->drop.threshold,
            .seed = {p->stream.seed[0], p->stream.seed[1]},
            .step = t->job->step,
            .id = p->stream.id,
            .keep = p->keep,
            .word = p->stream.offset + (uint64_t)row * (uint64_t)p->tk +
                    (uint64_t)b->key,
            .tk = (uint64_t)p->tk};
    return x;
}

/* ---- products ---- */

static uint32_t panel_height(int64_t lines, uint32_t most)
{
    return (uint32_t)size_div_up(lines, size_div_up(lines, most));
}

float *attention_take(struct attention_memory *memory, size_t floats)
{
    size_t at = memory->used;
    memory->used += (floats + 15) / 16 * 16;
    return memory->memory == NULL ? NULL : memory->memory + at;
}

struct gemm_panels attention_panels(struct attention_memory *memory,
                                    int64_t lines, uint32_t most,
                                    uint32_t depth)
{
    struct gemm_panels p = {.height = panel_height(lines, most)};
    size_t panels = (size_t)size_div_up(lines, p.height);
    p.apart = (size_t)p.height * depth + GEMM_SLACK;
    p.to = attention_take(memory, panels * p.apart);
    return p;
}

struct gemm_panels attention_panel(const struct attention_job *job,
                                   struct attention_memory *memory,
                                   int64_t depth)
{
    struct gemm_panels p = {.height = job->query_block};
    p.to = attention_take(memory, (size_t)depth * job->query_block);
    return p;
}

bool attention_finite(const struct attention_job *job,
                      const struct gemm_panels *panels, uint32_t lines,
                      uint32_t depth)
{
    const float *at = panels->to;
    for (uint32_t i = 0; i < lines; i += panels->height, at += panels->apart)
        if (!job->kernels->finite(at, (size_t)panels->height * depth))
            return false;
    return true;
}

void attention_multiply(const struct attention_job *job, bool some,
                        const struct gemm_panels *a, uint32_t rows,
                        const struct gemm_panels *b, uint32_t columns,
                        uint32_t depth, float *to, size_t to_row, bool add)
{
    const uint32_t wide = job->gemm->columns;
    for (uint32_t j = 0; j < columns; j += wide)
        for (uint32_t i = 0; i < rows; i += a->height) {
            float *at = to + i * to_row + j;
            struct gemm_tile x = {
                .rows = rows - i < a->height ? rows - i : a->height,
                .height = a->height,
                .columns = columns - j < wide ? columns - j : wide,
                .depth = depth,
                .a = a->to + i / a->height * a->apart,
                .b = b->to + j / wide * b->apart,
                .b_row = 4 * (int64_t)wide,
                .from = add ? at : NULL,
                .from_row = (int64_t)to_row,
                .to = at,
                .to_row = 4 * (int64_t)to_row};
            if (some)
                job->kernels->multiply(&x);
            else
                job->gemm->multiply(&x);
        }
}

/* ---- results ---- */

uint32_t attention_row(const struct attention_job *job, int64_t length)
{
    return (uint32_t)(size_div_up(length, job->query_block) * job->query_block);
}

void attention_store(const struct attention_task *t,
                     const struct attention_query_block *s,
                     const struct attention_operand *o, const float *columns,
                     int64_t length, float factor, float *rows)
{
    const struct attention_job *job = t->job;
    const uint32_t row = attention_row(job, length);
    struct gemm_source from = {columns, SSQ_F32, job->query_block, 1};
    struct gemm_panels panel = {rows, row, 0};
    struct gemm_source to =
        attention_lines(o, t->batch, s->head, s->query, false);
    job->gemm->pack(&from, 0, length, 0, s->queries, &panel);
    job->kernels->store((void *)(uintptr_t)to.data, o->dtype, o->step[2], rows,
                        row, s->queries, (uint32_t)length, factor);
}

/* ---- tasks ---- */

void attention_for(const struct attention_job *job,
                   const struct backend_device *device, int64_t n,
                   team_task task, void *context)
{
    const struct attention_params *p = job->p;
    double scores = (double)(p->batch * p->heads) * (double)(p->tq * p->tk);
    if (scores * (double)(p->d + p->dv) >= FEW) {
        parallel_for(device->team, (uint32_t)n, task, context);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        task(context, (uint32_t)i, 0);
}

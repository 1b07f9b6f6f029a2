/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - reference: scaled dot-product attention. */
#include "backends/reference/attention/attention.h"

#include "backends/reference/random/stream.h"
#include "backends/reference/rows.h"
#include "kernels/dialect/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "lib/core/error.h"

#include <string.h>

/* Blocks are remembered in order to be released together. A failure is noted,
 * not returned, so that callers may ask for all their blocks in one initialiser
 * and look at failed once. */
static void *work_block(struct work *w, int64_t n, size_t size)
{
    void *p = mem_alloc_array((size_t)n, size);
    if (p == NULL)
        w->failed = true;
    else
        w->block[w->n++] = p;
    return p;
}

/* Callers store through what they get only after they have looked at failed. */
float *work_floats(struct work *w, int64_t n)
{
    return work_block(w, n, sizeof(float));
}

double *work_doubles(struct work *w, int64_t n)
{
    return work_block(w, n, sizeof(double));
}

void work_free(struct work *w)
{
    while (w->n > 0)
        mem_free(w->block[--w->n]);
}

/* Absent operands, of heads without elements, unpack to nothing: no element of
 * them is read. */
void unpack_head(float *to, const struct view *v, int64_t b, int64_t h,
                 bool transposed)
{
    if (v->buffer == NULL)
        return;
    int64_t t = v->shape[2], d = v->shape[3];
    for (int64_t j = 0; j < t; j++) {
        int64_t at = b * v->stride[0] + h * v->stride[1] + j * v->stride[2];
        struct line row = line_of(v, at);
        for (int64_t c = 0; c < d; c++)
            to[transposed ? c * t + j : j * d + c] = line_load(&row, c);
    }
}

void unpack_row(float *to, const struct view *v, const struct query *at,
                int64_t n)
{
    if (v->buffer == NULL)
        return;
    struct line row = line_of(v, query_at(v, at));
    for (int64_t c = 0; c < n; c++)
        to[c] = line_load(&row, c);
}

void store_row(const struct view *v, const struct query *at, const double *sum,
               float factor, int64_t n)
{
    struct line row = line_of(v, query_at(v, at));
    for (int64_t c = 0; c < n; c++)
        line_store(&row, c, factor * (float)sum[c]);
}

/* The softmax's weights are rounded to a stored dtype before they meet v, as
 * include/sesqui/ops/attention.h promises. */
float round_to(ssq_dtype dtype, float x)
{
    return bits_to_f32(f32_to_bits(x, dtype, ROUND_NEAREST, 0u), dtype);
}

/* What a mask adds to the score of key j: -Inf where it excludes. */
static float mask_at(const struct view *mask, const struct query *at, int64_t j)
{
    if (mask->buffer == NULL)
        return 0.0f;
    float m = load_f32(view_host(mask), mask->dtype,
                       query_at(mask, at) + j * mask->stride[3]);
    if (mask->dtype == SSQ_U8)
        return m != 0.0f ? 0.0f : -INFINITY;
    return m;
}

/* The sums are float64 and rounded once, then come scale, softcap and mask in
 * float32. -Inf from the mask stays -Inf whatever the score: inf - inf would be
 * NaN. */
void score_row(const struct attention_params *p, const struct view *mask,
               const struct query *at, const float *q, const float *kt,
               double *sum, float *s, float *slope)
{
    memset(sum, 0, (size_t)p->tk * sizeof(*sum));
    for (int64_t c = 0; c < p->d; c++)
        add_scaled(sum, (double)q[c], kt + c * p->tk, p->tk);
    for (int64_t j = 0; j < p->tk; j++) {
        float m = mask_at(mask, at, j);
        if (p->causal && j - at->i > p->causal_offset)
            m = -INFINITY;
        s[j] = p->scale * (float)sum[j];
        if (p->softcap != 0.0f) {
            float x = s_div(s[j], p->softcap);
            s[j] = p->softcap * s_tanh(x);
            if (slope != NULL)
                slope[j] = s_tanh_grad(x);
        }
        s[j] = m == -INFINITY ? m : s[j] + m;
    }
}

/* The word's number is that of the element in P, [batch, heads, tq, tk], so
 * that every device and the backward pass drop the same ones. */
bool is_dropped(const struct attention_params *p, uint32_t step,
                const struct query *at, int64_t j)
{
    uint64_t row = ((uint64_t)at->b * (uint64_t)p->heads + (uint64_t)at->h) *
                       (uint64_t)p->tq +
                   (uint64_t)at->i;
    uint64_t word = p->stream.offset + row * (uint64_t)p->tk + (uint64_t)j;
    return random_chance(stream_word(&p->stream, step, word), p->drop.threshold,
                         p->drop.always);
}

/* What one call of attention works in; all of it is host memory of struct work.
 */
struct forward {
    const struct attention_op *op;
    uint32_t step;
    float *kt, *v; /* the head: keys transposed, values */
    float *q;      /* the query */
    float *s, *e;  /* scores, exp(s - m) */
    double *sum, *y;
};

float row_max(const float *s, int64_t n)
{
    float m = -INFINITY;
    for (int64_t j = 0; j < n; j++)
        m = s[j] > m ? s[j] : m;
    return m;
}

/* A score of -Inf takes no part, even where m is -Inf. */
float row_exp(float *e, const float *s, int64_t n, float m)
{
    double total = 0.0;
    for (int64_t j = 0; j < n; j++) {
        e[j] = s[j] == -INFINITY ? 0.0f : s_exp(s[j] - m);
        total += (double)e[j];
    }
    return (float)total;
}

/* y of one query: the mean of the values under its weights. Keys that are
 * excluded are left out, so that a NaN in their values does no harm. */
static void weigh(struct forward *f, const struct query *at, float total)
{
    const struct attention_op *op = f->op;
    const struct attention_params *p = &op->p;
    memset(f->y, 0, (size_t)p->dv * sizeof(*f->y));
    for (int64_t j = 0; j < p->tk; j++) {
        if (f->s[j] == -INFINITY)
            continue;
        float w = s_div(f->e[j], total);
        if (p->dropout)
            w = dropout_value(w, is_dropped(p, f->step, at, j), p->keep);
        w = round_to(op->v.dtype, w);
        add_scaled(f->y, (double)w, f->v + j * p->dv, p->dv);
    }
    store_row(&op->y, at, f->y, 1.0f, p->dv);
}

/* One query: scores, their maximum, the exponentials and what they weigh. lse,
 * which the backward pass needs, is the logarithm of the sum of exponentials.
 */
static void attend(struct forward *f, const struct query *at)
{
    const struct attention_op *op = f->op;
    const struct attention_params *p = &op->p;
    unpack_row(f->q, &op->q, at, p->d);
    score_row(p, &op->mask, at, f->q, f->kt, f->sum, f->s, NULL);
    float m = row_max(f->s, p->tk);
    float total = row_exp(f->e, f->s, p->tk, m);
    float *lse = view_host(&op->lse);
    if (lse != NULL)
        lse[query_at(&op->lse, at)] = m + s_log(total); /* no key: -Inf */
    if (op->y.buffer != NULL)
        weigh(f, at, total);
}

/* Groups of query heads share one head of keys and values, which is unpacked
 * when the first of them begins. */
static ssq_status attention(struct backend_queue *queue,
                            const struct attention_op *op)
{
    (void)queue;
    const struct attention_params *p = &op->p;
    struct work w = {.n = 0};
    struct forward f = {.op = op,
                        .step = stream_step(&op->step),
                        .kt = work_floats(&w, p->d * p->tk),
                        .v = work_floats(&w, p->tk * p->dv),
                        .q = work_floats(&w, p->d),
                        .s = work_floats(&w, p->tk),
                        .e = work_floats(&w, p->tk),
                        .sum = work_doubles(&w, p->tk),
                        .y = work_doubles(&w, p->dv)};
    int64_t group = p->heads / p->kv_heads;
    for (int64_t b = 0; b < p->batch && !w.failed; b++)
        for (int64_t h = 0; h < p->heads; h++) {
            if (h % group == 0) {
                unpack_head(f.kt, &op->k, b, h / group, true);
                unpack_head(f.v, &op->v, b, h / group, false);
            }
            for (int64_t i = 0; i < p->tq; i++)
                attend(&f, &(struct query){b, h, i});
        }
    bool failed = w.failed;
    work_free(&w);
    return failed ? error_set(SSQ_ERR_NOMEM,
                              "attention: no host memory for a head of %lld "
                              "keys",
                              (long long)p->tk)
                  : SSQ_OK;
}

REFERENCE_IMPL(attention, attention);

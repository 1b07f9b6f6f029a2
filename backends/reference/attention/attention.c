/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - reference: scaled dot-product attention. */
#include "backends/reference/attention/attention.h"

#include "backends/reference/random/stream.h"
#include "backends/reference/rows.h"
#include "kernels/scalar/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "lib/core/base/error.h"

#include <string.h>

/* Allocate a zeroed block, which work_free() frees. A failure sets w->failed.
 * Callers can therefore allocate all blocks in one initialiser, and test for
 * failure once. */
static void *work_block(struct work *w, int64_t n, size_t size)
{
    void *p = mem_alloc_array((size_t)n, size);
    if (p == NULL)
        w->failed = true;
    else
        w->block[w->n++] = p;
    return p;
}

/* Callers must test w->failed before they write to a block. */
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

/* Unpack a head. An absent operand, of heads without elements, writes nothing,
 * and no element is read from it. */
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

/* Round a weight of the softmax before it multiplies v, as specified in
 * include/sesqui/ops/attention.h. */
float round_to(ssq_dtype dtype, float x)
{
    return bits_to_f32(f32_to_bits(x, dtype, ROUND_NEAREST, 0u), dtype);
}

/* Return the term that a mask adds to the score of key j: -Inf if it excludes
 * the key. */
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

/* Compute the scores of a query. The sums are float64 and rounded once. Then
 * scale, softcap and mask are applied in float32. A -Inf from the mask replaces
 * the score, because inf - inf would be NaN. */
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

/* Return whether an element of P is dropped. The number of its random word is
 * its index in P, [batch, heads, tq, tk]. Every device and the backward pass
 * therefore drop the same elements. */
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

/* The work memory of one call of attention, which is allocated by struct
 * work. */
struct attention_forward {
    const struct attention_op *op;
    uint32_t step;
    float *kt, *v; /* of the head: keys transposed, and values */
    float *q;      /* of the query */
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

/* An excluded key, with a score of -Inf, adds 0, even if m is -Inf. */
float row_exp(float *e, const float *s, int64_t n, float m)
{
    double total = 0.0;
    for (int64_t j = 0; j < n; j++) {
        e[j] = s[j] == -INFINITY ? 0.0f : s_exp(s[j] - m);
        total += (double)e[j];
    }
    return (float)total;
}

/* Compute y of one query: the mean of the values with its weights. Excluded
 * keys are skipped, so that a NaN in their values has no effect. */
static void weigh(struct attention_forward *f, const struct query *at,
                  float total)
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

/* Compute one query: its scores, their maximum, the exponentials, and y. lse,
 * for the backward pass, is the logarithm of the sum of the exponentials. */
static void attend(struct attention_forward *f, const struct query *at)
{
    const struct attention_op *op = f->op;
    const struct attention_params *p = &op->p;
    unpack_row(f->q, &op->q, at, p->d);
    score_row(p, &op->mask, at, f->q, f->kt, f->sum, f->s, NULL);
    float m = row_max(f->s, p->tk);
    float total = row_exp(f->e, f->s, p->tk, m);
    float *lse = view_host(&op->lse);
    if (lse != NULL)
        lse[query_at(&op->lse, at)] = m + s_log(total); /* -Inf if it has no
                                                           key */
    if (op->y.buffer != NULL)
        weigh(f, at, total);
}

/* Run attention. A group of query heads shares one head of keys and values,
 * which is unpacked at the first head of the group. */
static ssq_status attention(struct backend_queue *queue,
                            const struct attention_op *op)
{
    (void)queue;
    const struct attention_params *p = &op->p;
    struct work w = {.n = 0};
    struct attention_forward f = {.op = op,
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

/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - reference: scaled dot-product attention, query by query, in the
 * steps of include/sesqui/ops/attention.h. */
#include "backends/reference/attention/attention.h"

#include "backends/reference/random/stream.h"
#include "backends/reference/rows.h"
#include "kernels/scalar/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "lib/core/base/error.h"

#include <string.h>

void unpack_query(float *to, const struct view *v, const struct query *at,
                  int64_t n)
{
    if (v->buffer == NULL)
        return;
    struct line row = line_of(v, query_at(v, at));
    for (int64_t c = 0; c < n; c++)
        to[c] = line_load(&row, c);
}

void store_query(const struct view *v, const struct query *at,
                 const double *sum, float factor, int64_t n)
{
    struct line row = line_of(v, query_at(v, at));
    for (int64_t c = 0; c < n; c++)
        line_store(&row, c, factor * (float)sum[c]);
}

/* Unpack a head. An absent operand, of heads without elements, writes nothing,
 * and no element is read from it. */
void unpack_head(float *to, const struct view *v, int64_t b, int64_t h)
{
    if (v->buffer == NULL)
        return;
    for (int64_t j = 0; j < v->shape[2]; j++)
        unpack_query(to + j * v->shape[3], v, &(struct query){b, h, j},
                     v->shape[3]);
}

/* Round a weight of the softmax before it multiplies v, as specified in
 * include/sesqui/ops/attention.h. */
float round_to(ssq_dtype dtype, float x)
{
    return bits_to_f32(f32_to_bits(x, dtype, ROUND_NEAREST, 0u), dtype);
}

/* Return the number that is added to the score of key j: -Inf if the mask or
 * `causal` excludes the key. */
static float attention_mask(const struct attention_params *p,
                            const struct view *mask, const struct query *at,
                            int64_t j)
{
    if (p->causal && j - at->i > p->causal_offset)
        return -INFINITY;
    if (mask->buffer == NULL)
        return 0.0f;
    float m = view_load(mask, query_at(mask, at) + j * mask->stride[3]);
    if (mask->dtype == SSQ_U8)
        return m != 0.0f ? 0.0f : -INFINITY;
    return m;
}

/* Compute the score of key j, whose row is k:
 *
 *     s = scale sum(q k), s = softcap tanh(s / softcap), s = s + mask
 *
 * The sum is rounded once, and the rest is float32. A mask of -Inf replaces the
 * score, because inf - inf would be NaN. */
static float attention_score(const struct attention_params *p,
                             const struct view *mask, const struct query *at,
                             int64_t j, const float *q, const float *k,
                             float *slope)
{
    float s = p->scale * dot_product(q, k, p->d);
    if (p->softcap != 0.0f) {
        float x = s_div(s, p->softcap);
        s = p->softcap * s_tanh(x);
        if (slope != NULL)
            *slope = s_tanh_grad(x);
    }
    float m = attention_mask(p, mask, at, j);
    return m == -INFINITY ? m : s + m;
}

void score_row(const struct attention_params *p, const struct view *mask,
               const struct query *at, const float *q, const float *k, float *s,
               float *slope)
{
    for (int64_t j = 0; j < p->tk; j++)
        s[j] = attention_score(p, mask, at, j, q, k + j * p->d,
                               slope == NULL ? NULL : &slope[j]);
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

/* One call of attention, and its work memory. */
struct attention_forward {
    const struct attention_op *op;
    uint32_t step;
    float *k, *v; /* of the head */
    float *q;     /* of the query */
    float *s, *e; /* a row: scores, exp(s - m) */
    double *y;    /* of the query */
};

/* Compute y = sum of P[j] v[j] of a query, with P[j] = e[j] / total. Dropout
 * changes P, and then P is rounded to the dtype of v. Excluded keys are
 * skipped, so that a NaN in their values has no effect. */
static void attention_values(struct attention_forward *f,
                             const struct query *at, float total)
{
    const struct attention_op *op = f->op;
    const struct attention_params *p = &op->p;
    memset(f->y, 0, (size_t)p->dv * sizeof(*f->y));
    for (int64_t j = 0; j < p->tk; j++) {
        if (f->s[j] == -INFINITY)
            continue;
        float weight = s_div(f->e[j], total);
        if (p->dropout)
            weight =
                dropout_value(weight, is_dropped(p, f->step, at, j), p->keep);
        weight = round_to(op->v.dtype, weight);
        add_scaled(f->y, weight, f->v + j * p->dv, p->dv);
    }
    store_query(&op->y, at, f->y, 1.0f, p->dv);
}

/* Compute one query:
 *
 *     m = max(s), total = sum(exp(s - m)), lse = m + log(total)
 *
 * and y. lse, for the backward op, is -Inf for a query without a key. */
static void attention_query(struct attention_forward *f, const struct query *at)
{
    const struct attention_op *op = f->op;
    const struct attention_params *p = &op->p;
    unpack_query(f->q, &op->q, at, p->d);
    score_row(p, &op->mask, at, f->q, f->k, f->s, NULL);
    float m = row_max(f->s, p->tk);
    float total = row_exp(f->e, f->s, p->tk, m);
    if (op->lse.buffer != NULL)
        view_store(&op->lse, query_at(&op->lse, at), m + s_log(total));
    if (op->y.buffer != NULL)
        attention_values(f, at, total);
}

/* Run attention. A group of query heads shares one head of keys and values,
 * which is unpacked at the first head of the group. */
static ssq_status reference_attention_run(struct backend_queue *queue,
                                          const struct attention_op *op)
{
    (void)queue;
    const struct attention_params *p = &op->p;
    struct work w = {.n = 0};
    struct attention_forward f = {.op = op,
                                  .step = stream_step(&op->step),
                                  .k = work_floats(&w, p->tk * p->d),
                                  .v = work_floats(&w, p->tk * p->dv),
                                  .q = work_floats(&w, p->d),
                                  .s = work_floats(&w, p->tk),
                                  .e = work_floats(&w, p->tk),
                                  .y = work_doubles(&w, p->dv)};
    int64_t group = p->heads / p->kv_heads;
    for (int64_t b = 0; b < p->batch && !w.failed; b++)
        for (int64_t h = 0; h < p->heads; h++) {
            if (h % group == 0) {
                unpack_head(f.k, &op->k, b, h / group);
                unpack_head(f.v, &op->v, b, h / group);
            }
            for (int64_t i = 0; i < p->tq; i++)
                attention_query(&f, &(struct query){b, h, i});
        }
    bool failed = w.failed;
    work_free(&w);
    return failed ? error_set(SSQ_ERR_NOMEM,
                              "attention: no host memory for a head of %lld "
                              "keys",
                              (long long)p->tk)
                  : SSQ_OK;
}

REFERENCE_IMPL(attention);

/* SPDX-License-Identifier: Apache-2.0 */
/* attention_backward.c - reference: gradients of attention. */
#include "backends/reference/attention/attention.h"

#include "backends/reference/random/stream.h"
#include "kernels/attention/saved.h"
#include "kernels/scalar/convert.h"
#include "lib/core/base/error.h"

#include <string.h>

/* The work memory of one call. f P are the weights after dropout, and dS is the
 * gradient of the scores. */
struct reference_attention_backward {
    const struct attention_backward_op *op;
    uint32_t step;
    ssq_dtype dtype;       /* to which P and dS are rounded */
    float *k, *kt, *vt;    /* of the head: keys, and keys and values
                              transposed */
    float *q, *y, *dy;     /* of the query */
    float *s, *p, *ds;     /* a row: scores, f P, dS */
    float *slope;          /* a row: derivatives of the capped scores */
    double *sum, *dp, *dq; /* of a row, of a row, of the query */
    double *dk, *dv;       /* of the head */
};

/* Return a dot product, summed in float64 and rounded once. */
static float dot(const float *a, const float *b, int64_t n)
{
    double sum = 0.0;
    for (int64_t c = 0; c < n; c++)
        sum += (double)a[c] * (double)b[c];
    return (float)sum;
}

/* Compute dP = dy v^T for all keys of a query. */
static void slopes(struct reference_attention_backward *w,
                   const struct attention_params *p)
{
    memset(w->dp, 0, (size_t)p->tk * sizeof(*w->dp));
    for (int64_t c = 0; c < p->dv; c++)
        add_scaled(w->dp, (double)w->dy[c], w->vt + c * p->tk, p->tk);
}

/* Return the part of lse that rounding has removed. The row of dS is not in use
 * yet, and is overwritten with exponentials. */
static float row_rest(struct reference_attention_backward *w, float lse)
{
    int64_t n = w->op->p.tk;
    if (!attention_large(lse))
        return 0.0f;
    float m = row_max(w->s, n);
    return attention_rest_of(lse, m, row_exp(w->ds, w->s, n, m));
}

/* Compute f P and dS of a row: dS = P (dP - delta). delta = dy y is used for
 * the sum of P dP over all keys. P is computed again from the scores, lse and
 * the part that rounding has removed from lse. Both results are rounded to the
 * dtype of v, like the weights of the forward pass. */
static void row_slopes(struct reference_attention_backward *w,
                       const struct query *at, float lse)
{
    const struct attention_params *p = &w->op->p;
    float delta = dot(w->dy, w->y, p->dv), rest = row_rest(w, lse);
    for (int64_t j = 0; j < p->tk; j++) {
        if (w->s[j] == -INFINITY)
            continue;
        float probability = s_exp((w->s[j] - lse) - rest);
        float factored = probability;
        float dp = (float)w->dp[j];
        if (p->dropout) {
            bool drop = is_dropped(p, w->step, at, j);
            factored = dropout_value(probability, drop, p->keep);
            dp = dropout_value(dp, drop, p->keep);
        }
        w->p[j] = round_to(w->dtype, factored);
        float ds = probability * (dp - delta);
        if (p->softcap != 0.0f)
            ds *= w->slope[j];
        w->ds[j] = round_to(w->dtype, ds);
    }
}

/* Add the contribution of one query to the gradients of its head, and to its
 * own gradient. */
static void add_query(struct reference_attention_backward *w,
                      const struct query *at, float lse)
{
    const struct attention_backward_op *op = w->op;
    const struct attention_params *p = &op->p;
    unpack_row(w->q, &op->q, at, p->d);
    unpack_row(w->y, &op->y, at, p->dv);
    unpack_row(w->dy, &op->dy, at, p->dv);
    score_row(p, &op->mask, at, w->q, w->kt, w->sum, w->s, w->slope);
    slopes(w, p);
    row_slopes(w, at, lse);
    for (int64_t j = 0; j < p->tk; j++) {
        if (w->s[j] == -INFINITY)
            continue;
        add_scaled(w->dq, (double)w->ds[j], w->k + j * p->d, p->d);
        add_scaled(w->dk + j * p->d, (double)w->ds[j], w->q, p->d);
        add_scaled(w->dv + j * p->dv, (double)w->p[j], w->dy, p->dv);
    }
}

/* Process one query: compute its gradient, and add to the gradients of its keys
 * and values. */
static void query_gradient(struct reference_attention_backward *w,
                           const struct query *at)
{
    const struct attention_backward_op *op = w->op;
    const float *saved = view_host(&op->lse);
    float lse = saved[query_at(&op->lse, at)];
    memset(w->dq, 0, (size_t)op->p.d * sizeof(*w->dq));
    if (lse != -INFINITY) /* -Inf: the query has no key */
        add_query(w, at, lse);
    if (op->dq.buffer != NULL)
        store_row(&op->dq, at, w->dq, op->p.scale, op->p.d);
}

/* Process all queries of the heads that share keys and values. */
static void head_gradient(struct reference_attention_backward *w, int64_t b,
                          int64_t kv_head)
{
    const struct attention_backward_op *op = w->op;
    const struct attention_params *p = &op->p;
    int64_t group = p->heads / p->kv_heads;
    unpack_head(w->k, &op->k, b, kv_head, false);
    unpack_head(w->kt, &op->k, b, kv_head, true);
    unpack_head(w->vt, &op->v, b, kv_head, true);
    memset(w->dk, 0, (size_t)(p->tk * p->d) * sizeof(*w->dk));
    memset(w->dv, 0, (size_t)(p->tk * p->dv) * sizeof(*w->dv));
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; h++)
        for (int64_t i = 0; i < p->tq; i++)
            query_gradient(w, &(struct query){b, h, i});
    for (int64_t j = 0; j < p->tk; j++) {
        const struct query key = {b, kv_head, j};
        if (op->dk.buffer != NULL)
            store_row(&op->dk, &key, w->dk + j * p->d, p->scale, p->d);
        if (op->dv.buffer != NULL)
            store_row(&op->dv, &key, w->dv + j * p->dv, 1.0f, p->dv);
    }
}

/* Run the backward of attention. Query heads that share keys are processed
 * together, because the gradients of the keys are sums over these heads. */
static ssq_status attention_backward(struct backend_queue *queue,
                                     const struct attention_backward_op *op)
{
    (void)queue;
    const struct attention_params *p = &op->p;
    struct work work = {.n = 0};
    struct reference_attention_backward w = {
        .op = op,
        .step = stream_step(&op->step),
        .dtype = op->v.dtype,
        .k = work_floats(&work, p->tk * p->d),
        .kt = work_floats(&work, p->d * p->tk),
        .vt = work_floats(&work, p->dv * p->tk),
        .q = work_floats(&work, p->d),
        .y = work_floats(&work, p->dv),
        .dy = work_floats(&work, p->dv),
        .s = work_floats(&work, p->tk),
        .p = work_floats(&work, p->tk),
        .ds = work_floats(&work, p->tk),
        .slope = work_floats(&work, p->tk),
        .sum = work_doubles(&work, p->tk),
        .dp = work_doubles(&work, p->tk),
        .dq = work_doubles(&work, p->d),
        .dk = work_doubles(&work, p->tk * p->d),
        .dv = work_doubles(&work, p->tk * p->dv)};
    for (int64_t b = 0; b < p->batch && !work.failed; b++)
        for (int64_t h = 0; h < p->kv_heads; h++)
            head_gradient(&w, b, h);
    bool failed = work.failed;
    work_free(&work);
    return failed ? error_set(SSQ_ERR_NOMEM,
                              "attention_backward: no host memory for a head "
                              "of %lld keys",
                              (long long)p->tk)
                  : SSQ_OK;
}

REFERENCE_IMPL(attention_backward, attention_backward);

/* SPDX-License-Identifier: Apache-2.0 */
/* attention_backward.c - reference: gradients of attention, query by query.
 *
 * With the scores s of a query, its P, and the dropout factor f of an element:
 *
 *     P  = exp((s - lse) - rest), delta = sum(dy y)
 *     dS = P (f (dy v^T) - delta), with softcap times 1 - tanh(..)^2
 *     dq = scale dS k
 *     dk = scale sum of dS^T q, dv = sum of (f P)^T dy
 *
 * The last two are sums over the queries of all heads that share keys. */
#include "backends/reference/attention/attention.h"

#include "backends/reference/random/stream.h"
#include "kernels/attention/saved.h"
#include "lib/core/base/error.h"

#include <string.h>

/* One call, and its work memory. */
struct reference_attention_backward {
    const struct attention_backward_op *op;
    uint32_t step;
    float *k, *v;      /* of the head */
    float *q, *y, *dy; /* of the query */
    float *s, *slope;  /* a row: scores, derivatives of the capped scores */
    float *fp, *ds;    /* a row: f P and dS */
    double *dq;        /* of the query */
    double *dk, *dv;   /* of the head */
};

/* Return the part of lse that rounding has removed. The row of dS is not in use
 * yet, and is overwritten with exponentials. */
static float attention_rest(struct reference_attention_backward *w, float lse)
{
    int64_t n = w->op->p.tk;
    if (!attention_large(lse))
        return 0.0f;
    float m = row_max(w->s, n);
    return attention_rest_of(lse, m, row_exp(w->ds, w->s, n, m));
}

/* Compute f P and dS of a query, in float32. Both are rounded to the dtype of
 * v, like the P of the forward op. Excluded keys are skipped. */
static void attention_slopes(struct reference_attention_backward *w,
                             const struct query *at, float lse)
{
    const struct attention_params *p = &w->op->p;
    const ssq_dtype dtype = w->op->v.dtype;
    float delta = dot_product(w->dy, w->y, p->dv);
    float rest = attention_rest(w, lse);
    for (int64_t j = 0; j < p->tk; j++) {
        if (w->s[j] == -INFINITY)
            continue;
        float probability = s_exp((w->s[j] - lse) - rest), fp = probability;
        float dp = dot_product(w->dy, w->v + j * p->dv, p->dv);
        if (p->dropout) {
            bool drop = is_dropped(p, w->step, at, j);
            fp = dropout_value(probability, drop, p->keep);
            dp = dropout_value(dp, drop, p->keep);
        }
        float ds = probability * (dp - delta);
        if (p->softcap != 0.0f)
            ds *= w->slope[j];
        w->fp[j] = round_to(dtype, fp);
        w->ds[j] = round_to(dtype, ds);
    }
}

/* Compute the gradient of a query, and add to the gradients of its keys and
 * values. */
static void attention_add_query(struct reference_attention_backward *w,
                                const struct query *at, float lse)
{
    const struct attention_backward_op *op = w->op;
    const struct attention_params *p = &op->p;
    unpack_query(w->q, &op->q, at, p->d);
    unpack_query(w->y, &op->y, at, p->dv);
    unpack_query(w->dy, &op->dy, at, p->dv);
    score_row(p, &op->mask, at, w->q, w->k, w->s, w->slope);
    attention_slopes(w, at, lse);
    for (int64_t j = 0; j < p->tk; j++) {
        if (w->s[j] == -INFINITY)
            continue;
        add_scaled(w->dq, w->ds[j], w->k + j * p->d, p->d);
        add_scaled(w->dk + j * p->d, w->ds[j], w->q, p->d);
        add_scaled(w->dv + j * p->dv, w->fp[j], w->dy, p->dv);
    }
}

/* Process one query. If its lse is -Inf it has no key, and adds nothing. */
static void attention_query_gradient(struct reference_attention_backward *w,
                                     const struct query *at)
{
    const struct attention_backward_op *op = w->op;
    float lse = view_load(&op->lse, query_at(&op->lse, at));
    memset(w->dq, 0, (size_t)op->p.d * sizeof(*w->dq));
    if (lse != -INFINITY)
        attention_add_query(w, at, lse);
    if (op->dq.buffer != NULL)
        store_query(&op->dq, at, w->dq, op->p.scale, op->p.d);
}

/* Process all queries of the heads that share keys and values. */
static void attention_head_gradient(struct reference_attention_backward *w,
                                    int64_t b, int64_t kv_head)
{
    const struct attention_backward_op *op = w->op;
    const struct attention_params *p = &op->p;
    int64_t group = p->heads / p->kv_heads;
    unpack_head(w->k, &op->k, b, kv_head);
    unpack_head(w->v, &op->v, b, kv_head);
    memset(w->dk, 0, (size_t)(p->tk * p->d) * sizeof(*w->dk));
    memset(w->dv, 0, (size_t)(p->tk * p->dv) * sizeof(*w->dv));
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; h++)
        for (int64_t i = 0; i < p->tq; i++)
            attention_query_gradient(w, &(struct query){b, h, i});
    for (int64_t j = 0; j < p->tk; j++) {
        const struct query key = {b, kv_head, j};
        if (op->dk.buffer != NULL)
            store_query(&op->dk, &key, w->dk + j * p->d, p->scale, p->d);
        if (op->dv.buffer != NULL)
            store_query(&op->dv, &key, w->dv + j * p->dv, 1.0f, p->dv);
    }
}

static ssq_status
reference_attention_backward_run(struct backend_queue *queue,
                                 const struct attention_backward_op *op)
{
    (void)queue;
    const struct attention_params *p = &op->p;
    struct work work = {.n = 0};
    struct reference_attention_backward w = {
        .op = op,
        .step = stream_step(&op->step),
        .k = work_floats(&work, p->tk * p->d),
        .v = work_floats(&work, p->tk * p->dv),
        .q = work_floats(&work, p->d),
        .y = work_floats(&work, p->dv),
        .dy = work_floats(&work, p->dv),
        .s = work_floats(&work, p->tk),
        .slope = work_floats(&work, p->tk),
        .fp = work_floats(&work, p->tk),
        .ds = work_floats(&work, p->tk),
        .dq = work_doubles(&work, p->d),
        .dk = work_doubles(&work, p->tk * p->d),
        .dv = work_doubles(&work, p->tk * p->dv)};
    for (int64_t b = 0; b < p->batch && !work.failed; b++)
        for (int64_t h = 0; h < p->kv_heads; h++)
            attention_head_gradient(&w, b, h);
    bool failed = work.failed;
    work_free(&work);
    return failed ? error_set(SSQ_ERR_NOMEM,
                              "attention_backward: no host memory for a head "
                              "of %lld keys",
                              (long long)p->tk)
                  : SSQ_OK;
}

REFERENCE_IMPL(attention_backward);

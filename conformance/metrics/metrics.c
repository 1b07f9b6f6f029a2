/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - cases of top-k accuracy and perplexity: exact. */
#include "conformance/case.h"

#include <stdlib.h>

static const struct {
    struct shape shape; /* of the logits */
    ssq_dtype dtype;
    enum layout layout;
    enum fill fill;
    int64_t ignore;
} fields[] = {
    {{2, {1, 1}}, SSQ_F32, LAYOUT_DENSE, FILL_NORMAL, -100},
    {{1, {7}}, SSQ_F16, LAYOUT_DENSE, FILL_NORMAL, -100},
    {{2, {31, 10}}, SSQ_F32, LAYOUT_DENSE, FILL_NORMAL, -100},
    {{2, {31, 10}}, SSQ_F16, LAYOUT_PADDED, FILL_INTEGERS, 3},
    {{2, {31, 10}}, SSQ_BF16, LAYOUT_TRANSPOSED, FILL_INTEGERS, -1},
    {{3, {5, 6, 7}}, SSQ_F32, LAYOUT_TRANSPOSED, FILL_INTEGERS, 2},
    {{4, {3, 5, 4, 2}}, SSQ_BF16, LAYOUT_PADDED, FILL_NORMAL, -100},
    {{2, {101, 3}}, SSQ_F32, LAYOUT_DENSE, FILL_SPECIAL, -100},
    {{2, {101, 3}}, SSQ_F16, LAYOUT_DENSE, FILL_SPECIAL, 0},
    {{2, {9, 5}}, SSQ_F32, LAYOUT_DENSE, FILL_NAN, -100},
    {{2, {9, 5}}, SSQ_F32, LAYOUT_BROADCAST, FILL_ZERO, -100},
    {{2, {0, 5}}, SSQ_F32, LAYOUT_DENSE, FILL_NORMAL, -100},
    {{2, {9, 0}}, SSQ_F32, LAYOUT_DENSE, FILL_NORMAL, -100},
    {{2, {9, 0}}, SSQ_F32, LAYOUT_DENSE, FILL_NORMAL, -1},
    {{2, {1, 0}}, SSQ_F32, LAYOUT_DENSE, FILL_NORMAL, 0},
    {{2, {1, 0}}, SSQ_F16, LAYOUT_DENSE, FILL_NORMAL, -1},
    {{3, {5, 0, 7}}, SSQ_BF16, LAYOUT_PADDED, FILL_NORMAL, 0},
    {{1, {0}}, SSQ_F32, LAYOUT_DENSE, FILL_NORMAL, -100},
    {{2, {2, 50257}}, SSQ_F32, LAYOUT_DENSE, FILL_NORMAL, -100},
};
static const int64_t ks[] = {1, 2, 5, INT64_MAX};
#define TABLE (COUNT(fields) * COUNT(ks))

struct key {
    double x;
    int64_t i;
};

/* The order of an argsort: NaN first, then falling, ties by index. */
static int metrics_compare(const void *a, const void *b)
{
    const struct key *p = a, *q = b;
    if (isnan(p->x) != isnan(q->x))
        return isnan(p->x) ? -1 : 1;
    if (!isnan(p->x) && p->x != q->x)
        return p->x > q->x ? -1 : 1;
    return (p->i > q->i) - (p->i < q->i);
}

/* Is target among the first k of a sorted row? */
static bool is_hit(struct key *keys, int64_t n, int64_t target, int64_t k)
{
    qsort(keys, (size_t)n, sizeof(*keys), metrics_compare);
    for (int64_t i = 0; i < n && i < k; i++)
        if (keys[i].i == target)
            return true;
    return false;
}

struct counts {
    double hits, rows;
};

static struct counts metrics_count(struct harness *b, const struct operand *x,
                                   const struct operand *target, int64_t k,
                                   int64_t ignore)
{
    int64_t n = x->rank == 1 ? x->n : x->shape[1], inner = 1;
    for (int i = 2; i < x->rank; i++)
        inner *= x->shape[i];
    struct key *keys = harness_alloc(b, (size_t)n * sizeof(*keys));
    struct counts c = {0, 0};
    for (int64_t r = 0; r < target->n; r++) {
        int64_t t = (int64_t)target->value[r];
        if (t == ignore)
            continue;
        for (int64_t i = 0; i < n; i++)
            keys[i] = (struct key){
                x->value[(r / inner * n + i) * inner + r % inner], i};
        c.rows++;
        c.hits += is_hit(keys, n, t, k);
    }
    return c;
}

/* Targets among the classes, and now and then outside. */
static void metrics_make_target(struct harness *b, const struct operand *x,
                                struct operand *target)
{
    int64_t shape[SSQ_MAX_RANK], rows = 1;
    int64_t n = x->rank == 1 ? x->n : x->shape[1];
    int rank = x->rank - 1;
    for (int i = 0; i < rank; i++) {
        shape[i] = i == 0 ? x->shape[0] : x->shape[i + 1];
        rows *= shape[i];
    }
    double *v = harness_alloc(b, (size_t)rows * sizeof(*v));
    for (int64_t i = 0; i < rows; i++)
        v[i] = floor(harness_uniform(b) * (double)(n + 2)) - 1.0;
    harness_values(b, target, SSQ_I32, rank, shape, LAYOUT_PADDED, v);
}

static bool metrics_run_table(struct harness *b, size_t i)
{
    int64_t k = ks[pick(&i, COUNT(ks))];
    const struct shape *s = &fields[i].shape;
    struct operand x, target, accuracy, hits;
    harness_input(b, &x, fields[i].dtype, s->rank, s->d, fields[i].layout,
                  fields[i].fill);
    metrics_make_target(b, &x, &target);
    harness_output(b, &accuracy, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    harness_output(b, &hits, SSQ_I32, 0, NULL, LAYOUT_DENSE);
    b->bytes = (double)x.n * ssq_dtype_bits(x.dtype) / 8.0;
    ssq_top_k_accuracy_args a = SSQ_TOP_K_ACCURACY_INIT;
    a.logits = x.t;
    a.target = target.t;
    a.accuracy = accuracy.t;
    a.hits = hits.t;
    a.k = k;
    a.ignore_index = fields[i].ignore;
    HARNESS_OP(b, ssq_top_k_accuracy(b->queue, &a));
    harness_read(b, &accuracy);
    harness_read(b, &hits);
    struct counts c = metrics_count(b, &x, &target, k, fields[i].ignore);
    /* counts below 2^24: one rounding */
    double quotient = (double)((float)c.hits / (float)c.rows);
    if (c.rows == 0.0)
        quotient = (double)NAN;
    return harness_exact(b, &accuracy, &quotient) &&
           harness_exact(b, &hits, &c.hits) && harness_same(b, &accuracy) &&
           harness_same(b, &hits) && harness_unchanged(b, &x) &&
           harness_unchanged(b, &target);
}

/* Ties go to the lower index; NaN before Inf; -0 is +0. One output each. */
static bool metrics_run_order(struct harness *b)
{
    const double nan = (double)NAN, inf = (double)INFINITY;
    const double x[5][4] = {{1, 1, 1, 1},          /* target 2: third */
                            {nan, inf, nan, 0},    /* 1: third */
                            {-0.0, 0.0, -1, 5},    /* 1: third */
                            {-inf, -inf, -1, nan}, /* 0: third */
                            {0, 0, 0, 0}};         /* ignored */
    const double targets[] = {2, 1, 1, 0, -100};
    const int64_t shape[] = {5, 4};
    struct operand in, target, accuracy, hits;
    harness_values(b, &in, SSQ_F16, 2, shape, LAYOUT_DENSE, x[0]);
    harness_values(b, &target, SSQ_I32, 1, shape, LAYOUT_DENSE, targets);
    bool ok = true;
    for (int64_t k = 2; k <= 3; k++) {
        const double want = k == 3 ? 1.0 : 0.0, all = 4.0 * want;
        harness_output(b, &accuracy, SSQ_F32, 0, NULL, LAYOUT_DENSE);
        harness_output(b, &hits, SSQ_I32, 0, NULL, LAYOUT_DENSE);
        ssq_top_k_accuracy_args a = SSQ_TOP_K_ACCURACY_INIT;
        a.logits = in.t;
        a.target = target.t;
        a.k = k;
        a.accuracy = accuracy.t;
        HARNESS_OP(b, ssq_top_k_accuracy(b->queue, &a));
        a.accuracy = NULL;
        a.hits = hits.t;
        HARNESS_OP(b, ssq_top_k_accuracy(b->queue, &a));
        harness_read(b, &accuracy);
        harness_read(b, &hits);
        ok = ok && harness_exact(b, &accuracy, &want) &&
             harness_exact(b, &hits, &all);
    }
    return ok;
}

/* Of ignored rows only, nothing is known. */
static bool run_ignored(struct harness *b)
{
    const int64_t shape[] = {3, 4};
    const double targets[] = {7, 7, 7}, nan = (double)NAN, zero = 0.0;
    struct operand x, target, accuracy, hits;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_values(b, &target, SSQ_I32, 1, shape, LAYOUT_DENSE, targets);
    harness_output(b, &accuracy, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    harness_output(b, &hits, SSQ_I32, 0, NULL, LAYOUT_DENSE);
    ssq_top_k_accuracy_args a = SSQ_TOP_K_ACCURACY_INIT;
    a.logits = x.t;
    a.target = target.t;
    a.accuracy = accuracy.t;
    a.hits = hits.t;
    a.ignore_index = 7;
    HARNESS_OP(b, ssq_top_k_accuracy(b->queue, &a));
    harness_read(b, &accuracy);
    harness_read(b, &hits);
    return harness_exact(b, &accuracy, &nan) && harness_exact(b, &hits, &zero);
}

/* k = 1 counts what argmax finds. */
static bool run_argmax(struct harness *b)
{
    const int64_t shape[] = {97, 5};
    struct operand x, y, accuracy;
    const double one = 1.0;
    harness_input(b, &x, SSQ_BF16, 2, shape, LAYOUT_DENSE, FILL_SPECIAL);
    harness_output(b, &y, SSQ_I32, 1, shape, LAYOUT_DENSE);
    harness_output(b, &accuracy, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    ssq_argmax_args m = SSQ_ARGMAX_INIT;
    m.x = x.t;
    m.y = y.t;
    HARNESS_OP(b, ssq_argmax(b->queue, &m));
    ssq_top_k_accuracy_args a = SSQ_TOP_K_ACCURACY_INIT;
    a.logits = x.t;
    a.target = y.t;
    a.accuracy = accuracy.t;
    HARNESS_OP(b, ssq_top_k_accuracy(b->queue, &a));
    harness_read(b, &accuracy);
    return harness_exact(b, &accuracy, &one);
}

static void metrics_refuse(struct harness *b, const ssq_top_k_accuracy_args *a,
                           const char *words)
{
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_top_k_accuracy(b->queue, a),
                       words);
}

static bool metrics_run_refusals(struct harness *b)
{
    const int64_t shape[] = {3, 4};
    struct operand x, target, wide, accuracy, hits, scalar;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &target, SSQ_I32, 1, shape, LAYOUT_DENSE, FILL_ZERO);
    harness_input(b, &wide, SSQ_I32, 1, shape + 1, LAYOUT_DENSE, FILL_ZERO);
    harness_input(b, &scalar, SSQ_F32, 0, NULL, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &accuracy, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    harness_output(b, &hits, SSQ_I32, 0, NULL, LAYOUT_DENSE);
    ssq_top_k_accuracy_args a = SSQ_TOP_K_ACCURACY_INIT;
    a.target = target.t;
    metrics_refuse(b, &a, "top_k_accuracy: logits is NULL");
    a.logits = x.t;
    metrics_refuse(b, &a, "no output: accuracy and hits are NULL");
    a.hits = hits.t;
    a.k = 0;
    metrics_refuse(b, &a, "k is 0, expected at least 1");
    a.k = 1;
    a.target = wide.t;
    metrics_refuse(b, &a, "target is [4], expected [3]: logits is [3,4]");
    a.target = x.t;
    metrics_refuse(b, &a, "target is f32, expected i32");
    a.target = target.t;
    a.accuracy = x.t;
    metrics_refuse(b, &a, "accuracy overlaps logits");
    a.accuracy = NULL;
    a.hits = wide.t;
    metrics_refuse(b, &a, "hits has 4 elements, expected 1");
    a.hits = accuracy.t;
    metrics_refuse(b, &a, "hits is f32, expected i32");
    a.hits = hits.t;
    a.logits = scalar.t;
    metrics_refuse(b, &a, "logits is a scalar");
    a.struct_size = 0;
    metrics_refuse(b, &a, "struct_size is 0");
    ssq_perplexity_args p = SSQ_PERPLEXITY_INIT;
    p.y = accuracy.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_perplexity(b->queue, &p),
                       "perplexity: loss is NULL");
    p.loss = target.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_perplexity(b->queue, &p),
                       "perplexity: loss is i32, expected f32");
    p.loss = x.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_perplexity(b->queue, &p),
                       "perplexity: loss is [3,4], y is []");
    return harness_unchanged(b, &accuracy) && harness_unchanged(b, &hits);
}

/* exp, below 0.9 ulp, also in place. */
static bool run_perplexity(struct harness *b, bool in_place)
{
    const double loss[] = {0,
                           1,
                           2.302585,
                           10.8,
                           88.7,
                           88.8,
                           -1,
                           1e-8,
                           (double)NAN,
                           (double)INFINITY,
                           -(double)INFINITY};
    const int64_t n = COUNT(loss);
    struct operand x, y;
    double want[COUNT(loss)];
    harness_values(b, &x, SSQ_F32, 1, &n, LAYOUT_DENSE, loss);
    for (int64_t i = 0; i < n; i++)
        want[i] = exp(x.value[i]);
    if (in_place)
        y = x;
    else
        harness_output(b, &y, SSQ_F32, 1, &n, LAYOUT_PADDED);
    ssq_perplexity_args a = SSQ_PERPLEXITY_INIT;
    a.loss = x.t;
    a.y = y.t;
    HARNESS_OP(b, ssq_perplexity(b->queue, &a));
    harness_read(b, &y);
    return harness_ulps(b, &y, want, 0.9) && harness_same(b, &y);
}

static const char *const named[] = {
    "top_k_accuracy: ties, NaN, signed zeros, ignored rows",
    "top_k_accuracy of argmax is 1",
    "metrics refuse misuse",
    "perplexity",
    "perplexity in place",
    "top_k_accuracy of ignored rows is NaN"};

static bool metrics_run(struct harness *b, size_t i)
{
    if (i < TABLE)
        return metrics_run_table(b, i);
    switch (i - TABLE) {
    case 0:
        return metrics_run_order(b);
    case 1:
        return run_argmax(b);
    case 2:
        return metrics_run_refusals(b);
    case 5:
        return run_ignored(b);
    default:
        return run_perplexity(b, i - TABLE == 4);
    }
}

static void metrics_describe(size_t i, char *text, size_t bytes)
{
    char shape[64];
    if (i >= TABLE) {
        snprintf(text, bytes, "%s", named[i - TABLE]);
        return;
    }
    int64_t k = ks[pick(&i, COUNT(ks))];
    snprintf(text, bytes, "top_k_accuracy %s %s %s %s k %lld, ignoring %lld",
             ssq_dtype_name(fields[i].dtype),
             shape_text(&fields[i].shape, shape, sizeof(shape)),
             layout_text(fields[i].layout), fill_text(fields[i].fill),
             (long long)k, (long long)fields[i].ignore);
}

extern const struct suite metrics_suite;
const struct suite metrics_suite = {.op = "top_k_accuracy",
                                    .name = "metrics",
                                    .n = TABLE + COUNT(named),
                                    .describe = metrics_describe,
                                    .run = metrics_run,
                                    .bit_equal = true,
                                    .floor = 50};

/* SPDX-License-Identifier: Apache-2.0 */
/* argmax.c - cases of argmax and argmin: ties, first and last, NaN, zeros,
 * axes, dtypes. */
#include "conformance/case.h"

static const struct geometry {
    struct shape x;
    int axis, real;
    bool keepdim;
} geometries[] = {
    {{1, {1}}, -1, 0, false},        {{1, {37}}, 0, 0, true},
    {{2, {5, 13}}, -1, 1, false},    {{2, {13, 5}}, 0, 0, true},
    {{3, {3, 600, 2}}, 1, 1, false}, {{6, {2, 3, 1, 2, 3, 2}}, 4, 4, true},
    {{3, {2, 3, 7}}, -3, 0, false},  {{2, {0, 5}}, -1, 1, false},
    {{2, {5, 0}}, 0, 0, false},      {{1, {70001}}, 0, 0, false},
};

static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16, SSQ_I32, SSQ_U8};

/* integers: many ties */
static const enum fill fills[] = {FILL_INTEGERS, FILL_SPECIAL, FILL_ZERO,
                                  FILL_NAN};

struct argmax_choice {
    const struct geometry *g;
    ssq_dtype dtype;
    enum fill fill;
    enum layout layout;
    bool minimum, last;
};

#define TABLE (COUNT(geometries) * COUNT(dtypes) * COUNT(fills) * 4)

static struct argmax_choice argmax_choose(size_t i)
{
    struct argmax_choice c = {.layout = (enum layout)(i % 3)};
    c.minimum = pick(&i, 2) != 0;
    c.last = pick(&i, 2) != 0;
    c.dtype = dtypes[pick(&i, COUNT(dtypes))];
    c.fill = fills[pick(&i, COUNT(fills))];
    c.g = &geometries[i];
    return c;
}

/* PyTorch's order: NaN beats all; of equals the first stays, or the last. */
static bool beats(const struct argmax_choice *c, double v, double best)
{
    if (isnan(v) || isnan(best))
        return isnan(v) && (c->last || !isnan(best));
    return (c->minimum ? v < best : v > best) || (c->last && v == best);
}

static bool argmax_run_table(struct harness *b, size_t i)
{
    struct argmax_choice c = argmax_choose(i);
    struct shape s = {0, {0}};
    int64_t inner = 1, size = c.g->x.d[c.g->real];
    for (int d = 0; d < c.g->x.rank; d++) {
        if (d != c.g->real || c.g->keepdim)
            s.d[s.rank++] = d == c.g->real ? 1 : c.g->x.d[d];
        if (d > c.g->real)
            inner *= c.g->x.d[d];
    }
    struct operand x, y;
    harness_input(b, &x, c.dtype, c.g->x.rank, c.g->x.d, c.layout, c.fill);
    harness_output(b, &y, SSQ_I32, s.rank, s.d, LAYOUT_PADDED);
    ssq_argmax_args args = SSQ_ARGMAX_INIT;
    args.x = x.t;
    args.y = y.t;
    args.axis = c.g->axis;
    args.last = c.last;
    b->bytes = (double)x.n * ssq_dtype_bits(c.dtype) / 8.0;
    HARNESS_OP(b, c.minimum ? ssq_argmin(b->queue, &args)
                            : ssq_argmax(b->queue, &args));
    harness_read(b, &y);
    double *want = harness_alloc(b, (size_t)y.n * sizeof(double));
    for (int64_t k = 0; k < y.n; k++) {
        const double *v = x.value + k / inner * size * inner + k % inner;
        for (int64_t e = 1; e < size; e++)
            if (beats(&c, v[e * inner], v[(int64_t)want[k] * inner]))
                want[k] = (double)e;
    }
    return harness_exact(b, &y, want) && harness_unchanged(b, &x) &&
           harness_same(b, &y);
}

/* -0 and +0 are equal, so the first wins, or the last; subnormals are not
 * zero. */
static bool run_zeros(struct harness *b)
{
    static const double value[] = {-0.0, 0.0,         -0.0, /* */
                                   0.0,  -0.0,        0.0,  /* */
                                   -1.0, -0.0,        0.0,  /* */
                                   0.0,  0x1p-149,    0.0,  /* */
                                   0.0,  (double)NAN, (double)NAN};
    const int64_t sx[] = {5, 3}, sy = 5;
    struct operand x, y;
    harness_values(b, &x, SSQ_F32, 2, sx, LAYOUT_DENSE, value);
    harness_output(b, &y, SSQ_I32, 1, &sy, LAYOUT_DENSE);
    ssq_argmax_args args = SSQ_ARGMAX_INIT;
    args.x = x.t;
    args.y = y.t;
    HARNESS_OP(b, ssq_argmax(b->queue, &args));
    harness_read(b, &y);
    /* where float32 subnormals are flushed, 2^-149 is one more zero */
    double least = x.value[10] != 0.0 ? 1.0 : 0.0;
    if (!harness_exact(b, &y, (const double[]){0, 0, 1, least, 1}))
        return false;
    args.last = true;
    HARNESS_OP(b, ssq_argmax(b->queue, &args));
    harness_read(b, &y);
    return harness_exact(b, &y, (const double[]){2, 2, 2, 2.0 - least, 2});
}

static bool argmax_run_refused(struct harness *b)
{
    const int64_t sx[] = {2, 3}, two = 2, three = 3, sz[] = {2, 0};
    struct operand x, y, f, w, z;
    harness_input(b, &x, SSQ_F32, 2, sx, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &z, SSQ_F32, 2, sz, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_I32, 1, &two, LAYOUT_DENSE);
    harness_output(b, &w, SSQ_I32, 1, &three, LAYOUT_DENSE);
    harness_output(b, &f, SSQ_F32, 1, &two, LAYOUT_DENSE);
    ssq_argmax_args a = SSQ_ARGMAX_INIT;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_argmax(b->queue, &a),
                       "x is NULL");
    a.x = x.t;
    a.y = f.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_argmax(b->queue, &a),
                       "y is f32, expected i32");
    a.y = w.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_argmin(b->queue, &a),
                       "argmin: x is [2,3], y is [3]");
    a.y = y.t;
    a.axis = 2;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_argmax(b->queue, &a),
                       "axis 2 of rank 2");
    ssq_tensor *scalar = NULL;
    if (ssq_tensor_create(b->device, SSQ_F32, 0, NULL, &scalar) != SSQ_OK)
        return false;
    a.axis = 0;
    a.x = scalar;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_argmax(b->queue, &a),
                       "argmax: x has rank 0, expected 1 or more");
    ssq_tensor_destroy(&scalar);
    a.axis = -1;
    a.x = z.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_argmax(b->queue, &a),
                       "x is [2,0]: no elements to choose from");
    return harness_unchanged(b, &y) && harness_unchanged(b, &w) &&
           harness_unchanged(b, &f);
}

static void argmax_describe(size_t i, char *text, size_t bytes)
{
    char shape[64];
    if (i >= TABLE) {
        snprintf(text, bytes, "%s",
                 i == TABLE ? "argmax f32 of zeros of both signs"
                            : "argmax refuses misuse");
        return;
    }
    struct argmax_choice c = argmax_choose(i);
    snprintf(text, bytes, "%s%s %s %s %s %s axis %d%s",
             c.minimum ? "argmin" : "argmax", c.last ? " last" : "",
             ssq_dtype_name(c.dtype), shape_text(&c.g->x, shape, sizeof(shape)),
             layout_text(c.layout), fill_text(c.fill), c.g->axis,
             c.g->keepdim ? " kept" : "");
}

static bool argmax_run(struct harness *b, size_t i)
{
    if (i < TABLE)
        return argmax_run_table(b, i);
    return i == TABLE ? run_zeros(b) : argmax_run_refused(b);
}

const struct suite argmax_suite = {.op = "argmax",
                                   .name = "argmax",
                                   .n = TABLE + 2,
                                   .describe = argmax_describe,
                                   .run = argmax_run,
                                   .bit_equal = true,
                                   .floor = 1604};

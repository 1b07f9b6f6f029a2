/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - cases of sum, mean, prod, max, min and sum_to. */
#include "conformance/case.h"

#include "conformance/bounds.h"

enum kind { SUM, MEAN, PROD, MAX, MIN, KINDS };

static const char *const kinds[] = {"sum", "mean", "prod", "max", "min"};

static ssq_status reduce_call(struct harness *b, enum kind kind,
                              const ssq_reduce_args *args)
{
    switch (kind) {
    case SUM:
        return ssq_sum(b->queue, args);
    case MEAN:
        return ssq_mean(b->queue, args);
    case PROD:
        return ssq_prod(b->queue, args);
    case MAX:
        return ssq_max(b->queue, args);
    default:
        return ssq_min(b->queue, args);
    }
}

/* Shapes with the axes to reduce as a mask, and keepdim or not. */
static const struct geometry {
    struct shape x;
    unsigned axes;
    bool keepdim, all; /* all: no axes are named */
} geometries[] = {
    {{1, {1}}, 1, false, false},
    {{1, {7}}, 1, false, true},
    {{1, {255}}, 1, true, false},
    {{1, {256}}, 1, false, false},
    {{1, {257}}, 1, false, true},
    {{1, {1009}}, 1, false, false},
    {{2, {5, 13}}, 2, false, false},
    {{2, {13, 5}}, 1, true, false},
    {{2, {13, 5}}, 3, false, true},
    {{2, {4, 3}}, 0, false, false},
    {{3, {3, 5, 7}}, 2, false, false},
    {{3, {3, 5, 7}}, 5, true, false},
    {{3, {2, 300, 3}}, 2, false, false},
    {{4, {2, 3, 4, 5}}, 10, false, false},
    {{6, {2, 3, 1, 2, 3, 2}}, 42, true, false},
    {{6, {2, 3, 1, 2, 3, 2}}, 21, false, false},
    {{0, {0}}, 0, false, true},
    {{2, {0, 4}}, 2, false, false},
};

static const struct {
    ssq_dtype x, y;
} mixes[] = {{SSQ_F32, SSQ_F32}, {SSQ_F16, SSQ_F32},  {SSQ_BF16, SSQ_F32},
             {SSQ_F16, SSQ_F16}, {SSQ_BF16, SSQ_F16}, {SSQ_F32, SSQ_BF16}};

struct reduce_choice {
    const struct geometry *g;
    enum kind kind;
    ssq_dtype x, y;
    enum layout in, out;
    enum fill fill;
};

#define TABLE (COUNT(geometries) * KINDS * COUNT(mixes))

/* Layout and data go round with coprime periods: all pairs come up. */
static struct reduce_choice reduce_table_choose(size_t i)
{
    static const enum fill fills[] = {FILL_NORMAL, FILL_INTEGERS, FILL_POSITIVE,
                                      FILL_SPECIAL, FILL_TINY};
    static const enum layout ins[] = {LAYOUT_DENSE, LAYOUT_TRANSPOSED,
                                      LAYOUT_PADDED, LAYOUT_BROADCAST};
    struct reduce_choice c = {.in = ins[i % 4],
                              .out = i % 3 == 2 ? LAYOUT_PADDED : LAYOUT_DENSE,
                              .fill = fills[i * 7 % 11 % COUNT(fills)]};
    c.kind = (enum kind)pick(&i, KINDS);
    size_t mix = pick(&i, COUNT(mixes));
    c.g = &geometries[i];
    c.x = mixes[mix].x;
    c.y = mixes[mix].y;
    if (c.kind == MAX || c.kind == MIN) {
        static const ssq_dtype all[] = {SSQ_F32, SSQ_F16, SSQ_BF16,
                                        SSQ_I32, SSQ_U8,  SSQ_F16};
        c.x = c.y = all[mix];
        if (i % 2 == 0)
            c.fill = FILL_SPECIAL;
    } else if (c.fill == FILL_SPECIAL && c.x != SSQ_F16) {
        c.fill = FILL_UNIFORM; /* float32 sums of the largest can overflow */
    }
    /* products stay far from 0 and infinity: see prod_values */
    if (c.kind == PROD)
        c.fill = FILL_NORMAL;
    return c;
}

static struct shape reduce_reduced(const struct geometry *g, int *axes, int *n)
{
    struct shape s = {0, {0}};
    *n = 0;
    for (int i = 0; i < g->x.rank; i++) {
        bool gone = (g->axes >> i & 1) != 0;
        if (gone) /* every other axis from the end */
            axes[(*n)++] = i % 2 == 0 ? i : i - g->x.rank;
        if (!gone || g->keepdim)
            s.d[s.rank++] = gone ? 1 : g->x.d[i];
    }
    return s;
}

/* Which element of y dense element i of x goes to. */
static int64_t reduce_goes_to(const struct geometry *g, int64_t i)
{
    int64_t at = 0, pitch = 1;
    for (int d = g->x.rank - 1; d >= 0; d--) {
        int64_t k = i % g->x.d[d];
        i /= g->x.d[d];
        if ((g->axes >> d & 1) != 0)
            continue;
        at += k * pitch;
        pitch *= g->x.d[d];
    }
    return at;
}

/* Is v the better extreme? NaN wins, +0 is greater than -0. */
static bool reduce_better(enum kind kind, double v, double best)
{
    if (isnan(best) || isnan(v))
        return isnan(v) && !isnan(best);
    if (v == best && v == 0.0)
        return kind == MAX ? signbit(best) && !signbit(v)
                           : signbit(v) && !signbit(best);
    return kind == MAX ? v > best : v < best;
}

/* The float64 reference, and for sums and products its bound. */
static void reduce_oracle(const struct reduce_choice *c,
                          const struct operand *x, struct operand *y,
                          double *want, double *error)
{
    double n = y->n == 0 ? 0.0 : (double)x->n / (double)y->n;
    double identity = c->kind == PROD ? 1.0 : 0.0;
    double *count = error; /* until the end: terms so far, then their sum */
    for (int64_t i = 0; i < y->n; i++) {
        want[i] = identity;
        count[i] = 0.0;
    }
    for (int64_t i = 0; i < x->n; i++) {
        int64_t to = reduce_goes_to(c->g, i);
        double v = x->value[i];
        if (c->kind == MAX || c->kind == MIN) {
            if (count[to] == 0.0 || reduce_better(c->kind, v, want[to]))
                want[to] = v;
            count[to] = 1.0;
            continue;
        }
        want[to] = c->kind == PROD ? want[to] * v : want[to] + v;
        count[to] += fabs(v);
    }
    for (int64_t i = 0; i < y->n; i++) {
        if (c->kind == SUM)
            error[i] = bound_sum(n, error[i]);
        if (c->kind == PROD)
            error[i] = bound_product(n, fabs(want[i]));
        if (c->kind != MEAN)
            continue;
        error[i] = bound_mean(n, error[i]);
        want[i] /= n;
    }
}

/* Factors whose products in any grouping stay within 2^+-100. */
static void prod_input(struct harness *b, struct operand *x,
                       const struct reduce_choice *c)
{
    int64_t n = shape_elements(&c->g->x);
    double *value = harness_alloc(b, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        double sign = harness_uniform(b) < 0.5 ? -1.0 : 1.0;
        value[i] =
            sign * exp2((2.0 * harness_uniform(b) - 1.0) * 100.0 / (double)n);
        if (c->x == SSQ_F16) /* and its own range */
            value[i] = sign * fmin(fmax(fabs(value[i]), 0x1p-10), 0x1p10);
    }
    enum layout in = c->in == LAYOUT_BROADCAST ? LAYOUT_DENSE : c->in;
    harness_values(b, x, c->x, c->g->x.rank, c->g->x.d, in, value);
}

static bool reduce_run_table(struct harness *b, size_t i)
{
    struct reduce_choice c = reduce_table_choose(i);
    int axes[SSQ_MAX_RANK], n;
    struct shape s = reduce_reduced(c.g, axes, &n);
    struct operand x, y;
    if (c.kind == PROD)
        prod_input(b, &x, &c);
    else
        harness_input(b, &x, c.x, c.g->x.rank, c.g->x.d, c.in, c.fill);
    harness_output(b, &y, c.y, s.rank, s.d, c.out);
    ssq_reduce_args args = SSQ_REDUCE_INIT;
    args.x = x.t;
    args.y = y.t;
    if (!c.g->all) {
        memcpy(args.axes, axes, (size_t)n * sizeof(*axes));
        args.n_axes = n > 0 ? n : SSQ_AXES_NONE;
    }
    b->bytes = (double)x.n * ssq_dtype_bits(c.x) / 8.0;
    HARNESS_OP(b, reduce_call(b, c.kind, &args));
    harness_read(b, &y);
    bool fresh;
    double *want = harness_keep(b, 0, (size_t)y.n, &fresh);
    double *error = harness_keep(b, 1, (size_t)y.n, &fresh);
    if (fresh)
        reduce_oracle(&c, &x, &y, want, error);
    if (c.kind == MAX || c.kind == MIN)
        return harness_exact(b, &y, want) && harness_same(b, &y) &&
               harness_unchanged(b, &x);
    if (c.kind == SUM && c.fill == FILL_INTEGERS && c.y == SSQ_F32)
        for (int64_t k = 0; k < y.n; k++)
            error[k] = 0.0; /* partial sums below 2^24: exact */
    return harness_bound(b, &y, want, error) && harness_unchanged(b, &x);
}

/* Long sums and products: chunk edges, and more chunks than lanes. */
static const int64_t lengths[] = {16383, 16384, 16385, 70001, 16384 * 257 + 3};
#define LONG_KINDS 3 /* SUM, MEAN, PROD */

static bool run_long(struct harness *b, size_t i)
{
    const int64_t n = lengths[i / LONG_KINDS];
    const enum kind kind = (enum kind)(i % LONG_KINDS);
    const struct geometry whole = {{1, {n}}, 1, false, true};
    const struct reduce_choice c = {.g = &whole, .kind = kind, .x = SSQ_F32};
    struct operand x, y;
    if (kind == PROD)
        prod_input(b, &x, &c);
    else
        harness_input(b, &x, SSQ_F16, 1, &n, LAYOUT_DENSE, FILL_UNIFORM);
    harness_output(b, &y, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    ssq_reduce_args args = SSQ_REDUCE_INIT;
    args.x = x.t;
    args.y = y.t;
    HARNESS_OP(b, reduce_call(b, kind, &args));
    harness_read(b, &y);
    double want, error;
    reduce_oracle(&c, &x, &y, &want, &error);
    return harness_bound1(b, &y, &want, error);
}

/* One NaN or infinity among many, and infinities of both signs. */
static bool run_nonfinite(struct harness *b, enum kind kind)
{
    const int64_t shape[] = {4, 600}, rows = 4;
    static double value[4 * 600];
    double want[4] = {(double)NAN, (double)INFINITY, -(double)INFINITY,
                      (double)NAN};
    for (int i = 0; i < 4 * 600; i++)
        value[i] = harness_uniform(b) + 0.5;
    value[599] = -(double)NAN; /* extremes drop the sign */
    value[600 + 300] = (double)INFINITY;
    value[1200] = -(double)INFINITY;
    value[1800 + 5] = (double)INFINITY;
    value[1800 + 500] = -(double)INFINITY;
    if (kind == MAX || kind == MIN) {
        int nth = kind == MAX ? 2 : 1;
        want[3] = kind == MAX ? (double)INFINITY : -(double)INFINITY;
        want[nth] = 1.0; /* a value with index 0 of its row, made extreme */
        value[600 * nth + 7] = 1.0;
        for (int i = 0; i < 600; i++)
            if (isfinite(value[600 * nth + i]) && i != 7)
                value[600 * nth + i] = kind == MAX ? 0.5 : 1.5;
    }
    struct operand x, y;
    harness_values(b, &x, SSQ_F32, 2, shape, LAYOUT_PADDED, value);
    harness_output(b, &y, SSQ_F32, 1, &rows, LAYOUT_DENSE);
    ssq_reduce_args args = SSQ_REDUCE_INIT;
    args.x = x.t;
    args.y = y.t;
    args.axes[0] = 1;
    args.n_axes = 1;
    HARNESS_OP(b, reduce_call(b, kind, &args));
    harness_read(b, &y);
    bool extreme = kind == MAX || kind == MIN;
    if (extreme && !b->failed && !b->bench && y.bits[0] != 0x7fc00000)
        return harness_fail(b, "the NaN is 0x%x", (unsigned)y.bits[0]);
    return harness_exact(b, &y, want);
}

/* Reductions of nothing: 0, NaN, 1; extremes refuse. */
static bool reduce_run_empty(struct harness *b, enum kind kind)
{
    const int64_t sx[] = {3, 0}, sy = 3;
    struct operand x, y, none;
    harness_input(b, &x, SSQ_F16, 2, sx, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F16, 1, &sy, LAYOUT_PADDED);
    harness_output(b, &none, SSQ_F16, 1, &sx[1], LAYOUT_DENSE);
    ssq_reduce_args args = SSQ_REDUCE_INIT;
    args.x = x.t;
    args.y = none.t;
    args.axes[0] = 0;
    args.n_axes = 1;
    HARNESS_OP(b, reduce_call(b, kind, &args)); /* no outputs: nothing to do */
    args.y = y.t;
    args.axes[0] = 1;
    if (kind == MAX || kind == MIN)
        return harness_refused_as(b, SSQ_ERR_INVALID,
                                  reduce_call(b, kind, &args),
                                  "x is [3,0]: no elements to choose from") &&
               harness_unchanged(b, &y);
    harness_status(b, reduce_call(b, kind, &args));
    harness_read(b, &y);
    double v = kind == SUM ? 0.0 : kind == PROD ? 1.0 : (double)NAN;
    return harness_exact(b, &y, (const double[]){v, v, v});
}

/* A sum that overflows only when it is rounded to f16, and ties there. */
static bool run_rounding(struct harness *b)
{
    static const double value[] = {65504, 15,    65504, 16,     65504, 8,
                                   2048,  1,     2050,  1,      -1.0,  1.0,
                                   40000, 40000, 1,     0x1p-11};
    static const double want[] = {65504, (double)INFINITY, 65504, 2048, 2052,
                                  0,     (double)INFINITY, 1};
    const int64_t sx[] = {8, 2}, sy = 8;
    struct operand x, y;
    harness_values(b, &x, SSQ_F16, 2, sx, LAYOUT_DENSE, value);
    harness_output(b, &y, SSQ_F16, 1, &sy, LAYOUT_DENSE);
    HARNESS_OP(b, ssq_sum(b->queue, SSQ_SUM(.x = x.t, .y = y.t, .axes = {-1},
                                            .n_axes = 1)));
    harness_read(b, &y);
    return harness_exact(b, &y, want);
}

static const struct {
    struct shape x, y;
} targets[] = {
    {{3, {4, 5, 6}}, {1, {6}}},       {{3, {4, 5, 6}}, {2, {5, 1}}},
    {{3, {4, 5, 6}}, {3, {1, 5, 6}}}, {{3, {4, 5, 6}}, {0, {0}}},
    {{2, {3, 7}}, {2, {3, 7}}},       {{3, {1, 3, 7}}, {2, {3, 7}}},
    {{2, {0, 3}}, {1, {3}}},          {{2, {0, 3}}, {2, {0, 1}}},
    {{2, {5, 1}}, {2, {1, 1}}},
};

static bool run_sum_to(struct harness *b, size_t i)
{
    const struct shape *sx = &targets[i].x, *sy = &targets[i].y;
    struct geometry g = {*sx, 0, false, false};
    int lead = sx->rank - sy->rank;
    for (int d = 0; d < sx->rank; d++)
        if (d < lead || sy->d[d - lead] != sx->d[d])
            g.axes |= 1u << d;
    struct reduce_choice c = {.g = &g, .kind = SUM};
    struct operand x, y;
    harness_input(b, &x, SSQ_F16, sx->rank, sx->d, LAYOUT_TRANSPOSED,
                  FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, sy->rank, sy->d, LAYOUT_PADDED);
    ssq_sum_to_args args = SSQ_SUM_TO_INIT;
    args.x = x.t;
    args.y = y.t;
    HARNESS_OP(b, ssq_sum_to(b->queue, &args));
    harness_read(b, &y);
    double *want = harness_alloc(b, (size_t)y.n * sizeof(double));
    double *error = harness_alloc(b, (size_t)y.n * sizeof(double));
    reduce_oracle(&c, &x, &y, want, error);
    return harness_bound(b, &y, want, error);
}

static bool reduce_run_refused(struct harness *b)
{
    const int64_t sx[] = {2, 3}, two = 2, three = 3;
    struct operand x, y, z, i;
    harness_input(b, &x, SSQ_F32, 2, sx, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 1, &two, LAYOUT_DENSE);
    harness_output(b, &z, SSQ_F32, 1, &three, LAYOUT_DENSE);
    harness_output(b, &i, SSQ_I32, 1, &two, LAYOUT_DENSE);
    ssq_reduce_args a = SSQ_REDUCE_INIT;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum(b->queue, &a), "x is NULL");
    a.x = x.t;
    a.y = z.t;
    a.axes[0] = 1;
    a.n_axes = 1;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_mean(b->queue, &a),
                       "mean: x is [2,3], y is [3]");
    a.y = y.t;
    a.n_axes = 0;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum(b->queue, &a),
                       "sum: axes[0] is 1, but n_axes is 0");
    a.axes[0] = 0; /* forgotten n_axes: y would have to be a scalar */
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum(b->queue, &a),
                       "without the 2 reduced dimensions");
    a.n_axes = SSQ_AXES_NONE;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum(b->queue, &a),
                       "without the 0 reduced dimensions");
    a.n_axes = -2;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum(b->queue, &a),
                       "n_axes is -2");
    a.axes[0] = 1;
    a.axes[1] = -1;
    a.n_axes = 2;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum(b->queue, &a),
                       "dimension 1 twice");
    a.axes[0] = 2;
    a.n_axes = 1;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum(b->queue, &a),
                       "axis 2 of rank 2");
    a.n_axes = 3;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum(b->queue, &a),
                       "n_axes is 3");
    a.axes[0] = 1;
    a.n_axes = 1;
    a.y = i.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum(b->queue, &a), "y is i32");
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_max(b->queue, &a),
                       "y is i32, expected f32");
    ssq_sum_to_args t = SSQ_SUM_TO_INIT;
    t.x = x.t;
    t.y = y.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum_to(b->queue, &t),
                       "y is [2], which does not broadcast to x, [2,3]");
    t.y = x.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum_to(b->queue, &t),
                       "overlaps");
    return harness_unchanged(b, &y) && harness_unchanged(b, &z) &&
           harness_unchanged(b, &i);
}

#define AT_LONG      TABLE
#define AT_NONFINITE (AT_LONG + LONG_KINDS * COUNT(lengths))
#define AT_EMPTY     (AT_NONFINITE + COUNT(nonfinites))
#define AT_SUM_TO    (AT_EMPTY + KINDS)
#define AT_ROUNDING  (AT_SUM_TO + COUNT(targets))

static const enum kind nonfinites[] = {SUM, MEAN, MAX, MIN};

static void describe_table(size_t i, char *text, size_t bytes)
{
    struct reduce_choice c = reduce_table_choose(i);
    char shape[64];
    snprintf(text, bytes, "%s %s to %s %s %s %s axes mask %u%s", kinds[c.kind],
             ssq_dtype_name(c.x), ssq_dtype_name(c.y),
             shape_text(&c.g->x, shape, sizeof(shape)), layout_text(c.in),
             c.kind == PROD ? "near 1" : fill_text(c.fill), c.g->axes,
             c.g->keepdim ? " kept" : "");
}

static void reduce_describe(size_t i, char *text, size_t bytes)
{
    char x[64], y[64];
    if (i < AT_LONG)
        describe_table(i, text, bytes);
    else if (i < AT_NONFINITE)
        snprintf(text, bytes, "%s %s of %lld",
                 kinds[(i - AT_LONG) % LONG_KINDS],
                 (i - AT_LONG) % LONG_KINDS == PROD ? "f32" : "f16",
                 (long long)lengths[(i - AT_LONG) / LONG_KINDS]);
    else if (i < AT_EMPTY)
        snprintf(text, bytes, "%s f32 4x600 with NaN and infinities",
                 kinds[nonfinites[i - AT_NONFINITE]]);
    else if (i < AT_SUM_TO)
        snprintf(text, bytes, "%s f16 of nothing", kinds[i - AT_EMPTY]);
    else if (i < AT_ROUNDING)
        snprintf(text, bytes, "sum_to f16 %s to f32 %s",
                 shape_text(&targets[i - AT_SUM_TO].x, x, sizeof(x)),
                 shape_text(&targets[i - AT_SUM_TO].y, y, sizeof(y)));
    else
        snprintf(text, bytes, "%s",
                 i == AT_ROUNDING ? "sum f16 ties and overflow at 65520"
                                  : "reductions refuse misuse");
}

static bool reduce_table_run(struct harness *b, size_t i)
{
    if (i < AT_LONG)
        return reduce_run_table(b, i);
    if (i < AT_NONFINITE)
        return run_long(b, i - AT_LONG);
    if (i < AT_EMPTY)
        return run_nonfinite(b, nonfinites[i - AT_NONFINITE]);
    if (i < AT_SUM_TO)
        return reduce_run_empty(b, (enum kind)(i - AT_EMPTY));
    if (i < AT_ROUNDING)
        return run_sum_to(b, i - AT_SUM_TO);
    return i == AT_ROUNDING ? run_rounding(b) : reduce_run_refused(b);
}

const struct suite reduce_suite = {.op = "reduce",
                                   .name = "reduce",
                                   .n = AT_ROUNDING + 2,
                                   .describe = reduce_describe,
                                   .run = reduce_table_run,
                                   .bit_equal = false,
                                   .floor = 1140};

/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_backward.c - cases of the backward of sum, mean, max and min: exact
 * oracles, and central differences of the float64 forward. */
#include "conformance/case.h"

#include "conformance/bounds.h"

enum kind { SUM, MEAN, MAX, MIN, KINDS };

static const char *const kinds[] = {"sum", "mean", "max", "min"};

static const struct geometry {
    struct shape x;
    unsigned axes;
    bool keepdim, all;
} geometries[] = {
    {{1, {1}}, 1, false, false},
    {{1, {37}}, 1, false, true},
    {{2, {5, 7}}, 2, true, false},
    {{2, {5, 7}}, 1, false, false},
    {{2, {5, 7}}, 0, false, false},
    {{3, {3, 5, 4}}, 5, false, false},
    {{3, {3, 5, 4}}, 2, true, false},
    {{6, {2, 3, 1, 2, 3, 2}}, 42, false, false},
    {{0, {0}}, 0, false, true},
    {{2, {3, 0}}, 2, false, false},
};

static const struct {
    ssq_dtype dy, x, dx;
} mixes[] = {{SSQ_F32, SSQ_F32, SSQ_F32},
             {SSQ_F16, SSQ_F16, SSQ_F16},
             {SSQ_F32, SSQ_BF16, SSQ_F16},
             {SSQ_F16, SSQ_F32, SSQ_BF16},
             {SSQ_F16, SSQ_BF16, SSQ_F32}};

struct reduce_backward_choice {
    const struct geometry *g;
    enum kind kind;
    ssq_dtype dy, x, dx;
    enum layout layout;
    bool ties, in_place;
};

#define TABLE (COUNT(geometries) * KINDS * COUNT(mixes) * 2)

static struct reduce_backward_choice reduce_backward_choose(size_t i)
{
    struct reduce_backward_choice c = {.layout = (enum layout)(i % 3)};
    c.ties = pick(&i, 2) != 0;
    c.kind = (enum kind)pick(&i, KINDS);
    size_t mix = pick(&i, COUNT(mixes));
    c.g = &geometries[i];
    c.dy = mixes[mix].dy;
    c.x = mixes[mix].x;
    c.dx = mixes[mix].dx;
    c.in_place = c.kind >= MAX && mix < 2 && c.ties;
    return c;
}

static int64_t reduce_backward_goes_to(const struct geometry *g, int64_t i)
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

/* y of the forward op, in float64. */
static void reduce_backward_forward(const struct reduce_backward_choice *c,
                                    const double *x, int64_t nx, double *y,
                                    int64_t ny)
{
    for (int64_t k = 0; k < ny; k++)
        y[k] = c->kind == MAX   ? -(double)INFINITY
               : c->kind == MIN ? (double)INFINITY
                                : 0.0;
    for (int64_t i = 0; i < nx; i++) {
        double *to = &y[reduce_backward_goes_to(c->g, i)], v = x[i];
        if (c->kind < MAX)
            *to += v;
        else if (isnan(v) || isnan(*to))
            *to = (double)NAN;
        else
            *to = c->kind == MAX ? fmax(*to, v) : fmin(*to, v);
    }
    for (int64_t k = 0; k < ny && c->kind == MEAN; k++)
        y[k] /= (double)(nx / ny);
}

static ssq_status
reduce_backward_call(struct harness *b, const struct reduce_backward_choice *c,
                     const struct operand *dy, const struct operand *x,
                     const struct operand *y, const struct operand *dx,
                     const int axes[SSQ_MAX_RANK], int n)
{
    if (c->kind >= MAX) {
        ssq_max_backward_args a = SSQ_MAX_BACKWARD_INIT;
        a.dy = dy->t;
        a.x = x->t;
        a.y = y->t;
        a.dx = dx->t;
        memcpy(a.axes, axes, sizeof(a.axes));
        a.n_axes = n;
        return ssq_max_backward(b->queue, &a);
    }
    ssq_reduce_backward_args a = SSQ_REDUCE_BACKWARD_INIT;
    a.dy = dy->t;
    a.dx = dx->t;
    memcpy(a.axes, axes, sizeof(a.axes));
    a.n_axes = n;
    return c->kind == SUM ? ssq_sum_backward(b->queue, &a)
                          : ssq_mean_backward(b->queue, &a);
}

/* dx, each value rounded where the contract says so: exact. */
static void reduce_backward_oracle(const struct reduce_backward_choice *c,
                                   const struct operand *dy, const double *x,
                                   const double *y, int64_t nx, int64_t ny,
                                   double *want)
{
    for (int64_t i = 0; i < nx; i++) {
        int64_t to = reduce_backward_goes_to(c->g, i), ties = 0;
        double g = dy->value[to];
        if (c->kind == SUM) {
            want[i] = harness_round(g, c->dx);
            continue;
        }
        if (c->kind == MEAN)
            ties = nx / ny;
        for (int64_t k = 0; k < nx && c->kind >= MAX; k++)
            ties += reduce_backward_goes_to(c->g, k) == to && x[k] == y[to];
        /* float32 division is the rounded float64 one (2 * 24 + 2 <= 53) */
        double share = (double)(float)(g / (double)ties);
        if (c->kind >= MAX && x[i] != y[to])
            share = 0.0;
        want[i] = ties == 0 ? (double)NAN : harness_round(share, c->dx);
    }
}

/* axes and the result as arguments have them; *y is the shape of y. */
static int make_axes(const struct geometry *g, int axes[SSQ_MAX_RANK],
                     struct shape *y)
{
    int n = 0;
    memset(axes, 0, SSQ_MAX_RANK * sizeof(*axes));
    *y = (struct shape){0, {0}};
    for (int i = 0; i < g->x.rank; i++) {
        bool gone = (g->axes >> i & 1) != 0;
        if (gone && !g->all)
            axes[n++] = i % 2 == 0 ? i : i - g->x.rank;
        if (!gone || g->keepdim)
            y->d[y->rank++] = gone ? 1 : g->x.d[i];
    }
    return g->all || n > 0 ? n : SSQ_AXES_NONE;
}

static bool reduce_backward_run_table(struct harness *b, size_t i)
{
    struct reduce_backward_choice c = reduce_backward_choose(i);
    int axes[SSQ_MAX_RANK];
    struct shape s;
    int n = make_axes(c.g, axes, &s);
    struct operand dy, x, y, dx;
    harness_input(b, &dy, c.dy, s.rank, s.d, c.layout,
                  c.ties ? FILL_SPECIAL : FILL_NORMAL);
    harness_input(b, &x, c.x, c.g->x.rank, c.g->x.d, c.layout,
                  c.ties ? FILL_INTEGERS : FILL_SPECIAL);
    double *value = harness_alloc(b, (size_t)dy.n * sizeof(double));
    reduce_backward_forward(&c, x.value, x.n, value, dy.n);
    harness_values(b, &y, c.x, s.rank, s.d, LAYOUT_DENSE, value);
    harness_output(b, &dx, c.dx, c.g->x.rank, c.g->x.d, c.layout);
    double *want = harness_alloc(b, (size_t)x.n * sizeof(double));
    reduce_backward_oracle(&c, &dy, x.value, value, x.n, dy.n, want);
    HARNESS_OP(b, reduce_backward_call(b, &c, &dy, &x, &y,
                                       c.in_place ? &x : &dx, axes, n));
    if (c.in_place) {
        harness_read(b, &x);
        return harness_exact(b, &x, want) && harness_unchanged(b, &dy);
    }
    harness_read(b, &dx);
    return harness_exact(b, &dx, want) && harness_unchanged(b, &dy) &&
           harness_unchanged(b, &x) && harness_same(b, &dx);
}

/* L(x) = <dy, forward(x)>; dL/dx by central differences with step h. The
 * forward is linear near x (extremes: no two elements are closer than 2 h),
 * so only float64's rounding of L errs: below (n + 2) 2^-53 M / h, M the sum
 * of |dy y|. The op rounds a division or not at all, and stores float32. */
static bool run_difference(struct harness *b, size_t i)
{
    const struct geometry g = {{3, {3, 5, 4}}, 5, false, false};
    struct reduce_backward_choice c = {
        .g = &g, .kind = (enum kind)i, .dx = SSQ_F32};
    int axes[SSQ_MAX_RANK];
    struct shape s;
    int n = make_axes(&g, axes, &s);
    const int64_t nx = shape_elements(&g.x), ny = shape_elements(&s);
    const double h = 0x1p-10;
    double *value = harness_alloc(b, (size_t)nx * sizeof(double));
    double *high = harness_alloc(b, (size_t)ny * sizeof(double));
    double *low = harness_alloc(b, (size_t)ny * sizeof(double));
    for (int64_t k = 0; k < nx; k++) /* a permutation: gaps of 1/8 */
        value[k] = (double)(k * 37 % nx) * 0.125 - 3.0;
    struct operand dy, x, y, dx;
    harness_values(b, &x, SSQ_F32, g.x.rank, g.x.d, LAYOUT_DENSE, value);
    harness_input(b, &dy, SSQ_F32, s.rank, s.d, LAYOUT_DENSE, FILL_NORMAL);
    reduce_backward_forward(&c, value, nx, high, ny);
    harness_values(b, &y, SSQ_F32, s.rank, s.d, LAYOUT_DENSE, high);
    harness_output(b, &dx, SSQ_F32, g.x.rank, g.x.d, LAYOUT_DENSE);
    HARNESS_OP(b, reduce_backward_call(b, &c, &dy, &x, &y, &dx, axes, n));
    harness_read(b, &dx);
    double *want = harness_alloc(b, (size_t)nx * sizeof(double)), m = 0.0;
    for (int64_t k = 0; k < ny; k++)
        m += fabs(dy.value[k]) * 3.0 * (double)nx;
    for (int64_t k = 0; k < nx; k++) {
        double at = value[k];
        value[k] = at + h;
        reduce_backward_forward(&c, value, nx, high, ny);
        value[k] = at - h;
        reduce_backward_forward(&c, value, nx, low, ny);
        value[k] = at;
        for (int64_t e = 0; e < ny; e++)
            want[k] += dy.value[e] * (high[e] - low[e]) / (2.0 * h);
    }
    return harness_bound1(b, &dx, want,
                          (double)(nx + 2) * 0x1p-53 * m / h +
                              (c.kind == MEAN ? U_F32 * m : 0.0));
}

/* The whole gradient of a row with a NaN is NaN; other rows are not. */
static bool reduce_backward_run_nan(struct harness *b)
{
    static const double value[] = {1, (double)NAN, 3, 4, 7, 7};
    static const double maxima[] = {(double)NAN, 7}, seed[] = {2, 3};
    static const double want[] = {(double)NAN, (double)NAN, (double)NAN,
                                  0,           1.5,         1.5};
    const int64_t sx[] = {2, 3}, sy = 2;
    const int axes[SSQ_MAX_RANK] = {1};
    struct operand dy, x, y, dx;
    harness_values(b, &x, SSQ_F16, 2, sx, LAYOUT_DENSE, value);
    harness_values(b, &y, SSQ_F16, 1, &sy, LAYOUT_DENSE, maxima);
    harness_values(b, &dy, SSQ_F32, 1, &sy, LAYOUT_DENSE, seed);
    harness_output(b, &dx, SSQ_F32, 2, sx, LAYOUT_DENSE);
    struct reduce_backward_choice c = {.kind = MAX};
    HARNESS_OP(b, reduce_backward_call(b, &c, &dy, &x, &y, &dx, axes, 1));
    harness_read(b, &dx);
    return harness_exact(b, &dx, want);
}

static bool reduce_backward_run_refused(struct harness *b)
{
    const int64_t sx[] = {2, 3}, two = 2, three = 3;
    struct operand dy, bad, x, dx, h;
    harness_input(b, &dy, SSQ_F32, 1, &two, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &bad, SSQ_F32, 1, &three, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &x, SSQ_F32, 2, sx, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &h, SSQ_F16, 1, &two, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &dx, SSQ_F32, 2, sx, LAYOUT_DENSE);
    ssq_mean_backward_args m = SSQ_MEAN_BACKWARD_INIT;
    m.axes[0] = 1;
    m.n_axes = 1;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_mean_backward(b->queue, &m),
                       "dy is NULL");
    m.dy = bad.t;
    m.dx = dx.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_sum_backward(b->queue, &m),
                       "dx is [2,3], dy is [3]");
    ssq_max_backward_args a = SSQ_MAX_BACKWARD_INIT;
    a.dy = dy.t;
    a.x = x.t;
    a.y = h.t;
    a.dx = dx.t;
    a.axes[0] = 1;
    a.n_axes = 1;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_max_backward(b->queue, &a),
                       "y is f16, expected f32");
    a.y = bad.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_max_backward(b->queue, &a),
                       "x is [2,3], y is [3]");
    a.y = dy.t;
    a.x = dy.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_max_backward(b->queue, &a),
                       "x is [2], dx is [2,3]");
    return harness_unchanged(b, &dx);
}

static void reduce_backward_describe(size_t i, char *text, size_t bytes)
{
    char shape[64];
    if (i >= TABLE) {
        i -= TABLE;
        if (i < KINDS)
            snprintf(text, bytes, "%s_backward f32 3x5x4 by differences",
                     kinds[i]);
        else
            snprintf(text, bytes, "%s",
                     i == KINDS ? "max_backward f16 2x3 with a NaN"
                                : "backward of reductions refuses misuse");
        return;
    }
    struct reduce_backward_choice c = reduce_backward_choose(i);
    snprintf(text, bytes,
             "%s_backward %s, x %s, dx %s %s %s axes mask %u%s%s%s",
             kinds[c.kind], ssq_dtype_name(c.dy), ssq_dtype_name(c.x),
             ssq_dtype_name(c.dx), shape_text(&c.g->x, shape, sizeof(shape)),
             layout_text(c.layout), c.g->axes, c.g->keepdim ? " kept" : "",
             c.ties ? ", ties" : "", c.in_place ? ", in place" : "");
}

static bool reduce_backward_run(struct harness *b, size_t i)
{
    if (i < TABLE)
        return reduce_backward_run_table(b, i);
    i -= TABLE;
    if (i < KINDS)
        return run_difference(b, i);
    return i == KINDS ? reduce_backward_run_nan(b)
                      : reduce_backward_run_refused(b);
}

const struct suite reduce_backward_suite = {.op = "reduce_backward",
                                            .name = "reduce_backward",
                                            .n = TABLE + KINDS + 2,
                                            .describe =
                                                reduce_backward_describe,
                                            .run = reduce_backward_run,
                                            .bit_equal = true,
                                            .floor = 812};

/* SPDX-License-Identifier: Apache-2.0 */
/* avg_pool.c - average pooling, global average pooling, and their backward. */
#include "conformance/case.h"
#include "conformance/difference.h"
#include "conformance/pool/pool_case.h"

#include "conformance/bounds.h"

#define TURNS 3 /* of the shapes */
#define ROWS  (CONV_SHAPES * TURNS)

static const ssq_dtype floats[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
static const enum fill fills[] = {FILL_NORMAL, FILL_INTEGERS, FILL_SPECIAL,
                                  FILL_TINY, FILL_HUGE};
static const int64_t divisors[] = {0, 0, 3, 0, 1};

struct avg_pool_entry {
    const struct conv_shape *shape;
    struct conv_geometry g;
    ssq_dtype in, out;
    enum fill fill;
    enum layout layout_x, layout_y;
    bool ceil, count;
    int64_t divisor;
};

static struct avg_pool_entry avg_pool_entry_of(size_t i)
{
    struct avg_pool_entry e = {
        .shape = &conv_shapes[i % CONV_SHAPES],
        .in = floats[i % 3],
        .out = floats[(i + i / 5) % 3],
        .fill = fills[i % COUNT(fills)],
        .layout_x = i % 7 < 3 ? LAYOUT_PADDED : LAYOUT_DENSE,
        .layout_y = i % 4 == 1 ? LAYOUT_PADDED : LAYOUT_DENSE,
        .ceil = i / 2 % 2 == 1,
        .count = i / 3 % 2 == 0,
        .divisor = divisors[i / 4 % COUNT(divisors)]};
    e.g = pool_geometry(e.shape, 1 + (int64_t)(i % 4), 1 + (int64_t)(i / 4 % 3),
                        i / 5 % 2 == 0 ? SSQ_LAYOUT_NCHW : SSQ_LAYOUT_NHWC,
                        e.ceil);
    return e;
}

static void describe_entry(const struct avg_pool_entry *e, const char *op,
                           char *text, size_t bytes)
{
    char sizes[200];
    pool_describe(&e->g, e->ceil, sizes, sizeof(sizes));
    snprintf(text, bytes, "%s %s -> %s %s %s padding, divisor %lld, %s: %s", op,
             ssq_dtype_name(e->in), ssq_dtype_name(e->out), sizes,
             e->count ? "with" : "without", (long long)e->divisor,
             fill_text(e->fill), e->shape->name);
}

/* The elements that count in window i. */
static double divisor_of(const struct avg_pool_entry *e, int64_t i)
{
    double n = 0.0;
    if (e->divisor != 0)
        return (double)e->divisor;
    for (int64_t r = 0; r < e->g.window[0]; r++)
        for (int64_t s = 0; s < e->g.window[1]; s++) {
            struct pool_tap t = pool_tap(&e->g, i, r, s);
            n += t.at >= 0 || (e->count && t.padding) ? 1.0 : 0.0;
        }
    return n;
}

/* Averages of x; size: of absolute values. */
static void averages(const struct avg_pool_entry *e, const double *x, int64_t n,
                     double *y, double *size)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0, total = 0.0, d = divisor_of(e, i);
        for (int64_t r = 0; r < e->g.window[0]; r++)
            for (int64_t s = 0; s < e->g.window[1]; s++) {
                struct pool_tap t = pool_tap(&e->g, i, r, s);
                if (t.at < 0)
                    continue;
                sum += x[t.at];
                total += isfinite(x[t.at]) ? fabs(x[t.at]) : 0.0;
            }
        y[i] = sum / d;
        size[i] = total / d;
    }
}

static ssq_avg_pool2d_args avg_pool_args_of(const struct avg_pool_entry *e)
{
    ssq_avg_pool2d_args args = SSQ_AVG_POOL2D_INIT;
    memcpy(args.kernel, e->g.window, sizeof(args.kernel));
    memcpy(args.stride, e->g.stride, sizeof(args.stride));
    memcpy(args.padding, e->g.padding, sizeof(args.padding));
    memcpy(args.dilation, e->g.dilation, sizeof(args.dilation));
    args.ceil_mode = e->ceil;
    args.count_include_pad = e->count;
    args.divisor = e->divisor;
    args.layout = e->g.layout;
    return args;
}

/* Float32 sums may overflow on the way: then anything goes. */
static double *where_sums_hold(struct harness *b, const struct operand *y,
                               const double *want, const double *size,
                               double times)
{
    double *r = harness_alloc(b, (size_t)y->n * sizeof(*r));
    for (int64_t i = 0; i < y->n; i++)
        r[i] = size[i] * times >= 0x1p127 ? y->value[i] : want[i];
    return r;
}

static bool avg_pool_run_forward(struct harness *b,
                                 const struct avg_pool_entry *e)
{
    struct operand x, y;
    int64_t image[4], map[4];
    bool fresh;
    conv_image_shape(&e->g, image);
    conv_map_shape(&e->g, map);
    harness_input(b, &x, e->in, 4, image, e->layout_x, e->fill);
    harness_output(b, &y, e->out, 4, map, e->layout_y);
    ssq_avg_pool2d_args args = avg_pool_args_of(e);
    args.x = x.t;
    args.y = y.t;
    b->bytes = (double)(x.n * ssq_dtype_bits(e->in)) / 8 +
               (double)(y.n * ssq_dtype_bits(e->out)) / 8;
    HARNESS_OP(b, ssq_avg_pool2d(b->queue, &args));
    if (harness_over(b))
        return !b->failed;
    harness_read(b, &y);
    double *want = harness_keep(b, 0, (size_t)y.n, &fresh);
    double *size = harness_keep(b, 1, (size_t)y.n, &fresh);
    double *error = harness_alloc(b, (size_t)y.n * sizeof(*error));
    if (fresh)
        averages(e, x.value, y.n, want, size);
    double k = (double)(e->g.window[0] * e->g.window[1]);
    for (int64_t i = 0; i < y.n; i++)
        error[i] =
            isfinite(want[i]) ? bound_chain(k + 2.0, size[i]) + 0x1p-149 : 0.0;
    return harness_bound(b, &y, where_sums_hold(b, &y, want, size, k + 3.0),
                         error);
}

/* A window that holds nothing to count, among others. */
static bool run_nothing(struct harness *b)
{
    const struct conv_shape s = {"",     {2, 2},       {2, 2},
                                 {2, 2}, {2, 2, 2, 2}, {1, 1}};
    struct avg_pool_entry e = {
        .g = pool_geometry(&s, 1, 1, SSQ_LAYOUT_NCHW, false),
        .in = SSQ_F32,
        .out = SSQ_F16,
        .fill = FILL_ONES};
    struct operand x, y;
    const int64_t shape[] = {1, 1, 2, 2}, map[] = {1, 1, 3, 3};
    double want[9];
    for (int i = 0; i < 9; i++)
        want[i] = i == 4 ? 1.0 : (double)NAN;
    harness_input(b, &x, e.in, 4, shape, LAYOUT_DENSE, e.fill);
    harness_output(b, &y, e.out, 4, map, LAYOUT_DENSE);
    ssq_avg_pool2d_args args = avg_pool_args_of(&e);
    args.x = x.t;
    args.y = y.t;
    HARNESS_OP(b, ssq_avg_pool2d(b->queue, &args));
    harness_read(b, &y);
    return harness_exact(b, &y, want);
}

/* Overflow of the store at 65520, and of nothing before it. */
static bool avg_pool_run_overflow(struct harness *b)
{
    const int64_t shape[] = {1, 1, 1, 6}, map[] = {1, 1, 1, 3};
    const double x[] = {65504, 65535, 65504, 65536, 1e30, -1e30};
    const double want[] = {65504, (double)INFINITY, 0};
    struct operand in, y;
    harness_values(b, &in, SSQ_F32, 4, shape, LAYOUT_DENSE, x);
    harness_output(b, &y, SSQ_F16, 4, map, LAYOUT_DENSE);
    ssq_avg_pool2d_args args = SSQ_AVG_POOL2D_INIT;
    args.x = in.t;
    args.y = y.t;
    args.kernel[0] = 1;
    args.kernel[1] = 2;
    HARNESS_OP(b, ssq_avg_pool2d(b->queue, &args));
    harness_read(b, &y);
    return harness_exact(b, &y, want);
}

/* ---- global ---- */

static const struct {
    int64_t n, c, h, w;
    ssq_layout layout;
    int rank; /* of y */
    ssq_dtype in, out;
    enum layout layout_x;
} globals[] = {
    {2, 3, 5, 7, SSQ_LAYOUT_NCHW, 4, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {2, 3, 5, 7, SSQ_LAYOUT_NHWC, 4, SSQ_F16, SSQ_F32, LAYOUT_PADDED},
    {2, 3, 5, 7, SSQ_LAYOUT_NCHW, 2, SSQ_F16, SSQ_F16, LAYOUT_TRANSPOSED},
    {2, 3, 5, 7, SSQ_LAYOUT_NHWC, 2, SSQ_BF16, SSQ_BF16, LAYOUT_DENSE},
    {1, 1, 1, 1, SSQ_LAYOUT_NCHW, 4, SSQ_BF16, SSQ_F16, LAYOUT_DENSE},
    {3, 2, 67, 31, SSQ_LAYOUT_NHWC, 4, SSQ_F16, SSQ_F16, LAYOUT_PADDED},
    {0, 3, 5, 7, SSQ_LAYOUT_NCHW, 4, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {2, 0, 5, 7, SSQ_LAYOUT_NHWC, 4, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {2, 3, 0, 7, SSQ_LAYOUT_NCHW, 4, SSQ_F32, SSQ_F16, LAYOUT_DENSE},
};

static void global_shapes(size_t i, int64_t *x, int64_t *y)
{
    bool last = globals[i].layout == SSQ_LAYOUT_NHWC;
    x[0] = globals[i].n;
    x[last ? 3 : 1] = globals[i].c;
    x[last ? 1 : 2] = globals[i].h;
    x[last ? 2 : 3] = globals[i].w;
    memcpy(y, x, 4 * sizeof(*y));
    y[last ? 1 : 2] = 1;
    y[last ? 2 : 3] = 1;
    if (globals[i].rank == 2)
        y[1] = globals[i].c;
}

/* The channel sum that dense element k of x belongs to. */
static int64_t global_index(size_t i, int64_t k)
{
    int64_t plane = globals[i].h * globals[i].w, c = globals[i].c;
    if (globals[i].layout == SSQ_LAYOUT_NHWC)
        return k / (plane * c) * c + k % c;
    return k / plane;
}

static bool run_global(struct harness *b, size_t i)
{
    struct operand x, y;
    int64_t image[4], small[4];
    double count = (double)(globals[i].h * globals[i].w);
    global_shapes(i, image, small);
    harness_input(b, &x, globals[i].in, 4, image, globals[i].layout_x,
                  FILL_NORMAL);
    harness_output(b, &y, globals[i].out, globals[i].rank, small, LAYOUT_DENSE);
    ssq_global_avg_pool2d_args args = SSQ_GLOBAL_AVG_POOL2D_INIT;
    args.x = x.t;
    args.y = y.t;
    args.layout = globals[i].layout;
    HARNESS_OP(b, ssq_global_avg_pool2d(b->queue, &args));
    harness_read(b, &y);
    size_t bytes = (size_t)y.n * sizeof(double);
    double *want = harness_alloc(b, bytes), *error = harness_alloc(b, bytes);
    for (int64_t k = 0; k < x.n; k++) {
        want[global_index(i, k)] += x.value[k];
        error[global_index(i, k)] += fabs(x.value[k]);
    }
    for (int64_t k = 0; k < y.n; k++) {
        want[k] /= count;
        error[k] = count > 0 ? bound_mean(count, error[k]) : 0.0;
    }
    return harness_bound(b, &y, want, error);
}

/* dx = dy / (h w): one division of float32, so it is exact except for that. */
static bool run_global_backward(struct harness *b, size_t i)
{
    struct operand dy, dx;
    int64_t image[4], small[4];
    double count = (double)(globals[i].h * globals[i].w);
    global_shapes(i, image, small);
    harness_input(b, &dy, globals[i].out, globals[i].rank, small, LAYOUT_DENSE,
                  FILL_NORMAL);
    harness_output(b, &dx, globals[i].in, 4, image, globals[i].layout_x);
    ssq_global_avg_pool2d_backward_args args =
        SSQ_GLOBAL_AVG_POOL2D_BACKWARD_INIT;
    args.dy = dy.t;
    args.dx = dx.t;
    args.layout = globals[i].layout;
    HARNESS_OP(b, ssq_global_avg_pool2d_backward(b->queue, &args));
    harness_read(b, &dx);
    double *want = harness_alloc(b, (size_t)dx.n * sizeof(*want));
    for (int64_t k = 0; k < dx.n; k++)
        want[k] = harness_round(
            (double)((float)dy.value[global_index(i, k)] / (float)count),
            dx.dtype);
    return harness_exact(b, &dx, want) && harness_same(b, &dx);
}

static void avg_pool_describe(size_t i, char *text, size_t bytes)
{
    if (i < ROWS) {
        struct avg_pool_entry e = avg_pool_entry_of(i);
        describe_entry(&e, "avg_pool2d", text, bytes);
        return;
    }
    i -= ROWS;
    if (i < 2 * COUNT(globals)) {
        size_t k = i / 2;
        snprintf(text, bytes,
                 "global_avg_pool2d%s %s, %s of %lldx%lldx%lldx%lld %s, rank "
                 "%d",
                 i % 2 == 1 ? "_backward" : "", ssq_dtype_name(globals[k].in),
                 ssq_dtype_name(globals[k].out), (long long)globals[k].n,
                 (long long)globals[k].c, (long long)globals[k].h,
                 (long long)globals[k].w,
                 globals[k].layout == SSQ_LAYOUT_NHWC ? "NHWC" : "NCHW",
                 globals[k].rank);
        return;
    }
    snprintf(text, bytes, "%s",
             i == 2 * COUNT(globals)
                 ? "avg_pool2d of windows with nothing to count is NaN"
                 : "avg_pool2d overflows f16 at 65520, at the store alone");
}

static bool avg_pool_run(struct harness *b, size_t i)
{
    if (i < ROWS) {
        struct avg_pool_entry e = avg_pool_entry_of(i);
        return avg_pool_run_forward(b, &e);
    }
    i -= ROWS;
    if (i < 2 * COUNT(globals))
        return i % 2 == 1 ? run_global_backward(b, i / 2)
                          : run_global(b, i / 2);
    return i == 2 * COUNT(globals) ? run_nothing(b) : avg_pool_run_overflow(b);
}

extern const struct suite avg_pool_suite;
const struct suite avg_pool_suite = {.op = "pool",
                                     .name = "avg_pool",
                                     .n = ROWS + 2 * COUNT(globals) + 2,
                                     .describe = avg_pool_describe,
                                     .run = avg_pool_run,
                                     .floor = 130};

/* ---- backward ---- */

struct avg_pool_slope {
    const struct avg_pool_entry *e;
    const double *dy;
    double *y, *size;
    int64_t n;
};

/* sum dy average(x), leaving out windows of nothing */
static double avg_pool_weighted(const void *data, const double *x)
{
    const struct avg_pool_slope *s = data;
    double sum = 0.0;
    averages(s->e, x, s->n, s->y, s->size);
    for (int64_t i = 0; i < s->n; i++)
        sum += isnan(s->y[i]) ? 0.0 : s->dy[i] * s->y[i];
    return sum;
}

/* Shares of dy; sizes and counts for the bound. */
static void avg_pool_share(const struct avg_pool_entry *e, const double *dy,
                           int64_t n, double *dx, double *size, double *count)
{
    for (int64_t i = 0; i < n; i++) {
        double d = divisor_of(e, i);
        for (int64_t r = 0; r < e->g.window[0]; r++)
            for (int64_t s = 0; s < e->g.window[1]; s++) {
                struct pool_tap t = pool_tap(&e->g, i, r, s);
                if (t.at < 0)
                    continue;
                dx[t.at] += dy[i] / d;
                size[t.at] += isfinite(dy[i]) ? fabs(dy[i]) / d : 0.0;
                count[t.at] += 1.0;
            }
    }
}

static bool avg_pool_check_differences(struct harness *b,
                                       const struct avg_pool_entry *e,
                                       const double *dy, int64_t n,
                                       int64_t elements, const double *dx)
{
    size_t bytes = (size_t)n * sizeof(double);
    struct avg_pool_slope s = {e, dy, harness_alloc(b, bytes),
                               harness_alloc(b, bytes), n};
    double size = 1.0;
    double *x = harness_alloc(b, (size_t)elements * sizeof(*x));
    for (int64_t i = 0; i < elements; i++)
        x[i] = harness_uniform(b);
    for (int64_t i = 0; i < n; i++)
        size += fabs(dy[i]) * 36.0; /* elements of a window, divisor 1 */
    return difference_check(b, avg_pool_weighted, &s, x, (size_t)elements, dx,
                            0.5, 0.0, size);
}

static bool avg_pool_run_backward(struct harness *b, size_t i)
{
    struct avg_pool_entry e = avg_pool_entry_of(i);
    struct operand dy, dx;
    int64_t image[4], map[4], elements = conv_elements(&e.g, MADE_IMAGE);
    size_t n = (size_t)elements;
    bool fresh;
    conv_image_shape(&e.g, image);
    conv_map_shape(&e.g, map);
    harness_input(b, &dy, e.in, 4, map, e.layout_y, e.fill);
    harness_output(b, &dx, e.out, 4, image, e.layout_x);
    ssq_avg_pool2d_args forward = avg_pool_args_of(&e);
    ssq_avg_pool2d_backward_args args = SSQ_AVG_POOL2D_BACKWARD_INIT;
    args.dy = dy.t;
    args.dx = dx.t;
    memcpy(args.kernel, forward.kernel, sizeof(args.kernel));
    memcpy(args.stride, forward.stride, sizeof(args.stride));
    memcpy(args.padding, forward.padding, sizeof(args.padding));
    memcpy(args.dilation, forward.dilation, sizeof(args.dilation));
    args.ceil_mode = e.ceil;
    args.count_include_pad = e.count;
    args.divisor = e.divisor;
    args.layout = e.g.layout;
    HARNESS_OP(b, ssq_avg_pool2d_backward(b->queue, &args));
    if (harness_over(b))
        return !b->failed;
    harness_read(b, &dx);
    double *want = harness_keep(b, 0, n, &fresh);
    double *size = harness_keep(b, 1, n, &fresh);
    double *count = harness_keep(b, 2, n, &fresh);
    double *error = harness_alloc(b, n * sizeof(*error));
    if (fresh) {
        avg_pool_share(&e, dy.value, dy.n, want, size, count);
        if (elements <= 200 && e.fill <= FILL_INTEGERS &&
            !avg_pool_check_differences(b, &e, dy.value, dy.n, elements, want))
            return false;
    }
    /* each share may lose to underflow */
    for (int64_t k = 0; k < elements; k++)
        error[k] = isfinite(want[k]) ? bound_chain(count[k] + 2.0, size[k]) +
                                           count[k] * 0x1p-149
                                     : 0.0;
    return harness_bound(b, &dx, where_sums_hold(b, &dx, want, size, 1.0),
                         error);
}

static void avg_pool_backward_describe(size_t i, char *text, size_t bytes)
{
    struct avg_pool_entry e = avg_pool_entry_of(i);
    describe_entry(&e, "avg_pool2d_backward", text, bytes);
}

extern const struct suite avg_pool_backward_suite;
const struct suite avg_pool_backward_suite = {.op = "pool",
                                              .name = "avg_pool_backward",
                                              .n = ROWS,
                                              .describe =
                                                  avg_pool_backward_describe,
                                              .run = avg_pool_run_backward,
                                              .floor = 100};

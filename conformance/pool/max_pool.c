/* SPDX-License-Identifier: Apache-2.0 */
/* max_pool.c - max pooling, bit for bit, and its backward by index. */
#include "conformance/case.h"
#include "conformance/difference.h"
#include "conformance/pool/pool_case.h"

#include "conformance/bounds.h"

#define TURNS 4 /* of the shapes */
#define ROWS  (CONV_SHAPES * TURNS)

static const ssq_dtype floats[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
static const enum fill fills[] = {FILL_NORMAL, FILL_INTEGERS, FILL_SPECIAL,
                                  FILL_TINY, FILL_ZERO};

struct max_pool_entry {
    const struct conv_shape *shape;
    struct conv_geometry g;
    ssq_dtype dtype;
    enum fill fill;
    enum layout layout_x, layout_y;
    bool ceil, argmax;
};

static struct max_pool_entry max_pool_entry_of(size_t i)
{
    struct max_pool_entry e = {
        .shape = &conv_shapes[i % CONV_SHAPES],
        .dtype = floats[i % 3],
        .fill = fills[i % COUNT(fills)],
        .layout_x = i % 7 < 3 ? LAYOUT_PADDED : LAYOUT_DENSE,
        .layout_y = i % 4 == 1 ? LAYOUT_PADDED : LAYOUT_DENSE,
        .ceil = i / 2 % 2 == 1,
        .argmax = i % 6 != 5};
    e.g = pool_geometry(e.shape, 1 + (int64_t)(i % 4), 1 + (int64_t)(i / 4 % 3),
                        i / 5 % 2 == 0 ? SSQ_LAYOUT_NCHW : SSQ_LAYOUT_NHWC,
                        e.ceil);
    return e;
}

/* The element of a window that torch takes: its tap, and at -1 for none. */
static struct pool_tap greatest(const struct conv_geometry *g, int64_t i,
                                const double *x)
{
    struct pool_tap best = {-1, -1, false};
    for (int64_t r = 0; r < g->window[0]; r++)
        for (int64_t s = 0; s < g->window[1]; s++) {
            struct pool_tap t = pool_tap(g, i, r, s);
            if (t.at < 0)
                continue;
            if (best.at < 0 || isnan(x[t.at]) || x[t.at] > x[best.at])
                best = t;
        }
    return best;
}

static uint32_t special_bits(ssq_dtype d, bool nan)
{
    switch (d) {
    case SSQ_F16:
        return nan ? 0x7e00 : 0xfc00;
    case SSQ_BF16:
        return nan ? 0x7fc0 : 0xff80;
    default:
        return nan ? 0x7fc00000 : 0xff800000;
    }
}

static ssq_max_pool2d_args max_pool_args_of(const struct conv_geometry *g,
                                            bool ceil)
{
    ssq_max_pool2d_args args = SSQ_MAX_POOL2D_INIT;
    memcpy(args.kernel, g->window, sizeof(args.kernel));
    memcpy(args.stride, g->stride, sizeof(args.stride));
    memcpy(args.padding, g->padding, sizeof(args.padding));
    memcpy(args.dilation, g->dilation, sizeof(args.dilation));
    args.ceil_mode = ceil;
    args.layout = g->layout;
    /* the default, where that is what the shape has */
    for (int i = 0; i < 2; i++)
        if (args.stride[i] == args.kernel[i])
            args.stride[i] = 0;
    return args;
}

static bool max_pool_compare(struct harness *b, const struct conv_geometry *g,
                             const struct operand *x, const struct operand *y,
                             const struct operand *argmax)
{
    uint32_t *bits = harness_alloc(b, (size_t)y->n * sizeof(*bits));
    uint32_t *where = harness_alloc(b, (size_t)y->n * sizeof(*where));
    for (int64_t i = 0; i < y->n; i++) {
        struct pool_tap t = greatest(g, i, x->value);
        bool nan = t.at >= 0 && isnan(x->value[t.at]);
        bits[i] = t.at < 0 || nan ? special_bits(y->dtype, nan) : x->bits[t.at];
        where[i] = (uint32_t)t.flat;
    }
    return harness_raw_equal(b, y, bits) && harness_same(b, y) &&
           (argmax->t == NULL ||
            (harness_raw_equal(b, argmax, where) && harness_same(b, argmax)));
}

static bool max_pool_run_forward(struct harness *b,
                                 const struct conv_geometry *g,
                                 ssq_max_pool2d_args args, struct operand *x,
                                 enum layout layout, bool with_argmax)
{
    struct operand y, argmax = {.t = NULL};
    int64_t shape[4];
    conv_map_shape(g, shape);
    harness_output(b, &y, x->dtype, 4, shape, layout);
    if (with_argmax)
        harness_output(b, &argmax, SSQ_I32, 4, shape, layout);
    args.x = x->t;
    args.y = y.t;
    args.argmax = argmax.t;
    b->bytes = (double)(x->n + y.n) * ssq_dtype_bits(x->dtype) / 8;
    HARNESS_OP(b, ssq_max_pool2d(b->queue, &args));
    harness_read(b, &y);
    if (with_argmax)
        harness_read(b, &argmax);
    return max_pool_compare(b, g, x, &y, &argmax);
}

static bool max_pool_run_row(struct harness *b, size_t i)
{
    struct max_pool_entry e = max_pool_entry_of(i);
    struct operand x;
    int64_t shape[4];
    conv_image_shape(&e.g, shape);
    harness_input(b, &x, e.dtype, 4, shape, e.layout_x, e.fill);
    return max_pool_run_forward(b, &e.g, max_pool_args_of(&e.g, e.ceil), &x,
                                e.layout_y, e.argmax);
}

/* Named windows: 1x3 on three elements. */
static const struct {
    double x[3];
    const char *what;
} named[] = {
    {{0.0, -0.0, 0.0}, "+0 -0 +0: the first"},
    {{-0.0, 0.0, 0.0}, "-0 +0 +0: the first"},
    {{(double)NAN, 5, (double)NAN}, "NaN 5 NaN: the last"},
    {{(double)NAN, (double)INFINITY, 1}, "NaN Inf 1"},
    {{-(double)INFINITY, -(double)INFINITY, -(double)INFINITY}, "all -Inf"},
    {{1, 2, 2}, "1 2 2: the first 2"},
    {{-0x1p-149, -0x1p-148, -0.5}, "subnormals"},
};

static bool max_pool_run_named(struct harness *b, size_t i)
{
    const struct conv_shape s = {"",     {1, 3},       {1, 3},
                                 {1, 1}, {0, 0, 0, 0}, {1, 1}};
    struct conv_geometry g = pool_geometry(&s, 1, 1, SSQ_LAYOUT_NCHW, false);
    const int64_t shape[] = {1, 1, 1, 3};
    struct operand x;
    harness_values(b, &x, SSQ_F32, 4, shape, LAYOUT_DENSE, named[i].x);
    return max_pool_run_forward(b, &g, max_pool_args_of(&g, false), &x,
                                LAYOUT_DENSE, true);
}

/* NaNs with signs and payloads: the one that is stored has neither. */
static bool run_payload(struct harness *b, size_t i)
{
    static const uint32_t bits[3][3] = {{0x7f800001, 0xffc12345, 0x3f800000},
                                        {0x7c01, 0xfe34, 0x3c00},
                                        {0x7f81, 0xffc1, 0x3f80}};
    const struct conv_shape s = {"",     {1, 3},       {1, 3},
                                 {1, 1}, {0, 0, 0, 0}, {1, 1}};
    struct conv_geometry g = pool_geometry(&s, 1, 1, SSQ_LAYOUT_NHWC, false);
    const int64_t shape[] = {1, 1, 3, 1};
    struct operand x;
    harness_raw(b, &x, floats[i], 4, shape, LAYOUT_DENSE, bits[i]);
    return max_pool_run_forward(b, &g, max_pool_args_of(&g, false), &x,
                                LAYOUT_DENSE, true);
}

/* No images, no channels, no rows: with padding there are windows all the
 * same, of nothing. */
static const struct {
    int64_t n, c, image[2], padding;
} empty[] = {{0, 3, {5, 5}, 1},
             {2, 0, {5, 5}, 1},
             {2, 3, {0, 5}, 1},
             {2, 3, {0, 0}, 0},
             {1, 2, {0, 0}, 2}};

static bool max_pool_run_empty(struct harness *b, size_t i)
{
    struct conv_shape s = {
        .window = {2, 2}, .stride = {1, 1}, .dilation = {1, 1}};
    memcpy(s.image, empty[i].image, sizeof(s.image));
    for (int k = 0; k < 4; k++)
        s.padding[k] = empty[i].padding;
    struct conv_geometry g =
        pool_geometry(&s, empty[i].c, empty[i].n, SSQ_LAYOUT_NCHW, false);
    struct operand x;
    int64_t shape[4];
    conv_image_shape(&g, shape);
    harness_input(b, &x, SSQ_F16, 4, shape, LAYOUT_DENSE, FILL_NORMAL);
    return max_pool_run_forward(b, &g, max_pool_args_of(&g, false), &x,
                                LAYOUT_PADDED, true);
}

#define NAMED (ROWS + COUNT(named))

static void max_pool_describe(size_t i, char *text, size_t bytes)
{
    char sizes[200];
    if (i >= NAMED + 3) {
        i -= NAMED + 3;
        snprintf(text, bytes, "max_pool2d of %lldx%lldx%lldx%lld, padding %lld",
                 (long long)empty[i].n, (long long)empty[i].c,
                 (long long)empty[i].image[0], (long long)empty[i].image[1],
                 (long long)empty[i].padding);
        return;
    }
    if (i >= NAMED) {
        snprintf(text, bytes, "max_pool2d %s of NaNs with payloads",
                 ssq_dtype_name(floats[i - NAMED]));
        return;
    }
    if (i >= ROWS) {
        snprintf(text, bytes, "max_pool2d of %s", named[i - ROWS].what);
        return;
    }
    struct max_pool_entry e = max_pool_entry_of(i);
    pool_describe(&e.g, e.ceil, sizes, sizeof(sizes));
    snprintf(text, bytes, "max_pool2d %s %s %s%s: %s", ssq_dtype_name(e.dtype),
             sizes, fill_text(e.fill), e.argmax ? "" : " without argmax",
             e.shape->name);
}

static bool max_pool_run(struct harness *b, size_t i)
{
    if (i < ROWS)
        return max_pool_run_row(b, i);
    if (i < NAMED)
        return max_pool_run_named(b, i - ROWS);
    return i < NAMED + 3 ? run_payload(b, i - NAMED)
                         : max_pool_run_empty(b, i - NAMED - 3);
}

extern const struct suite max_pool_suite;
const struct suite max_pool_suite = {.op = "pool",
                                     .name = "max_pool",
                                     .n = NAMED + 3 + COUNT(empty),
                                     .describe = max_pool_describe,
                                     .run = max_pool_run,
                                     .bit_equal = true,
                                     .floor = 150};

/* ---- backward ---- */

/* x holds distinct integers, shuffled: a maximum stays one within a step. */
static void max_pool_shuffle(struct harness *b, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (double)i;
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)(harness_uniform(b) * (double)i);
        double t = x[i - 1];
        x[i - 1] = x[k];
        x[k] = t;
    }
}

struct max_pool_slope {
    const struct conv_geometry *g;
    const double *dy;
    int64_t n;
};

/* sum dy max(x); nothing is given for a window of nothing */
static double max_pool_weighted(const void *data, const double *x)
{
    const struct max_pool_slope *s = data;
    double sum = 0.0;
    for (int64_t i = 0; i < s->n; i++) {
        struct pool_tap t = greatest(s->g, i, x);
        sum += t.at < 0 ? 0.0 : s->dy[i] * x[t.at];
    }
    return sum;
}

/* Scatter dy; sizes and counts for the bound. */
static void max_pool_scatter(const struct conv_geometry *g, const double *dy,
                             const double *where, int64_t n, double *dx,
                             double *size, double *count)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = 0; r < g->window[0]; r++)
            for (int64_t s = 0; s < g->window[1]; s++) {
                struct pool_tap t = pool_tap(g, i, r, s);
                if (t.at < 0 || (double)t.flat != where[i])
                    continue;
                dx[t.at] += dy[i];
                size[t.at] += isfinite(dy[i]) ? fabs(dy[i]) : 0.0;
                count[t.at] += 1.0;
            }
}

/* The forward output; every ninth is spoilt: nowhere, or in no window. */
static double *indices(struct harness *b, const struct conv_geometry *g,
                       const double *x, int64_t n, bool spoil)
{
    static const double bad[] = {-1, 0, 2147483647.0, -2147483648.0};
    double *where = harness_alloc(b, (size_t)n * sizeof(*where));
    for (int64_t i = 0; i < n; i++) {
        where[i] = (double)greatest(g, i, x).flat;
        if (spoil && i % 9 == 4)
            where[i] = bad[i / 9 % 4];
    }
    return where;
}

static bool max_pool_check_differences(struct harness *b,
                                       const struct conv_geometry *g, double *x,
                                       const double *dy, int64_t n,
                                       int64_t elements, const double *dx)
{
    struct max_pool_slope s = {g, dy, n};
    double size = 1.0;
    for (int64_t i = 0; i < n; i++)
        size += fabs(dy[i]) * (double)(elements + 1);
    return difference_check(b, max_pool_weighted, &s, x, (size_t)elements, dx,
                            0.25, 0.0, size);
}

static bool max_pool_run_backward(struct harness *b, size_t i)
{
    struct max_pool_entry e = max_pool_entry_of(i);
    struct operand dy, argmax, dx;
    int64_t image[4], map[4], elements = conv_elements(&e.g, MADE_IMAGE);
    int64_t n = conv_elements(&e.g, MADE_MAP);
    size_t bytes = (size_t)elements * sizeof(double);
    bool spoil = i % 4 == 3, fresh;
    double *x = harness_alloc(b, bytes);
    max_pool_shuffle(b, x, (size_t)elements);
    double *where = indices(b, &e.g, x, n, spoil);
    conv_image_shape(&e.g, image);
    conv_map_shape(&e.g, map);
    harness_input(b, &dy, e.dtype, 4, map, e.layout_y,
                  e.fill == FILL_ZERO ? FILL_HUGE : e.fill);
    harness_values(b, &argmax, SSQ_I32, 4, map, e.layout_y, where);
    harness_output(b, &dx, floats[i / 3 % 3], 4, image, e.layout_x);
    ssq_max_pool2d_args forward = max_pool_args_of(&e.g, e.ceil);
    ssq_max_pool2d_backward_args args = SSQ_MAX_POOL2D_BACKWARD_INIT;
    args.dy = dy.t;
    args.argmax = argmax.t;
    args.dx = dx.t;
    memcpy(args.kernel, forward.kernel, sizeof(args.kernel));
    memcpy(args.stride, forward.stride, sizeof(args.stride));
    memcpy(args.padding, forward.padding, sizeof(args.padding));
    memcpy(args.dilation, forward.dilation, sizeof(args.dilation));
    args.ceil_mode = e.ceil;
    args.layout = e.g.layout;
    HARNESS_OP(b, ssq_max_pool2d_backward(b->queue, &args));
    if (harness_over(b))
        return !b->failed;
    harness_read(b, &dx);
    double *want = harness_keep(b, 0, (size_t)elements, &fresh);
    double *error = harness_keep(b, 1, (size_t)elements, &fresh);
    double *size = harness_keep(b, 2, (size_t)elements, &fresh);
    if (fresh) {
        double *count = harness_alloc(b, bytes);
        max_pool_scatter(&e.g, dy.value, where, n, want, size, count);
        if (!spoil && elements <= 200 && e.fill <= FILL_INTEGERS &&
            !max_pool_check_differences(b, &e.g, x, dy.value, n, elements,
                                        want))
            return false;
        for (int64_t k = 0; k < elements; k++)
            error[k] = e.fill == FILL_INTEGERS || isinf(want[k])
                           ? 0.0
                           : bound_chain(count[k], size[k]);
    }
    /* float32 sums of huge terms may overflow */
    double *may = harness_alloc(b, bytes);
    for (int64_t k = 0; k < elements; k++)
        may[k] =
            size[k] >= 0x1p127 && isfinite(want[k]) ? dx.value[k] : want[k];
    return harness_bound(b, &dx, may, error);
}

static void max_pool_backward_describe(size_t i, char *text, size_t bytes)
{
    char sizes[200];
    struct max_pool_entry e = max_pool_entry_of(i);
    pool_describe(&e.g, e.ceil, sizes, sizeof(sizes));
    snprintf(text, bytes, "max_pool2d_backward %s -> %s %s %s%s: %s",
             ssq_dtype_name(e.dtype), ssq_dtype_name(floats[i / 3 % 3]), sizes,
             fill_text(e.fill == FILL_ZERO ? FILL_HUGE : e.fill),
             i % 4 == 3 ? " with wrong indices" : "", e.shape->name);
}

extern const struct suite max_pool_backward_suite;
const struct suite max_pool_backward_suite = {.op = "pool",
                                              .name = "max_pool_backward",
                                              .n = ROWS,
                                              .describe =
                                                  max_pool_backward_describe,
                                              .run = max_pool_run_backward,
                                              .floor = 130};

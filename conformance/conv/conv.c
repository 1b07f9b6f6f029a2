/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - the covering table of conv2d: awkward windows, channels and groups,
 * layouts, dtypes and epilogues, each level with each other one; the edges. */
#include "conformance/case.h"
#include "conformance/conv/conv_case.h"
#include "conformance/gemm/gemm_case.h"
#include "conformance/pairwise.h"

#define ROWS 150
#define F32  SSQ_F32
#define F16  SSQ_F16
#define BF16 SSQ_BF16

static const struct conv_channels channels[] = {
    {1, 1, 1}, {3, 5, 1}, {4, 6, 2},  {6, 6, 6},
    {3, 6, 3}, {8, 4, 4}, {9, 34, 1}, /* tiles of 32 rows, 64 deep */
};
static const ssq_dtype pairs[][2] = {
    {F32, F32}, {F16, F16},  {BF16, BF16}, {F16, F32},
    {F32, F16}, {BF16, F32}, {F32, BF16},
};
static const ssq_dtype floats[] = {F32, F16, BF16};
static const ssq_dtype biases[] = {(ssq_dtype)0, F32, F16, BF16};
static const struct {
    enum fill x, w;
} data[] = {
    {FILL_NORMAL, FILL_NORMAL},    {FILL_INTEGERS, FILL_INTEGERS},
    {FILL_UNIFORM, FILL_POSITIVE}, {FILL_TINY, FILL_NORMAL},
    {FILL_HUGE, FILL_TINY},        {FILL_SPECIAL, FILL_NORMAL},
    {FILL_POSITIVE, FILL_SPECIAL},
};

enum factor {
    SHAPE,
    CHANNELS,
    N,
    PAIR,
    Y,
    BIAS,
    LAYOUT_OF_BIAS,
    ACTIVATION,
    LAYOUT,
    LAYOUT_X,
    LAYOUT_W,
    LAYOUT_Y,
    DATA,
    FACTORS
};

static const unsigned char *conv_row(size_t i)
{
    static unsigned char table[ROWS][FACTORS];
    static bool made;
    if (!made) {
        const unsigned char levels[FACTORS] = {
            [SHAPE] = CONV_SHAPES,
            [CHANNELS] = COUNT(channels),
            [N] = 3,
            [PAIR] = COUNT(pairs),
            [Y] = COUNT(floats),
            [BIAS] = COUNT(biases),
            [LAYOUT_OF_BIAS] = 2,
            [ACTIVATION] = SSQ_ACTIVATION_TANH + 1,
            [LAYOUT] = 2,
            [LAYOUT_X] = 2,
            [LAYOUT_W] = 2,
            [LAYOUT_Y] = 2,
            [DATA] = COUNT(data),
        };
        made = pairwise(levels, FACTORS, table[0], ROWS) <= ROWS;
    }
    return made ? table[i] : NULL;
}

/* A call in flight. */
struct conv_scene {
    struct conv_geometry g;
    struct operand x, w, bias, y;
    ssq_activation activation;
    bool integers;
};

static ssq_conv2d_args conv_args_of(const struct conv_scene *t)
{
    ssq_conv2d_args args = SSQ_CONV2D_INIT;
    args.x = t->x.t;
    args.w = t->w.t;
    args.bias = t->bias.t;
    args.y = t->y.t;
    memcpy(args.stride, t->g.stride, sizeof(args.stride));
    memcpy(args.padding, t->g.padding, sizeof(args.padding));
    memcpy(args.dilation, t->g.dilation, sizeof(args.dilation));
    args.groups = t->g.groups;
    args.layout = t->g.layout;
    args.activation = t->activation;
    return args;
}

static bool conv_table_finish(struct harness *b, struct conv_scene *t)
{
    const struct conv_geometry *g = &t->g;
    ssq_conv2d_args args = conv_args_of(t);
    bool fresh;
    b->flops = 2.0 * (double)t->y.n * conv_depth(g, MADE_MAP);
    const struct operand *used[] = {&t->x, &t->w, &t->y};
    for (int i = 0; i < 3; i++)
        b->bytes += (double)used[i]->n * ssq_dtype_bits(used[i]->dtype) / 8;
    HARNESS_OP(b, ssq_conv2d(b->queue, &args));
    if (harness_over(b))
        return !b->failed;
    harness_read(b, &t->y);
    struct conv_sum *sums = (struct conv_sum *)harness_keep(
        b, 0, (size_t)t->y.n * sizeof(*sums) / sizeof(double), &fresh);
    if (fresh)
        conv_sums(g, MADE_MAP, t->x.value, t->w.value, NULL, sums);
    const struct conv_check check = {.g = g,
                                     .made = MADE_MAP,
                                     .a = &t->x,
                                     .b = &t->w,
                                     .bias =
                                         t->bias.t == NULL ? NULL : &t->bias,
                                     .activation = t->activation,
                                     .integers = t->integers};
    return conv_compare(b, &check, &t->y, sums);
}

static struct conv_geometry row_geometry(const unsigned char *r)
{
    return conv_geometry(&conv_shapes[r[SHAPE]], channels[r[CHANNELS]],
                         r[N] + 1,
                         r[LAYOUT] == 0 ? SSQ_LAYOUT_NCHW : SSQ_LAYOUT_NHWC);
}

static bool conv_run_row(struct harness *b, const unsigned char *r)
{
    int64_t shape[4];
    enum fill x = data[r[DATA]].x, w = data[r[DATA]].w;
    struct conv_scene t = {.g = row_geometry(r),
                           .activation = (ssq_activation)r[ACTIVATION],
                           .integers = w == FILL_INTEGERS};
    conv_image_shape(&t.g, shape);
    harness_input(b, &t.x, pairs[r[PAIR]][0], 4, shape,
                  r[LAYOUT_X] == 0 ? LAYOUT_DENSE : LAYOUT_PADDED, x);
    conv_filter_shape(&t.g, shape);
    harness_input(b, &t.w, pairs[r[PAIR]][1], 4, shape,
                  r[LAYOUT_W] == 0 ? LAYOUT_DENSE : LAYOUT_PADDED, w);
    if (biases[r[BIAS]] != 0)
        harness_input(b, &t.bias, biases[r[BIAS]], 1, &t.g.o,
                      r[LAYOUT_OF_BIAS] == 0 ? LAYOUT_DENSE : LAYOUT_BROADCAST,
                      w == FILL_INTEGERS ? w : FILL_NORMAL);
    conv_map_shape(&t.g, shape);
    harness_output(b, &t.y, floats[r[Y]], 4, shape,
                   r[LAYOUT_Y] == 0 ? LAYOUT_DENSE : LAYOUT_PADDED);
    return conv_table_finish(b, &t);
}

static void describe_row(const unsigned char *r, char *text, size_t bytes)
{
    struct conv_geometry g = row_geometry(r);
    char sizes[160];
    conv_describe(&g, sizes, sizeof(sizes));
    snprintf(text, bytes, "conv2d %s x %s -> %s %s bias %s %s %s by %s: %s",
             ssq_dtype_name(pairs[r[PAIR]][0]),
             ssq_dtype_name(pairs[r[PAIR]][1]), ssq_dtype_name(floats[r[Y]]),
             sizes,
             biases[r[BIAS]] == 0 ? "none" : ssq_dtype_name(biases[r[BIAS]]),
             ssq_activation_name((ssq_activation)r[ACTIVATION]),
             fill_text(data[r[DATA]].x), fill_text(data[r[DATA]].w),
             conv_shapes[r[SHAPE]].name);
}

/* Empty operands, and what an empty sum gives. */
static const struct {
    struct conv_channels channels;
    int64_t n, image[2];
    bool pad;
} empty[] = {
    {{3, 4, 1}, 0, {5, 5}, true},  {{0, 4, 1}, 2, {5, 5}, true},
    {{0, 4, 2}, 2, {5, 5}, true},  {{4, 0, 1}, 2, {5, 5}, true},
    {{0, 0, 1}, 0, {5, 5}, true},  {{3, 4, 1}, 2, {0, 5}, true},
    {{3, 4, 1}, 2, {0, 5}, false}, {{3, 4, 1}, 2, {0, 0}, false},
};

static bool conv_run_empty(struct harness *b, size_t i)
{
    struct conv_shape s = {
        .window = {2, 2}, .stride = {1, 1}, .dilation = {1, 1}};
    int64_t shape[4];
    memcpy(s.image, empty[i].image, sizeof(s.image));
    for (int k = 0; k < 4; k++)
        s.padding[k] = empty[i].pad ? 1 : 0;
    struct conv_scene t = {
        .g = conv_geometry(&s, empty[i].channels, empty[i].n,
                           i % 2 == 0 ? SSQ_LAYOUT_NCHW : SSQ_LAYOUT_NHWC),
        .activation = SSQ_ACTIVATION_SIGMOID};
    conv_image_shape(&t.g, shape);
    harness_input(b, &t.x, F16, 4, shape, LAYOUT_DENSE, FILL_NORMAL);
    conv_filter_shape(&t.g, shape);
    harness_input(b, &t.w, F16, 4, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &t.bias, F32, 1, &t.g.o, LAYOUT_DENSE, FILL_NORMAL);
    conv_map_shape(&t.g, shape);
    harness_output(b, &t.y, F32, 4, shape, LAYOUT_PADDED);
    return conv_table_finish(b, &t);
}

/* One output of a 1x2 window on [1,1,1,2]: two products and a bias. */
#define INF ((double)INFINITY)
static const struct dot {
    ssq_dtype x_dtype, w_dtype, y_dtype;
    double x[2], w[2], bias, want;
    ssq_activation activation;
    bool subnormal; /* float32 may be flushed */
} dots[] = {
    /* f16 overflow begins at 65520, after bias and before activation */
    {F16, F16, F16, {2048, 0}, {31.984375, 1}, 0, 65504, 0, false},
    {F16, F16, F16, {2048, 16}, {31.984375, 1}, 0, INF, 0, false},
    {F16, F16, F16, {2048, 15.9921875}, {31.984375, 1}, 0, 65504, 0, false},
    {F16, F16, F16, {2048, 0}, {31.984375, 1}, 16, INF, 0, false},
    {F16, F16, F16, {-2048, 0}, {31.984375, 1}, -16, -INF, 0, false},
    {F16, F16, F16, {2048, 0}, {31.984375, 1}, 15.99609375, 65504, 0, false},
    {F16, F16, F16, {256, 256}, {256, -1}, 0, 65280, 0, false},
    {F16, F16, F16, {256, 256}, {-256, -1}, 0, 0, SSQ_ACTIVATION_RELU, false},
    {F16, F16, F16, {256, 256}, {-256, -1}, 0, -INF, 0, false},
    {F16, F16, F16, {256, 256}, {256, 1}, 0, 1, SSQ_ACTIVATION_TANH, false},
    {F16, F16, F32, {256, 256}, {256, 1}, 0, 65792, 0, false},
    /* products and sums are not rounded to 16 bits on the way */
    {F16, F16, F16, {65504, 65504}, {2, -1}, 0, 65504, 0, false},
    {F16, F16, F16, {2048, 1}, {1, 1}, -2048, 1, 0, false},
    {BF16, BF16, BF16, {256, 1}, {1, 1}, -256, 1, 0, false},
    {BF16, BF16, BF16, {256, 1}, {1, 1}, 0, 256, 0, false},
    {BF16, BF16, BF16, {256, 3}, {1, 1}, 0, 260, 0, false},
    {F32, F32, F16, {2048, 1}, {1, 1}, 0, 2048, 0, false},
    {F32, F32, F16, {2048, 3}, {1, 1}, 0, 2052, 0, false},
    /* subnormals */
    {F16, F16, F16, {0x1p-24, 0}, {1, 1}, 0, 0x1p-24, 0, false},
    {F16, F16, F16, {0x3p-24, 0}, {0.5, 1}, 0, 0x2p-24, 0, false},
    {F16, F16, F16, {0x3FFp-24, 0x1p-24}, {1, 1}, 0, 0x1p-14, 0, false},
    {F32, F32, F32, {0x1p-149, 0}, {1, 1}, 0, 0x1p-149, 0, true},
    {BF16, BF16, BF16, {0x1p-133, 0}, {1, 1}, 0, 0x1p-133, 0, true},
    /* NaN and infinities */
    {F32, F32, F32, {INF, 1}, {1, 1}, 0, INF, 0, false},
    {F32, F32, F32, {INF, -INF}, {1, 1}, 0, (double)NAN, 0, false},
    {F32, F32, F32, {INF, 1}, {0, 1}, 0, (double)NAN, 0, false},
    {F16, F16, F16, {1, 1}, {1, 1}, -INF, -INF, 0, false},
    {F16,
     F16,
     F16,
     {1, (double)NAN},
     {1, 0},
     0,
     (double)NAN,
     SSQ_ACTIVATION_RELU,
     false},
    {BF16, BF16, F32, {1, 1}, {1, (double)NAN}, 0, (double)NAN, 0, false},
    {F32, F32, F32, {0x1p127, 0x1p127}, {1, 1}, 0, INF, 0, false},
};

static bool conv_table_run_dot(struct harness *b, const struct dot *t)
{
    const int64_t two[] = {1, 1, 1, 2}, one[] = {1, 1, 1, 1};
    struct operand x, w, bias, y;
    harness_values(b, &x, t->x_dtype, 4, two, LAYOUT_DENSE, t->x);
    harness_values(b, &w, t->w_dtype, 4, two, LAYOUT_DENSE, t->w);
    harness_values(b, &bias, F32, 1, one, LAYOUT_DENSE, &t->bias);
    harness_output(b, &y, t->y_dtype, 4, one, LAYOUT_DENSE);
    ssq_conv2d_args args = SSQ_CONV2D_INIT;
    args.x = x.t;
    args.w = w.t;
    args.bias = t->bias != 0.0 ? bias.t : NULL;
    args.y = y.t;
    args.activation = t->activation;
    HARNESS_OP(b, ssq_conv2d(b->queue, &args));
    harness_read(b, &y);
    if (t->subnormal && b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED &&
        y.value[0] == 0.0)
        return !b->failed;
    return gemm_exactly(b, &y, &t->want);
}

/* A NaN weight meets the padding: NaN in the first and last row only. */
static bool run_padded_nan(struct harness *b)
{
    const struct conv_shape s = {"",     {4, 3},       {3, 1},
                                 {1, 1}, {1, 0, 1, 0}, {1, 1}};
    struct conv_scene t = {.g = conv_geometry(&s,
                                              (struct conv_channels){1, 1, 1},
                                              1, SSQ_LAYOUT_NCHW)};
    const int64_t image[] = {1, 1, 4, 3}, window[] = {1, 1, 3, 1};
    const double w[] = {(double)NAN, 1, 1},
                 x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    harness_values(b, &t.x, F32, 4, image, LAYOUT_DENSE, x);
    harness_values(b, &t.w, F32, 4, window, LAYOUT_DENSE, w);
    harness_output(b, &t.y, F32, 4, image, LAYOUT_DENSE);
    if (!conv_table_finish(b, &t) || harness_over(b))
        return !b->failed;
    for (int i = 0; i < 12; i++)
        if (!isnan(t.y.value[i]))
            return harness_fail(b, "row %d met a NaN weight and is %g", i / 3,
                                t.y.value[i]);
    return true;
}

#define SINGLE (ROWS + COUNT(empty) + COUNT(dots))

static void conv_table_describe(size_t i, char *text, size_t bytes)
{
    if (i < ROWS) {
        if (conv_row(i) == NULL)
            snprintf(text, bytes, "conv2d: %d rows do not cover all", ROWS);
        else
            describe_row(conv_row(i), text, bytes);
    } else if (i < ROWS + COUNT(empty)) {
        i -= ROWS;
        snprintf(text, bytes,
                 "conv2d of %lld empty images %lldx%lldx%lld to %lld channels",
                 (long long)empty[i].n, (long long)empty[i].channels.c,
                 (long long)empty[i].image[0], (long long)empty[i].image[1],
                 (long long)empty[i].channels.o);
    } else if (i < SINGLE) {
        const struct dot *t = &dots[i - ROWS - COUNT(empty)];
        snprintf(text, bytes,
                 "conv2d %s x %s -> %s of %g %g by %g %g plus %g, %s, is %g",
                 ssq_dtype_name(t->x_dtype), ssq_dtype_name(t->w_dtype),
                 ssq_dtype_name(t->y_dtype), t->x[0], t->x[1], t->w[0], t->w[1],
                 t->bias, ssq_activation_name(t->activation), t->want);
    } else {
        snprintf(text, bytes, "conv2d multiplies NaN weights by the padding");
    }
}

static bool conv_table_run(struct harness *b, size_t i)
{
    if (i < ROWS)
        return conv_row(i) != NULL
                   ? conv_run_row(b, conv_row(i))
                   : harness_fail(b, "%d rows do not cover all pairs", ROWS);
    if (i < ROWS + COUNT(empty))
        return conv_run_empty(b, i - ROWS);
    if (i < SINGLE)
        return conv_table_run_dot(b, &dots[i - ROWS - COUNT(empty)]);
    return run_padded_nan(b);
}

extern const struct suite conv_suite;
const struct suite conv_suite = {.op = "conv",
                                 .name = "conv",
                                 .n = SINGLE + 1,
                                 .turn = suite_half,
                                 .describe = conv_table_describe,
                                 .run = conv_table_run,
                                 .floor = 250};

/* SPDX-License-Identifier: Apache-2.0 */
/* conv_backward.c - the gradients of conv2d, and conv_transpose2d with its own:
 * tables, central differences, adjoints on integers, layouts, edges. */
#include "conformance/case.h"
#include "conformance/conv/conv_case.h"
#include "conformance/difference.h"

#include "conformance/bounds.h"

#define F32  SSQ_F32
#define F16  SSQ_F16
#define BF16 SSQ_BF16

static const struct conv_channels channels[] = {
    {3, 5, 1}, {1, 1, 1}, {4, 6, 2}, {6, 6, 6}, {3, 6, 3}, {35, 3, 1},
};
/* x, w, dy: no f16 meets bf16 */
static const ssq_dtype triples[][3] = {
    {F32, F32, F32}, {F16, F16, F16},  {BF16, BF16, BF16}, {F16, F32, F16},
    {F32, F16, F32}, {BF16, F32, F32}, {F32, BF16, BF16},
};
static const ssq_dtype floats[] = {F32, F16, BF16};
/* x and dy; with POSITIVE the filters are special */
static const enum fill fills[] = {FILL_NORMAL,   FILL_INTEGERS, FILL_TINY,
                                  FILL_POSITIVE, FILL_NORMAL,   FILL_SPECIAL};

/* Every shape with each kind, the rest in turn. */
struct conv_backward_entry {
    bool transposed;
    const struct conv_shape *shape;
    size_t i;
};

/* A convolution of an image (x; of the transposed: y) to a map, and the
 * gradients. In the transposed op, input and result change places.
 */
struct conv_backward_scene {
    bool transposed;
    struct conv_geometry g;
    struct operand image, filter, map, bias; /* given */
    struct operand made_image, made_filter, made_map, db;
    bool integers;
    struct conv_sum *sums[3]; /* by enum conv_made */
};

static void stride_args(const struct conv_geometry *g, int64_t *stride,
                        int64_t *padding, int64_t *dilation)
{
    memcpy(stride, g->stride, sizeof(g->stride));
    memcpy(padding, g->padding, sizeof(g->padding));
    memcpy(dilation, g->dilation, sizeof(g->dilation));
}

/* Rows and columns of the image that the map does not say. */
static void output_padding(const struct conv_geometry *g, int64_t *extra)
{
    for (int i = 0; i < 2; i++)
        extra[i] = g->image[i] - ((g->map[i] - 1) * g->stride[i] -
                                  g->padding[i] - g->padding[i + 2] +
                                  g->dilation[i] * (g->window[i] - 1) + 1);
}

static void run_data(struct harness *b, struct conv_backward_scene *t)
{
    const struct conv_geometry *g = &t->g;
    ssq_conv2d_backward_data_args args = SSQ_CONV2D_BACKWARD_DATA_INIT;
    args.dy = t->transposed ? t->image.t : t->map.t;
    args.w = t->filter.t;
    args.dx = t->transposed ? t->made_map.t : t->made_image.t;
    stride_args(g, args.stride, args.padding, args.dilation);
    args.groups = g->groups;
    args.layout = g->layout;
    HARNESS_OP(b, t->transposed
                      ? ssq_conv_transpose2d_backward_data(b->queue, &args)
                      : ssq_conv2d_backward_data(b->queue, &args));
}

static void conv_backward_run_weight(struct harness *b,
                                     struct conv_backward_scene *t)
{
    const struct conv_geometry *g = &t->g;
    ssq_conv2d_backward_weight_args args = SSQ_CONV2D_BACKWARD_WEIGHT_INIT;
    args.x = t->transposed ? t->map.t : t->image.t;
    args.dy = t->transposed ? t->image.t : t->map.t;
    args.dw = t->made_filter.t;
    args.db = t->db.t;
    stride_args(g, args.stride, args.padding, args.dilation);
    args.groups = g->groups;
    args.layout = g->layout;
    HARNESS_OP(b, t->transposed
                      ? ssq_conv_transpose2d_backward_weight(b->queue, &args)
                      : ssq_conv2d_backward_weight(b->queue, &args));
}

static void conv_backward_run_forward(struct harness *b,
                                      struct conv_backward_scene *t,
                                      ssq_activation activation)
{
    const struct conv_geometry *g = &t->g;
    if (t->transposed) {
        ssq_conv_transpose2d_args args = SSQ_CONV_TRANSPOSE2D_INIT;
        args.x = t->map.t;
        args.w = t->filter.t;
        args.bias = t->bias.t;
        args.y = t->made_image.t;
        stride_args(g, args.stride, args.padding, args.dilation);
        output_padding(g, args.output_padding);
        args.groups = g->groups;
        args.layout = g->layout;
        args.activation = activation;
        HARNESS_OP(b, ssq_conv_transpose2d(b->queue, &args));
        return;
    }
    ssq_conv2d_args args = SSQ_CONV2D_INIT;
    args.x = t->image.t;
    args.w = t->filter.t;
    args.y = t->made_map.t;
    stride_args(g, args.stride, args.padding, args.dilation);
    args.groups = g->groups;
    args.layout = g->layout;
    HARNESS_OP(b, ssq_conv2d(b->queue, &args));
}

/* Gradients of the forward result: all three sums, once for all devices. */
static bool oracles(struct harness *b, struct conv_backward_scene *t)
{
    bool all = false;
    for (int k = 0; k < 3; k++) {
        bool fresh;
        size_t n = (size_t)conv_elements(&t->g, (enum conv_made)k);
        t->sums[k] = (struct conv_sum *)harness_keep(
            b, k, n * sizeof(struct conv_sum) / sizeof(double), &fresh);
        if (fresh)
            conv_sums(&t->g, (enum conv_made)k, t->image.value, t->filter.value,
                      t->map.value, t->sums[k]);
        all = all || fresh;
    }
    return all;
}

static bool conv_backward_compare(struct harness *b,
                                  const struct conv_backward_scene *t,
                                  enum conv_made made, const struct operand *y,
                                  const struct operand *bias,
                                  ssq_activation activation)
{
    const struct operand *a = made == MADE_IMAGE ? &t->map : &t->image;
    const struct conv_check check = {.g = &t->g,
                                     .made = made,
                                     .a = a,
                                     .b = made == MADE_FILTER ? &t->map
                                                              : &t->filter,
                                     .bias = bias,
                                     .activation = activation,
                                     .integers = t->integers};
    return conv_compare(b, &check, y, t->sums[made]);
}

/* db: the sum over dy of every channel. */
static bool compare_db(struct harness *b, struct conv_backward_scene *t)
{
    const struct operand *dy = t->transposed ? &t->image : &t->map;
    int64_t n = t->db.n, last = t->g.layout == SSQ_LAYOUT_NHWC ? 1 : 0;
    int64_t plane = t->transposed ? t->g.image[0] * t->g.image[1]
                                  : t->g.map[0] * t->g.map[1];
    double *want = harness_alloc(b, (size_t)n * sizeof(*want));
    double *error = harness_alloc(b, (size_t)n * sizeof(*want));
    for (int64_t i = 0; i < dy->n; i++) {
        int64_t c = last != 0 ? i % n : i / plane % n;
        want[c] += dy->value[i];
        error[c] += isfinite(dy->value[i]) ? fabs(dy->value[i]) : 0.0;
    }
    for (int64_t c = 0; c < n; c++) {
        bool open = error[c] >= 0x1p127;
        if (open)
            want[c] = t->db.value[c];
        error[c] = isfinite(want[c])
                       ? bound_sum((double)(t->g.n * plane), error[c])
                       : 0.0;
    }
    return harness_bound(b, &t->db, want, error);
}

/* The oracle's gradients belong to the oracle's forward, which is linear in
 * each operand: any step will do. */
static bool differences(struct harness *b, const struct conv_backward_scene *t)
{
    const struct conv_geometry *g = &t->g;
    enum conv_made forward = t->transposed ? MADE_IMAGE : MADE_MAP;
    const struct operand *dy = t->transposed ? &t->image : &t->map;
    const struct operand *x = t->transposed ? &t->map : &t->image;
    struct conv_sum *sums = t->sums[t->transposed ? MADE_MAP : MADE_IMAGE];
    size_t made = (size_t)conv_elements(g, forward), bytes = sizeof(double);
    struct conv_linear l = {.g = g, .made = forward, .weights = dy->value};
    double size = 1.0;
    l.scratch = harness_alloc(b, made * sizeof(*l.scratch));
    for (size_t i = 0; i < made; i++)
        size += fabs(dy->value[i]) * (t->sums[forward][i].size + 8.0);
    const double **variable[] = {t->transposed ? &l.map : &l.image, &l.filter};
    const struct operand *of[] = {x, &t->filter};
    const struct conv_sum *gradient[] = {sums, t->sums[MADE_FILTER]};
    for (int k = 0; k < 2; k++) {
        size_t n = (size_t)of[k]->n;
        double *at = harness_alloc(b, n * bytes),
               *slope = harness_alloc(b, n * bytes);
        memcpy(at, of[k]->value, n * bytes);
        for (size_t i = 0; i < n; i++)
            slope[i] = gradient[k][i].value;
        *variable[k] = NULL;
        *variable[1 - k] = of[1 - k]->value;
        if (!difference_check(b, conv_linear, &l, at, n, slope, 0.5, 0.0, size))
            return false;
    }
    return true;
}

/* An output_padding of the stride or more, less than the dilation: torch takes
 * it, though a convolution of the image would make more than the map. */
static void widen(struct conv_geometry *g)
{
    int64_t extra[2];
    output_padding(g, extra);
    for (int i = 0; i < 2; i++)
        if (g->dilation[i] > g->stride[i])
            g->image[i] += g->dilation[i] - 1 - extra[i];
}

static struct conv_geometry
conv_backward_geometry_of(const struct conv_backward_entry *e)
{
    struct conv_channels c = channels[e->i % COUNT(channels)];
    if (e->transposed) /* a multiple of the channels is one of x's in both */
        c = (struct conv_channels){c.o, c.c, c.groups};
    struct conv_geometry g =
        conv_geometry(e->shape, c, 1 + (int64_t)(e->i / 2 % 3),
                      e->i / 3 % 2 == 0 ? SSQ_LAYOUT_NCHW : SSQ_LAYOUT_NHWC);
    if (e->transposed && e->i % 2 == 1)
        widen(&g);
    return g;
}

/* The operands that are given, with dtypes t: x, w, dy. */
static void conv_backward_give(struct harness *b, struct conv_backward_scene *t,
                               const ssq_dtype *dtypes, enum layout layout,
                               enum fill x, enum fill w, enum fill dy)
{
    int64_t shape[4];
    int image = t->transposed ? 2 : 0, map = 2 - image;
    const enum fill fill[] = {x, w, dy};
    conv_image_shape(&t->g, shape);
    harness_input(b, &t->image, dtypes[image], 4, shape, layout, fill[image]);
    conv_filter_shape(&t->g, shape);
    harness_input(b, &t->filter, dtypes[1], 4, shape, layout, fill[1]);
    conv_map_shape(&t->g, shape);
    harness_input(b, &t->map, dtypes[map], 4, shape, layout, fill[map]);
}

static void conv_backward_make(struct harness *b, struct conv_backward_scene *t,
                               ssq_dtype image, ssq_dtype filter, ssq_dtype map,
                               ssq_dtype db, enum layout layout)
{
    int64_t shape[4];
    conv_image_shape(&t->g, shape);
    harness_output(b, &t->made_image, image, 4, shape, layout);
    conv_filter_shape(&t->g, shape);
    harness_output(b, &t->made_filter, filter, 4, shape, layout);
    conv_map_shape(&t->g, shape);
    harness_output(b, &t->made_map, map, 4, shape, layout);
    harness_output(b, &t->db, db, 1, t->transposed ? &t->g.c : &t->g.o,
                   LAYOUT_DENSE);
}

static bool conv_backward_small(const struct conv_backward_scene *t)
{
    return t->image.n * t->filter.n < 30000 && t->image.n < 300 &&
           t->filter.n < 300;
}

static bool conv_backward_run_entry(struct harness *b,
                                    const struct conv_backward_entry *e)
{
    enum fill fill = fills[e->i % COUNT(fills)];
    enum fill w = fill == FILL_POSITIVE   ? FILL_SPECIAL
                  : fill == FILL_INTEGERS ? FILL_INTEGERS
                                          : FILL_NORMAL;
    struct conv_backward_scene t = {.transposed = e->transposed,
                                    .g = conv_backward_geometry_of(e),
                                    .integers = fill == FILL_INTEGERS};
    ssq_activation act = (ssq_activation)(e->i % 7);
    enum conv_made data = e->transposed ? MADE_MAP : MADE_IMAGE;
    conv_backward_give(b, &t, triples[e->i % COUNT(triples)],
                       e->i % 4 == 1 ? LAYOUT_PADDED : LAYOUT_DENSE, fill, w,
                       fill);
    conv_backward_make(b, &t, floats[e->i / 2 % 3], floats[e->i % 3],
                       floats[(e->i + 1) % 3], floats[e->i / 3 % 3],
                       e->i % 5 < 2 ? LAYOUT_PADDED : LAYOUT_DENSE);
    if (e->transposed && e->i % 3 != 0)
        harness_input(b, &t.bias, floats[e->i % 3], 1, &t.g.c, LAYOUT_DENSE,
                      t.integers ? FILL_INTEGERS : FILL_NORMAL);
    b->flops = 4.0 * (double)t.map.n * conv_depth(&t.g, MADE_MAP);
    run_data(b, &t);
    conv_backward_run_weight(b, &t);
    if (e->transposed)
        conv_backward_run_forward(b, &t, act);
    if (harness_over(b))
        return !b->failed;
    struct operand *dx = e->transposed ? &t.made_map : &t.made_image;
    harness_read(b, dx);
    harness_read(b, &t.made_filter);
    harness_read(b, &t.db);
    bool fresh = oracles(b, &t);
    bool finite = fill != FILL_SPECIAL && w != FILL_SPECIAL;
    if (fresh && finite && conv_backward_small(&t) && !differences(b, &t))
        return false;
    if (e->transposed) {
        harness_read(b, &t.made_image);
        conv_backward_compare(b, &t, MADE_IMAGE, &t.made_image,
                              t.bias.t == NULL ? NULL : &t.bias, act);
    }
    return conv_backward_compare(b, &t, data, dx, NULL, SSQ_ACTIVATION_NONE) &&
           conv_backward_compare(b, &t, MADE_FILTER, &t.made_filter, NULL,
                                 SSQ_ACTIVATION_NONE) &&
           compare_db(b, &t);
}

/* <made map, map> = <image, made image> = <filter, made filter>, exactly. */
static double conv_backward_product(const struct operand *a,
                                    const struct operand *b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < a->n; i++)
        sum += a->value[i] * b->value[i];
    return sum;
}

/* All that a scene makes, in float32. */
static void conv_backward_run_all(struct harness *b,
                                  struct conv_backward_scene *t)
{
    conv_backward_run_forward(b, t, SSQ_ACTIVATION_NONE);
    run_data(b, t);
    conv_backward_run_weight(b, t);
    harness_read(b, &t->made_image);
    harness_read(b, &t->made_filter);
    harness_read(b, &t->made_map);
    harness_read(b, &t->db);
}

/* The dense values of x, [n,c,h,w], as [n,h,w,c]. */
static double *channels_last(struct harness *b, const struct operand *x)
{
    const int64_t *s = x->shape;
    double *r = harness_alloc(b, (size_t)x->n * sizeof(*r));
    for (int64_t i = 0; i < x->n; i++) {
        int64_t w = i % s[3], h = i / s[3] % s[2];
        int64_t c = i / s[3] / s[2] % s[1], n = i / s[3] / s[2] / s[1];
        r[((n * s[2] + h) * s[3] + w) * s[1] + c] = x->value[i];
    }
    return r;
}

static bool run_identities(struct harness *b,
                           const struct conv_backward_entry *e)
{
    const ssq_dtype dtypes[] = {F16, F32, F16};
    int64_t shape[4];
    struct conv_backward_scene t = {.transposed = e->transposed,
                                    .g = conv_backward_geometry_of(e)},
                               u;
    t.g.layout = SSQ_LAYOUT_NCHW;
    t.integers = true;
    conv_backward_give(b, &t, dtypes, LAYOUT_DENSE, FILL_INTEGERS,
                       FILL_INTEGERS, FILL_INTEGERS);
    conv_backward_make(b, &t, F32, F32, F32, F32, LAYOUT_DENSE);
    conv_backward_run_all(b, &t);
    if (harness_over(b))
        return !b->failed;
    double map = conv_backward_product(&t.made_map, &t.map);
    double image = conv_backward_product(&t.image, &t.made_image);
    double filter = conv_backward_product(&t.filter, &t.made_filter);
    if (map != image || map != filter)
        return harness_fail(
            b, "<conv x, dy> is %.17g, <x, dx> %.17g, <w, dw> %.17g", map,
            image, filter);
    u = t;
    u.g.layout = SSQ_LAYOUT_NHWC;
    conv_image_shape(&u.g, shape);
    harness_values(b, &u.image, t.image.dtype, 4, shape, LAYOUT_PADDED,
                   channels_last(b, &t.image));
    conv_filter_shape(&u.g, shape);
    harness_values(b, &u.filter, t.filter.dtype, 4, shape, LAYOUT_PADDED,
                   channels_last(b, &t.filter));
    conv_map_shape(&u.g, shape);
    harness_values(b, &u.map, t.map.dtype, 4, shape, LAYOUT_DENSE,
                   channels_last(b, &t.map));
    conv_backward_make(b, &u, F32, F32, F32, F32, LAYOUT_PADDED);
    conv_backward_run_all(b, &u);
    return harness_exact(b, &u.made_map, channels_last(b, &t.made_map)) &&
           harness_exact(b, &u.made_image, channels_last(b, &t.made_image)) &&
           harness_exact(b, &u.made_filter, channels_last(b, &t.made_filter)) &&
           harness_exact(b, &u.db, t.db.value);
}

/* Nothing in, zeros (or biases) out. */
static const struct {
    struct conv_channels channels;
    int64_t n, image[2];
} empty[] = {
    {{3, 4, 1}, 0, {5, 5}}, {{0, 4, 1}, 2, {5, 5}}, {{4, 0, 2}, 2, {5, 5}},
    {{3, 4, 1}, 2, {0, 5}}, {{0, 0, 1}, 0, {0, 0}},
};

static bool conv_backward_run_empty(struct harness *b, size_t i)
{
    struct conv_shape s = {.window = {2, 2},
                           .stride = {1, 1},
                           .padding = {1, 1, 1, 1},
                           .dilation = {1, 1}};
    const size_t k = i / 2;
    memcpy(s.image, empty[k].image, sizeof(s.image));
    struct conv_backward_scene t = {
        .transposed = i % 2 == 1,
        .g = conv_geometry(&s, empty[k].channels, empty[k].n,
                           k % 2 == 0 ? SSQ_LAYOUT_NCHW : SSQ_LAYOUT_NHWC)};
    conv_backward_give(b, &t, triples[0], LAYOUT_DENSE, FILL_NORMAL,
                       FILL_NORMAL, FILL_NORMAL);
    conv_backward_make(b, &t, F16, F32, F32, F32, LAYOUT_PADDED);
    if (t.transposed)
        harness_input(b, &t.bias, F32, 1, &t.g.c, LAYOUT_DENSE, FILL_NORMAL);
    conv_backward_run_all(b, &t);
    if (harness_over(b))
        return !b->failed;
    oracles(b, &t);
    return conv_backward_compare(b, &t, MADE_IMAGE, &t.made_image,
                                 t.bias.t == NULL ? NULL : &t.bias,
                                 SSQ_ACTIVATION_NONE) &&
           conv_backward_compare(b, &t, MADE_MAP, &t.made_map, NULL,
                                 SSQ_ACTIVATION_NONE) &&
           conv_backward_compare(b, &t, MADE_FILTER, &t.made_filter, NULL,
                                 SSQ_ACTIVATION_NONE) &&
           compare_db(b, &t);
}

/* ---- the table: shapes twice over, then identities, both kinds ---- */

#define TURNS      3 /* of the shapes */
#define ROWS       (2 * CONV_SHAPES * TURNS)
#define IDENTITIES (2 * CONV_SHAPES)
#define CASES      (ROWS + IDENTITIES + 2 * COUNT(empty))

static struct conv_backward_entry conv_backward_entry_of(size_t i)
{
    struct conv_backward_entry e = {.transposed = i % 2 == 1,
                                    .shape = &conv_shapes[i / 2 % CONV_SHAPES],
                                    .i = i / 2};
    return e;
}

static void describe_either(size_t i, char *text, size_t bytes)
{
    char sizes[200];
    if (i >= ROWS + IDENTITIES) {
        i -= ROWS + IDENTITIES;
        snprintf(text, bytes, "%s gradients of %lld x %lld empty images",
                 i % 2 == 1 ? "conv_transpose2d" : "conv2d",
                 (long long)empty[i / 2].n, (long long)empty[i / 2].channels.c);
        return;
    }
    struct conv_backward_entry e =
        conv_backward_entry_of(i < ROWS ? i : i - ROWS);
    struct conv_geometry g = conv_backward_geometry_of(&e);
    conv_describe(&g, sizes, sizeof(sizes));
    const ssq_dtype *d = triples[e.i % COUNT(triples)];
    if (i < ROWS)
        snprintf(text, bytes, "%s backward %s, %s, %s %s %s: %s",
                 e.transposed ? "conv_transpose2d and its" : "conv2d",
                 ssq_dtype_name(d[0]), ssq_dtype_name(d[1]),
                 ssq_dtype_name(d[2]), sizes,
                 fill_text(fills[e.i % COUNT(fills)]), e.shape->name);
    else
        snprintf(text, bytes, "%s: adjoint, and the same in both layouts: %s",
                 e.transposed ? "conv_transpose2d" : "conv2d", sizes);
}

static bool run_either(struct harness *b, size_t i)
{
    if (i >= ROWS + IDENTITIES)
        return conv_backward_run_empty(b, i - ROWS - IDENTITIES);
    struct conv_backward_entry e =
        conv_backward_entry_of(i < ROWS ? i : i - ROWS);
    return i < ROWS ? conv_backward_run_entry(b, &e) : run_identities(b, &e);
}

/* Both kinds have as many cases: of conv2d the even ones. */
static void conv_backward_describe(size_t i, char *text, size_t bytes)
{
    describe_either(2 * i, text, bytes);
}

static bool conv_backward_run(struct harness *b, size_t i)
{
    return run_either(b, 2 * i);
}

extern const struct suite conv_backward_suite;
const struct suite conv_backward_suite = {.op = "conv",
                                          .name = "conv_backward",
                                          .n = CASES / 2,
                                          .turn = suite_half,
                                          .describe = conv_backward_describe,
                                          .run = conv_backward_run,
                                          .floor = 140};

static void transpose_describe(size_t i, char *text, size_t bytes)
{
    describe_either(2 * i + 1, text, bytes);
}

static bool transpose_run(struct harness *b, size_t i)
{
    return run_either(b, 2 * i + 1);
}

extern const struct suite conv_transpose_suite;
const struct suite conv_transpose_suite = {.op = "conv",
                                           .name = "conv_transpose",
                                           .n = CASES / 2,
                                           .turn = suite_half,
                                           .describe = transpose_describe,
                                           .run = transpose_run,
                                           .floor = 140};

/* SPDX-License-Identifier: Apache-2.0 */
/* conv_gemm.c - convolution by a gemm: what conv.c gathers while it multiplies
 * is gathered into scratch first, some images at a time.
 *
 *                  channels before rows        channels last
 *     gathered     [n][c r s][positions]       [n][positions][r s c]
 *     forward      filter * gathered           gathered * filter
 *     data         the same with o for c, from the map
 *     weight       for each image map * gathered; then they are added
 *
 * Gathered elements are copied as they are, so that 16-bit ones are converted
 * by the gemm, once for many rows. The filter is brought into that order. */
#include "lib/plan/conv/conv.h"

#include "kernels/conv/conv_args.h"
#include "lib/plan/gemm/gemm.h"

/* Most bytes of what is gathered at a time, and of partial sums. */
#define MOST_BYTES (INT64_C(64) << 20)
/* Below this many products, or with matrices that are narrower, the launches
 * and the copy cost more than the gemm gains. */
#define LEAST_PRODUCTS (INT64_C(1) << 13)
#define LEAST_ROWS     3
#define LEAST_DEPTH    8
/* Coordinates, which are sums of a few numbers of at most this, stay far from
 * where they would wrap. */
#define MOST_EXTENT (INT64_C(1) << 24)

/* A convolution as it is gathered. */
struct shape {
    const struct view *from;  /* gathered */
    const struct view *plain; /* the other images: made, or read as they are */
    int64_t channels;         /* of from */
    int64_t rows;             /* of the filter's matrix, or of the result */
    int64_t high, wide;       /* positions */
    int64_t positions, taps, depth; /* channels * taps */
    int64_t images;                 /* that fit at a time; 0: none does */
    bool last;                      /* channels */
};

/* How many images of so many bytes are taken at a time. */
static int64_t images_in(const struct backend_limits *l, int64_t bytes)
{
    uint64_t most = MOST_BYTES;
    if (l->binding_bytes < most)
        most = l->binding_bytes;
    return bytes == 0 ? 0 : (int64_t)most / bytes;
}

/* How op is gathered, on a device of these limits. A window so large that the
 * depth would overflow leaves images 0, and is refused. */
static struct shape shape_of(const struct conv_op *op,
                             const struct backend_limits *l)
{
    const struct slide *s = op->slide;
    bool data = op->kind == CONV_DATA;
    struct shape c = {.from = data ? &op->map : &op->image,
                      .plain = data ? &op->image : &op->map,
                      .channels = data ? op->o : op->c,
                      .rows = data ? op->c : op->o};
    c.high = data ? s[HEIGHT].image : s[HEIGHT].map;
    c.wide = data ? s[WIDTH].image : s[WIDTH].map;
    c.positions = c.high * c.wide;
    c.last = c.from->stride[4] != 1 && c.from->stride[2] == 1;
    if (s[HEIGHT].window > MOST_EXTENT || s[WIDTH].window > MOST_EXTENT)
        return c;
    c.taps = s[HEIGHT].window * s[WIDTH].window;
    c.depth = c.channels * c.taps;
    c.images = images_in(l, c.depth * c.positions *
                                (int64_t)dtype_bytes(c.from->dtype));
    if (op->kind == CONV_WEIGHT)
        c.images = size_least(c.images, images_in(l, c.rows * c.depth * 4));
    c.images = size_least(c.images, op->n);
    return c;
}

/* The step from position to position, as if there were one dimension of them;
 * 0 where there is none. */
static int64_t position_step(const struct view *v)
{
    if (v->shape[4] == 1)
        return v->stride[3];
    bool even = v->shape[3] == 1 || v->stride[3] == v->stride[4] * v->shape[4];
    return even ? v->stride[4] : 0;
}

/* True if all that coordinates are made of is within MOST_EXTENT. */
static bool extents_fit(const struct conv_op *op)
{
    for (int i = 0; i < AXES; i++) {
        const struct slide *s = &op->slide[i];
        if (s->image > MOST_EXTENT || s->before > MOST_EXTENT ||
            s->after > MOST_EXTENT || s->stride > MOST_EXTENT ||
            s->dilation > MOST_EXTENT || slide_extent(s) > MOST_EXTENT)
            return false;
    }
    return true;
}

/* False, with why, where the product is not one plain matrix for each image.
 * Groups would be a gemm each. The gradient of an image is gathered from the
 * map only without strides, which leave gaps. The other images must be matrices
 * as they lie. */
static bool check_form(const struct conv_op *op, const struct shape *c,
                       struct why *why)
{
    const struct slide *s = op->slide;
    if (op->groups != 1)
        return refuse(why, "%lld groups, expected 1", (long long)op->groups);
    if (op->kind == CONV_DATA && (s[HEIGHT].stride > 1 || s[WIDTH].stride > 1))
        return refuse(why, "strides %lld and %lld, expected 1",
                      (long long)s[HEIGHT].stride, (long long)s[WIDTH].stride);
    if (!extents_fit(op))
        return refuse(why, "padding, strides or sizes above %lld",
                      (long long)MOST_EXTENT);
    int64_t step = position_step(c->plain);
    if (step == 0 || (step != 1 && c->plain->stride[2] != 1))
        return refuse(why,
                      "an image's rows of %lld are %lld apart, expected "
                      "no gaps",
                      (long long)c->wide, (long long)c->plain->stride[3]);
    return true;
}

/* Whether the gemm is possible, and worth it; else "direct" takes the op. 4
 * bytes are the most that an element of the filter has, or of its sums. */
bool conv_gemm_check(const struct backend_limits *l, const struct conv_op *op,
                     struct why *why)
{
    struct shape c = shape_of(op, l);
    int64_t filter = c.rows * c.depth * 4;
    if (!check_form(op, &c, why))
        return false;
    if (c.rows < LEAST_ROWS || c.depth < LEAST_DEPTH ||
        c.rows * c.depth < LEAST_PRODUCTS / (op->n * c.positions + 1))
        return refuse(why,
                      "%lld rows of depth %lld for %lld positions are too "
                      "few to gather",
                      (long long)c.rows, (long long)c.depth,
                      (long long)(op->n * c.positions));
    if (c.images == 0 || filter > (int64_t)l->binding_bytes)
        return refuse(why,
                      "%lld by %lld elements of an image are too many to "
                      "gather",
                      (long long)c.depth, (long long)c.positions);
    return true;
}

/* Images from .. of from, gathered into y: a line is a position where channels
 * are last, else a tap of a channel, and a group copies one line. For data taps
 * go backward: the sign is -1, modulo 2^32, as all coordinates are. */
static void gather(struct plan *p, const struct conv_op *op,
                   const struct shape *c, int64_t from, int64_t images,
                   const struct view *y)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    bool data = op->kind == CONV_DATA;
    uint32_t sign = data ? UINT32_MAX : 1,
             channel = (uint32_t)c->from->stride[2];
    /* how a position and a tap move a point, and where both begin */
    uint32_t move_h = data ? 1 : (uint32_t)h->stride;
    uint32_t move_w = data ? 1 : (uint32_t)w->stride;
    uint32_t tap_h = sign * (uint32_t)h->dilation;
    uint32_t tap_w = sign * (uint32_t)w->dilation;
    struct conv_gather_args a = {.images = (uint32_t)images,
                                 .line_h0 = 0u - sign * (uint32_t)h->before,
                                 .line_w0 = 0u - sign * (uint32_t)w->before,
                                 .x_image = (uint32_t)c->from->stride[0],
                                 .x_h = (uint32_t)c->from->stride[3],
                                 .x_w = (uint32_t)c->from->stride[4],
                                 .height = (uint32_t)c->from->shape[3],
                                 .width = (uint32_t)c->from->shape[4]};
    if (c->last) {
        a.lines = (uint32_t)c->positions;
        a.line_b = (uint32_t)c->high;
        a.line_c = (uint32_t)c->wide;
        a.line_h = move_h;
        a.line_w = move_w;
        a.b_count = (uint32_t)c->taps;
        a.b_low = (uint32_t)w->window;
        a.b_h = tap_h;
        a.b_w = tap_w;
        a.c_count = (uint32_t)c->channels;
        a.c_at = channel;
    } else {
        a.lines = (uint32_t)c->depth;
        a.line_b = (uint32_t)h->window;
        a.line_c = (uint32_t)w->window;
        a.line_at = channel;
        a.line_h = tap_h;
        a.line_w = tap_w;
        a.b_count = (uint32_t)c->high;
        a.b_low = 1;
        a.b_h = move_h;
        a.c_count = (uint32_t)c->wide;
        a.c_w = move_w;
    }
    struct view x = *c->from;
    uint8_t bytes = (uint8_t)dtype_bytes(x.dtype);
    x.offset += (uint64_t)(from * x.stride[0]) * bytes;
    x.shape[0] = images;
    plan_kernel(p, KERNEL_conv_gather, KEYS(bytes));
    plan_bind(p, y, ACCESS_WRITE);
    plan_bind(p, &x, ACCESS_READ);
    plan_groups(
        p, &a, sizeof(a), (uint64_t)a.images * a.lines,
        loops_shared(plan_limits(p), (uint64_t)a.b_count * a.c_count, 0));
}

/* Steps of the digits of a depth in the filter, and the sizes of the last two.
 */
struct order {
    uint32_t a, b, c, size_b, size_c;
};

/* A depth is three digits, channel, row and column of the window, in the order
 * in which they are gathered: the channel last where channels are. */
static struct order order_of(const struct conv_op *op, const struct shape *c)
{
    const struct view *f = &op->filter;
    uint32_t channel = (uint32_t)f->stride[op->kind == CONV_DATA ? 1 : 2];
    uint32_t h = (uint32_t)f->stride[3], w = (uint32_t)f->stride[4];
    uint32_t high = (uint32_t)op->slide[HEIGHT].window;
    uint32_t wide = (uint32_t)op->slide[WIDTH].window;
    if (c->last)
        return (struct order){h, w, channel, wide, (uint32_t)c->channels};
    return (struct order){channel, h, w, high, wide};
}

/* The filter as a contiguous matrix of rows by depth, in the gathered order. */
static void pack_filter(struct plan *p, const struct conv_op *op,
                        const struct shape *c, struct view *y)
{
    struct order o = order_of(op, c);
    int row = op->kind == CONV_DATA ? 2 : 1;
    struct conv_pack_args a = {.n = (uint32_t)(c->rows * c->depth),
                               .depth = (uint32_t)c->depth,
                               .size_b = o.size_b,
                               .size_c = o.size_c,
                               .x_row = (uint32_t)op->filter.stride[row],
                               .x_a = o.a,
                               .x_b = o.b,
                               .x_c = o.c};
    plan_scratch(p, op->filter.dtype, a.n, y);
    plan_kernel(p, KERNEL_conv_pack,
                KEYS((uint8_t)dtype_bytes(op->filter.dtype)));
    plan_bind(p, y, ACCESS_WRITE);
    plan_bind(p, &op->filter, ACCESS_READ);
    plan_items(p, &a, sizeof(a), a.n, LOOPS_FEW);
}

/* `images` matrices of m by n in v, from number `from` on, `step` elements from
 * one to the next; row and column are the steps between their rows and columns.
 * A step of 0 is one matrix for all images. */
static struct view matrices(const struct view *v, int64_t from, int64_t images,
                            int64_t step, int64_t m, int64_t row, int64_t n,
                            int64_t column)
{
    struct view r = {.buffer = v->buffer,
                     .offset = v->offset +
                               (uint64_t)(from * step) * dtype_bytes(v->dtype),
                     .dtype = v->dtype,
                     .rank = 3,
                     .access = v->access,
                     .shape = {images, m, n},
                     .stride = {step, row, column}};
    return r;
}

/* d = a b, for as many matrices as d has. */
static struct gemm_op product(const struct view *a, const struct view *b,
                              const struct view *d)
{
    struct gemm_op g = {.m = d->shape[1],
                        .n = d->shape[2],
                        .k = a->shape[2],
                        .batch = d->shape[0],
                        .alpha = 1.0f,
                        .a = *a,
                        .b = *b,
                        .d = *d};
    return g;
}

/* Images from .. of what forward and data make, in a product for each with the
 * packed filter. Bias and activation are the gemm's: no further launch. */
static void make_images(struct plan *p, const struct conv_op *op,
                        const struct shape *c, int64_t from, int64_t images,
                        const struct view *gathered, const struct view *filter)
{
    const struct view *v = c->plain;
    int64_t m = c->rows, n = c->positions, k = c->depth;
    int64_t step = position_step(v), row = v->stride[2];
    int64_t bias = op->bias.stride[1];
    struct view a = matrices(filter, 0, images, 0, m, k, k, 1);
    struct view b = c->last ? matrices(gathered, 0, images, n * k, k, 1, n, k)
                            : matrices(gathered, 0, images, n * k, k, n, n, 1);
    struct view d = matrices(v, from, images, v->stride[0], m, row, n, step);
    struct gemm_op g = product(&a, &b, &d);
    g.activation = op->activation;
    if (op->bias.buffer != NULL)
        g.bias = matrices(&op->bias, 0, images, 0, m, bias, n, 0);
    plan_gemm(p, &g);
}

/* Partial sums of a filter's gradient, one matrix for each image that is taken
 * at a time: from the second time on they are added to. */
static void add_filters(struct plan *p, const struct shape *c, int64_t from,
                        int64_t images, const struct view *gathered,
                        const struct view *partial)
{
    const struct view *v = c->plain;
    int64_t m = c->rows, n = c->depth, k = c->positions;
    struct view a = matrices(v, from, images, v->stride[0], m, v->stride[2], k,
                             position_step(v));
    struct view b = c->last ? matrices(gathered, 0, images, n * k, k, n, n, 1)
                            : matrices(gathered, 0, images, n * k, k, 1, n, k);
    struct view d = matrices(partial, 0, images, m * n, m, n, n, 1);
    struct gemm_op g = product(&a, &b, &d);
    if (from > 0) {
        g.beta = 1.0f;
        g.c = d;
    }
    plan_gemm(p, &g);
}

/* The filter's gradient is the sum of the partial ones, put where the caller's
 * layout has it, and rounded once. */
static void fold(struct plan *p, const struct conv_op *op,
                 const struct shape *c, const struct view *partial)
{
    const struct view *f = &op->filter;
    struct order o = order_of(op, c);
    struct conv_fold_args a = {
        .made = {.rows = (uint32_t)c->rows,
                 .columns = (uint32_t)c->depth,
                 .groups = 1,
                 .column_b = o.size_b,
                 .column_c = o.size_c,
                 .row = (uint32_t)f->stride[1],
                 .a = o.a,
                 .b = o.b,
                 .c = o.c,
                 .types = CONV_TYPES((uint32_t)f->dtype, 0u, 0u, 0u)},
        .n = (uint32_t)(c->rows * c->depth),
        .splits = (uint32_t)c->images};
    plan_kernel(p, KERNEL_conv_fold, KEYS(0));
    plan_bind_as(p, f, 2, ACCESS_WRITE);
    plan_bind_as(p, f, 4, ACCESS_WRITE);
    plan_bind(p, partial, ACCESS_READ);
    plan_items(p, &a, sizeof(a), a.n, loops_of(a.splits, 0));
}

/* The scratch is reused by all rounds: launches of a plan run in order. */
static void rounds(struct plan *p, const struct conv_op *op)
{
    struct shape c = shape_of(op, plan_limits(p));
    bool weight = op->kind == CONV_WEIGHT;
    struct view gathered, other;
    plan_scratch(p, c.from->dtype, (uint64_t)(c.images * c.depth * c.positions),
                 &gathered);
    if (weight)
        plan_scratch(p, SSQ_F32, (uint64_t)(c.images * c.rows * c.depth),
                     &other);
    else
        pack_filter(p, op, &c, &other);
    for (int64_t i = 0; i < op->n && !plan_failed(p); i += c.images) {
        int64_t images = size_least(c.images, op->n - i);
        gather(p, op, &c, i, images, &gathered);
        if (weight)
            add_filters(p, &c, i, images, &gathered, &other);
        else
            make_images(p, op, &c, i, images, &gathered, &other);
    }
    if (weight)
        fold(p, op, &c, &other);
}

void conv_gemm_build(struct plan *p, const struct conv_op *op)
{
    conv_windows(p, op, rounds);
}

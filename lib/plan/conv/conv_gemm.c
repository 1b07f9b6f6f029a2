/* SPDX-License-Identifier: Apache-2.0 */
/* conv_gemm.c - convolution by GEMM. conv.c gathers elements while it
 * multiplies. This plan first gathers some images at a time into scratch.
 *
 *                  channels before rows        channels last
 *     gathered     [n][c r s][positions]       [n][positions][r s c]
 *     forward      filter * gathered           gathered * filter
 *     data         the same with o for c, from the map
 *     weight       map * gathered for each image; then these are added
 *
 * Gathered elements keep their dtype. 16-bit elements are converted by the
 * GEMM, once for many rows. The filter is copied into the same order. */
#include "lib/plan/conv/conv.h"

#include "kernels/conv/conv_args.h"
#include "lib/plan/gemm/gemm.h"

/* Most bytes of the gathered elements, and of the partial sums. */
#define MOST_BYTES (INT64_C(64) << 20)
/* Least number of products, and least sizes of a matrix. With less, the
 * launches and the copy cost more than the GEMM gains. */
#define LEAST_PRODUCTS (INT64_C(1) << 13)
#define LEAST_ROWS     3
#define LEAST_DEPTH    8
/* Largest size in coordinates. They are sums of a few such numbers, and
 * therefore cannot wrap. */
#define MOST_EXTENT (INT64_C(1) << 24)

/* How a convolution is gathered. */
struct conv_gemm_shape {
    const struct view *from;  /* gathered */
    const struct view *plain; /* the other images: written, or read in place */
    int64_t channels;         /* of from */
    int64_t rows;             /* of the filter's matrix, or of the result */
    int64_t high, wide;       /* positions */
    int64_t positions, taps, depth; /* channels * taps */
    int64_t images;                 /* gathered together; 0: none fits */
    bool last;                      /* channels are last */
};

/* Return how many images of this size are gathered together. */
static int64_t images_in(const struct backend_limits *l, int64_t bytes)
{
    uint64_t most = MOST_BYTES;
    if (l->binding_bytes < most)
        most = l->binding_bytes;
    return bytes == 0 ? 0 : (int64_t)most / bytes;
}

/* Return how op is gathered on a device with these limits. If the window is so
 * large that the depth could overflow, images is 0 and the op is refused. */
static struct conv_gemm_shape conv_gemm_shape_of(const struct conv_op *op,
                                                 const struct backend_limits *l)
{
    const struct slide *s = op->slide;
    bool data = op->kind == CONV_DATA;
    struct conv_gemm_shape c = {.from = data ? &op->map : &op->image,
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

/* Return the step between positions, as if they were one dimension. 0: the
 * steps differ. */
static int64_t position_step(const struct view *v)
{
    if (v->shape[4] == 1)
        return v->stride[3];
    bool even = v->shape[3] == 1 || v->stride[3] == v->stride[4] * v->shape[4];
    return even ? v->stride[4] : 0;
}

/* Return true if all terms of the coordinates are at most MOST_EXTENT. */
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

/* Return false, with the reason, if each image is not one plain matrix product.
 * Each group would need another GEMM. With strides, the gradient of an image
 * has gaps between the elements of the map. The other images must be stored as
 * matrices. */
static bool check_form(const struct conv_op *op,
                       const struct conv_gemm_shape *c, struct why *why)
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

/* Return true if the GEMM is possible and faster; otherwise "direct" does the
 * op. An element of the filter, or of its sums, has at most 4 bytes. */
bool conv_gemm_check(const struct backend_limits *l, const struct conv_op *op,
                     struct why *why)
{
    struct conv_gemm_shape c = conv_gemm_shape_of(op, l);
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

/* Gather images, beginning at number `from`, into y. A line is a position if
 * channels are last, otherwise a tap of a channel. A group copies one line. The
 * gradient of images uses taps backward: sign is -1 modulo 2^32, like all
 * coordinates. */
static void conv_gemm_gather(struct plan *p, const struct conv_op *op,
                             const struct conv_gemm_shape *c, int64_t from,
                             int64_t images, const struct view *y)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    bool data = op->kind == CONV_DATA;
    uint32_t sign = data ? UINT32_MAX : 1,
             channel = (uint32_t)c->from->stride[2];
    /* how positions and taps move a point, and where both begin */
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

/* Steps of the three digits of a depth in the filter, and the sizes of the last
 * two digits. */
struct conv_gemm_order {
    uint32_t a, b, c, size_b, size_c;
};

/* Return the order of the digits of a depth: channel, row and column of the
 * window. It is the gathered order, with the channel last if channels are
 * last. */
static struct conv_gemm_order
conv_gemm_order_of(const struct conv_op *op, const struct conv_gemm_shape *c)
{
    const struct view *f = &op->filter;
    uint32_t channel = (uint32_t)f->stride[op->kind == CONV_DATA ? 1 : 2];
    uint32_t h = (uint32_t)f->stride[3], w = (uint32_t)f->stride[4];
    uint32_t high = (uint32_t)op->slide[HEIGHT].window;
    uint32_t wide = (uint32_t)op->slide[WIDTH].window;
    if (c->last)
        return (struct conv_gemm_order){h, w, channel, wide,
                                        (uint32_t)c->channels};
    return (struct conv_gemm_order){channel, h, w, high, wide};
}

/* Copy the filter to a contiguous matrix of rows by depth, in the gathered
 * order. */
static void pack_filter(struct plan *p, const struct conv_op *op,
                        const struct conv_gemm_shape *c, struct view *y)
{
    struct conv_gemm_order o = conv_gemm_order_of(op, c);
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

/* Return `images` matrices of m by n in v, beginning at number `from`. step is
 * the number of elements between matrices; 0: one matrix for all images. row
 * and column are the steps between rows and columns. */
static struct view conv_gemm_matrices(const struct view *v, int64_t from,
                                      int64_t images, int64_t step, int64_t m,
                                      int64_t row, int64_t n, int64_t column)
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

/* Return d = a b, for all matrices of d. */
static struct gemm_op conv_gemm_product(const struct view *a,
                                        const struct view *b,
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

/* Compute some images or maps, beginning at number `from`: one product per
 * image, with the packed filter. The GEMM adds the bias and applies the
 * activation, so no further launch is needed. */
static void make_images(struct plan *p, const struct conv_op *op,
                        const struct conv_gemm_shape *c, int64_t from,
                        int64_t images, const struct view *gathered,
                        const struct view *filter)
{
    const struct view *v = c->plain;
    int64_t m = c->rows, n = c->positions, k = c->depth;
    int64_t step = position_step(v), row = v->stride[2];
    int64_t bias = op->bias.stride[1];
    struct view a = conv_gemm_matrices(filter, 0, images, 0, m, k, k, 1);
    struct view b =
        c->last ? conv_gemm_matrices(gathered, 0, images, n * k, k, 1, n, k)
                : conv_gemm_matrices(gathered, 0, images, n * k, k, n, n, 1);
    struct view d =
        conv_gemm_matrices(v, from, images, v->stride[0], m, row, n, step);
    struct gemm_op g = conv_gemm_product(&a, &b, &d);
    g.activation = op->activation;
    if (op->bias.buffer != NULL)
        g.bias = conv_gemm_matrices(&op->bias, 0, images, 0, m, bias, n, 0);
    plan_gemm(p, &g);
}

/* Compute partial sums of the gradient of a filter, one matrix for each image
 * of a round. The first round sets them; later rounds add to them. */
static void add_filters(struct plan *p, const struct conv_gemm_shape *c,
                        int64_t from, int64_t images,
                        const struct view *gathered, const struct view *partial)
{
    const struct view *v = c->plain;
    int64_t m = c->rows, n = c->depth, k = c->positions;
    struct view a = conv_gemm_matrices(v, from, images, v->stride[0], m,
                                       v->stride[2], k, position_step(v));
    struct view b =
        c->last ? conv_gemm_matrices(gathered, 0, images, n * k, k, n, n, 1)
                : conv_gemm_matrices(gathered, 0, images, n * k, k, 1, n, k);
    struct view d = conv_gemm_matrices(partial, 0, images, m * n, m, n, n, 1);
    struct gemm_op g = conv_gemm_product(&a, &b, &d);
    if (from > 0) {
        g.beta = 1.0f;
        g.c = d;
    }
    plan_gemm(p, &g);
}

/* Compute the gradient of the filter: the sum of the partial sums, in the
 * caller's layout, rounded once. */
static void conv_gemm_fold(struct plan *p, const struct conv_op *op,
                           const struct conv_gemm_shape *c,
                           const struct view *partial)
{
    const struct view *f = &op->filter;
    struct conv_gemm_order o = conv_gemm_order_of(op, c);
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

/* Compute in rounds, which share the scratch: the launches of a plan run in
 * order. */
static void rounds(struct plan *p, const struct conv_op *op)
{
    struct conv_gemm_shape c = conv_gemm_shape_of(op, plan_limits(p));
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
        conv_gemm_gather(p, op, &c, i, images, &gathered);
        if (weight)
            add_filters(p, &c, i, images, &gathered, &other);
        else
            make_images(p, op, &c, i, images, &gathered, &other);
    }
    if (weight)
        conv_gemm_fold(p, op, &c, &other);
}

void conv_gemm_build(struct plan *p, const struct conv_op *op)
{
    conv_windows(p, op, rounds);
}

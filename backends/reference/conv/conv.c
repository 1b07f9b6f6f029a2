/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - reference: convolution and its gradients as products of matrices.
 *
 * Each kind multiplies a matrix of rows by depth with one of depth by columns.
 * This is done for each group and, for forward and data, for each image of the
 * batch. One matrix is an operand as stored (`lies`). The other one is
 * gathered: it is the matrix that im2col would create.
 *
 *     kind      rows  columns    depth      as stored    gathered
 *     forward   o     p, q       c, r, s    filter       image
 *     data      c     h, w       o, r, s    filter       map
 *     weight    o     c, r, s    n, p, q    map          image
 *
 * The position of a gathered element is the sum of two parts, one from its
 * column and one from its depth. Each part is an offset (of a channel, or of an
 * image of the batch) and a point. For data the point must be a multiple of the
 * stride. Elements outside are 0. Sums are float64, in ascending order of depth
 * for every layout. Bias and activation are float32, and storing rounds once
 * more. */
#include "lib/op/conv/conv.h"

#include "backends/reference/gemm/tile.h"
#include "kernels/gemm/epilogue.h"

/* The part of an offset and of a point that comes from a column or a depth. */
struct reference_conv_part {
    int64_t at, point[AXES];
};

/* One product: of one image of the batch and a group, or of all images and a
 * group. */
struct conv_product {
    const struct conv_op *op;
    int64_t n, g;
    int64_t rows, columns, depth;
    const struct view *lies, *gathered, *made;
    int64_t lies_at, gathered_at, made_at; /* offsets at which n and g begin */
    struct reference_conv_part column[TILE_COLS], deep[TILE_DEPTH];
    int64_t lies_deep[TILE_DEPTH]; /* offset of each depth in `lies` */
    struct tile tile;
};

/* An index of three digits, a b c. The last two have the sizes that are passed
 * to digits_of(). */
struct digits {
    int64_t a, b, c;
};

static struct digits digits_of(int64_t i, int64_t b, int64_t c)
{
    return (struct digits){i / c / b, i / c % b, i % c};
}

/* Split i into a channel (or image of the batch) and a position in a window. */
static struct digits in_window(const struct conv_op *op, int64_t i)
{
    return digits_of(i, op->slide[HEIGHT].window, op->slide[WIDTH].window);
}

/* Split i into an image of the batch and a position in the map. */
static struct digits in_map(const struct conv_op *op, int64_t i)
{
    return digits_of(i, op->slide[HEIGHT].map, op->slide[WIDTH].map);
}

/* Return the part that comes from the position of the window, without its
 * taps. */
static struct reference_conv_part map_part(const struct conv_op *op,
                                           struct digits d)
{
    const struct slide *s = op->slide;
    return (struct reference_conv_part){
        0, {slide_at(&s[HEIGHT], d.b, 0), slide_at(&s[WIDTH], d.c, 0)}};
}

/* Return the part that comes from a tap of the window. sign is -1 if the point
 * of the image is given, and the point of the map is needed. */
static struct reference_conv_part tap_part(const struct conv_op *op,
                                           struct digits d, int sign)
{
    const struct slide *s = op->slide;
    return (struct reference_conv_part){
        0, {sign * d.b * s[HEIGHT].dilation, sign * d.c * s[WIDTH].dilation}};
}

/* Return the part that comes from column j of the gathered matrix. */
static struct reference_conv_part column_part(const struct conv_product *p,
                                              int64_t j)
{
    const struct conv_op *op = p->op;
    struct reference_conv_part r;
    struct digits d;
    switch (op->kind) {
    case CONV_FORWARD:
        return map_part(op, in_map(op, j));
    case CONV_DATA:
        d = digits_of(j, op->slide[HEIGHT].image, op->slide[WIDTH].image);
        return (struct reference_conv_part){
            0, {d.b + op->slide[HEIGHT].before, d.c + op->slide[WIDTH].before}};
    default:
        d = in_window(op, j);
        r = tap_part(op, d, 1);
        r.at = d.a * op->image.stride[2];
        return r;
    }
}

/* Return the part that comes from depth k. */
static struct reference_conv_part depth_part(const struct conv_product *p,
                                             int64_t k)
{
    const struct conv_op *op = p->op;
    struct digits d;
    struct reference_conv_part r;
    if (op->kind == CONV_WEIGHT) {
        d = in_map(op, k);
        r = map_part(op, d);
        r.at = d.a * op->image.stride[0];
        return r;
    }
    d = in_window(op, k);
    r = tap_part(op, d, op->kind == CONV_DATA ? -1 : 1);
    r.at = d.a * p->gathered->stride[2];
    return r;
}

/* Return the offset of depth k in `lies`. */
static int64_t lies_depth(const struct conv_product *p, int64_t k)
{
    const struct conv_op *op = p->op;
    const int64_t *stride = p->lies->stride;
    struct digits d;
    if (op->kind == CONV_WEIGHT) {
        d = in_map(op, k);
        return d.a * stride[0] + d.b * stride[3] + d.c * stride[4];
    }
    d = in_window(op, k);
    int channel = op->kind == CONV_FORWARD ? 2 : 1;
    return d.a * stride[channel] + d.b * stride[3] + d.c * stride[4];
}

/* Return the stride of the rows in `lies`. */
static int64_t lies_row(const struct conv_product *p)
{
    static const int channel[] = {
        [CONV_FORWARD] = 1, [CONV_DATA] = 2, [CONV_WEIGHT] = 2};
    return p->lies->stride[channel[p->op->kind]];
}

/* Return the offset of row i and column j in `made`. */
static int64_t made_at(const struct conv_product *p, int64_t i, int64_t j)
{
    const struct conv_op *op = p->op;
    const int64_t *stride = p->made->stride;
    struct digits d;
    if (op->kind == CONV_WEIGHT) {
        d = in_window(op, j);
        return p->made_at + i * stride[1] + d.a * stride[2] + d.b * stride[3] +
               d.c * stride[4];
    }
    d = digits_of(j, p->made->shape[3], p->made->shape[4]);
    return p->made_at + i * stride[2] + d.b * stride[3] + d.c * stride[4];
}

/* Divide *x by the stride. Returns false if there is a remainder. */
static bool at_stride(int64_t *x, int64_t stride)
{
    bool fits = *x % stride == 0;
    *x /= stride;
    return fits;
}

/* Return the gathered element of a column and a depth; 0 if it is outside. */
static double gather(const struct conv_product *p, const void *base,
                     const struct reference_conv_part *a,
                     const struct reference_conv_part *b)
{
    int64_t h = a->point[HEIGHT] + b->point[HEIGHT];
    int64_t w = a->point[WIDTH] + b->point[WIDTH];
    if (p->op->kind == CONV_DATA &&
        (!at_stride(&h, p->op->slide[HEIGHT].stride) ||
         !at_stride(&w, p->op->slide[WIDTH].stride)))
        return 0.0;
    const struct view *v = p->gathered;
    if (h < 0 || h >= v->shape[3] || w < 0 || w >= v->shape[4])
        return 0.0;
    return tile_load(base, v->dtype,
                     p->gathered_at + a->at + b->at + h * v->stride[3] +
                         w * v->stride[4]);
}

/* Compute the sums of the tile whose first row is i. Its columns must be
 * prepared. */
static void sum_tile(struct conv_product *p, int64_t i, int64_t rows,
                     int64_t cols)
{
    struct tile *t = &p->tile;
    const void *lies = view_host(p->lies), *gathered = view_host(p->gathered);
    int64_t row = lies_row(p);
    tile_clear(t);
    for (int64_t k0 = 0; k0 < p->depth; k0 += TILE_DEPTH) {
        int64_t depth = tile_least(TILE_DEPTH, p->depth - k0);
        for (int64_t k = 0; k < depth; k++) {
            p->deep[k] = depth_part(p, k0 + k);
            p->lies_deep[k] = lies_depth(p, k0 + k);
        }
        for (int64_t r = 0; r < rows; r++)
            for (int64_t k = 0; k < depth; k++)
                t->a[r][k] =
                    tile_load(lies, p->lies->dtype,
                              p->lies_at + (i + r) * row + p->lies_deep[k]);
        for (int64_t k = 0; k < depth; k++)
            for (int64_t j = 0; j < cols; j++)
                t->b[k][j] = gather(p, gathered, &p->deep[k], &p->column[j]);
        tile_multiply(t, rows, depth);
    }
}

/* Return the bias of row i, which is a channel of `made`. */
static float bias_of(const struct conv_product *p, int64_t i)
{
    const struct view *b = &p->op->bias;
    return load_f32(view_host(b), b->dtype,
                    p->g * b->stride[0] + i * b->stride[1]);
}

/* Round the sums of a tile to float32, apply bias and activation, and store
 * them in the dtype of `made`. */
static void store_tile(const struct conv_product *p, int64_t i0, int64_t rows,
                       int64_t j0, int64_t cols)
{
    const struct conv_op *op = p->op;
    void *made = view_host(p->made);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            float x = (float)p->tile.sum[i][j];
            if (op->bias.buffer != NULL)
                x = x + bias_of(p, i0 + i);
            store_f32(made, p->made->dtype, made_at(p, i0 + i, j0 + j),
                      activate(x, op->activation));
        }
}

/* Compute one product, tile by tile. Columns are prepared once for all rows of
 * tiles. */
static void multiply(struct conv_product *p)
{
    for (int64_t j = 0; j < p->columns; j += TILE_COLS) {
        int64_t cols = tile_least(TILE_COLS, p->columns - j);
        for (int64_t c = 0; c < cols; c++)
            p->column[c] = column_part(p, j + c);
        for (int64_t i = 0; i < p->rows; i += TILE_ROWS) {
            int64_t rows = tile_least(TILE_ROWS, p->rows - i);
            sum_tile(p, i, rows, cols);
            store_tile(p, i, rows, j, cols);
        }
    }
}

/* Return the offset at which image n and group g begin. A filter does not have
 * a dimension n. */
static int64_t begin(const struct conv_product *p, const struct view *v)
{
    if (v == &p->op->filter)
        return p->g * v->stride[0];
    return p->n * v->stride[0] + p->g * v->stride[1];
}

/* Set the sizes and operands of the kind, as in the table above. */
static void set_up(struct conv_product *p, const struct conv_op *op)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    int64_t taps = h->window * w->window, positions = h->map * w->map;
    p->op = op;
    switch (op->kind) {
    case CONV_FORWARD:
        p->rows = op->o;
        p->columns = positions;
        p->depth = op->c * taps;
        p->lies = &op->filter;
        p->gathered = &op->image;
        p->made = &op->map;
        break;
    case CONV_DATA:
        p->rows = op->c;
        p->columns = h->image * w->image;
        p->depth = op->o * taps;
        p->lies = &op->filter;
        p->gathered = &op->map;
        p->made = &op->image;
        break;
    case CONV_WEIGHT:
        p->rows = op->o;
        p->columns = op->c * taps;
        p->depth = op->n * positions;
        p->lies = &op->map;
        p->gathered = &op->image;
        p->made = &op->filter;
        break;
    }
}

/* Run a convolution. For weights the batch is part of the depth, so there is
 * one product for each group. */
static ssq_status conv(struct backend_queue *queue, const struct conv_op *op)
{
    (void)queue;
    struct conv_product p = {0};
    int64_t images = op->kind == CONV_WEIGHT ? 1 : op->n;
    set_up(&p, op);
    for (p.n = 0; p.n < images; p.n++)
        for (p.g = 0; p.g < op->groups; p.g++) {
            p.lies_at = begin(&p, p.lies);
            p.gathered_at = begin(&p, p.gathered);
            p.made_at = begin(&p, p.made);
            multiply(&p);
        }
    return SSQ_OK;
}

REFERENCE_IMPL(conv, conv);

/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - the plan of convolution and its gradients, as matrix products.
 *
 *     kind      rows  columns    depth      stored       gathered
 *     forward   o     p, q       c, r, s    filter       image
 *     data      c     h, w       o, r, s    filter       map
 *     weight    o     c, r, s    n, p, q    map          image
 *
 * The gradient of a filter has few elements, each a sum over the whole batch.
 * If its tiles are too few for the device, the depth is split, and a second
 * launch adds the sums. If the batch does not fit into a launch, there is one
 * sum per window of images. The bits then differ, but the error bound holds. */
#include "lib/plan/conv/conv.h"

#include "kernels/conv/conv_args.h"

/* COLS of conv_tile.k. */
#define TILE_COLUMNS 64
/* Depth of a step, and its loops: four that load both operands, and one that
 * multiplies. TILE_LOOPS are the other loops of a tile. */
#define STEP       16
#define STEP_LOOPS 48
#define TILE_LOOPS 512
/* Least depth of a slice; less is not worth the fold. */
#define LEAST_SLICE 128
/* Groups per unit of the device that splitting aims at. */
#define WANTED_GROUPS 4
/* Most elements of the partial sums. */
#define MOST_PARTIAL (INT64_C(4) << 20)

/* The three operands of a product: the result, the factor that is stored as a
 * matrix, and the images that the other factor is gathered from. */
struct roles {
    const struct view *made, *lies, *from;
};

/* Return how many taps of an axis can meet a coordinate below 2^32. */
static uint32_t taps_of(const struct slide *s)
{
    return (uint32_t)size_least(s->window, UINT32_MAX / s->dilation + 1);
}

/* Forward: rows are channels of the map, columns its positions, and the depth
 * is a window. */
static struct roles set_forward(struct conv_args *a, const struct conv_op *op)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    const struct view *x = &op->image, *f = &op->filter, *y = &op->map;
    a->images = (uint32_t)op->n;
    a->made.rows = (uint32_t)op->o;
    a->made.columns = (uint32_t)(h->map * w->map);
    a->made.column_b = (uint32_t)h->map;
    a->made.column_c = (uint32_t)w->map;
    a->column_h = (uint32_t)h->stride;
    a->column_h0 = 0u - (uint32_t)h->before;
    a->column_w = (uint32_t)w->stride;
    a->column_w0 = 0u - (uint32_t)w->before;
    a->depth = (uint32_t)(op->c * h->window * w->window);
    a->depth_b = (uint32_t)h->window;
    a->depth_c = (uint32_t)w->window;
    a->depth_at = view_step(x, 2);
    a->depth_h = (uint32_t)h->dilation;
    a->depth_w = (uint32_t)w->dilation;
    a->lies_row = view_step(f, 1);
    a->lies_a = view_step(f, 2);
    a->made.row = view_step(y, 2);
    a->made.image = view_step(y, 0);
    a->made.group = view_step(y, 1);
    return (struct roles){y, f, x};
}

/* Gradient of the image: as forward, from the map to the image. Taps are
 * subtracted, and the difference must be a multiple of the stride. */
static struct roles conv_set_data(struct conv_args *a, const struct conv_op *op)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    const struct view *x = &op->image, *f = &op->filter, *y = &op->map;
    a->images = (uint32_t)op->n;
    a->made.rows = (uint32_t)op->c;
    a->made.columns = (uint32_t)(h->image * w->image);
    a->made.column_b = (uint32_t)h->image;
    a->made.column_c = (uint32_t)w->image;
    a->column_h = a->column_w = 1;
    a->column_h0 = (uint32_t)h->before;
    a->column_w0 = (uint32_t)w->before;
    a->depth_b = taps_of(h);
    a->depth_c = taps_of(w);
    a->depth = (uint32_t)op->o * a->depth_b * a->depth_c;
    a->depth_at = view_step(y, 2);
    a->depth_h = (uint32_t)h->dilation;
    a->depth_w = (uint32_t)w->dilation;
    a->lies_row = view_step(f, 2);
    a->lies_a = view_step(f, 1);
    a->made.row = view_step(x, 2);
    a->made.image = view_step(x, 0);
    a->made.group = view_step(x, 1);
    return (struct roles){x, f, y};
}

/* Gradient of the filter: columns are a window, and the depth is the positions
 * of all images. */
static struct roles set_weight(struct conv_args *a, const struct conv_op *op)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    const struct view *x = &op->image, *f = &op->filter, *y = &op->map;
    a->images = 1;
    a->made.rows = (uint32_t)op->o;
    a->made.columns = (uint32_t)(op->c * h->window * w->window);
    a->made.column_b = (uint32_t)h->window;
    a->made.column_c = (uint32_t)w->window;
    a->column_at = view_step(x, 2);
    a->column_h = (uint32_t)h->dilation;
    a->column_w = (uint32_t)w->dilation;
    a->depth = (uint32_t)(op->n * h->map * w->map);
    a->depth_b = (uint32_t)h->map;
    a->depth_c = (uint32_t)w->map;
    a->depth_at = view_step(x, 0);
    a->depth_h = (uint32_t)h->stride;
    a->depth_h0 = 0u - (uint32_t)h->before;
    a->depth_w = (uint32_t)w->stride;
    a->depth_w0 = 0u - (uint32_t)w->before;
    a->lies_row = view_step(y, 2);
    a->lies_a = view_step(y, 0);
    a->made.row = view_step(f, 1);
    a->made.a = view_step(f, 2);
    a->made.group = view_step(f, 0);
    return (struct roles){f, y, x};
}

/* Set the fields that are derived from the roles of the operands. */
static void set_rest(struct conv_args *a, const struct conv_op *op,
                     const struct roles *r)
{
    bool image_lies = r->lies != &op->filter;
    const struct slide *s = op->slide;
    a->made.groups = (uint32_t)op->groups;
    a->made.b = view_step(r->made, 3);
    a->made.c = view_step(r->made, 4);
    a->lies_image = 0; /* a filter has no images; for weights they are depth */
    a->lies_group = view_step(r->lies, image_lies ? 1 : 0);
    a->lies_b = view_step(r->lies, 3);
    a->lies_c = view_step(r->lies, 4);
    a->from_image = image_lies ? 0 : view_step(r->from, 0);
    a->from_group = view_step(r->from, 1);
    a->from_h = view_step(r->from, 3);
    a->from_w = view_step(r->from, 4);
    a->height = (uint32_t)r->from->shape[3];
    a->width = (uint32_t)r->from->shape[4];
    a->stride_h = (uint32_t)s[HEIGHT].stride;
    a->stride_w = (uint32_t)s[WIDTH].stride;
    a->bias_group = view_step(&op->bias, 0);
    a->bias_row = view_step(&op->bias, 1);
    a->activation = op->activation;
    a->made.types = CONV_TYPES(view_dtype(r->made), view_dtype(r->lies),
                               view_dtype(r->from), view_dtype(&op->bias));
}

/* Return the number of slices of the depth. There are as many as the device
 * needs to be busy, and as its limit of iterations requires. */
static int64_t splits_of(const struct conv_args *a,
                         const struct backend_limits *l, int64_t tiles)
{
    int64_t results = (int64_t)a->made.groups * a->made.rows * a->made.columns;
    int64_t room = size_least(MOST_PARTIAL, (int64_t)(l->binding_bytes / 4));
    int64_t splits = size_least((int64_t)l->units * WANTED_GROUPS / tiles,
                                a->depth / LEAST_SLICE);
    int64_t steps = size_div_up(a->depth, STEP);
    int64_t most = (int64_t)l->iterations / 2 / (STEP_LOOPS + 1);
    if (most > 0 && splits < size_div_up(steps, most))
        splits = size_div_up(steps, most);
    return size_least(splits, room / results);
}

/* Divide a product into tiles of tile_rows rows. @return the number of slices
 * of the depth */
static uint32_t conv_divide(struct conv_args *a, const struct backend_limits *l,
                            uint32_t tile_rows, bool may_split)
{
    a->row_blocks = (uint32_t)size_div_up(a->made.rows, tile_rows);
    a->column_blocks = (uint32_t)size_div_up(a->made.columns, TILE_COLUMNS);
    int64_t tiles =
        (int64_t)a->images * a->made.groups * a->row_blocks * a->column_blocks;
    int64_t splits = splits_of(a, l, tiles);
    a->slice = a->depth;
    if (may_split && splits > 1) {
        a->slice = (uint32_t)size_div_up(a->depth, splits);
        splits = size_div_up(a->depth, a->slice);
    } else {
        splits = 1;
    }
    a->tasks = (uint32_t)(tiles * splits);
    return (uint32_t)splits;
}

/* Bind v twice, as elements of 2 and of 4 bytes. The kernel reads one of them,
 * depending on the dtype. So it needs no variant for each mix of dtypes. */
static void conv_bind_both(struct plan *p, const struct view *v,
                           enum access access)
{
    plan_bind_as(p, v, 2, access);
    plan_bind_as(p, v, 4, access);
}

/* Add the sums of the slices, and round to the dtype of the result. */
static void plan_conv_fold(struct plan *p, const struct conv_args *a,
                           uint32_t splits, const struct view *made,
                           const struct view *partial)
{
    struct conv_fold_args f = {.made = a->made,
                               .n = a->made.groups * a->made.rows *
                                    a->made.columns,
                               .splits = splits};
    plan_kernel(p, KERNEL_conv_fold, KEYS(0));
    conv_bind_both(p, made, ACCESS_WRITE);
    plan_bind(p, partial, ACCESS_READ);
    plan_items(p, &f, sizeof(f), f.n, loops_of(f.splits, 0));
}

/* Convolve some images. Results with at most 16 rows use tiles of 16 rows,
 * because tiles of 64 would be mostly empty. If the depth is split, sums go to
 * `partial` and only the fold writes the result. The tile kernel still needs a
 * binding for it. */
static void plan_conv_images(struct plan *p, const struct conv_op *op)
{
    static const struct view absent;
    struct conv_args a = {.images = 0};
    struct roles r = op->kind == CONV_FORWARD ? set_forward(&a, op)
                     : op->kind == CONV_DATA  ? conv_set_data(&a, op)
                                              : set_weight(&a, op);
    set_rest(&a, op, &r);
    bool data = op->kind == CONV_DATA;
    uint8_t tile_rows = a.made.rows <= 16 ? 16 : 64;
    uint32_t splits =
        conv_divide(&a, plan_limits(p), tile_rows, op->kind == CONV_WEIGHT);
    struct view partial = absent;
    if (splits > 1)
        plan_scratch(p, SSQ_F32,
                     (uint64_t)splits * a.made.groups * a.made.rows *
                         a.made.columns,
                     &partial);
    plan_kernel(p, KERNEL_conv_tile, KEYS(tile_rows, data));
    conv_bind_both(p, r.made, splits > 1 ? ACCESS_READ : ACCESS_WRITE);
    conv_bind_both(p, r.lies, ACCESS_READ);
    conv_bind_both(p, r.from, ACCESS_READ);
    conv_bind_both(p, &op->bias, ACCESS_READ);
    plan_bind(p, &partial, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), a.tasks,
                TILE_LOOPS + loops_of(size_div_up(a.slice, STEP), STEP_LOOPS));
    if (splits > 1)
        plan_conv_fold(p, &a, splits, r.made, &partial);
}

/* Context for the gradient of a filter over several windows of images. */
struct conv_parts {
    uint64_t results;
    uint32_t n;       /* windows so far */
    struct view sums; /* f32 [windows][results] */
};

static void count_window(struct plan *p, const struct op *some, void *user)
{
    struct conv_parts *parts = user;
    (void)p;
    (void)some;
    parts->n++;
}

/* Compute the gradient of a window's images, in float32. */
static void conv_sum_window(struct plan *p, const struct op *some, void *user)
{
    struct conv_op part = *(const struct conv_op *)some;
    struct conv_parts *parts = user;
    struct view *f = &part.filter;
    int64_t step = 1;
    part.n = part.image.shape[0];
    f->buffer = parts->sums.buffer;
    f->dtype = SSQ_F32;
    f->offset =
        parts->sums.offset + parts->n++ * parts->results * sizeof(float);
    for (int i = f->rank; i-- > 0; step *= f->shape[i])
        f->stride[i] = step;
    plan_conv_images(p, &part);
}

static void fold_windows(struct plan *p, const struct conv_op *op)
{
    struct conv_op part = *op;
    struct conv_parts parts = {.results = (uint64_t)view_elements(&op->filter)};
    struct conv_args a = {.images = 0};
    struct roles r = set_weight(&a, op);
    plan_windows(p, &part.op, &conv_images, count_window, &parts);
    plan_scratch(p, SSQ_F32, parts.n * parts.results, &parts.sums);
    uint32_t windows = parts.n;
    parts.n = 0;
    plan_windows(p, &part.op, &conv_images, conv_sum_window, &parts);
    set_rest(&a, op, &r);
    plan_conv_fold(p, &a, windows, &op->filter, &parts.sums);
}

static void conv_build(struct plan *p, const struct conv_op *op)
{
    if (op->kind == CONV_WEIGHT &&
        !window_fits(&op->op, plan_limits(p)->binding_bytes))
        fold_windows(p, op);
    else
        conv_windows(p, op, plan_conv_images);
}

const struct conv_plan conv_plans[] = {
    {"gemm", conv_gemm_check, conv_gemm_build},
    {"direct", NULL, conv_build},
    {NULL}};

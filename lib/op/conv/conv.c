/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - convolution, its gradients, transposed convolution: check, bring
 * into the form of lib/op/conv/conv.h, enqueue. */
#include "lib/op/conv/conv.h"

#include <sesqui/ops/reduce.h>

#include "lib/core/base/size.h"
#include "lib/op/operands.h"

#include <string.h>

/* Arguments that the public calls share. */
struct conv_call {
    const char *name;
    enum conv_kind kind; /* selects the operand that is written */
    bool transposed;     /* conv_transpose2d or its gradients */
    const ssq_tensor *image, *filter, *map; /* or their gradients */
    const ssq_tensor *vector;               /* bias or db */
    const char *image_is, *filter_is, *map_is, *vector_is; /* their names */
    const int64_t *stride, *padding, *dilation;
    const int64_t *output_padding; /* NULL: the image's size decides */
    int64_t groups;
    ssq_layout layout;
    ssq_activation activation;
};

/* Check presence, dtypes and overlaps; an output must not overlap anything. The
 * vector of a call for a filter's gradient is db, an output. */
static ssq_status conv_check_tensors(const ssq_queue *queue,
                                     const struct conv_call *c)
{
    unsigned image = c->kind == CONV_DATA ? OPERAND_OUT : 0;
    unsigned filter = c->kind == CONV_WEIGHT ? OPERAND_OUT : 0;
    unsigned map = c->kind == CONV_FORWARD ? OPERAND_OUT : 0;
    const struct operand_rule rules[] = {
        {c->image, c->image_is, DTYPES_FLOAT, image, 0},
        {c->filter, c->filter_is, DTYPES_FLOAT, filter, 0},
        {c->map, c->map_is, DTYPES_FLOAT, map, 0},
        {c->vector, c->vector_is, DTYPES_FLOAT, OPERAND_OPTIONAL | filter, 0},
    };
    return OPERANDS_CHECK(queue, c->name, rules);
}

/* Refuse f16 and bf16 as the two operands that are multiplied: neither format
 * holds the other's values. */
static ssq_status conv_check_mix(const struct conv_call *c)
{
    const ssq_tensor *a = c->kind == CONV_DATA ? c->map : c->image;
    const ssq_tensor *b = c->kind == CONV_WEIGHT ? c->map : c->filter;
    ssq_dtype da = a->view.dtype, db = b->view.dtype;
    if (da == db || da == SSQ_F32 || db == SSQ_F32)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s is %s, %s is %s: they have no common 16-bit "
                     "format, cast one",
                     c->name, c->kind == CONV_DATA ? c->map_is : c->image_is,
                     ssq_dtype_name(da),
                     c->kind == CONV_WEIGHT ? c->map_is : c->filter_is,
                     ssq_dtype_name(db));
}

/* Check the layout, the activation, the groups, the ranks and the last
 * strides. */
static ssq_status conv_check_values(const struct conv_call *c)
{
    ssq_status st = layout_check(c->layout, c->name);
    if (st != SSQ_OK)
        return st;
    if ((unsigned)c->activation > SSQ_ACTIVATION_TANH)
        return error_set(SSQ_ERR_INVALID, "%s: %d is not an activation",
                         c->name, (int)c->activation);
    if (c->groups < 1)
        return error_set(SSQ_ERR_INVALID, "%s: groups is %lld", c->name,
                         (long long)c->groups);
    st = images_check(c->image, c->name, c->image_is);
    if (st == SSQ_OK)
        st = images_check(c->filter, c->name, c->filter_is);
    return st == SSQ_OK ? images_check(c->map, c->name, c->map_is) : st;
}

/* Refuse a number of channels that the groups do not divide. */
static ssq_status check_groups(const struct conv_call *c, int64_t channels,
                               const char *what)
{
    if (channels % c->groups == 0)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s has %lld channels, which %lld groups do not "
                     "divide",
                     c->name, what, (long long)channels, (long long)c->groups);
}

/* Any number of groups divides 0 channels. Refuse more than the operands, which
 * have a dimension of groups, can count. */
static ssq_status conv_check_groups(const struct conv_call *c, int64_t n)
{
    uint64_t images = n > 0 ? (uint64_t)n : 1, elements = 0;
    if (size_mul(images, (uint64_t)c->groups, &elements) &&
        elements <= INT64_MAX / 8)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: groups is %lld, for %lld images",
                     c->name, (long long)c->groups, (long long)n);
}

/* Refuse a filter unless its first two sizes are these; any window passes. */
static ssq_status expect_filter(const struct conv_call *c,
                                const struct view *filter, int64_t first,
                                int64_t second)
{
    int64_t shape[] = {first, second, filter->shape[2], filter->shape[3]};
    return images_expect(filter, shape, c->layout, c->name, c->filter_is);
}

/* Refuse an image, filter and map whose channels do not agree. In a convolution
 * the image's channels are given, and the map has one channel per filter. In a
 * transposed one the map's channels are given. The image's follow from the
 * filter, and expect_image() compares them. */
static ssq_status conv_check_channels(const struct conv_call *c,
                                      const struct view *image,
                                      const struct view *filter,
                                      const struct view *map)
{
    if (c->transposed) {
        ssq_status st = check_groups(c, map->shape[1], c->map_is);
        return st == SSQ_OK
                   ? expect_filter(c, filter, map->shape[1], filter->shape[1])
                   : st;
    }
    ssq_status st = check_groups(c, image->shape[1], c->image_is);
    if (st == SSQ_OK)
        st = expect_filter(c, filter, filter->shape[0],
                           image->shape[1] / c->groups);
    return st == SSQ_OK ? check_groups(c, filter->shape[0], c->filter_is) : st;
}

/* Refuse a map whose sizes do not follow from image and window. Sets
 * s[..].map. */
static ssq_status expect_map(const struct conv_call *c, struct slide *s,
                             const struct view *image,
                             const struct view *filter, const struct view *map)
{
    ssq_status st = slides_map(s, false, c->name);
    int64_t shape[] = {image->shape[0], filter->shape[0], s[HEIGHT].map,
                       s[WIDTH].map};
    return st == SSQ_OK
               ? images_expect(map, shape, c->layout, c->name, c->map_is)
               : st;
}

/* Refuse an image that a transposed convolution of the map does not give. */
static ssq_status expect_image(const struct conv_call *c, struct slide *s,
                               const struct view *image,
                               const struct view *filter,
                               const struct view *map)
{
    int64_t shape[] = {map->shape[0], 0, 0, 0};
    ssq_status st =
        groups_channels(filter->shape[1], c->groups, c->name, &shape[1]);
    if (st != SSQ_OK)
        return st;
    for (int i = 0; i < AXES; i++) {
        if (s[i].map > SLIDE_MOST)
            return error_set(SSQ_ERR_INVALID,
                             "%s: %s has %lld %s, the most is "
                             "%d",
                             c->name, c->map_is, (long long)s[i].map,
                             i == HEIGHT ? "rows" : "columns", SLIDE_MOST);
        st = slide_image(&s[i], i, c->output_padding, c->name, &shape[2 + i]);
        if (st != SSQ_OK)
            return st;
    }
    return images_expect(image, shape, c->layout, c->name, c->image_is);
}

/* Check bias or db: one element per channel. NULL passes. */
static ssq_status check_vector(const struct conv_call *c, int64_t channels)
{
    if (c->vector == NULL)
        return SSQ_OK;
    const struct view *v = &c->vector->view;
    if (v->rank == 1 && v->shape[0] == channels)
        return SSQ_OK;
    char t[128];
    return error_set(SSQ_ERR_INVALID, "%s: %s is %s, expected [%lld]", c->name,
                     c->vector_is, view_text(v, t, sizeof(t)),
                     (long long)channels);
}

/* Return the channels of the result of conv2d or conv_transpose2d. */
static int64_t made_channels(const struct conv_call *c,
                             const struct view *image, const struct view *map)
{
    return c->transposed ? image->shape[1] : map->shape[1];
}

/* Split a dimension into two: groups, and channels of a group. The caller has
 * checked that the groups divide it. */
static struct view conv_split(const struct view *v, int axis, int64_t groups)
{
    struct view r = *v;
    r.rank = v->rank + 1;
    for (int i = r.rank - 1; i > axis; i--) {
        r.shape[i] = v->shape[i - 1];
        r.stride[i] = v->stride[i - 1];
    }
    r.shape[axis] = groups;
    r.shape[axis + 1] = v->shape[axis] / groups;
    r.stride[axis] = v->stride[axis] * r.shape[axis + 1];
    return r;
}

/* Return how this call accesses the operand that calls of kind `written`
 * write. */
static enum access access_of(const struct conv_call *c, enum conv_kind written)
{
    return c->kind == written ? ACCESS_WRITE : ACCESS_READ;
}

/* Check everything and fill the op; its output may be empty. */
static ssq_status conv_prepare(const ssq_queue *queue,
                               const struct conv_call *c, struct conv_op *op)
{
    ssq_status st = conv_check_tensors(queue, c);
    if (st == SSQ_OK)
        st = conv_check_mix(c);
    if (st == SSQ_OK)
        st = conv_check_values(c);
    if (st != SSQ_OK)
        return st;
    struct view image =
        images_view(c->image, c->layout, access_of(c, CONV_DATA));
    struct view filter =
        images_view(c->filter, c->layout, access_of(c, CONV_WEIGHT));
    struct view map =
        images_view(c->map, c->layout, access_of(c, CONV_FORWARD));
    *op = (struct conv_op){.op = OP_HEADER(conv, image),
                           .kind = c->kind,
                           .n = image.shape[0],
                           .groups = c->groups,
                           .activation = c->activation};
    slides_set(op->slide, c->stride, c->padding, c->dilation);
    for (int i = 0; i < AXES; i++) {
        op->slide[i].image = image.shape[2 + i];
        op->slide[i].window = filter.shape[2 + i];
        op->slide[i].map = map.shape[2 + i];
    }
    st = slides_check(op->slide, c->name);
    if (st == SSQ_OK)
        st = conv_check_channels(c, &image, &filter, &map);
    if (st == SSQ_OK)
        st = conv_check_groups(c, image.shape[0]);
    if (st == SSQ_OK && c->transposed)
        st = expect_image(c, op->slide, &image, &filter, &map);
    else if (st == SSQ_OK)
        st = expect_map(c, op->slide, &image, &filter, &map);
    if (st == SSQ_OK)
        st = check_vector(c, made_channels(c, &image, &map));
    if (st != SSQ_OK)
        return st;
    op->c = image.shape[1] / c->groups;
    op->o = map.shape[1] / c->groups;
    op->image = conv_split(&image, 1, c->groups);
    op->filter = conv_split(&filter, 0, c->groups);
    op->map = conv_split(&map, 1, c->groups);
    if (c->vector != NULL && c->kind != CONV_WEIGHT) {
        struct view bias = tensor_view(c->vector, ACCESS_READ);
        op->bias = conv_split(&bias, 0, c->groups);
    }
    return SSQ_OK;
}

/* Check and enqueue, unless the output is empty. */
static ssq_status op_conv_run(ssq_queue *queue, const struct conv_call *c)
{
    struct conv_op op;
    ssq_status st = conv_prepare(queue, c, &op);
    if (st != SSQ_OK)
        return st;
    const struct view *written = c->kind == CONV_FORWARD ? &op.map
                                 : c->kind == CONV_DATA  ? &op.image
                                                         : &op.filter;
    return view_elements(written) == 0 ? SSQ_OK : queue_enqueue(queue, &op.op);
}

/* Enqueue db: dy summed over all dimensions except its channels. */
static ssq_status sum_channels(ssq_queue *queue, const struct conv_call *c)
{
    static const int nchw[] = {0, 2, 3}, nhwc[] = {0, 1, 2};
    ssq_sum_args args = SSQ_SUM_INIT;
    args.x = c->transposed ? c->image : c->map;
    args.y = c->vector;
    memcpy(args.axes, c->layout == SSQ_LAYOUT_NHWC ? nhwc : nchw, sizeof(nchw));
    args.n_axes = 3;
    return ssq_sum(queue, &args);
}

/* Enqueue dw and db, in one bundle. */
static ssq_status run_weight(ssq_queue *queue, const struct conv_call *c)
{
    ssq_status st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    st = op_conv_run(queue, c);
    if (st == SSQ_OK && c->vector != NULL)
        st = sum_channels(queue, c);
    return queue_bundle_end(queue, st);
}

ssq_status ssq_conv2d(ssq_queue *queue, const ssq_conv2d_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "conv2d");
    if (st != SSQ_OK)
        return st;
    const struct conv_call c = {.name = "conv2d",
                                .kind = CONV_FORWARD,
                                .image = args->x,
                                .image_is = "x",
                                .filter = args->w,
                                .filter_is = "w",
                                .map = args->y,
                                .map_is = "y",
                                .vector = args->bias,
                                .vector_is = "bias",
                                .stride = args->stride,
                                .padding = args->padding,
                                .dilation = args->dilation,
                                .groups = args->groups,
                                .layout = args->layout,
                                .activation = args->activation};
    return op_conv_run(queue, &c);
}

ssq_status ssq_conv_transpose2d(ssq_queue *queue,
                                const ssq_conv_transpose2d_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "conv_transpose2d");
    if (st != SSQ_OK)
        return st;
    const struct conv_call c = {.name = "conv_transpose2d",
                                .kind = CONV_DATA,
                                .transposed = true,
                                .image = args->y,
                                .image_is = "y",
                                .filter = args->w,
                                .filter_is = "w",
                                .map = args->x,
                                .map_is = "x",
                                .vector = args->bias,
                                .vector_is = "bias",
                                .stride = args->stride,
                                .padding = args->padding,
                                .dilation = args->dilation,
                                .output_padding = args->output_padding,
                                .groups = args->groups,
                                .layout = args->layout,
                                .activation = args->activation};
    return op_conv_run(queue, &c);
}

/* Run either gradient of the data. If transposed, image and map change
 * places. */
static ssq_status backward_data(ssq_queue *queue,
                                const ssq_conv2d_backward_data_args *args,
                                const char *name, bool transposed)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    const struct conv_call c = {.name = name,
                                .kind = transposed ? CONV_FORWARD : CONV_DATA,
                                .transposed = transposed,
                                .image = transposed ? args->dy : args->dx,
                                .image_is = transposed ? "dy" : "dx",
                                .filter = args->w,
                                .filter_is = "w",
                                .map = transposed ? args->dx : args->dy,
                                .map_is = transposed ? "dx" : "dy",
                                .stride = args->stride,
                                .padding = args->padding,
                                .dilation = args->dilation,
                                .groups = args->groups,
                                .layout = args->layout};
    return op_conv_run(queue, &c);
}

ssq_status ssq_conv2d_backward_data(ssq_queue *queue,
                                    const ssq_conv2d_backward_data_args *args)
{
    return backward_data(queue, args, "conv2d_backward_data", false);
}

ssq_status ssq_conv_transpose2d_backward_data(
    ssq_queue *queue, const ssq_conv_transpose2d_backward_data_args *args)
{
    return backward_data(queue, args, "conv_transpose2d_backward_data", true);
}

static ssq_status backward_weight(ssq_queue *queue,
                                  const ssq_conv2d_backward_weight_args *args,
                                  const char *name, bool transposed)
{
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    const struct conv_call c = {.name = name,
                                .kind = CONV_WEIGHT,
                                .transposed = transposed,
                                .image = transposed ? args->dy : args->x,
                                .image_is = transposed ? "dy" : "x",
                                .filter = args->dw,
                                .filter_is = "dw",
                                .map = transposed ? args->x : args->dy,
                                .map_is = transposed ? "x" : "dy",
                                .vector = args->db,
                                .vector_is = "db",
                                .stride = args->stride,
                                .padding = args->padding,
                                .dilation = args->dilation,
                                .groups = args->groups,
                                .layout = args->layout};
    return run_weight(queue, &c);
}

ssq_status
ssq_conv2d_backward_weight(ssq_queue *queue,
                           const ssq_conv2d_backward_weight_args *args)
{
    return backward_weight(queue, args, "conv2d_backward_weight", false);
}

ssq_status ssq_conv_transpose2d_backward_weight(
    ssq_queue *queue, const ssq_conv_transpose2d_backward_weight_args *args)
{
    return backward_weight(queue, args, "conv_transpose2d_backward_weight",
                           true);
}

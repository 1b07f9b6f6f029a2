/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - max, average and global average pooling, and their backward: check
 * and enqueue. */
#include "lib/op/pool/pool.h"

#include <sesqui/ops/reduce.h>

#include "lib/op/operands.h"

/* Arguments that the public calls share. */
struct pool_call {
    const char *name;
    enum pool_kind kind;
    const ssq_tensor *image, *map, *index; /* gradients in a backward call */
    const char *image_is, *map_is;         /* their names in error texts */
    const int64_t *kernel, *stride, *padding, *dilation; /* from the args */
    bool ceil_mode, count_padding;
    int64_t divisor; /* of averages; 0: the number of taps */
    ssq_layout layout;
};

/* Initialise a call's windows from args A. All four structs have these
 * members. */
#define WINDOWS(A)                                                             \
    .kernel = (A)->kernel, .stride = (A)->stride, .padding = (A)->padding,     \
    .dilation = (A)->dilation, .ceil_mode = (A)->ceil_mode,                    \
    .layout = (A)->layout

/* Return true if the call writes the image and reads the map. */
static bool pool_is_backward(const struct pool_call *c)
{
    return c->kind == POOL_MAX_BACKWARD || c->kind == POOL_AVG_BACKWARD;
}

/* Check presence, dtypes, ranks and overlaps. Backward reads argmax; max
 * pooling writes it on request. A maximum is an element of the image, so the
 * map must have the image's dtype. */
static ssq_status pool_check_tensors(const ssq_queue *queue,
                                     const struct pool_call *c)
{
    unsigned index = c->kind == POOL_MAX_BACKWARD ? 0 : OPERAND_OPTIONAL;
    if (c->kind == POOL_MAX)
        index |= OPERAND_OUT;
    const struct operand_rule rules[] = {
        {c->image, c->image_is, DTYPES_FLOAT,
         pool_is_backward(c) ? OPERAND_OUT : 0, 0},
        {c->map, c->map_is, DTYPES_FLOAT, pool_is_backward(c) ? 0 : OPERAND_OUT,
         0},
        {c->index, "argmax", DTYPE_BIT(SSQ_I32), index, 0},
    };
    ssq_status st = OPERANDS_CHECK(queue, c->name, rules);
    if (st == SSQ_OK && c->kind == POOL_MAX)
        st = check_dtype(c->map, DTYPE_BIT(c->image->view.dtype), c->name,
                         c->map_is);
    if (st == SSQ_OK)
        st = layout_check(c->layout, c->name);
    if (st == SSQ_OK)
        st = images_check(c->image, c->name, c->image_is);
    if (st == SSQ_OK)
        st = images_check(c->map, c->name, c->map_is);
    return st == SSQ_OK && c->index != NULL
               ? images_check(c->index, c->name, "argmax")
               : st;
}

/* Check argmax and set its view. It must have the map's shape, and an i32 must
 * hold row * width + column of every element. NULL passes. */
static ssq_status pool_check_index(const struct pool_call *c,
                                   struct pool_op *op)
{
    const struct slide *s = op->slide;
    if (c->index == NULL)
        return SSQ_OK;
    op->index = images_view(c->index, c->layout,
                            pool_is_backward(c) ? ACCESS_READ : ACCESS_WRITE);
    if (s[HEIGHT].image > 0 && s[WIDTH].image > INT32_MAX / s[HEIGHT].image)
        return error_set(
            SSQ_ERR_INVALID,
            "%s: argmax is an i32, up to %d, and a channel has %lld rows of "
            "%lld",
            c->name, INT32_MAX, (long long)s[HEIGHT].image,
            (long long)s[WIDTH].image);
    return images_expect(&op->index, op->map.shape, c->layout, c->name,
                         "argmax");
}

/* Check everything and fill the op; its output may be empty. A stride of 0
 * means adjacent windows. */
static ssq_status pool_prepare(const ssq_queue *queue,
                               const struct pool_call *c, struct pool_op *op)
{
    ssq_status st = pool_check_tensors(queue, c);
    if (st != SSQ_OK)
        return st;
    *op = (struct pool_op){.op = OP_HEADER(pool, image),
                           .kind = c->kind,
                           .count_padding = c->count_padding,
                           .divisor = c->divisor};
    op->image = images_view(c->image, c->layout,
                            pool_is_backward(c) ? ACCESS_WRITE : ACCESS_READ);
    op->map = images_view(c->map, c->layout,
                          pool_is_backward(c) ? ACCESS_READ : ACCESS_WRITE);
    struct slide *s = op->slide;
    slides_set(s, c->stride, c->padding, c->dilation);
    for (int i = 0; i < AXES; i++) {
        s[i].image = op->image.shape[2 + i];
        s[i].window = c->kernel[i];
        if (s[i].stride == 0)
            s[i].stride = s[i].window;
    }
    st = slides_check(s, c->name);
    if (st == SSQ_OK && c->divisor < 0)
        return error_set(SSQ_ERR_INVALID, "%s: divisor is %lld", c->name,
                         (long long)c->divisor);
    if (st == SSQ_OK)
        st = slides_map(s, c->ceil_mode, c->name);
    if (st != SSQ_OK)
        return st;
    int64_t shape[] = {op->image.shape[0], op->image.shape[1], s[HEIGHT].map,
                       s[WIDTH].map};
    st = images_expect(&op->map, shape, c->layout, c->name, c->map_is);
    return st == SSQ_OK ? pool_check_index(c, op) : st;
}

/* Check and enqueue, unless the output is empty. */
static ssq_status pool_run(ssq_queue *queue, const struct pool_call *c)
{
    struct pool_op op;
    ssq_status st = pool_prepare(queue, c, &op);
    if (st != SSQ_OK)
        return st;
    const struct view *written = pool_is_backward(c) ? &op.image : &op.map;
    return view_elements(written) == 0 ? SSQ_OK : queue_enqueue(queue, &op.op);
}

ssq_status ssq_max_pool2d(ssq_queue *queue, const ssq_max_pool2d_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "max_pool2d");
    if (st != SSQ_OK)
        return st;
    const struct pool_call c = {.name = "max_pool2d",
                                .kind = POOL_MAX,
                                .image = args->x,
                                .image_is = "x",
                                .map = args->y,
                                .map_is = "y",
                                .index = args->argmax,
                                WINDOWS(args)};
    return pool_run(queue, &c);
}

ssq_status ssq_max_pool2d_backward(ssq_queue *queue,
                                   const ssq_max_pool2d_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "max_pool2d_backward");
    if (st != SSQ_OK)
        return st;
    const struct pool_call c = {.name = "max_pool2d_backward",
                                .kind = POOL_MAX_BACKWARD,
                                .image = args->dx,
                                .image_is = "dx",
                                .map = args->dy,
                                .map_is = "dy",
                                .index = args->argmax,
                                WINDOWS(args)};
    return pool_run(queue, &c);
}

ssq_status ssq_avg_pool2d(ssq_queue *queue, const ssq_avg_pool2d_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "avg_pool2d");
    if (st != SSQ_OK)
        return st;
    const struct pool_call c = {.name = "avg_pool2d",
                                .kind = POOL_AVG,
                                .image = args->x,
                                .image_is = "x",
                                .map = args->y,
                                .map_is = "y",
                                .count_padding = args->count_include_pad,
                                .divisor = args->divisor,
                                WINDOWS(args)};
    return pool_run(queue, &c);
}

ssq_status ssq_avg_pool2d_backward(ssq_queue *queue,
                                   const ssq_avg_pool2d_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "avg_pool2d_backward");
    if (st != SSQ_OK)
        return st;
    const struct pool_call c = {.name = "avg_pool2d_backward",
                                .kind = POOL_AVG_BACKWARD,
                                .image = args->dx,
                                .image_is = "dx",
                                .map = args->dy,
                                .map_is = "dy",
                                .count_padding = args->count_include_pad,
                                .divisor = args->divisor,
                                WINDOWS(args)};
    return pool_run(queue, &c);
}

/* Return the dimensions of the rows and the columns: the axes of a mean. */
static const int *image_axes(ssq_layout layout)
{
    static const int nchw[] = {2, 3}, nhwc[] = {1, 2};
    return layout == SSQ_LAYOUT_NHWC ? nhwc : nchw;
}

/* Check a global pooling, forward or backward. big has the images. small has
 * one element for each of their channels, as [n,c] or with 1 for rows and
 * columns. rules has the rules of both, in any order. */
static ssq_status check_global(const ssq_queue *queue, const char *name,
                               const struct operand_rule *rules,
                               const ssq_tensor *big, const char *big_is,
                               const ssq_tensor *small, const char *small_is,
                               ssq_layout layout)
{
    ssq_status st = operands_check(queue, name, rules, 2);
    if (st == SSQ_OK)
        st = layout_check(layout, name);
    if (st != SSQ_OK)
        return st;
    if (big->view.rank != 4)
        return error_set(SSQ_ERR_INVALID, "%s: %s has rank %d, expected 4",
                         name, big_is, big->view.rank);
    struct view have = small->view, want = big->view;
    for (int i = 0; i < 2; i++)
        want.shape[image_axes(layout)[i]] = 1;
    if (have.rank == 2) {
        want.rank = 2;
        want.shape[1] = big->view.shape[layout == SSQ_LAYOUT_NHWC ? 3 : 1];
    }
    if (view_same_shape(&have, &want))
        return SSQ_OK;
    char th[128], tw[128];
    return error_set(SSQ_ERR_INVALID, "%s: %s is %s, expected %s", name,
                     small_is, view_text(&have, th, sizeof(th)),
                     view_text(&want, tw, sizeof(tw)));
}

/* Global pooling is ssq_mean() over rows and columns. The checks here report
 * errors in terms of images. */
ssq_status ssq_global_avg_pool2d(ssq_queue *queue,
                                 const ssq_global_avg_pool2d_args *args)
{
    const char *name = "global_avg_pool2d";
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    const struct operand_rule rules[] = {
        {args->x, "x", DTYPES_FLOAT, 0, 0},
        {args->y, "y", DTYPES_FLOAT, OPERAND_OUT, 0},
    };
    st = check_global(queue, name, rules, args->x, "x", args->y, "y",
                      args->layout);
    if (st != SSQ_OK)
        return st;
    ssq_mean_args mean = SSQ_MEAN_INIT;
    mean.x = args->x;
    mean.y = args->y;
    mean.n_axes = 2;
    for (int i = 0; i < mean.n_axes; i++)
        mean.axes[i] = image_axes(args->layout)[i];
    return ssq_mean(queue, &mean);
}

/* Run the backward of that mean, with the same checks. */
ssq_status
ssq_global_avg_pool2d_backward(ssq_queue *queue,
                               const ssq_global_avg_pool2d_backward_args *args)
{
    const char *name = "global_avg_pool2d_backward";
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    const struct operand_rule rules[] = {
        {args->dy, "dy", DTYPES_FLOAT, 0, 0},
        {args->dx, "dx", DTYPES_FLOAT, OPERAND_OUT, 0},
    };
    st = check_global(queue, name, rules, args->dx, "dx", args->dy, "dy",
                      args->layout);
    if (st != SSQ_OK)
        return st;
    ssq_mean_backward_args mean = SSQ_MEAN_BACKWARD_INIT;
    mean.dy = args->dy;
    mean.dx = args->dx;
    mean.n_axes = 2;
    for (int i = 0; i < mean.n_axes; i++)
        mean.axes[i] = image_axes(args->layout)[i];
    return ssq_mean_backward(queue, &mean);
}

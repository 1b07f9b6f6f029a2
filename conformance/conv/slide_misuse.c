/* SPDX-License-Identifier: Apache-2.0 */
/* slide_misuse.c - what convolution and pooling refuse, with which text, and
 * that the output keeps its bits. */
#include "conformance/case.h"

enum fn {
    CONV,
    CONV_DATA,
    CONV_WEIGHT,
    CONV_T,
    CONV_T_DATA,
    CONV_T_WEIGHT,
    MAX_POOL,
    MAX_POOL_BACKWARD,
    AVG_POOL,
    AVG_POOL_BACKWARD,
    GLOBAL,
    GLOBAL_BACKWARD
};

/* Operands by what they are: FILTER is also pooling's argmax. */
enum role { IMAGE, MAP, FILTER, VECTOR, ROLES };

/* The change in a good call. */
enum change {
    NOTHING,
    NO_OPERAND, /* role */
    DTYPE,      /* role, dtype */
    SIZE,       /* role, dimension, size */
    RANK,       /* role, rank */
    TRANSPOSED, /* role */
    DEVICE,     /* role */
    OVERLAP,    /* role, role: the first becomes a view of the second */
    REPEATED,   /* role */
    STRIDE,     /* axis, value; and so on */
    PADDING,
    OUTPUT_PADDING,
    DILATION,
    KERNEL,
    GROUPS,
    NO_CHANNELS, /* groups, and channels of a filter's group */
    LAYOUT,
    ACTIVATION,
    DIVISOR,
    STRUCT_SIZE
};

struct slide_misuse_refusal {
    enum fn fn;
    enum change change;
    int64_t a, b, c;
    const char *text;
};

static const struct slide_misuse_refusal refusals[] = {
    {CONV, NO_OPERAND, IMAGE, 0, 0, "conv2d: x is NULL"},
    {CONV, NO_OPERAND, FILTER, 0, 0, "conv2d: w is NULL"},
    {CONV, NO_OPERAND, MAP, 0, 0, "conv2d: y is NULL"},
    {CONV, STRUCT_SIZE, 8, 0, 0, "conv2d: struct_size is 8, expected"},
    {CONV, DEVICE, IMAGE, 0, 0, "conv2d: x is on another device, reference"},
    {CONV, DTYPE, IMAGE, SSQ_I32, 0, "conv2d: x is i32, expected f32, f16"},
    {CONV, DTYPE, FILTER, SSQ_U8, 0, "conv2d: w is u8, expected f32, f16"},
    {CONV, DTYPE, VECTOR, SSQ_I32, 0, "conv2d: bias is i32, expected f32"},
    {CONV, DTYPE, MAP, SSQ_I32, 0, "conv2d: y is i32, expected f32, f16"},
    {CONV, DTYPE, FILTER, SSQ_BF16, 0,
     "conv2d: x is f16, w is bf16: they have no common 16-bit format"},
    {CONV_DATA, DTYPE, FILTER, SSQ_BF16, 0,
     "conv2d_backward_data: dy is f16, w is bf16: they have no common"},
    {CONV_WEIGHT, DTYPE, MAP, SSQ_BF16, 0,
     "conv2d_backward_weight: x is f16, dy is bf16: they have no common"},
    {CONV_T, DTYPE, FILTER, SSQ_BF16, 0,
     "conv_transpose2d: x is f16, w is bf16: they have no common"},
    {CONV, RANK, IMAGE, 3, 0, "conv2d: x has rank 3, expected 4"},
    {CONV, RANK, FILTER, 5, 0, "conv2d: w has rank 5, expected 4"},
    {CONV, RANK, VECTOR, 2, 0, "conv2d: bias is [6,1], expected [6]"},
    {CONV, TRANSPOSED, IMAGE, 0, 0,
     "conv2d: x has stride 5 in its last dimension, expected 1"},
    {CONV, TRANSPOSED, FILTER, 0, 0,
     "conv2d: w has stride 3 in its last dimension, expected 1"},
    {CONV_DATA, TRANSPOSED, IMAGE, 0, 0,
     "conv2d_backward_data: dx has stride 5 in its last dimension"},
    {CONV, LAYOUT, 2, 0, 0, "conv2d: 2 is not a layout"},
    {CONV, LAYOUT, -1, 0, 0, "conv2d: -1 is not a layout"},
    {CONV, ACTIVATION, 7, 0, 0, "conv2d: 7 is not an activation"},
    {CONV, ACTIVATION, -1, 0, 0, "conv2d: -1 is not an activation"},
    {CONV, GROUPS, 0, 0, 0, "conv2d: groups is 0"},
    {CONV, GROUPS, -2, 0, 0, "conv2d: groups is -2"},
    {CONV, GROUPS, 3, 0, 0,
     "conv2d: x has 4 channels, which 3 groups do not divide"},
    {CONV, GROUPS, 4, 0, 0, "conv2d: w is [6,2,3,3], expected [6,1,3,3]"},
    {CONV_T, GROUPS, 4, 0, 0,
     "conv_transpose2d: x has 6 channels, which 4 groups do not divide"},
    {CONV, NO_CHANNELS, 1ll << 62, 0, 0,
     "conv2d: groups is 4611686018427387904, for 2 images"},
    {CONV_T, NO_CHANNELS, 1ll << 62, 0, 0,
     "conv_transpose2d: groups is 4611686018427387904, for 2 images"},
    {CONV_T, NO_CHANNELS, 1ll << 57, 1 << 7, 0,
     "conv_transpose2d: groups is 144115188075855872, of 128 channels each"},
    {CONV, SIZE, FILTER, 0, 7,
     "conv2d: w has 7 channels, which 2 groups do not divide"},
    {CONV, SIZE, FILTER, 1, 3, "conv2d: w is [6,3,3,3], expected [6,2,3,3]"},
    {CONV, SIZE, FILTER, 2, 0, "conv2d: kernel size 0 in height, expected 1"},
    {CONV, SIZE, FILTER, 3, 9,
     "conv2d: the kernel's width 9 is more than the image's 6 with padding 1 "
     "and 1"},
    {CONV, SIZE, MAP, 0, 3, "conv2d: y is [3,6,5,6], expected [2,6,5,6]"},
    {CONV, SIZE, MAP, 1, 4, "conv2d: y is [2,4,5,6], expected [2,6,5,6]"},
    {CONV, SIZE, MAP, 3, 5, "conv2d: y is [2,6,5,5], expected [2,6,5,6]"},
    {CONV, SIZE, VECTOR, 0, 4, "conv2d: bias is [4], expected [6]"},
    {CONV, STRIDE, 0, 0, 0, "conv2d: stride 0 in height, expected 1 to"},
    {CONV, STRIDE, 1, 2, 0, "conv2d: y is [2,6,5,6], expected [2,6,5,3]"},
    {CONV, STRIDE, 1, 1ll << 31, 0, "conv2d: stride 2147483648 in width"},
    {CONV, DILATION, 0, -1, 0, "conv2d: dilation -1 in height, expected 1"},
    {CONV, DILATION, 1, 0, 0, "conv2d: dilation 0 in width, expected 1"},
    {CONV, DILATION, 0, INT32_MAX, 0,
     "conv2d: the kernel's height 4294967295 is more than the image's 5"},
    {CONV, PADDING, 0, -1, 0, "conv2d: padding -1 in height, expected 0"},
    {CONV, PADDING, 3, INT64_MAX, 0, "in width, expected 0 to 2147483647"},
    {CONV, PADDING, 2, 2, 0, "conv2d: y is [2,6,5,6], expected [2,6,6,6]"},
    {CONV, OVERLAP, MAP, IMAGE, 0, "conv2d: y overlaps x"},
    {CONV, OVERLAP, VECTOR, MAP, 0, "conv2d: y overlaps bias"},
    {CONV, REPEATED, MAP, 0, 0, "conv2d: elements of output y share memory"},
    {CONV_DATA, NO_OPERAND, IMAGE, 0, 0, "conv2d_backward_data: dx is NULL"},
    {CONV_DATA, SIZE, MAP, 2, 4,
     "conv2d_backward_data: dy is [2,6,4,6], expected [2,6,5,6]"},
    {CONV_DATA, OVERLAP, IMAGE, MAP, 0, "conv2d_backward_data: dx overlaps"},
    {CONV_WEIGHT, NO_OPERAND, FILTER, 0, 0,
     "conv2d_backward_weight: dw is NULL"},
    {CONV_WEIGHT, SIZE, FILTER, 2, 2,
     "conv2d_backward_weight: dy is [2,6,5,6], expected [2,6,6,6]"},
    {CONV_WEIGHT, SIZE, FILTER, 0, 8,
     "conv2d_backward_weight: dy is [2,6,5,6], expected [2,8,5,6]"},
    {CONV_WEIGHT, SIZE, VECTOR, 0, 5,
     "conv2d_backward_weight: db is [5], expected [6]"},
    {CONV_WEIGHT, OVERLAP, VECTOR, FILTER, 0,
     "conv2d_backward_weight: dw overlaps db"},
    {CONV_WEIGHT, REPEATED, VECTOR, 0, 0,
     "conv2d_backward_weight: elements of output db share memory"},
    {CONV_T, SIZE, IMAGE, 2, 6,
     "conv_transpose2d: y is [2,4,6,6], expected [2,4,5,6]"},
    {CONV_T, SIZE, FILTER, 0, 4,
     "conv_transpose2d: w is [4,2,3,3], expected [6,2,3,3]"},
    {CONV_T, SIZE, VECTOR, 0, 6, "conv_transpose2d: bias is [6], expected [4]"},
    {CONV_T, OUTPUT_PADDING, 0, 1, 0,
     "conv_transpose2d: output_padding 1 with stride 1 and dilation 1"},
    {CONV_T, OUTPUT_PADDING, 1, -1, 0,
     "conv_transpose2d: output_padding -1 with stride 1 and dilation 1"},
    {CONV_T, PADDING, 0, 9, 0,
     "conv_transpose2d: the result would have -3 rows, expected 0"},
    {CONV_T, STRIDE, 1, INT32_MAX, 0,
     "conv_transpose2d: the result would have 10737418236 columns"},
    {CONV_T_DATA, SIZE, IMAGE, 3, 7,
     "conv_transpose2d_backward_data: dy is [2,4,5,7], expected [2,4,5,6]"},
    {CONV_T_WEIGHT, SIZE, VECTOR, 0, 6,
     "conv_transpose2d_backward_weight: db is [6], expected [4]"},
    {CONV_T_WEIGHT, SIZE, FILTER, 1, 3,
     "conv_transpose2d_backward_weight: dy is [2,4,5,6], expected [2,6,5,6]"},

    {MAX_POOL, NO_OPERAND, IMAGE, 0, 0, "max_pool2d: x is NULL"},
    {MAX_POOL, DTYPE, IMAGE, SSQ_I32, 0, "max_pool2d: x is i32, expected"},
    {MAX_POOL, DTYPE, MAP, SSQ_F32, 0, "max_pool2d: y is f32, expected f16"},
    {MAX_POOL, DTYPE, FILTER, SSQ_F32, 0,
     "max_pool2d: argmax is f32, expected i32"},
    {MAX_POOL, SIZE, MAP, 2, 3,
     "max_pool2d: y is [2,4,3,6], expected [2,4,5,6]"},
    {MAX_POOL, SIZE, FILTER, 3, 5,
     "max_pool2d: argmax is [2,4,5,5], expected [2,4,5,6]"},
    {MAX_POOL, KERNEL, 0, 0, 0, "max_pool2d: kernel size 0 in height"},
    {MAX_POOL, KERNEL, 1, 9, 0,
     "max_pool2d: the kernel's width 9 is more than the image's 6"},
    {MAX_POOL, STRIDE, 0, -1, 0, "max_pool2d: stride -1 in height"},
    {MAX_POOL, PADDING, 1, -1, 0, "max_pool2d: padding -1 in width"},
    {MAX_POOL, DILATION, 1, 0, 0, "max_pool2d: dilation 0 in width"},
    {MAX_POOL, LAYOUT, 9, 0, 0, "max_pool2d: 9 is not a layout"},
    {MAX_POOL, RANK, IMAGE, 3, 0, "max_pool2d: x has rank 3, expected 4"},
    {MAX_POOL, TRANSPOSED, IMAGE, 0, 0, "max_pool2d: x has stride 5 in"},
    {MAX_POOL, OVERLAP, MAP, IMAGE, 0, "max_pool2d: y overlaps x"},
    {MAX_POOL, REPEATED, FILTER, 0, 0,
     "max_pool2d: elements of output argmax share memory"},
    {MAX_POOL_BACKWARD, NO_OPERAND, FILTER, 0, 0,
     "max_pool2d_backward: argmax is NULL"},
    {MAX_POOL_BACKWARD, SIZE, IMAGE, 2, 6,
     "max_pool2d_backward: dy is [2,4,5,6], expected [2,4,6,6]"},
    {MAX_POOL_BACKWARD, OVERLAP, IMAGE, MAP, 0,
     "max_pool2d_backward: dx overlaps dy"},
    {AVG_POOL, DIVISOR, -1, 0, 0, "avg_pool2d: divisor is -1"},
    {AVG_POOL, NO_OPERAND, MAP, 0, 0, "avg_pool2d: y is NULL"},
    {AVG_POOL, SIZE, MAP, 1, 3,
     "avg_pool2d: y is [2,3,5,6], expected [2,4,5,6]"},
    {AVG_POOL_BACKWARD, OVERLAP, IMAGE, MAP, 0,
     "avg_pool2d_backward: dx overlaps dy"},
    {AVG_POOL_BACKWARD, STRUCT_SIZE, 3, 0, 0,
     "avg_pool2d_backward: struct_size is 3, expected"},
    {GLOBAL, SIZE, MAP, 1, 5,
     "global_avg_pool2d: y is [2,5,1,1], expected [2,4,1,1]"},
    {GLOBAL, LAYOUT, 1, 0, 0,
     "global_avg_pool2d: y is [2,4,1,1], expected [2,1,1,6]"},
    {GLOBAL, RANK, IMAGE, 3, 0, "global_avg_pool2d: x has rank 3, expected 4"},
    {GLOBAL, RANK, MAP, 3, 0,
     "global_avg_pool2d: y is [2,4,1], expected [2,4,1,1]"},
    {GLOBAL_BACKWARD, SIZE, MAP, 0, 3,
     "global_avg_pool2d_backward: dy is [3,4,1,1], expected [2,4,1,1]"},
    {GLOBAL_BACKWARD, NO_OPERAND, IMAGE, 0, 0,
     "global_avg_pool2d_backward: dx is NULL"},
};

/* A call: good ones are 3x3, padded, on [2,4,5,6], two groups to 6 channels. */
struct slide_misuse_scene {
    struct harness *harness;
    enum fn fn;
    const ssq_tensor *t[ROLES];
    struct operand out; /* the outputs of the good call */
    int64_t stride[2], padding[4], output_padding[2], dilation[2], kernel[2];
    int64_t groups, divisor;
    ssq_layout layout;
    ssq_activation activation;
    size_t struct_size; /* 0: the right one */
    ssq_tensor *made[2];
    ssq_device *other;
};

static bool is_conv(enum fn fn)
{
    return fn <= CONV_T_WEIGHT;
}

static bool is_global(enum fn fn)
{
    return fn == GLOBAL || fn == GLOBAL_BACKWARD;
}

static enum role output_of(enum fn fn)
{
    static const enum role roles[] = {MAP, IMAGE, FILTER, IMAGE, MAP, FILTER,
                                      MAP, IMAGE, MAP,    IMAGE, MAP, IMAGE};
    return roles[fn];
}

static ssq_dtype slide_misuse_dtype_of(enum fn fn, enum role role)
{
    return role == FILTER && !is_conv(fn) ? SSQ_I32 : SSQ_F16;
}

/* The good shape; ones where rank is greater. */
static int slide_misuse_shape_of(enum fn fn, enum role role, int64_t *shape)
{
    static const int64_t image[] = {2, 4, 5, 6}, filter[] = {6, 2, 3, 3};
    memcpy(shape, role == FILTER && is_conv(fn) ? filter : image,
           4 * sizeof(*shape));
    shape[4] = shape[5] = 1;
    if (role == MAP && is_conv(fn))
        shape[1] = 6;
    if (role == MAP && is_global(fn))
        shape[2] = shape[3] = 1;
    if (role != VECTOR)
        return 4;
    shape[0] = fn >= CONV_T ? 4 : 6;
    shape[1] = 1;
    return 1;
}

static void slide_misuse_set_up(struct slide_misuse_scene *t, struct harness *b,
                                enum fn fn)
{
    *t = (struct slide_misuse_scene){.harness = b,
                                     .fn = fn,
                                     .stride = {1, 1},
                                     .padding = {1, 1, 1, 1},
                                     .dilation = {1, 1},
                                     .kernel = {3, 3},
                                     .groups = 2};
    for (int r = 0; r < ROLES; r++) {
        struct operand x;
        int64_t shape[6];
        int rank = slide_misuse_shape_of(fn, (enum role)r, shape);
        harness_input(b, &x, slide_misuse_dtype_of(fn, (enum role)r), rank,
                      shape, LAYOUT_DENSE, FILL_ONES);
        t->t[r] = x.t;
        if (r == (int)output_of(fn))
            t->out = x;
    }
}

static void slide_misuse_replace(struct slide_misuse_scene *t, enum role role,
                                 ssq_dtype dtype, int rank,
                                 const int64_t *shape, enum layout layout)
{
    struct operand x;
    harness_input(t->harness, &x, dtype, rank, shape, layout, FILL_ONES);
    t->t[role] = x.t;
}

/* No operand has a channel, but groups of the filter may have some. */
static void slide_misuse_empty(struct slide_misuse_scene *t,
                               const struct slide_misuse_refusal *r)
{
    for (int i = 0; i < ROLES; i++) {
        int64_t shape[6];
        int rank = slide_misuse_shape_of(t->fn, (enum role)i, shape);
        shape[0] = i == FILTER ? 0 : shape[0];
        shape[1] = i == FILTER ? r->b : 0;
        slide_misuse_replace(t, (enum role)i, SSQ_F16, rank, shape,
                             LAYOUT_DENSE);
    }
    t->t[VECTOR] = NULL;
    t->groups = r->a;
}

/* Both become views of one buffer, two bytes apart. */
static void slide_misuse_overlap(struct slide_misuse_scene *t, enum role one,
                                 enum role two)
{
    const enum role roles[] = {one, two};
    ssq_buffer *buffer = NULL;
    harness_status(t->harness,
                   ssq_buffer_create(t->harness->device, 8192, &buffer));
    for (int i = 0; i < 2; i++) {
        int64_t shape[6];
        int rank = slide_misuse_shape_of(t->fn, roles[i], shape);
        harness_status(t->harness,
                       ssq_tensor_from_buffer(
                           buffer, slide_misuse_dtype_of(t->fn, roles[i]), rank,
                           shape, NULL, 2 * (uint64_t)i, &t->made[i]));
        t->t[roles[i]] = t->made[i];
    }
    ssq_buffer_destroy(&buffer);
}

static void slide_misuse_other_device(struct slide_misuse_scene *t,
                                      enum role role)
{
    int64_t shape[6];
    int rank = slide_misuse_shape_of(t->fn, role, shape);
    harness_status(t->harness, ssq_device_open("reference", NULL, &t->other));
    harness_status(t->harness, ssq_tensor_create(
                                   t->other, slide_misuse_dtype_of(t->fn, role),
                                   rank, shape, &t->made[0]));
    t->t[role] = t->made[0];
}

static void slide_misuse_spoil_operand(struct slide_misuse_scene *t,
                                       const struct slide_misuse_refusal *r)
{
    enum role role = (enum role)r->a;
    int64_t shape[6];
    int rank = slide_misuse_shape_of(t->fn, role, shape);
    ssq_dtype dtype = slide_misuse_dtype_of(t->fn, role);
    switch (r->change) {
    case NO_OPERAND:
        t->t[role] = NULL;
        break;
    case DTYPE:
        slide_misuse_replace(t, role, (ssq_dtype)r->b, rank, shape,
                             LAYOUT_DENSE);
        break;
    case SIZE:
        shape[r->b] = r->c;
        slide_misuse_replace(t, role, dtype, rank, shape, LAYOUT_DENSE);
        break;
    case RANK:
        slide_misuse_replace(t, role, dtype, (int)r->b, shape, LAYOUT_DENSE);
        break;
    case TRANSPOSED:
        slide_misuse_replace(t, role, dtype, rank, shape, LAYOUT_TRANSPOSED);
        break;
    case REPEATED:
        slide_misuse_replace(t, role, dtype, rank, shape, LAYOUT_BROADCAST);
        break;
    case DEVICE:
        slide_misuse_other_device(t, role);
        break;
    case OVERLAP:
        slide_misuse_overlap(t, role, (enum role)r->b);
        break;
    default:
        break;
    }
}

static void spoil_value(struct slide_misuse_scene *t,
                        const struct slide_misuse_refusal *r)
{
    switch (r->change) {
    case STRIDE:
        t->stride[r->a] = r->b;
        break;
    case PADDING:
        t->padding[r->a] = r->b;
        break;
    case OUTPUT_PADDING:
        t->output_padding[r->a] = r->b;
        break;
    case DILATION:
        t->dilation[r->a] = r->b;
        break;
    case KERNEL:
        t->kernel[r->a] = r->b;
        break;
    case GROUPS:
        t->groups = r->a;
        break;
    case NO_CHANNELS:
        slide_misuse_empty(t, r);
        break;
    case LAYOUT:
        t->layout = (ssq_layout)r->a;
        break;
    case ACTIVATION:
        t->activation = (ssq_activation)r->a;
        break;
    case DIVISOR:
        t->divisor = r->a;
        break;
    case STRUCT_SIZE:
        t->struct_size = (size_t)r->a;
        break;
    default:
        break;
    }
}

/* The fields that most args have. */
#define COMMON(ARGS)                                                           \
    memcpy((ARGS).stride, t->stride, sizeof(t->stride));                       \
    memcpy((ARGS).padding, t->padding, sizeof(t->padding));                    \
    memcpy((ARGS).dilation, t->dilation, sizeof(t->dilation));                 \
    (ARGS).layout = t->layout;                                                 \
    if (t->struct_size != 0)                                                   \
    (ARGS).struct_size = t->struct_size

static ssq_status call_forward(const struct slide_misuse_scene *t)
{
    ssq_conv2d_args a = SSQ_CONV2D_INIT;
    ssq_conv_transpose2d_args u = SSQ_CONV_TRANSPOSE2D_INIT;
    COMMON(a);
    COMMON(u);
    a.x = u.y = t->t[IMAGE];
    a.w = u.w = t->t[FILTER];
    a.bias = u.bias = t->t[VECTOR];
    a.y = u.x = t->t[MAP];
    a.groups = u.groups = t->groups;
    a.activation = u.activation = t->activation;
    memcpy(u.output_padding, t->output_padding, sizeof(u.output_padding));
    return t->fn == CONV ? ssq_conv2d(t->harness->queue, &a)
                         : ssq_conv_transpose2d(t->harness->queue, &u);
}

static ssq_status call_data(const struct slide_misuse_scene *t)
{
    bool transposed = t->fn == CONV_T_DATA;
    ssq_conv2d_backward_data_args a = SSQ_CONV2D_BACKWARD_DATA_INIT;
    COMMON(a);
    a.dy = t->t[transposed ? IMAGE : MAP];
    a.w = t->t[FILTER];
    a.dx = t->t[transposed ? MAP : IMAGE];
    a.groups = t->groups;
    return transposed
               ? ssq_conv_transpose2d_backward_data(t->harness->queue, &a)
               : ssq_conv2d_backward_data(t->harness->queue, &a);
}

static ssq_status call_weight(const struct slide_misuse_scene *t)
{
    bool transposed = t->fn == CONV_T_WEIGHT;
    ssq_conv2d_backward_weight_args a = SSQ_CONV2D_BACKWARD_WEIGHT_INIT;
    COMMON(a);
    a.x = t->t[transposed ? MAP : IMAGE];
    a.dy = t->t[transposed ? IMAGE : MAP];
    a.dw = t->t[FILTER];
    a.db = t->t[VECTOR];
    a.groups = t->groups;
    return transposed
               ? ssq_conv_transpose2d_backward_weight(t->harness->queue, &a)
               : ssq_conv2d_backward_weight(t->harness->queue, &a);
}

static ssq_status call_max(const struct slide_misuse_scene *t)
{
    ssq_max_pool2d_args a = SSQ_MAX_POOL2D_INIT;
    ssq_max_pool2d_backward_args u = SSQ_MAX_POOL2D_BACKWARD_INIT;
    COMMON(a);
    COMMON(u);
    memcpy(a.kernel, t->kernel, sizeof(a.kernel));
    memcpy(u.kernel, t->kernel, sizeof(u.kernel));
    a.x = u.dx = t->t[IMAGE];
    a.y = u.dy = t->t[MAP];
    a.argmax = u.argmax = t->t[FILTER];
    return t->fn == MAX_POOL ? ssq_max_pool2d(t->harness->queue, &a)
                             : ssq_max_pool2d_backward(t->harness->queue, &u);
}

static ssq_status call_avg(const struct slide_misuse_scene *t)
{
    ssq_avg_pool2d_args a = SSQ_AVG_POOL2D_INIT;
    ssq_avg_pool2d_backward_args u = SSQ_AVG_POOL2D_BACKWARD_INIT;
    COMMON(a);
    COMMON(u);
    memcpy(a.kernel, t->kernel, sizeof(a.kernel));
    memcpy(u.kernel, t->kernel, sizeof(u.kernel));
    a.divisor = u.divisor = t->divisor;
    a.x = u.dx = t->t[IMAGE];
    a.y = u.dy = t->t[MAP];
    return t->fn == AVG_POOL ? ssq_avg_pool2d(t->harness->queue, &a)
                             : ssq_avg_pool2d_backward(t->harness->queue, &u);
}

static ssq_status call_global(const struct slide_misuse_scene *t)
{
    ssq_global_avg_pool2d_args a = SSQ_GLOBAL_AVG_POOL2D_INIT;
    ssq_global_avg_pool2d_backward_args u = SSQ_GLOBAL_AVG_POOL2D_BACKWARD_INIT;
    a.x = u.dx = t->t[IMAGE];
    a.y = u.dy = t->t[MAP];
    a.layout = u.layout = t->layout;
    return t->fn == GLOBAL
               ? ssq_global_avg_pool2d(t->harness->queue, &a)
               : ssq_global_avg_pool2d_backward(t->harness->queue, &u);
}

static ssq_status slide_misuse_call(const struct slide_misuse_scene *t)
{
    switch (t->fn) {
    case CONV:
    case CONV_T:
        return call_forward(t);
    case CONV_DATA:
    case CONV_T_DATA:
        return call_data(t);
    case CONV_WEIGHT:
    case CONV_T_WEIGHT:
        return call_weight(t);
    case MAX_POOL:
    case MAX_POOL_BACKWARD:
        return call_max(t);
    case AVG_POOL:
    case AVG_POOL_BACKWARD:
        return call_avg(t);
    default:
        return call_global(t);
    }
}

static bool slide_misuse_run_refusal(struct harness *b,
                                     const struct slide_misuse_refusal *r)
{
    struct slide_misuse_scene t;
    slide_misuse_set_up(&t, b, r->fn);
    slide_misuse_spoil_operand(&t, r);
    spoil_value(&t, r);
    if (!b->failed)
        harness_refused_as(b, SSQ_ERR_INVALID, slide_misuse_call(&t), r->text);
    for (int i = 0; i < 2; i++)
        ssq_tensor_destroy(&t.made[i]);
    ssq_device_close(&t.other);
    return harness_unchanged(b, &t.out);
}

/* The call that the others spoil is good. */
static bool run_good(struct harness *b, enum fn fn)
{
    struct slide_misuse_scene t;
    slide_misuse_set_up(&t, b, fn);
    HARNESS_OP(b, slide_misuse_call(&t));
    harness_read(b, &t.out);
    return !b->failed;
}

static const struct slide_misuse_refusal *refusal(size_t i)
{
    return i < COUNT(refusals) ? &refusals[i] : NULL;
}

static void slide_misuse_describe(size_t i, char *text, size_t bytes)
{
    if (refusal(i) != NULL)
        snprintf(text, bytes, "refused: %s", refusals[i].text);
    else
        snprintf(text, bytes, "the call that is spoilt is good: %zu",
                 i - COUNT(refusals));
}

static bool slide_misuse_run(struct harness *b, size_t i)
{
    if (b->bench)
        return true; /* nothing to time */
    return refusal(i) != NULL ? slide_misuse_run_refusal(b, &refusals[i])
                              : run_good(b, (enum fn)(i - COUNT(refusals)));
}

extern const struct suite slide_misuse_suite;
const struct suite slide_misuse_suite = {.op = "conv",
                                         .name = "slide_misuse",
                                         .n = COUNT(refusals) +
                                              GLOBAL_BACKWARD + 1,
                                         .describe = slide_misuse_describe,
                                         .run = slide_misuse_run,
                                         .floor = 200};

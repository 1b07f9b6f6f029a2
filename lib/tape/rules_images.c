/* SPDX-License-Identifier: Apache-2.0 */
/* rules_images.c - shapes of results of convolutions and pooling. */
#include "lib/tape/rules.h"

#include <sesqui/ops.h>

#include "lib/op/conv/slide.h"

#include <string.h>

/* The dimensions of an image in a layout. */
static int height_at(ssq_layout layout)
{
    return layout == SSQ_LAYOUT_NHWC ? 1 : 2;
}

static int channels_at(ssq_layout layout)
{
    return layout == SSQ_LAYOUT_NHWC ? 3 : 1;
}

static ssq_status rules_images_check_ranks(const struct rule_in *in, int n,
                                           ssq_layout layout)
{
    for (int i = 0; i < n; i++)
        if (in->var[i].rank != 4)
            return error_set(SSQ_ERR_INVALID,
                             "an operand has rank %d, "
                             "expected 4",
                             in->var[i].rank);
    return layout_check(layout, in->op->name);
}

static void set_images(struct view *out, const struct view *x,
                       ssq_layout layout, int64_t channels, int64_t height,
                       int64_t width)
{
    out->rank = 4;
    out->shape[0] = x->shape[0];
    out->shape[channels_at(layout)] = channels;
    out->shape[height_at(layout)] = height;
    out->shape[height_at(layout) + 1] = width;
}

ssq_status rule_conv(const struct rule_in *in, struct view *out)
{
    const ssq_conv2d_args *args = in->args;
    const struct view *x = &in->var[0], *w = &in->var[1];
    struct slide s[AXES];
    ssq_status st = rules_images_check_ranks(in, 2, args->layout);
    if (st != SSQ_OK)
        return st;
    int at = height_at(args->layout);
    slides_set(s, args->stride, args->padding, args->dilation);
    for (int i = 0; i < AXES; i++) {
        s[i].image = x->shape[at + i];
        s[i].window = w->shape[at + i];
    }
    st = slides_check(s, in->op->name);
    if (st == SSQ_OK)
        st = slides_map(s, false, in->op->name);
    set_images(out, x, args->layout, w->shape[0], s[HEIGHT].map, s[WIDTH].map);
    return st;
}

ssq_status rule_conv_transpose(const struct rule_in *in, struct view *out)
{
    const ssq_conv_transpose2d_args *args = in->args;
    const struct view *x = &in->var[0], *w = &in->var[1];
    struct slide s[AXES];
    int64_t size[AXES], channels = 0;
    ssq_status st = rules_images_check_ranks(in, 2, args->layout);
    if (st == SSQ_OK)
        st = groups_channels(w->shape[channels_at(args->layout)], args->groups,
                             in->op->name, &channels);
    if (st != SSQ_OK)
        return st;
    int at = height_at(args->layout);
    slides_set(s, args->stride, args->padding, args->dilation);
    for (int i = 0; i < AXES; i++) {
        s[i].image = s[i].map = x->shape[at + i];
        s[i].window = w->shape[at + i];
    }
    st = slides_check(s, in->op->name);
    for (int i = 0; i < AXES && st == SSQ_OK; i++)
        st =
            slide_image(&s[i], i, args->output_padding, in->op->name, &size[i]);
    if (st == SSQ_OK)
        set_images(out, x, args->layout, channels, size[HEIGHT], size[WIDTH]);
    return st;
}

/* Pass the fields that both poolings have, by name. */
#define POOL(ARGS)                                                             \
    rules_images_pooled(in, out, (ARGS)->kernel, (ARGS)->stride,               \
                        (ARGS)->padding, (ARGS)->dilation, (ARGS)->ceil_mode,  \
                        (ARGS)->layout)

static ssq_status rules_images_pooled(const struct rule_in *in,
                                      struct view *out, const int64_t *kernel,
                                      const int64_t *stride,
                                      const int64_t *padding,
                                      const int64_t *dilation, bool ceil,
                                      ssq_layout layout)
{
    const struct view *x = &in->var[0];
    struct slide s[AXES];
    ssq_status st = rules_images_check_ranks(in, 1, layout);
    if (st != SSQ_OK)
        return st;
    slides_set(s, stride, padding, dilation);
    for (int i = 0; i < AXES; i++) {
        s[i].image = x->shape[height_at(layout) + i];
        s[i].window = kernel[i];
        if (s[i].stride == 0)
            s[i].stride = kernel[i];
    }
    st = slides_check(s, in->op->name);
    if (st == SSQ_OK)
        st = slides_map(s, ceil, in->op->name);
    set_images(out, x, layout, x->shape[channels_at(layout)], s[HEIGHT].map,
               s[WIDTH].map);
    return st;
}

ssq_status rule_pool(const struct rule_in *in, struct view *out)
{
    if (strcmp(in->op->name, "max_pool2d") == 0)
        return POOL((const ssq_max_pool2d_args *)in->args);
    return POOL((const ssq_avg_pool2d_args *)in->args);
}

ssq_status rule_argmax(const struct rule_in *in, struct view *out)
{
    out->dtype = SSQ_I32;
    return rule_pool(in, out);
}

ssq_status rule_global_pool(const struct rule_in *in, struct view *out)
{
    const ssq_global_avg_pool2d_args *args = in->args;
    ssq_status st = rules_images_check_ranks(in, 1, args->layout);
    if (st == SSQ_OK)
        set_images(out, &in->var[0], args->layout,
                   in->var[0].shape[channels_at(args->layout)], 1, 1);
    return st;
}

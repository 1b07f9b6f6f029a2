/* SPDX-License-Identifier: Apache-2.0 */
/* slide.c - windows sliding over images: sizes, layouts and their checks. */
#include "lib/op/conv/slide.h"

#include "lib/core/base/size.h"

#include <string.h>

static const char *const axis_names[AXES] = {"height", "width"};

void slides_set(struct slide *s, const int64_t *stride, const int64_t *padding,
                const int64_t *dilation)
{
    for (int i = 0; i < AXES; i++) {
        s[i].stride = stride[i];
        s[i].dilation = dilation[i];
        s[i].before = padding[i];
        s[i].after = padding[i + AXES];
    }
}

/* Refuse a value of an axis that is not from least to SLIDE_MOST. */
static ssq_status check_range(int64_t value, int64_t least, const char *what,
                              int axis, const char *op)
{
    if (value >= least && value <= SLIDE_MOST)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: %s %lld in %s, expected %lld to %d",
                     op, what, (long long)value, axis_names[axis],
                     (long long)least, SLIDE_MOST);
}

ssq_status slides_check(const struct slide *s, const char *op)
{
    ssq_status st = SSQ_OK;
    for (int i = 0; i < AXES && st == SSQ_OK; i++) {
        st = check_range(s[i].image, 0, "image size", i, op);
        if (st == SSQ_OK)
            st = check_range(s[i].window, 1, "kernel size", i, op);
        if (st == SSQ_OK)
            st = check_range(s[i].stride, 1, "stride", i, op);
        if (st == SSQ_OK)
            st = check_range(s[i].dilation, 1, "dilation", i, op);
        if (st == SSQ_OK)
            st = check_range(s[i].before, 0, "padding", i, op);
        if (st == SSQ_OK)
            st = check_range(s[i].after, 0, "padding", i, op);
    }
    return st;
}

/* Return the number of positions of the window, or 0 if it is too large. In
 * ceil mode the last one must begin in the image or in the padding before
 * it. */
static int64_t positions(const struct slide *s, bool ceil)
{
    /* The distance that the first tap can move. In ceil mode the last step may
     * go beyond. */
    int64_t room = s->image + s->before + s->after - slide_extent(s);
    if (ceil)
        room += s->stride - 1;
    if (room < 0)
        return 0;
    int64_t n = room / s->stride + 1;
    if (ceil && (n - 1) * s->stride >= s->image + s->before)
        n--;
    return n;
}

ssq_status slides_map(struct slide *s, bool ceil, const char *op)
{
    for (int i = 0; i < AXES; i++) {
        s[i].map = positions(&s[i], ceil);
        if (s[i].map > 0 || s[i].image == 0)
            continue;
        return error_set(SSQ_ERR_INVALID,
                         "%s: the kernel's %s %lld is more than the image's "
                         "%lld with padding %lld and %lld",
                         op, axis_names[i], (long long)slide_extent(&s[i]),
                         (long long)s[i].image, (long long)s[i].before,
                         (long long)s[i].after);
    }
    return SSQ_OK;
}

ssq_status slide_image(const struct slide *s, int axis,
                       const int64_t *output_padding, const char *op,
                       int64_t *size)
{
    int64_t least =
        (s->map - 1) * s->stride - s->before - s->after + slide_extent(s);
    int64_t extra =
        output_padding != NULL ? output_padding[axis] : s->image - least;
    bool legal = extra >= 0 && (extra < s->stride || extra < s->dilation);
    *size = least;
    if (!legal && output_padding != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: output_padding %lld with stride %lld and "
                         "dilation %lld",
                         op, (long long)extra, (long long)s->stride,
                         (long long)s->dilation);
    if (legal)
        *size += extra;
    if (s->map == 0 && *size < 0)
        *size = 0;
    if (*size >= 0 && *size <= SLIDE_MOST)
        return SSQ_OK;
    return error_set(
        SSQ_ERR_INVALID, "%s: the result would have %lld %s, expected 0 to %d",
        op, (long long)*size, axis == HEIGHT ? "rows" : "columns", SLIDE_MOST);
}

ssq_status groups_channels(int64_t each, int64_t groups, const char *op,
                           int64_t *channels)
{
    uint64_t all = 0;
    if (groups < 1)
        return error_set(SSQ_ERR_INVALID, "%s: groups is %lld", op,
                         (long long)groups);
    if (!size_mul((uint64_t)each, (uint64_t)groups, &all) || all > INT64_MAX)
        return error_set(SSQ_ERR_INVALID,
                         "%s: groups is %lld, of %lld channels each", op,
                         (long long)groups, (long long)each);
    *channels = (int64_t)all;
    return SSQ_OK;
}

ssq_status layout_check(ssq_layout layout, const char *op)
{
    if (layout == SSQ_LAYOUT_NCHW || layout == SSQ_LAYOUT_NHWC)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: %d is not a layout", op,
                     (int)layout);
}

ssq_status images_check(const ssq_tensor *t, const char *op, const char *what)
{
    const struct view *v = &t->view;
    if (v->rank != 4)
        return error_set(SSQ_ERR_INVALID, "%s: %s has rank %d, expected 4", op,
                         what, v->rank);
    if (v->shape[3] > 1 && v->stride[3] != 1)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %s has stride %lld in its last dimension, "
                         "expected 1",
                         op, what, (long long)v->stride[3]);
    return SSQ_OK;
}

/* Return the index of dimension i of [n,c,h,w] in a layout. */
static int dimension(ssq_layout layout, int i)
{
    static const int nhwc[] = {0, 3, 1, 2};
    return layout == SSQ_LAYOUT_NHWC ? nhwc[i] : i;
}

struct view images_view(const ssq_tensor *t, ssq_layout layout,
                        enum access access)
{
    struct view v = tensor_view(t, access), r = v;
    for (int i = 0; i < 4; i++) {
        r.shape[i] = v.shape[dimension(layout, i)];
        r.stride[i] = v.stride[dimension(layout, i)];
    }
    return r;
}

/* Return sizes [n,c,h,w] in the order of the layout. */
static struct view as_given(const int64_t *shape, ssq_layout layout)
{
    struct view v = {.rank = 4};
    for (int i = 0; i < 4; i++)
        v.shape[dimension(layout, i)] = shape[i];
    return v;
}

ssq_status images_expect(const struct view *v, const int64_t *shape,
                         ssq_layout layout, const char *op, const char *what)
{
    if (memcmp(v->shape, shape, 4 * sizeof(*shape)) == 0)
        return SSQ_OK;
    struct view have = as_given(v->shape, layout);
    struct view want = as_given(shape, layout);
    char th[128], tw[128];
    return error_set(SSQ_ERR_INVALID, "%s: %s is %s, expected %s", op, what,
                     view_text(&have, th, sizeof(th)),
                     view_text(&want, tw, sizeof(tw)));
}

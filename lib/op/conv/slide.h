/* SPDX-License-Identifier: Apache-2.0 */
/* slide.h - windows that slide over images, for convolution and pooling.
 *
 * Along one axis, tap r of the window at position p of the map meets the image
 * at p * stride - before + r * dilation. Outside the image is padding:
 *
 *      before   image             after
 *     |------|-----------------|-------|
 *     [window]-> stride -> [window]        one tap per dilation */
#ifndef LIB_OP_CONV_SLIDE_H
#define LIB_OP_CONV_SLIDE_H

#include <sesqui/ops/layout.h>

#include "lib/core/core.h"

/** Height, then width; sizes in elements. */
enum { HEIGHT, WIDTH, AXES };

/** Limit of sizes, strides, dilations and padding: products of two fit. */
#define SLIDE_MOST INT32_MAX

/** One axis. */
struct slide {
    int64_t image, window, map; /* sizes; map: positions of the window */
    int64_t stride, dilation;
    int64_t before, after; /* padding */
};

/** Return the number of elements from the first to the last tap. */
static inline int64_t slide_extent(const struct slide *s)
{
    return s->dilation * (s->window - 1) + 1;
}

/** Return the index of tap r of position p; it may be outside the image. */
static inline int64_t slide_at(const struct slide *s, int64_t p, int64_t r)
{
    return p * s->stride - s->before + r * s->dilation;
}

/** Copy the public fields. Sizes are set later. */
void slides_set(struct slide *s, const int64_t *stride, const int64_t *padding,
                const int64_t *dilation);
/** Check that window, stride, dilation, padding and image are in their
 *  ranges. */
ssq_status slides_check(const struct slide *s, const char *op);
/** Compute s[..].map from the other members. ceil: pooling's ceil_mode.
 *  @return SSQ_ERR_INVALID the window is larger than a padded image that is not
 *          empty */
ssq_status slides_map(struct slide *s, bool ceil, const char *op);

/** Compute the size of the image that a transposed convolution makes of a map
 * of s->map positions along this axis. Several sizes have the same map:
 *  output_padding chooses among them. A backward call has none (NULL) and uses
 *  s->image, the size of the given image. If that size is impossible, *size
 *  differs from it, and the caller refuses it.
 *  @return SSQ_ERR_INVALID output_padding is not below stride or dilation, or
 *          the size is negative (it is 0 if s->map is 0) or above SLIDE_MOST */
ssq_status slide_image(const struct slide *s, int axis,
                       const int64_t *output_padding, const char *op,
                       int64_t *size);

/** Set *channels to the channels of all groups, which have `each` channels.
 *  @return SSQ_ERR_INVALID groups is below 1, or 64 bits cannot count them */
ssq_status groups_channels(int64_t each, int64_t groups, const char *op,
                           int64_t *channels);

/** Refuse an invalid layout. */
ssq_status layout_check(ssq_layout layout, const char *op);
/** Refuse a tensor unless it has rank 4 and its last dimension has stride 1. */
ssq_status images_check(const ssq_tensor *t, const char *op, const char *what);
/** Return a tensor of images as [n,c,h,w], for either layout. */
struct view images_view(const ssq_tensor *t, ssq_layout layout,
                        enum access access);
/** Refuse v, which is [n,c,h,w], unless it has these sizes. The error text has
 *  both shapes. */
ssq_status images_expect(const struct view *v, const int64_t *shape,
                         ssq_layout layout, const char *op, const char *what);

#endif

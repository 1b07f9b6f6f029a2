/* SPDX-License-Identifier: Apache-2.0 */
/* slide.h - windows sliding over images: what convolution and pooling share.
 *
 * Along one axis, position p of the map and tap r of the window meet the image
 * at p * stride - before + r * dilation. What lies outside is padding:
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

/** No size, stride, dilation or padding is larger: products of two fit. */
#define SLIDE_MOST INT32_MAX

/** One axis. */
struct slide {
    int64_t image, window, map; /* sizes; map: positions of the window */
    int64_t stride, dilation;
    int64_t before, after; /* padding */
};

/** From the first to the last tap. */
static inline int64_t slide_extent(const struct slide *s)
{
    return s->dilation * (s->window - 1) + 1;
}

/** Where tap r of position p meets the image; may be outside. */
static inline int64_t slide_at(const struct slide *s, int64_t p, int64_t r)
{
    return p * s->stride - s->before + r * s->dilation;
}

/** Copy the public fields; sizes are not known yet. */
void slides_set(struct slide *s, const int64_t *stride, const int64_t *padding,
                const int64_t *dilation);
/** SSQ_OK if window, stride, dilation, padding and image are in their
 *  ranges. */
ssq_status slides_check(const struct slide *s, const char *op);
/** s[..].map from the rest. ceil: pooling's ceil_mode. @return INVALID the
 *  window is larger than an image that has elements */
ssq_status slides_map(struct slide *s, bool ceil, const char *op);

/** "conv2d: 7 is no layout" */
ssq_status layout_check(ssq_layout layout, const char *op);
/** A tensor of rank 4 whose last dimension has stride 1. */
ssq_status images_check(const ssq_tensor *t, const char *op, const char *what);
/** A tensor of images as [n,c,h,w], whatever its layout. */
struct view images_view(const ssq_tensor *t, ssq_layout layout,
                        enum access access);
/** INVALID, with both shapes, unless v, [n,c,h,w], has these sizes. */
ssq_status images_expect(const struct view *v, const int64_t *shape,
                         ssq_layout layout, const char *op, const char *what);

#endif

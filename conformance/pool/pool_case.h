/* SPDX-License-Identifier: Apache-2.0 */
/* pool_case.h - what the pooling tables share: sizes, and the elements of a
 * window, one after the other. */
#ifndef CONFORMANCE_POOL_POOL_CASE_H
#define CONFORMANCE_POOL_POOL_CASE_H

#include "conformance/conv/conv_case.h"

/** Geometry of pooling c channels: a conv_geometry with c = o, except for
 *  ceil_mode. */
struct conv_geometry pool_geometry(const struct conv_shape *s, int64_t c,
                                   int64_t n, ssq_layout layout, bool ceil);

/** One element of a window. */
struct pool_tap {
    int64_t at;   /* dense index in the image, -1 outside */
    int64_t flat; /* row * width + column, where inside */
    bool padding; /* outside the image, inside its padding */
};

/** Tap r, s of the window of dense map element i. */
struct pool_tap pool_tap(const struct conv_geometry *g, int64_t i, int64_t r,
                         int64_t s);

/** "2x3x5x7 window 3x3 .. ceil" */
void pool_describe(const struct conv_geometry *g, bool ceil, char *text,
                   size_t bytes);

#endif

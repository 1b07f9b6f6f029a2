/* SPDX-License-Identifier: Apache-2.0 */
/* pool_case.c - sizes and windows of pooling, by counting. */
#include "conformance/pool/pool_case.h"

#include <stdio.h>

/* torch's pooling_output_shape, by its definition: one more position while the
 * one before does not reach the end; the last begins in the image or above. */
static int64_t ceil_positions(const struct conv_shape *s, int axis)
{
    int64_t stride = s->stride[axis], n = 0;
    int64_t size = s->image[axis] + s->padding[axis];
    int64_t room = size + s->padding[axis + 2] -
                   s->dilation[axis] * (s->window[axis] - 1) - 1;
    while ((n - 1) * stride < room)
        n++;
    return n > 0 && (n - 1) * stride >= size ? n - 1 : n;
}

struct conv_geometry pool_geometry(const struct conv_shape *s, int64_t c,
                                   int64_t n, ssq_layout layout, bool ceil)
{
    struct conv_geometry g =
        conv_geometry(s, (struct conv_channels){c, c, 1}, n, layout);
    for (int i = 0; i < 2 && ceil; i++)
        g.map[i] = ceil_positions(s, i);
    return g;
}

struct pool_tap pool_tap(const struct conv_geometry *g, int64_t i, int64_t r,
                         int64_t s)
{
    bool last = g->layout == SSQ_LAYOUT_NHWC;
    int64_t c = last ? i % g->c : i / (g->map[0] * g->map[1]) % g->c;
    int64_t n = i / (g->map[0] * g->map[1] * g->c);
    int64_t place = last ? i / g->c : i;
    int64_t q = place % g->map[1], p = place / g->map[1] % g->map[0];
    int64_t h = p * g->stride[0] + r * g->dilation[0] - g->padding[0];
    int64_t w = q * g->stride[1] + s * g->dilation[1] - g->padding[1];
    bool inside = h >= 0 && h < g->image[0] && w >= 0 && w < g->image[1];
    struct pool_tap t = {-1, -1, false};
    if (inside) {
        t.flat = h * g->image[1] + w;
        t.at = last ? (n * g->image[0] * g->image[1] + t.flat) * g->c + c
                    : (n * g->c + c) * g->image[0] * g->image[1] + t.flat;
        return t;
    }
    t.padding =
        h < g->image[0] + g->padding[2] && w < g->image[1] + g->padding[3];
    return t;
}

void pool_describe(const struct conv_geometry *g, bool ceil, char *text,
                   size_t bytes)
{
    snprintf(text, bytes,
             "%lldx%lldx%lldx%lld window %lldx%lld stride %lldx%lld padding "
             "%lld,%lld,%lld,%lld dilation %lldx%lld %s%s",
             (long long)g->n, (long long)g->c, (long long)g->image[0],
             (long long)g->image[1], (long long)g->window[0],
             (long long)g->window[1], (long long)g->stride[0],
             (long long)g->stride[1], (long long)g->padding[0],
             (long long)g->padding[1], (long long)g->padding[2],
             (long long)g->padding[3], (long long)g->dilation[0],
             (long long)g->dilation[1],
             g->layout == SSQ_LAYOUT_NHWC ? "NHWC" : "NCHW",
             ceil ? " ceil" : "");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* conv_filter.c - the filter of a convolution as panels. */
#include "backends/cpu/conv/conv_filter.h"

#include "kernels/scalar/cast.h"
#include "lib/core/base/size.h"

#include <string.h>

size_t conv_filter_panel(const struct conv_filter *f)
{
    return (size_t)size_div_up(f->elements, f->pair) * f->taps * f->height;
}

float conv_element(const struct view *v, int64_t at)
{
    if (v->dtype == SSQ_F32)
        return ((const float *)view_host(v))[at];
    uint16_t h = ((const uint16_t *)view_host(v))[at];
    return v->dtype == SSQ_F16 ? f16_load(h) : bf16_load(h);
}

/* The elements of a panel: row r of tap t of channel c is element
 * at + r row + c sum + tap[t]. */
struct filter_rows {
    int64_t at, n, row, sum;
};

static struct filter_rows filter_rows_of(const struct conv_filter *f,
                                         int64_t group, int64_t i)
{
    const struct view *v = &f->op->filter;
    const bool data = f->op->kind == CONV_DATA;
    int64_t first = i * f->height;
    struct filter_rows x = {.n = size_least(f->height, f->rows - first),
                            .row = v->stride[data ? 2 : 1],
                            .sum = v->stride[data ? 1 : 2]};
    x.at = group * v->stride[0] + first * x.row;
    return x;
}

/* True if tap i is element i. */
static bool filter_is_adjacent(const struct conv_filter *f)
{
    for (uint32_t t = 0; t < f->taps; t++)
        if (f->tap[t] != t)
            return false;
    return true;
}

/* Taps that lie side by side. The channels of a forward convolution often
 * continue them. */
static void filter_pack_adjacent(const struct conv_filter *f,
                                 struct filter_rows x, float *to)
{
    const struct view *v = &f->op->filter;
    const int64_t bytes = v->dtype == SSQ_F32 ? 4 : 2;
    int64_t channels = f->elements, depth = f->taps;
    if (x.sum == depth && channels * depth <= UINT32_MAX) {
        depth *= channels;
        channels = 1;
    }
    struct gemm_source from = {.data =
                                   (const char *)view_host(v) + x.at * bytes,
                               .dtype = v->dtype,
                               .line = x.row,
                               .step = 1};
    struct gemm_panels panels = {.to = to, .height = f->height};
    for (int64_t c = 0; c < channels; c++) {
        f->kernels->pack(&from, 0, x.n, 0, (uint32_t)depth, &panels);
        from.data = (const char *)from.data + x.sum * bytes;
        panels.to += depth * f->height;
    }
}

/* Any other order, word by word. */
static void filter_pack_words(const struct conv_filter *f, struct filter_rows x,
                              float *to)
{
    for (int64_t c = 0; c < f->elements; c++)
        for (uint32_t t = 0; t < f->taps; t++, to += f->height)
            for (int64_t r = 0; r < x.n; r++)
                to[r] = conv_element(&f->op->filter,
                                     x.at + r * x.row + c * x.sum + f->tap[t]);
}

static void filter_pack_pairs(const struct conv_filter *f, struct filter_rows x,
                              float *to)
{
    const uint16_t *data = view_host(&f->op->filter);
    for (int64_t c = 0; c < f->elements; c += 2)
        for (uint32_t t = 0; t < f->taps; t++, to += f->height) {
            const uint16_t *p = data + x.at + c * x.sum + f->tap[t];
            const bool both = c + 1 < f->elements;
            for (int64_t r = 0; r < x.n; r++, p += x.row) {
                uint32_t word = p[0];
                if (both)
                    word |= (uint32_t)p[x.sum] << 16;
                memcpy(&to[r], &word, sizeof(word));
            }
        }
}

void conv_filter_pack(const struct conv_filter *f, int64_t group, int64_t i,
                      float *to)
{
    struct filter_rows x = filter_rows_of(f, group, i);
    if (f->pair == 2)
        filter_pack_pairs(f, x, to);
    else if (x.row != 1 && filter_is_adjacent(f))
        filter_pack_adjacent(f, x, to);
    else
        filter_pack_words(f, x, to);
}

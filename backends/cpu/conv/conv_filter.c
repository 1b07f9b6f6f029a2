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

/* True if all taps of a window lie side by side, and channels continue them. */
static bool filter_is_line(const struct conv_filter *f, struct filter_rows x)
{
    for (uint32_t t = 0; t < f->taps; t++)
        if (f->tap[t] != t)
            return false;
    return x.sum == f->taps && f->elements * x.sum <= UINT32_MAX;
}

static struct gemm_source source_of(const struct conv_filter *f,
                                    struct filter_rows x, int64_t at)
{
    const struct view *v = &f->op->filter;
    const int64_t bytes = v->dtype == SSQ_F32 ? 4 : 2;
    return (struct gemm_source){.data = (const char *)view_host(v) +
                                        (x.at + at) * bytes,
                                .dtype = v->dtype,
                                .line = x.row,
                                .step = 1};
}

/* A window of one tap: channels are the only k. */
static void filter_pack_channels(const struct conv_filter *f,
                                 struct filter_rows x, float *to)
{
    struct gemm_source from = source_of(f, x, f->tap[0]);
    struct gemm_panels panels = {.to = to, .height = f->height};
    from.step = x.sum;
    f->kernels->pack(&from, 0, x.n, 0, (uint32_t)f->elements, &panels);
}

static void filter_pack_line(const struct conv_filter *f, struct filter_rows x,
                             float *to)
{
    const struct gemm_source from = source_of(f, x, 0);
    const struct gemm_panels panels = {.to = to, .height = f->height};
    f->kernels->pack(&from, 0, x.n, 0, (uint32_t)(f->elements * x.sum),
                     &panels);
}

/* Any other order, word by word. */
static void filter_pack_words(const struct conv_filter *f, struct filter_rows x,
                              float *to)
{
    const struct view *v = &f->op->filter;
    for (int64_t c = 0; c < f->elements; c++)
        for (uint32_t t = 0; t < f->taps; t++, to += f->height) {
            int64_t at = x.at + c * x.sum + f->tap[t];
            const float *p = view_host(v);
            if (v->dtype == SSQ_F32)
                for (int64_t r = 0; r < x.n; r++)
                    to[r] = p[at + r * x.row];
            else
                for (int64_t r = 0; r < x.n; r++)
                    to[r] = conv_element(v, at + r * x.row);
        }
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

/* Turning vectors of a window's few taps takes longer than its words. */
void conv_filter_pack(const struct conv_filter *f, int64_t group, int64_t i,
                      float *to)
{
    const struct filter_rows x = filter_rows_of(f, group, i);
    if (f->taps == 1 && (x.row == 1 || x.sum == 1))
        filter_pack_channels(f, x, to);
    else if (f->pair == 2)
        filter_pack_pairs(f, x, to);
    else if (x.row != 1 && filter_is_line(f, x))
        filter_pack_line(f, x, to);
    else
        filter_pack_words(f, x, to);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* conv_line.c - rows of images into planes, and rows of sums into images. */
#include "backends/cpu/isa/conv.h"
#include "backends/cpu/isa/cells.h"
#include "kernels/gemm/epilogue.h"

#if LANES == 16
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif LANES == 8
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define ODDS  1, 3, 5, 7, 9, 11, 13, 15
#else
#define EVENS 0, 2, 4, 6
#define ODDS  1, 3, 5, 7
#endif

/* ---- rows of images ---- */

INLINE float cell(ssq_dtype dtype, const char *p)
{
    if (dtype == SSQ_F32) {
        float x;
        memcpy(&x, p, sizeof(x));
        return x;
    }
    uint16_t h;
    memcpy(&h, p, sizeof(h));
    return dtype == SSQ_F16 ? f16_load(h) : bf16_load(h);
}

/* n elements; up to LANES words behind them are overwritten. */
INLINE void widen(ssq_dtype dtype, const char *p, int64_t step, uint32_t n,
                  float *to)
{
    const int64_t bytes = cell_bytes(dtype);
    if (step == 1)
        for (uint32_t i = 0; i < n; i += LANES)
            floats_store(to + i, cells_load(dtype, p + i * bytes, n - i));
    else
        for (uint32_t i = 0; i < n; i++)
            to[i] = cell(dtype, p + i * step * bytes);
}

static void set(float *to, float x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += LANES)
        floats_store(to + i, floats_splat(x));
}

/* A row as it is, padded on both sides, of n words in all. */
static void pad(const struct conv_line *l, const char *from, uint32_t n,
                float *to)
{
    float *at = to + l->before;
    set(to, l->padding, l->before);
    if (l->dtype == SSQ_F32)
        widen(SSQ_F32, from, l->step, l->n, at);
    else if (l->dtype == SSQ_F16)
        widen(SSQ_F16, from, l->step, l->n, at);
    else
        widen(SSQ_BF16, from, l->step, l->n, at);
    set(at + l->n, l->padding, n - l->before - l->n);
}

/* Every second word of a row. */
static void halve(const float *from, uint32_t n, uint32_t phase, float *to)
{
    for (uint32_t i = 0; i < n; i += LANES, from += 2 * LANES) {
        words x = words_load(from), y = words_load(from + LANES);
        words_store(to + i,
                    phase == 0 ? SHUFFLE(x, y, EVENS) : SHUFFLE(x, y, ODDS));
    }
}

void ISA_NAME(conv_fill)(const struct conv_line *l, const void *from, float *to)
{
    const uint32_t phases = l->phases, n = l->words;
    if (phases == 1) {
        pad(l, from, n, to);
        return;
    }
    pad(l, from, phases * n, l->spare);
    for (uint32_t i = 0; i < phases; i++, to += l->apart) {
        if ((l->used >> i & 1u) == 0)
            continue;
        if (phases == 2)
            halve(l->spare, n, i, to);
        else
            for (uint32_t j = 0; j < n; j++)
                to[j] = l->spare[j * phases + i];
    }
}

/* ---- rows of sums ---- */

/* What is only stored is what it was. */
static void finish(const struct conv_result *r, float *x)
{
    const uint32_t n = r->wide;
    if (r->biased)
        for (uint32_t i = 0; i < n; i++)
            x[i] = x[i] + r->bias;
    if (r->activation == ACT_RELU)
        for (uint32_t i = 0; i < n; i++)
            x[i] = x[i] < 0.0f ? 0.0f : x[i];
    else if (r->activation != ACT_NONE)
        for (uint32_t i = 0; i < n; i++)
            x[i] = activate(x[i], r->activation);
}

/* Elements that are `step` apart. */
INLINE void scatter(ssq_dtype dtype, floats x, uint32_t n, char *d,
                    int64_t step)
{
    const int64_t bytes = cell_bytes(dtype);
    char line[4 * LANES];
    cells_store(dtype, line, x, LANES);
    for (uint32_t i = 0; i < n; i++)
        memcpy(d + i * step * bytes, line + i * bytes, (size_t)bytes);
}

/* dtype is a constant. */
INLINE void put_row(ssq_dtype dtype, const float *x, uint32_t n, char *d,
                    int64_t step)
{
    const int64_t bytes = cell_bytes(dtype);
    for (uint32_t i = 0; i < n; i += LANES) {
        floats v = floats_load(x + i);
        uint32_t some = n - i < LANES ? n - i : LANES;
        if (step == 1)
            cells_store(dtype, d + i * bytes, v, some);
        else
            scatter(dtype, v, some, d + i * step * bytes, step);
    }
}

void ISA_NAME(conv_put)(const struct conv_result *r, float *sums, void *d)
{
    char *to = d;
    for (uint32_t p = 0; p < r->high; p++, sums += r->sums_row) {
        finish(r, sums);
        if (r->dtype == SSQ_F32)
            put_row(SSQ_F32, sums, r->wide, to, r->w);
        else if (r->dtype == SSQ_F16)
            put_row(SSQ_F16, sums, r->wide, to, r->w);
        else
            put_row(SSQ_BF16, sums, r->wide, to, r->w);
        to += r->h * cell_bytes(r->dtype);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_pack.c - factors of a gemm into panels.
 *
 * A source whose lines are neighbours is copied, some rows of k at a time; one
 * that is contiguous along k is transposed, LANES x LANES words at a time. */
#include "backends/cpu/isa/gemm/gemm.h"

#include "backends/cpu/isa/gemm/across.h"
#include "backends/cpu/isa/transpose.h"

/* Rows of k that are read side by side: as many streams as processors fetch
 * ahead. */
#define ROWS_AT_A_TIME 8u

/* n lines that are neighbours, from p on: one panel, `depth` of k. */
INLINE void copy_panel(enum format format, const char *p, int64_t row,
                       uint32_t n, uint32_t depth, uint32_t height, float *to)
{
    const uint32_t pair = format == BF16_PAIRS ? 2 : 1;
    const int64_t bytes = format_bytes(format);
    for (uint32_t k = 0; k < depth; k += pair, to += height)
        for (uint32_t i = 0; i < height; i += LANES)
            words_store(to + i, across(format, p + k * row + i * bytes, row,
                                       k + 1 < depth, n > i ? n - i : 0));
}

INLINE void copy_lines(enum format format, const char *p, int64_t row,
                       int64_t lines, uint32_t depth,
                       const struct gemm_panels *to)
{
    const uint32_t pair = format == BF16_PAIRS ? 2 : 1;
    const int64_t bytes = format_bytes(format);
    const uint32_t height = to->height;
    for (uint32_t k = 0; k < depth; k += ROWS_AT_A_TIME) {
        uint32_t rows = depth - k < ROWS_AT_A_TIME ? depth - k : ROWS_AT_A_TIME;
        float *at = to->to + k / pair * height;
        const char *from = p + k * row;
        for (int64_t i = 0; i < lines; i += height, at += to->apart)
            if (lines - i >= height && height % LANES == 0)
                copy_panel(format, from + i * bytes, row, height, rows, height,
                           at);
            else
                copy_panel(format, from + i * bytes, row,
                           lines - i < height ? (uint32_t)(lines - i) : height,
                           rows, height, at);
    }
}

/* LANES words of each of n lines, LANES at most, into a panel of which they are
 * a part; `depth` elements of k at most. */
INLINE void turn_square(enum format format, const char *p, int64_t line,
                        uint32_t n, uint32_t depth, uint32_t height, float *to)
{
    words r[LANES];
    if (n >= LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            r[i] = along(format, p + i * line, depth);
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            r[i] = (uint32_t)i < n ? along(format, p + i * line, depth)
                                   : (words){0};
    }
    transpose(r);
    uint32_t deep = format == BF16_PAIRS ? (depth + 1) / 2 : depth;
    if (deep >= LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            words_store(to + (uint32_t)i * height, r[i]);
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            if ((uint32_t)i < deep)
                words_store(to + (uint32_t)i * height, r[i]);
    }
}

/* One panel of n lines that are contiguous along k. */
INLINE void turn_panel(enum format format, const char *p, int64_t line,
                       uint32_t n, uint32_t depth, uint32_t height, float *to)
{
    const uint32_t step = format == BF16_PAIRS ? 2 * LANES : LANES;
    const int64_t bytes = format_bytes(format);
    for (uint32_t k = 0; k < depth; k += step, to += LANES * height)
        for (uint32_t i = 0; i < height; i += LANES) {
            uint32_t left = n > i ? n - i : 0, deep = depth - k;
            const char *from = p + k * bytes + i * line;
            if (left >= LANES && deep >= step)
                turn_square(format, from, line, LANES, step, height, to + i);
            else
                turn_square(format, from, line, left, deep, height, to + i);
        }
}

INLINE void pack(enum format format, const struct gemm_source *from,
                 int64_t line, int64_t lines, int64_t k, uint32_t depth,
                 const struct gemm_panels *to)
{
    const int64_t bytes = format_bytes(format);
    const uint32_t height = to->height;
    const char *p =
        (const char *)from->data + (line * from->line + k * from->step) * bytes;
    if (from->line == 1) {
        copy_lines(format, p, from->step * bytes, lines, depth, to);
        return;
    }
    for (int64_t i = 0; i < lines; i += height)
        turn_panel(format, p + i * from->line * bytes, from->line * bytes,
                   lines - i < height ? (uint32_t)(lines - i) : height, depth,
                   height, to->to + (size_t)(i / height) * to->apart);
}

void ISA_NAME(gemm_pack)(const struct gemm_source *from, int64_t line,
                         int64_t lines, int64_t k, uint32_t depth,
                         const struct gemm_panels *to)
{
    if (from->dtype == SSQ_F32)
        pack(F32, from, line, lines, k, depth, to);
    else if (from->dtype == SSQ_F16)
        pack(F16, from, line, lines, k, depth, to);
    else
        pack(BF16, from, line, lines, k, depth, to);
}

void ISA_NAME(gemm_pack_pairs)(const struct gemm_source *from, int64_t line,
                               int64_t lines, int64_t k, uint32_t depth,
                               const struct gemm_panels *to)
{
    pack(BF16_PAIRS, from, line, lines, k, depth, to);
}

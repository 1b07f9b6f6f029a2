/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tile.h - a tile of sums in registers, for words of either kind.
 *
 * TILE_ADD(X, Y, SUM) is the instruction: LANES sums and the products of words,
 * which are float32 unless it is defined before.
 * TILE_ROWS x 2 vectors of sums leave registers for two vectors of b and one of
 * a: 14 of 32, 6 of 16. A tile of fewer rows has its own code, so that none
 * are multiplied in vain, as has one of a single vector's columns. */
#ifndef BACKENDS_CPU_ISA_GEMM_GEMM_TILE_H
#define BACKENDS_CPU_ISA_GEMM_GEMM_TILE_H

#include "backends/cpu/isa/gemm/gemm.h"
#include "backends/cpu/isa/half.h"

#if LANES == 16
#define TILE_ROWS 14
#elif LANES == 8
#define TILE_ROWS 6
#else
#define TILE_ROWS 4
#endif

INLINE void tile_begin(const int rows, const int wide, floats left[TILE_ROWS],
                       floats right[TILE_ROWS], const struct gemm_tile *t)
{
    const float *from = t->from;
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
        left[i] = right[i] = (floats){0};
    if (from == NULL)
        return;
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        left[i] = floats_load(from + i * t->from_row);
        if (wide)
            right[i] = floats_load(from + i * t->from_row + LANES);
    }
}

#ifndef TILE_ADD
#define TILE_ADD(X, Y, SUM) floats_fma(X, Y, SUM)
#endif
#ifndef TILE_PAIRS
#define TILE_PAIRS 0
#define tile_pairs(B, ROW, X, Y)
#endif

/* Two vectors of b's words: only the first one if b is not wide. last: there is
 * no row behind this one. */
INLINE void tile_next(const int wide, const enum gemm_rows is, const char *b,
                      int64_t row, bool last, floats *x, floats *y)
{
    (void)row;
    (void)last;
    if (is == GEMM_F32) {
        *x = floats_load(b);
        *y = wide ? floats_load(b + 4 * LANES) : *x;
    } else if (is == GEMM_F16) {
        *x = floats_of_f16(halves_load(b));
        *y = floats_of_f16(halves_load(b + 2 * LANES));
    } else if (TILE_PAIRS) {
        tile_pairs(b, last ? 0 : row, x, y);
    } else {
        *x = floats_of_bf16(halves_load(b));
        *y = floats_of_bf16(halves_load(b + 2 * LANES));
    }
}

/* Begin to bring what will be read into the second cache. */
INLINE void tile_fetch(const enum gemm_rows is, const char *b, int64_t row)
{
    fetch(b);
    if (is == GEMM_F32 && LANES > 8)
        fetch(b + 64);
    if (is == GEMM_BF16 && TILE_PAIRS)
        fetch(b + row);
}

/* A word of each row, from a on: row is the bytes from one to the next. */
INLINE void tile_add(const int rows, const int wide, const void *a,
                     const int64_t row, floats x, floats y,
                     floats left[TILE_ROWS], floats right[TILE_ROWS])
{
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        floats f = floats_splat(float_load((const char *)a + i * row));
        left[i] = TILE_ADD(f, x, left[i]);
        if (wide)
            right[i] = TILE_ADD(f, y, right[i]);
    }
}

#ifndef TILE_BF16
#define TILE_BF16(P, X, Y) bf16_store_two(P, X, Y)
#endif

/* Only what is wide is rounded here. */
INLINE void tile_end(const int rows, const int wide, floats left[TILE_ROWS],
                     floats right[TILE_ROWS], const struct gemm_tile *t)
{
    char *to = t->to;
    if (t->to_is == GEMM_F32) {
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            floats_store(to + i * t->to_row, left[i]);
            if (wide)
                floats_store(to + i * t->to_row + 4 * LANES, right[i]);
        }
    } else if (t->to_is == GEMM_F16) {
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++)
            f16_store_two(to + i * t->to_row, left[i], right[i]);
    } else {
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++)
            TILE_BF16(to + i * t->to_row, left[i], right[i]);
    }
}

/* Begin to bring the lines of d to which the tile's sums will go. */
INLINE void tile_fetch_d(const int rows, const struct gemm_tile *t)
{
    const char *d = t->d;
    if (d == NULL)
        return;
    for (int i = 0; i < rows; i++, d += t->d_row)
        fetch_to_write(d);
}

/* All arguments but t are constants. The last of them says that a is not
 * packed. Rows of a b that is not packed are far apart: prefetch the rows of
 * the next block of k. */
INLINE void tile_multiply(const int rows, const int wide,
                          const enum gemm_rows is, const int lies,
                          const struct gemm_tile *t)
{
    floats left[TILE_ROWS], right[TILE_ROWS], x, y;
    const char *a = t->a, *b = t->b;
    const int64_t a_row = lies ? t->a_row : 4;
    const int64_t a_step = lies ? 4 : 4 * (int64_t)t->height;
    const int64_t row = t->b_row;
    const int64_t step = TILE_PAIRS && is == GEMM_BF16 ? 2 * row : row;
    const int64_t ahead = t->ahead;
    const uint32_t odd = TILE_PAIRS && is == GEMM_BF16 && t->odd;
    tile_fetch_d(rows, t);
    tile_begin(rows, wide, left, right, t);
    for (uint32_t k = odd; k < t->depth; k++, a += a_step, b += step) {
        tile_next(wide, is, b, row, false, &x, &y);
        tile_fetch(is, b + ahead, row);
        tile_add(rows, wide, a, a_row, x, y, left, right);
    }
    if (odd) {
        tile_next(wide, is, b, row, true, &x, &y);
        tile_add(rows, wide, a, a_row, x, y, left, right);
    }
    tile_end(rows, wide, left, right, t);
}

#define TILE_CASE(ROWS)                                                        \
    case ROWS:                                                                 \
        tile_multiply(ROWS, wide, is, lies, t);                                \
        break;

/* All arguments but t are constants. */
INLINE void tile_rows(const int wide, const enum gemm_rows is, const int lies,
                      const struct gemm_tile *t)
{
    switch (t->rows) {
        TILE_CASE(1)
        TILE_CASE(2)
        TILE_CASE(3)
        TILE_CASE(4)
#if TILE_ROWS > 4
        TILE_CASE(5)
        TILE_CASE(6)
#endif
#if TILE_ROWS > 6
        TILE_CASE(7)
        TILE_CASE(8)
        TILE_CASE(9)
        TILE_CASE(10)
        TILE_CASE(11)
        TILE_CASE(12)
        TILE_CASE(13)
        TILE_CASE(14)
#endif
    default:
        break;
    }
}

/* is is a constant, b words of panels or rows of 16 bits, which are wide. */
INLINE void tile_choose(const enum gemm_rows is, const struct gemm_tile *t)
{
    if (is != GEMM_F32)
        tile_rows(1, is, 0, t);
    else if (t->a_row != 0 && t->columns > LANES)
        tile_rows(1, GEMM_F32, 1, t);
    else if (t->a_row != 0)
        tile_rows(0, GEMM_F32, 1, t);
    else if (t->columns > LANES)
        tile_rows(1, GEMM_F32, 0, t);
    else
        tile_rows(0, GEMM_F32, 0, t);
}

#endif

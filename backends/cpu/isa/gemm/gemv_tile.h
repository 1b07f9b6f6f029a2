/* SPDX-License-Identifier: Apache-2.0 */
/* gemv_tile.h - sums of lines that lie side by side along k, for words of
 * either kind: no line is packed, a vector has neighbours of one.
 *
 * Every product has 16 lanes, in as many vectors as those take: results are the
 * same bits for vectors of any width. TILE_ADD is the one of gemm_tile.h, which
 * comes before. */
#ifndef BACKENDS_CPU_ISA_GEMM_GEMV_TILE_H
#define BACKENDS_CPU_ISA_GEMM_GEMV_TILE_H

#include "backends/cpu/isa/gemm/along.h"
#include "backends/cpu/isa/gemm/gemm_tile.h"

/* Vectors of a sum, and how many sums registers have room for. */
#define GEMV_PARTS (16 / LANES)
#if LANES == 16
#define GEMV_SUMS 16
#define GEMV_ROWS(FEW)                                                         \
    ((FEW) == 1 ? 8u : (FEW) == 2 ? 8u : (FEW) == 3 ? 5u : 4u)
#else
#define GEMV_SUMS      4
#define GEMV_ROWS(FEW) ((FEW) == 1 ? 4u : (FEW) == 2 ? 2u : 1u)
#endif

/* Two vectors of blocks of 2 S lanes: the sums of the halves of each, S lanes
 * of the first and then as many of the second in the place of a block. */
#if LANES == 16
#define HALVE_8(A, B)                                                          \
    (SHUFFLE(A, B, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +   \
     SHUFFLE(A, B, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30,   \
             31))
#define HALVE_4(A, B)                                                          \
    (SHUFFLE(A, B, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27) + \
     SHUFFLE(A, B, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30,     \
             31))
#define HALVE_2(A, B)                                                          \
    (SHUFFLE(A, B, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) + \
     SHUFFLE(A, B, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30,     \
             31))
#define HALVE_1(A, B)                                                          \
    (SHUFFLE(A, B, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14,      \
             30) +                                                             \
     SHUFFLE(A, B, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
#elif LANES == 8
#define HALVE_4(A, B)                                                          \
    (SHUFFLE(A, B, 0, 1, 2, 3, 8, 9, 10, 11) +                                 \
     SHUFFLE(A, B, 4, 5, 6, 7, 12, 13, 14, 15))
#define HALVE_2(A, B)                                                          \
    (SHUFFLE(A, B, 0, 1, 8, 9, 4, 5, 12, 13) +                                 \
     SHUFFLE(A, B, 2, 3, 10, 11, 6, 7, 14, 15))
#define HALVE_1(A, B)                                                          \
    (SHUFFLE(A, B, 0, 8, 2, 10, 4, 12, 6, 14) +                                \
     SHUFFLE(A, B, 1, 9, 3, 11, 5, 13, 7, 15))
#else
#define HALVE_2(A, B) (SHUFFLE(A, B, 0, 1, 4, 5) + SHUFFLE(A, B, 2, 3, 6, 7))
#define HALVE_1(A, B) (SHUFFLE(A, B, 0, 4, 2, 6) + SHUFFLE(A, B, 1, 5, 3, 7))
#endif

/* The totals of LANES vectors, each by halves, as one. */
INLINE floats gemv_totals(floats v[LANES])
{
#if LANES == 16
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        v[i] = HALVE_8(v[i], v[i + 8]);
#endif
#if LANES >= 8
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        v[i] = HALVE_4(v[i], v[i + 4]);
#endif
    v[0] = HALVE_2(v[0], v[2]);
    v[1] = HALVE_2(v[1], v[3]);
    return HALVE_1(v[0], v[1]);
}

/* 16 lanes as a vector's: lane l and lane l + 8 are added first. */
INLINE floats gemv_lanes(const floats *part)
{
#if LANES == 16
    return part[0];
#elif LANES == 8
    return part[0] + part[1];
#else
    return (part[0] + part[2]) + (part[1] + part[3]);
#endif
}

INLINE floats gemv_part(enum format format, const char *p, int64_t n)
{
    return (floats)along(format, p, n <= 0 ? 0 : (uint32_t)n);
}

/* `left` words of k from byte offsets on: 16, or fewer at the end. The source
 * of a line and the number of the few are constant, as are rows, few and whole.
 */
INLINE void gemv_add(enum format format, enum format other, int rows, int few,
                     bool whole, const char *const row[GEMV_LONG],
                     const char *const one[GEMV_SHORT], int64_t at, int64_t k,
                     floats sums[GEMV_SUMS][GEMV_PARTS])
{
    const int pair = other == BF16_PAIRS ? 2 : 1;
#pragma GCC unroll 4
    for (int p = 0; p < GEMV_PARTS; p++) {
        int64_t from = at + p * LANES * pair;
        int64_t n = whole ? LANES * pair : k - from;
        floats x[GEMV_SHORT];
#pragma GCC unroll 4
        for (int j = 0; j < few; j++)
            x[j] = gemv_part(other, one[j] + from * format_bytes(other), n);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            floats y =
                gemv_part(format, row[i] + from * format_bytes(format), n);
#pragma GCC unroll 4
            for (int j = 0; j < few; j++)
                sums[i * few + j][p] = TILE_ADD(y, x[j], sums[i * few + j][p]);
        }
    }
}

INLINE void gemv_put(const struct gemv_tile *t, int rows, int few,
                     floats sums[GEMV_SUMS][GEMV_PARTS])
{
    float totals[16];
#pragma GCC unroll 16
    for (int from = 0; from < rows * few; from += LANES) {
        floats v[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            v[i] = from + i < rows * few ? gemv_lanes(sums[from + i])
                                         : (floats){0};
        floats_store(totals + from, gemv_totals(v));
    }
    for (uint32_t i = 0; i < t->rows; i++)
        for (int j = 0; j < few; j++)
            t->sums[i * t->sums_row + (uint32_t)j * t->sums_one] =
                totals[(int)i * few + j];
}

INLINE void gemv_multiply(enum format format, enum format other, int few,
                          const struct gemv_tile *t)
{
    const int rows = (int)GEMV_ROWS(few);
    const int64_t step = other == BF16_PAIRS ? 32 : 16;
    const char *row[GEMV_LONG], *one[GEMV_SHORT];
    floats sums[GEMV_SUMS][GEMV_PARTS];
    /* the last row again in the place of the ones that there are none of */
    for (uint32_t i = 0; i < (uint32_t)rows; i++)
        row[i] = t->row + (i < t->rows ? i : t->rows - 1) * t->row_step;
    for (int j = 0; j < few; j++)
        one[j] = t->one + j * t->one_step;
#pragma GCC unroll 16
    for (int i = 0; i < rows * few; i++)
#pragma GCC unroll 4
        for (int p = 0; p < GEMV_PARTS; p++)
            sums[i][p] = (floats){0};
    int64_t k = 0;
    for (; k + step <= t->k; k += step)
        gemv_add(format, other, rows, few, true, row, one, k, t->k, sums);
    if (k < t->k)
        gemv_add(format, other, rows, few, false, row, one, k, t->k, sums);
    gemv_put(t, rows, few, sums);
}

/* format and other are constants. */
INLINE void gemv_choose(enum format format, enum format other,
                        const struct gemv_tile *t)
{
    if (t->few == 1)
        gemv_multiply(format, other, 1, t);
    else if (t->few == 2)
        gemv_multiply(format, other, 2, t);
    else if (t->few == 3)
        gemv_multiply(format, other, 3, t);
    else
        gemv_multiply(format, other, 4, t);
}

#define GEMV_ROWS_OF_FEW                                                       \
    {                                                                          \
        0, GEMV_ROWS(1), GEMV_ROWS(2), GEMV_ROWS(3), GEMV_ROWS(4)              \
    }

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_dot.c - tiles whose words are pairs of bf16, multiplied by vdpbf16ps:
 * twice as many products as FMA in an instruction.
 *
 * It adds the products of a pair to the sum one after the other, to nearest
 * under any MXCSR, and takes subnormals for 0: factors', and those
 * that it would give. */
#include "backends/cpu/isa/gemm/gemm.h"
#include "backends/cpu/isa/half.h"
#include "backends/cpu/isa/target.h"

#if LANES == 16
TARGET_BEGIN("avx512bf16")

INLINE pairs pairs_load(const void *p)
{
    return (pairs)words_load(p);
}

#define TILE_PAIRS 1
/* Rows at b and after it, or only the one, as pairs. */
INLINE void tile_pairs(const char *b, int64_t row, floats *x, floats *y)
{
    pairs upper = pairs_load(b), lower = {0};
    if (row != 0)
        lower = pairs_load(b + row);
    *x = (floats)SHUFFLE(upper, lower, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37,
                         6, 38, 7, 39, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13,
                         45, 14, 46, 15, 47);
    *y = (floats)SHUFFLE(upper, lower, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52,
                         21, 53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58, 27, 59,
                         28, 60, 29, 61, 30, 62, 31, 63);
}

/* It would take subnormals for 0: there are none among these sums. */
#define TILE_BF16(P, X, Y)                                                     \
    words_store(P, (words)_mm512_cvtne2ps_pbh((__m512)(Y), (__m512)(X)))
#define TILE_ADD(X, Y, SUM)                                                    \
    (floats) _mm512_dpbf16_ps((__m512)(SUM), (__m512bh)(X), (__m512bh)(Y))
#include "backends/cpu/isa/gemm/gemm_tile.h"
#include "backends/cpu/isa/gemm/gemv_tile.h"

static void multiply(const struct gemm_tile *tile)
{
    if (tile->b_rows == GEMM_BF16)
        tile_choose(GEMM_BF16, tile);
    else
        tile_choose(GEMM_F32, tile);
}

static void gemv(const struct gemv_tile *tile)
{
    gemv_choose(BF16_PAIRS, BF16_PAIRS, tile);
}

const struct gemm_kernels ISA_NAME(gemm_dot) = {
    .rows = TILE_ROWS,
    .columns = 2 * LANES,
    .pair = 2,
    .pack = ISA_NAME(gemm_pack_pairs),
    .multiply = multiply,
    .finish = ISA_NAME(gemm_finish),
    .gemv = gemv,
    .gemv_rows = GEMV_ROWS_OF_FEW};

TARGET_END
#endif

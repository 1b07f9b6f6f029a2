/* SPDX-License-Identifier: Apache-2.0 */
/* conv_dot.c - tiles whose words are pairs of bf16, multiplied by vdpbf16ps.
 *
 * It takes subnormals for 0. A bf16 of 2^-56 and more is a multiple of 2^-63, a
 * product of two of 2^-126, and so is each sum of them, rounded or not: where
 * all elements are 0 or as large as that, no sum is a subnormal, and each is
 * the one that FMA makes in this order. */
#include "backends/cpu/isa/conv/conv.h"
#include "backends/cpu/isa/gemm/gemm.h"
#include "backends/cpu/isa/half.h"
#include "backends/cpu/isa/target.h"

#if LANES == 16
TARGET_BEGIN("avx512bf16")

#define TILE_ADD(X, Y, SUM)                                                    \
    (floats) _mm512_dpbf16_ps((__m512)(SUM), (__m512bh)(X), (__m512bh)(Y))
#include "backends/cpu/isa/conv/conv_tile.h"

/* Bits of 2^-56, of infinity, and of a bf16 without its sign. */
#define LEAST     0x2380u
#define INFINITE  0x7f80u
#define MAGNITUDE 0x7fffu

/* Bits of elements that are neither 0 nor in between. */
INLINE words odd_ones(pairs x)
{
    pairs magnitude = x & MAGNITUDE;
    return (words)(magnitude - 1 < LEAST - 1) | (words)(magnitude >= INFINITE);
}

static bool even(const void *from, int64_t n)
{
    const char *p = from;
    words odd = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES)
        odd |= odd_ones((pairs)words_load(p + 2 * i));
    pairs rest = {0};
    memcpy(&rest, p + 2 * i, (size_t)(n - i) * 2);
    odd |= odd_ones(rest);
    return _mm512_reduce_or_epi32((__m512i)odd) == 0;
}

const struct conv_kernels ISA_NAME(conv_dot) = {
    .rows = TILE_ROWS,
    .columns = 2 * LANES,
    .vector = 4 * LANES,
    .pair = 2,
    .fill = ISA_NAME(conv_fill_pairs),
    .fill_taps = ISA_NAME(conv_fill_halves),
    .multiply = shifted_choose,
    .gather = ISA_NAME(conv_gather),
    .put = ISA_NAME(conv_put),
    .pack = ISA_NAME(gemm_pack_pairs),
    .even = even};

TARGET_END
#endif

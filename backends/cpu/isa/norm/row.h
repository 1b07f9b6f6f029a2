/* SPDX-License-Identifier: Apache-2.0 */
/* row.h - passes over a row of neighbours: 64 elements at a time, the rest
 * by vectors, the last of which is a part.
 *
 * Sums have 64 lanes, which are added by halves: the order of
 * kernels/dialect/group.h, and so its bits. While one pass computes, the next
 * row is brought near: else memory would wait for arithmetic, and arithmetic
 * for memory. */
#ifndef BACKENDS_CPU_ISA_NORM_ROW_H
#define BACKENDS_CPU_ISA_NORM_ROW_H

#include "backends/cpu/isa/cells.h"
#include "backends/cpu/norm/row_kernels.h"
#include "lib/core/base/size.h"

#define NATIVE /* the kernels' stores: this is code for one processor, too */
#include "kernels/dialect/stream.h"

#define ROW_STEP    64 /* elements */
#define ROW_VECTORS (ROW_STEP / LANES)
/* The vectors of a step, each by its own instructions. */
#define ROW_EACH(V)                                                            \
    _Pragma("GCC unroll 16") for (int V = 0; V < ROW_VECTORS; V++)

struct row_lanes {
    floats v[ROW_VECTORS];
};

/* Not "= {0}", which gcc makes a rep stos of: as slow as a hundred elements. */
INLINE void row_zero(struct row_lanes *l)
{
    ROW_EACH(v)
    l->v[v] = (floats){0};
}

/* The lower half of a vector gets the upper one, or a quarter the next. */
#if LANES == 16
#define ROW_ABOVE_8(X)                                                         \
    SHUFFLE(X, X, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
#define ROW_ABOVE_4(X)                                                         \
    SHUFFLE(X, X, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
#define ROW_ABOVE_2(X)                                                         \
    SHUFFLE(X, X, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define ROW_ABOVE_1(X)                                                         \
    SHUFFLE(X, X, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#elif LANES == 8
#define ROW_ABOVE_4(X) SHUFFLE(X, X, 4, 5, 6, 7, 0, 1, 2, 3)
#define ROW_ABOVE_2(X) SHUFFLE(X, X, 2, 3, 0, 1, 6, 7, 4, 5)
#define ROW_ABOVE_1(X) SHUFFLE(X, X, 1, 0, 3, 2, 5, 4, 7, 6)
#else
#define ROW_ABOVE_2(X) SHUFFLE(X, X, 2, 3, 0, 1)
#define ROW_ABOVE_1(X) SHUFFLE(X, X, 1, 0, 3, 2)
#endif

INLINE float row_sum(const struct row_lanes *l)
{
    floats v[ROW_VECTORS];
    ROW_EACH(i)
    v[i] = l->v[i];
    for (int half = ROW_VECTORS / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            v[i] += v[i + half];
#if LANES == 16
    v[0] += ROW_ABOVE_8(v[0]);
#endif
#if LANES >= 8
    v[0] += ROW_ABOVE_4(v[0]);
#endif
    v[0] += ROW_ABOVE_2(v[0]);
    v[0] += ROW_ABOVE_1(v[0]);
    return v[0][0];
}

INLINE floats row_load(ssq_dtype is, const char *p, size_t i)
{
    return cells_load(is, p + (int64_t)i * cell_bytes(is), LANES);
}

/* Elements i .. n - 1 of a row, fewer than a vector, and `otherwise` behind. */
INLINE floats row_rest(ssq_dtype is, const char *p, size_t i, size_t n,
                       float otherwise)
{
    uint32_t left = (uint32_t)(n - i);
    floats x = cells_load(is, p + (int64_t)i * cell_bytes(is), left);
#if LANES == 16
    return _mm512_mask_mov_ps(floats_splat(otherwise),
                              (__mmask16)((1u << left) - 1u), x);
#else
    for (uint32_t k = left; k < LANES; k++)
        x[k] = otherwise;
    return x;
#endif
}

/* Begin to bring n elements from i on. */
INLINE void row_fetch(ssq_dtype is, const char *p, size_t i, int64_t n)
{
    const char *line = p + (int64_t)i * cell_bytes(is);
    for (int64_t at = 0; at < n * cell_bytes(is); at += 64)
        fetch_near(line + at);
}

/* Elements up to the first at which a vector's store may go past the caches;
 * all of them where a row's never may. */
INLINE size_t row_head(ssq_dtype is, const char *y, size_t n, bool past)
{
#if STREAMED
    size_t bytes = (0u - (uintptr_t)y) & (STREAM_LINE - 1u);
    size_t head = bytes / (size_t)cell_bytes(is);
    return past && bytes % (size_t)cell_bytes(is) == 0 && head < n ? head : n;
#else
    (void)is;
    (void)y;
    (void)past;
    return n;
#endif
}

/* Two vectors in 16 bits, as one. */
INLINE words words_of_two(ssq_dtype is, floats a, floats b)
{
    if (is == SSQ_BF16)
        return (words)SHUFFLE((pairs)bf16_above(a), (pairs)bf16_above(b),
                              UPPER_HALVES);
#if LANES == 16
    return (words)_mm512_inserti64x4(
        _mm512_castsi256_si512((__m256i)f16_of_floats(a)),
        (__m256i)f16_of_floats(b), 1);
#elif LANES == 8
    return (words)_mm256_inserti128_si256(
        _mm256_castsi128_si256((__m128i)f16_of_floats(a)),
        (__m128i)f16_of_floats(b), 1);
#else
    words h;
    f16_store_two(&h, a, b);
    return h;
#endif
}

/* Two vectors from element i on, past the caches. */
INLINE void row_stream_two(ssq_dtype is, char *y, size_t i, floats a, floats b)
{
#if STREAMED
    char *to = y + (int64_t)i * cell_bytes(is);
    if (is == SSQ_F32) {
        STREAM_STORE(to, (const void *)&a);
        STREAM_STORE(to + STREAM_LINE, (const void *)&b);
        return;
    }
    words h = words_of_two(is, a, b);
    STREAM_STORE(to, (const void *)&h);
#else
    (void)is;
    (void)y;
    (void)i;
    (void)a;
    (void)b;
#endif
}

/* How a result is made of elements i .. of a row: a whole vector, or i .. n - 1
 * and anything behind. */
typedef floats row_made(const void *row, size_t i, size_t n);

/* A row of results, past the caches or not. */
INLINE void row_put(ssq_dtype is, char *y, size_t n, bool past, row_made *make,
                    const void *row)
{
    const int64_t bytes = cell_bytes(is);
    size_t i = 0, head = row_head(is, y, n, past);
    for (; i + LANES <= head; i += LANES)
        cells_store(is, y + (int64_t)i * bytes, make(row, i, i + LANES), LANES);
    if (i < head)
        cells_store_part(is, y + (int64_t)i * bytes, make(row, i, head),
                         (uint32_t)(head - i));
    for (i = head; i + 2 * LANES <= n; i += 2 * LANES)
        row_stream_two(is, y, i, make(row, i, i + LANES),
                       make(row, i + LANES, i + 2 * LANES));
    for (; i < n; i += LANES) {
        size_t left = n - i < LANES ? n - i : LANES;
        cells_store(is, y + (int64_t)i * bytes, make(row, i, i + left),
                    (uint32_t)left);
    }
}

/* Rows are worked on in groups, one pass after the other: the step that
 * combines a row's lanes takes as long as a hundred elements, which are
 * another row's. */
#define ROW_GROUP 8
/* Elements of a group: they stay in cache while they are worked on. */
#define ROW_NEAR 4096
INLINE int64_t row_group(size_t n)
{
    return n > ROW_NEAR ? 1 : size_least(ROW_GROUP, (int64_t)(ROW_NEAR / n));
}

INLINE char *row_of(const struct rows_at *at, int64_t row)
{
    return at->p + row * at->apart;
}

INLINE void row_fence(void)
{
#if STREAMED
    stream_fence();
#endif
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* dense.c - casts, sums, products and relu of neighbours, two vectors at a
 * time, from registers to memory, without an array between the steps.
 *
 * Where all operands are bf16, the first vector has the even elements and the
 * second the odd ones: bf16 is the upper half of a float32, so that a shift and
 * a mask take a word apart, and as much puts it together. */
#include "backends/cpu/elementwise/dense_kernels.h"

#include "backends/cpu/isa.h"
#include "backends/cpu/isa/norm/row.h"

#define STEP (2 * LANES) /* elements */
/* Bytes from what is loaded to what is asked for: a page's end is not the end
 * of the processor's own prefetch. */
#define AHEAD 2048

struct two {
    floats v[2];
};

INLINE struct two two_load(ssq_dtype is, bool split, const char *p)
{
    struct two x;
    if (split) {
        words w = words_load(p);
        x.v[0] = (floats)(w << 16);
        x.v[1] = (floats)(w & 0xffff0000u);
        return x;
    }
    x.v[0] = cells_load(is, p, LANES);
    x.v[1] = cells_load(is, p + LANES * cell_bytes(is), LANES);
    return x;
}

/* To nearest even in the upper half; the lower half keeps a rest of the sum. */
INLINE words bf16_number_above(floats x)
{
    words u = (words)x;
#if LANES == 16
    __mmask16 odd =
        _mm512_test_epi32_mask((__m512i)u, _mm512_set1_epi32(65536));
    u += 0x7fffu;
    return (words)_mm512_mask_add_epi32((__m512i)u, odd, (__m512i)u,
                                        _mm512_set1_epi32(1));
#else
    return u + 0x7fffu + (u >> 16 & 1u);
#endif
}

/* Two vectors as 2 LANES of 16 bits; `any` NaN may be among them, else only the
 * one that is computed. */
INLINE words two_halves(ssq_dtype is, bool split, bool any, struct two x)
{
    if (is == SSQ_F16 || any)
        return words_of_two(is, x.v[0], x.v[1]);
    words low = bf16_number_above(x.v[0]), high = bf16_number_above(x.v[1]);
    if (!split)
        return (words)SHUFFLE((pairs)low, (pairs)high, UPPER_HALVES);
    return low >> 16 | (high & 0xffff0000u);
}

INLINE void put_words(char *to, words w, bool past)
{
#if STREAMED
    if (past) {
        STREAM_STORE(to, (const void *)&w);
        return;
    }
#endif
    (void)past;
    words_store(to, w);
}

INLINE void two_store(ssq_dtype is, bool split, bool any, char *to,
                      struct two x, bool past)
{
    if (is == SSQ_F32) {
        put_words(to, (words)x.v[0], past);
        put_words(to + sizeof(words), (words)x.v[1], past);
    } else {
        put_words(to, two_halves(is, split, any, x), past);
    }
}

/* A NaN becomes quiet, as instructions make f16's. */
INLINE floats quiet(floats x)
{
#if LANES == 16
    return (floats)_mm512_mask_or_epi32(
        (__m512i)x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), (__m512i)x,
        _mm512_set1_epi32(0x400000));
#else
    return (floats)((words)x | ((words)(x != x) & 0x400000u));
#endif
}

INLINE floats value(enum dense_kind kind, const struct dense *d, floats a,
                    floats b)
{
    switch (kind) {
    case DENSE_RELU:
        return cells_canonical((floats)((words)a & ~(words)(a <= 0.0f)));
    case DENSE_AXPBY:
        return cells_canonical(a * d->alpha + b * d->beta);
    case DENSE_ADD_ONE:
        return cells_canonical(a + d->beta);
    case DENSE_SUB_ONE:
        return cells_canonical(a - d->beta);
    case DENSE_MUL_ONE:
        return cells_canonical(a * d->beta);
    case DENSE_ADD:
        return cells_canonical(a + b);
    case DENSE_SUB:
        return cells_canonical(a - b);
    case DENSE_MUL:
        return cells_canonical(a * b);
    case DENSE_RELU_BACKWARD:
        return cells_canonical((floats)((words)b & ~(words)(a <= 0.0f)));
    default:
        return a;
    }
}

INLINE void step(enum dense_kind kind, ssq_dtype is, ssq_dtype to,
                 const struct dense *d, const char *a, const char *b, char *y,
                 bool past)
{
    const bool split = is == SSQ_BF16 && to == SSQ_BF16;
    const bool binary = kind >= DENSE_AXPBY;
    struct two x = two_load(is, split, a), z = x;
    if (binary)
        z = two_load(is, split, b);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        x.v[i] = kind == DENSE_CAST && to == SSQ_F32
                     ? quiet(x.v[i])
                     : value(kind, d, x.v[i], z.v[i]);
    two_store(to, split, kind == DENSE_CAST, y, x, past);
}

/* A part shorter than a step goes through arrays. */
INLINE void rest(enum dense_kind kind, ssq_dtype is, ssq_dtype to,
                 const struct dense *d, const char *a, const char *b, char *y,
                 size_t n)
{
    char line[3][STEP * 4] = {{0}};
    memcpy(line[0], a, n * (size_t)cell_bytes(is));
    if (kind >= DENSE_AXPBY)
        memcpy(line[1], b, n * (size_t)cell_bytes(is));
    step(kind, is, to, d, line[0], line[1], line[2], false);
    memcpy(y, line[2], n * (size_t)cell_bytes(to));
}

INLINE void fetch_step(ssq_dtype is, const char *p)
{
    fetch_near(p);
    if (is == SSQ_F32)
        fetch_near(p + sizeof(words));
}

INLINE void map_of(enum dense_kind kind, ssq_dtype is, ssq_dtype to,
                   const struct dense *d, size_t from, size_t end)
{
    const size_t bytes = (size_t)cell_bytes(is),
                 y_bytes = (size_t)cell_bytes(to);
    const char *a = d->a + from * bytes;
    const char *b = kind >= DENSE_AXPBY ? d->b + from * bytes : a;
    char *y = d->y + from * y_bytes;
    size_t n = end - from;
    for (; n >= STEP; n -= STEP) {
        fetch_step(is, a + AHEAD);
        if (kind >= DENSE_AXPBY)
            fetch_step(is, b + AHEAD);
        step(kind, is, to, d, a, b, y, d->past);
        a += STEP * bytes;
        b += STEP * bytes;
        y += STEP * y_bytes;
    }
    if (n > 0)
        rest(kind, is, to, d, a, b, y, n);
}

INLINE void map_kind(enum dense_kind kind, const struct dense *d, size_t from,
                     size_t end)
{
    if (d->is == SSQ_F32)
        map_of(kind, SSQ_F32, SSQ_F32, d, from, end);
    else if (d->is == SSQ_F16)
        map_of(kind, SSQ_F16, SSQ_F16, d, from, end);
    else
        map_of(kind, SSQ_BF16, SSQ_BF16, d, from, end);
}

static void cast(const struct dense *d, size_t from, size_t end)
{
    if (d->is == SSQ_F32 && d->to == SSQ_F16)
        map_of(DENSE_CAST, SSQ_F32, SSQ_F16, d, from, end);
    else if (d->is == SSQ_F32)
        map_of(DENSE_CAST, SSQ_F32, SSQ_BF16, d, from, end);
    else if (d->is == SSQ_F16 && d->to == SSQ_F32)
        map_of(DENSE_CAST, SSQ_F16, SSQ_F32, d, from, end);
    else if (d->is == SSQ_F16)
        map_of(DENSE_CAST, SSQ_F16, SSQ_BF16, d, from, end);
    else if (d->to == SSQ_F32)
        map_of(DENSE_CAST, SSQ_BF16, SSQ_F32, d, from, end);
    else
        map_of(DENSE_CAST, SSQ_BF16, SSQ_F16, d, from, end);
}

static void map(const struct dense *d, size_t from, size_t end)
{
    switch (d->kind) {
    case DENSE_CAST:
        cast(d, from, end);
        break;
    case DENSE_RELU:
        map_kind(DENSE_RELU, d, from, end);
        break;
    case DENSE_ADD_ONE:
        map_kind(DENSE_ADD_ONE, d, from, end);
        break;
    case DENSE_SUB_ONE:
        map_kind(DENSE_SUB_ONE, d, from, end);
        break;
    case DENSE_MUL_ONE:
        map_kind(DENSE_MUL_ONE, d, from, end);
        break;
    case DENSE_AXPBY:
        map_kind(DENSE_AXPBY, d, from, end);
        break;
    case DENSE_ADD:
        map_kind(DENSE_ADD, d, from, end);
        break;
    case DENSE_SUB:
        map_kind(DENSE_SUB, d, from, end);
        break;
    case DENSE_MUL:
        map_kind(DENSE_MUL, d, from, end);
        break;
    default:
        map_kind(DENSE_RELU_BACKWARD, d, from, end);
    }
    row_fence();
}

extern const struct dense_kernels ISA_NAME(dense_kernels);
const struct dense_kernels ISA_NAME(dense_kernels) = {map};

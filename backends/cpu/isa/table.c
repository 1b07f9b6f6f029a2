/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - values and slopes out of tables, a block of neighbours at a time.
 */
#include "backends/cpu/table.h"

#define NATIVE /* the kernels' blocks: this is code for one processor, too */
#include "kernels/dialect/f16_blocks.h"
#include "kernels/dialect/stream.h"

/* Elements that are looked up before they are stored: a result goes past the
 * caches in whole lines, and an f16 by instructions for many. */
#define BLOCK 512u

static void put(void *to, const void *from, size_t bytes, bool past)
{
#if STREAMED
    put_out(to, from, bytes, past);
#else
    (void)past;
    memcpy(to, from, bytes);
#endif
}

static bool is_past(size_t all, ssq_dtype is)
{
#if STREAMED
    return is == SSQ_F32 ? STREAMS(all, float) : STREAMS(all, uint16_t);
#else
    (void)all;
    (void)is;
    return false;
#endif
}

/* What went past the caches is there. */
static void fence(void)
{
#if STREAMED
    _mm_sfence();
#endif
}

/* Values of four x at once: one load and one store of a word, in which each has
 * the place of its own. There are no vector loads of 16 bits from many places,
 * and what compilers make in their stead takes longer. */
static void four(uint16_t *y, const uint16_t *x, const uint16_t *values)
{
    uint64_t w;
    memcpy(&w, x, sizeof(w));
    uint64_t v = values[w & 0xffffu];
    v |= (uint64_t)values[w >> 16 & 0xffffu] << 16;
    v |= (uint64_t)values[w >> 32 & 0xffffu] << 32;
    v |= (uint64_t)values[w >> 48] << 48;
    memcpy(y, &v, sizeof(v));
}

static void map(uint16_t *y, const uint16_t *x, const uint16_t *values,
                size_t n, size_t all)
{
    _Alignas(64) uint16_t line[BLOCK];
    for (size_t from = 0; from < n; from += BLOCK) {
        size_t m = n - from < BLOCK ? n - from : BLOCK;
        size_t i = 0;
        for (; i + 4 <= m; i += 4)
            four(line + i, x + from + i, values);
        for (; i < m; i++)
            line[i] = values[x[from + i]];
        put(y + from, line, m * sizeof(*y), is_past(all, SSQ_F16));
    }
    fence();
}

static void floats_of(float *v, const struct floats_at *y, size_t from,
                      size_t n)
{
    const uint16_t *h = (const uint16_t *)y->p + from;
    ssq_dtype is = y->is;
    if (is == SSQ_F32)
        memcpy(v, (const float *)y->p + from, n * sizeof(*v));
#if F16_BLOCKS
    else if (is == SSQ_F16)
        f16_block_load(v, h, n);
#else
    else if (is == SSQ_F16)
        for (size_t i = 0; i < n; i++)
            v[i] = f16_load(h[i]);
#endif
    else
        for (size_t i = 0; i < n; i++)
            v[i] = bf16_load(h[i]);
}

static void halves_of(uint16_t *h, ssq_dtype is, const float *v, size_t n)
{
#if F16_BLOCKS
    if (is == SSQ_F16) {
        f16_block_store(h, v, n);
        return;
    }
#endif
    for (size_t i = 0; i < n; i++)
        h[i] = (uint16_t)(is == SSQ_F16 ? f16_store(v[i]) : bf16_store(v[i]));
}

static void slope(struct floats_at dx, struct floats_at dy, const uint16_t *x,
                  const float *slopes, size_t n, size_t all)
{
    _Alignas(64) float v[BLOCK];
    _Alignas(64) uint16_t line[BLOCK];
    bool past = is_past(all, dx.is);
    for (size_t from = 0; from < n; from += BLOCK) {
        size_t m = n - from < BLOCK ? n - from : BLOCK;
        floats_of(v, &dy, from, m);
        for (size_t i = 0; i < m; i++)
            v[i] = s_canonical(slopes[x[from + i]] * v[i]);
        if (dx.is == SSQ_F32) {
            put((float *)dx.p + from, v, m * sizeof(*v), past);
        } else {
            halves_of(line, dx.is, v, m);
            put((uint16_t *)dx.p + from, line, m * sizeof(*line), past);
        }
    }
    fence();
}

extern const struct table_kernels ISA_NAME(table_kernels);
const struct table_kernels ISA_NAME(table_kernels) = {map, slope};

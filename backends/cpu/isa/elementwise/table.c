/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - values and slopes out of tables, a block of neighbours at a time.
 */
#include "backends/cpu/table.h"

#include "backends/cpu/isa/cells.h"

#define NATIVE /* the kernels' blocks: this is code for one processor, too */
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

static void fence(void)
{
#if STREAMED
    stream_fence();
#endif
}

/* Values of four x together: one load and one store of a word, in which each
 * has its own place. Vector loads of 16 bits from many places do not exist, and
 * the code that compilers make for them is slower. */
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

/* dy times the slopes in line: rounded if need be, a NaN is the one that is
 * computed. n is a multiple of a vector's elements except for the elements
 * after the last, which no one reads. */
INLINE void multiply(ssq_dtype is, float *line, const char *dy, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        floats g =
            cells_load(is, dy + (int64_t)i * cell_bytes(is), (uint32_t)(n - i));
        floats_store(line + i, cells_canonical(floats_load(line + i) * g));
    }
}

static void multiply_by(ssq_dtype is, float *line, const char *dy, size_t n)
{
    if (is == SSQ_F32)
        multiply(SSQ_F32, line, dy, n);
    else if (is == SSQ_F16)
        multiply(SSQ_F16, line, dy, n);
    else
        multiply(SSQ_BF16, line, dy, n);
}

static void slope(struct floats_at dx, struct floats_at dy, const uint16_t *x,
                  const float *slopes, size_t n, size_t all)
{
    _Alignas(64) float v[BLOCK];
    _Alignas(64) uint16_t line[BLOCK];
    const size_t dy_bytes = (size_t)cell_bytes(dy.is);
    const size_t dx_bytes = (size_t)cell_bytes(dx.is);
    bool past = is_past(all, dx.is);
    for (size_t from = 0; from < n; from += BLOCK) {
        size_t m = n - from < BLOCK ? n - from : BLOCK;
        char *to = (char *)dx.p + from * dx_bytes;
        for (size_t i = 0; i < m; i++)
            v[i] = slopes[x[from + i]];
        multiply_by(dy.is, v, (const char *)dy.p + from * dy_bytes, m);
        if (dx.is == SSQ_F32) {
            put(to, v, m * dx_bytes, past);
        } else {
            half_put((char *)line, dx.is, v, (uint32_t)m);
            put(to, line, m * dx_bytes, past);
        }
    }
    fence();
}

extern const struct table_kernels ISA_NAME(table_kernels);
const struct table_kernels ISA_NAME(table_kernels) = {map, slope};

/* SPDX-License-Identifier: Apache-2.0 */
/* extreme.c - the greatest of neighbours, by integers: all bits of a negative
 * number but its sign are turned round, and then integers lie as numbers do.
 * Where the least is looked for, all of them are. */
#include "backends/cpu/isa.h"
#include "backends/cpu/isa/vector.h"
#include "backends/cpu/norm/extreme_kernels.h"

typedef int16_t shorts __attribute__((vector_size(4 * LANES)));

/* Vectors that are looked at side by side. */
#define AHEAD 4

INLINE shorts greater_shorts(shorts a, shorts b)
{
#if LANES == 16
    return (shorts)_mm512_max_epi16((__m512i)a, (__m512i)b);
#elif LANES == 8
    return (shorts)_mm256_max_epi16((__m256i)a, (__m256i)b);
#else
    shorts more = a > b;
    return (more & a) | (~more & b);
#endif
}

INLINE ints greater_ints(ints a, ints b)
{
#if LANES == 16
    return (ints)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif LANES == 8
    return (ints)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    ints more = a > b;
    return (more & a) | (~more & b);
#endif
}

static struct extreme greater(struct extreme a, struct extreme b)
{
    a.key = a.key > b.key ? a.key : b.key;
    a.magnitude = a.magnitude > b.magnitude ? a.magnitude : b.magnitude;
    return a;
}

static struct extreme of_short(int16_t u, int16_t turn)
{
    return (struct extreme){(int16_t)((u ^ (u >> 15 & 0x7fff)) ^ turn),
                            u & 0x7fff};
}

static struct extreme find_shorts(const int16_t *x, size_t n, int16_t turn)
{
    const shorts turned = (shorts){0} + turn;
    shorts key[AHEAD], magnitude[AHEAD];
    struct extreme e = {INT16_MIN, 0};
    size_t i = 0;
    for (int v = 0; v < AHEAD; v++) {
        key[v] = (shorts){0} + (int16_t)INT16_MIN;
        magnitude[v] = (shorts){0};
    }
    for (; i + AHEAD * 2 * LANES <= n; i += AHEAD * 2 * LANES)
#pragma GCC unroll 4
        for (int v = 0; v < AHEAD; v++) {
            shorts u = (shorts)words_load(x + i + (size_t)v * 2 * LANES);
            shorts k = (u ^ (u >> 15 & 0x7fff)) ^ turned;
            key[v] = greater_shorts(key[v], k);
            magnitude[v] = greater_shorts(magnitude[v], u & 0x7fff);
        }
    for (int v = 0; v < AHEAD; v++)
        for (int k = 0; k < 2 * LANES; k++)
            e = greater(e, (struct extreme){key[v][k], magnitude[v][k]});
    for (; i < n; i++)
        e = greater(e, of_short(x[i], turn));
    return e;
}

static struct extreme of_int(int32_t u, int32_t turn)
{
    return (struct extreme){(u ^ (u >> 31 & 0x7fffffff)) ^ turn,
                            u & 0x7fffffff};
}

static struct extreme find_ints(const int32_t *x, size_t n, int32_t turn)
{
    const ints turned = (ints){0} + turn;
    ints key[AHEAD], magnitude[AHEAD];
    struct extreme e = {INT32_MIN, 0};
    size_t i = 0;
    for (int v = 0; v < AHEAD; v++) {
        key[v] = (ints){0} + INT32_MIN;
        magnitude[v] = (ints){0};
    }
    for (; i + AHEAD * LANES <= n; i += AHEAD * LANES)
#pragma GCC unroll 4
        for (int v = 0; v < AHEAD; v++) {
            ints u = (ints)words_load(x + i + (size_t)v * LANES);
            ints k = (u ^ (u >> 31 & 0x7fffffff)) ^ turned;
            key[v] = greater_ints(key[v], k);
            magnitude[v] = greater_ints(magnitude[v], u & 0x7fffffff);
        }
    for (int v = 0; v < AHEAD; v++)
        for (int k = 0; k < LANES; k++)
            e = greater(e, (struct extreme){key[v][k], magnitude[v][k]});
    for (; i < n; i++)
        e = greater(e, of_int(x[i], turn));
    return e;
}

static struct extreme find(ssq_dtype dtype, bool minimum, const void *x,
                           size_t n)
{
    return dtype == SSQ_F32 ? find_ints(x, n, minimum ? -1 : 0)
                            : find_shorts(x, n, minimum ? -1 : 0);
}

extern const struct extreme_kernels ISA_NAME(extreme_kernels);
const struct extreme_kernels ISA_NAME(extreme_kernels) = {find};

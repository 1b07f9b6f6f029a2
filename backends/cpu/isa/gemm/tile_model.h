/* SPDX-License-Identifier: Apache-2.0 */
/* tile_model.h - the tile instructions of x86 as C: for tests, on processors
 * that have none.
 *
 * Eight registers of 16 rows of 64 bytes, as palette 1 has them. As Intel's
 * manual says of tdpbf16ps and tdpfp16ps [SDM vol. 2, TDPBF16PS,
 * TDPFP16PS]: the products of even and of odd elements are added up apart, in
 * order, by fused multiply-adds; then the two sums are added, and that to the
 * register. Every step rounds to nearest even and gives 0 for a subnormal;
 * subnormal sums and bf16 factors count as 0; f16 factors are kept. */
#ifndef BACKENDS_CPU_ISA_GEMM_TILE_MODEL_H
#define BACKENDS_CPU_ISA_GEMM_TILE_MODEL_H

#include "backends/cpu/isa/vector.h"
#include "kernels/scalar/scalar.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#define MODEL_TILES 8
#define MODEL_ROWS  16
#define MODEL_WORDS 16

struct tile_model {
    bool configured; /* anything else raises an exception */
    uint32_t tile[MODEL_TILES][MODEL_ROWS][MODEL_WORDS];
};

INLINE void model_configure(struct tile_model *m)
{
    memset(m, 0, sizeof(*m));
    m->configured = true;
}

INLINE void model_release(struct tile_model *m)
{
    m->configured = false;
}

INLINE void model_zero(struct tile_model *m, int t)
{
    assert(m->configured);
    memset(m->tile[t], 0, sizeof(m->tile[t]));
}

INLINE void model_load(struct tile_model *m, int t, const void *p, size_t row)
{
    assert(m->configured);
    for (size_t i = 0; i < MODEL_ROWS; i++)
        memcpy(m->tile[t][i], (const char *)p + i * row, 4 * MODEL_WORDS);
}

INLINE void model_store(const struct tile_model *m, int t, void *p, size_t row)
{
    assert(m->configured);
    for (size_t i = 0; i < MODEL_ROWS; i++)
        memcpy((char *)p + i * row, m->tile[t][i], 4 * MODEL_WORDS);
}

/* A sum or a factor of bf16 as it counts. */
INLINE float model_flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

/* sum + product, rounded once. The float64 sum is first made odd where it is
 * not exact, so that rounding it again is rounding the exact one [Boldo and
 * Melquiond 2008]; a value below 2^-126 after rounding with 24 bits is 0. */
INLINE float model_add(float sum, double product)
{
    double x = (double)sum, s = x + product, y = s - x;
    double rest = (x - (s - y)) + (product - y);
    union {
        double value;
        uint64_t bits;
    } odd = {s};
    if ((rest > 0.0 || rest < 0.0) && odd.bits % 2 == 0)
        odd.bits += (rest > 0.0) == (s > 0.0) ? UINT64_C(1) : UINT64_MAX;
    if (fabs(odd.value) < 0x1p-126 - 0x1p-151)
        return (float)copysign(0.0, s);
    return (float)odd.value;
}

/* Element `odd` of a pair. */
INLINE float model_element(uint32_t word, int odd, bool f16)
{
    uint32_t half = odd ? word >> 16 : word & 0xffffu;
    return f16 ? f16_load(half) : model_flush(bf16_load(half));
}

/* Tile c += tile a by tile b. */
INLINE void model_dot(struct tile_model *m, int c, int a, int b, bool f16)
{
    assert(m->configured);
    for (int i = 0; i < MODEL_ROWS; i++) {
        float sum[2][MODEL_WORDS] = {{0}}, old;
        for (int k = 0; k < MODEL_WORDS; k++)
            for (int odd = 0; odd < 2; odd++) {
                double x = (double)model_element(m->tile[a][i][k], odd, f16);
                for (int j = 0; j < MODEL_WORDS; j++) {
                    float y = model_element(m->tile[b][k][j], odd, f16);
                    sum[odd][j] = model_add(sum[odd][j], x * (double)y);
                }
            }
        for (int j = 0; j < MODEL_WORDS; j++) {
            memcpy(&old, &m->tile[c][i][j], sizeof(old));
            float both = model_add(sum[0][j], (double)sum[1][j]);
            old = model_add(model_flush(old), (double)both);
            memcpy(&m->tile[c][i][j], &old, sizeof(old));
        }
    }
}

/* One for all numbers of tiles: it is long. */
static inline void model_multiply(struct tile_model *m, int c, int a, int b,
                                  bool f16)
{
    if (f16)
        model_dot(m, c, a, b, true);
    else
        model_dot(m, c, a, b, false);
}

#endif

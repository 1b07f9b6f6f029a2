/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h - a product of two small matrices, summed in float64, in which
 * products of float32 are exact.
 *
 *                     COLS
 *                    +------+
 *              DEPTH |  b   |
 *             +------+------+
 *        ROWS |  a   | sum  |
 *             +------+------+ */
#ifndef BACKENDS_REFERENCE_GEMM_TILE_H
#define BACKENDS_REFERENCE_GEMM_TILE_H

#include "backends/reference/reference.h"
#include "kernels/scalar/convert.h"

#include <string.h>

/* The three matrices have 64 KiB of float64 with these sizes, so they fit into
 * a core's caches. */
#define TILE_ROWS  32
#define TILE_COLS  64
#define TILE_DEPTH 64

struct tile {
    double a[TILE_ROWS][TILE_DEPTH];
    double b[TILE_DEPTH][TILE_COLS];
    double sum[TILE_ROWS][TILE_COLS];
};

static inline int64_t tile_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline void tile_clear(struct tile *t)
{
    memset(t->sum, 0, sizeof(t->sum));
}

/** Load element i of a float operand. */
static inline double tile_load(const void *base, ssq_dtype dtype, int64_t i)
{
    if (dtype == SSQ_F32)
        return (double)((const float *)base)[i];
    uint16_t bits = ((const uint16_t *)base)[i];
    return (double)(dtype == SSQ_F16 ? f16_load(bits) : bf16_load(bits));
}

/** Add a b to sum. All columns of b are used, so that the inner loop has a
 *  constant length and can be vectorised. Columns past the edge contain earlier
 *  values; their sums are not used. */
static inline void tile_multiply(struct tile *t, int64_t rows, int64_t depth)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < depth; k++) {
            double x = t->a[i][k];
            for (int j = 0; j < TILE_COLS; j++)
                t->sum[i][j] += x * t->b[k][j];
        }
}

#endif

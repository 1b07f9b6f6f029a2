/* SPDX-License-Identifier: Apache-2.0 */
/* conv_tile.h - tiles of channels by positions, for words of either kind:
 * TILE_ADD is the instruction, as in gemm_tile.h. */
#ifndef BACKENDS_CPU_ISA_CONV_CONV_TILE_H
#define BACKENDS_CPU_ISA_CONV_CONV_TILE_H

#include "backends/cpu/isa/conv/conv.h"
#include "backends/cpu/isa/gemm/gemm_tile.h"

/* Vectors of sums of a single row that are made at a time: more chains than one
 * tile has, which wait for each other. */
#define STRIP 4

/* A panel of one row: any number of columns, up to a strip's end. */
static void shifted_row(const struct gemm_tile *t, const uint32_t *offset)
{
    const float *a = t->a, *b = t->b, *from = t->from;
    float *to = t->to;
    for (uint32_t j = 0; j < t->columns; j += STRIP * LANES) {
        floats sum[STRIP] = {{0}};
#pragma GCC unroll 4
        for (int i = 0; i < STRIP && from != NULL; i++)
            sum[i] = floats_load(from + j + i * LANES);
        for (uint32_t k = 0; k < t->depth; k++) {
            const float *x = b + offset[k] + j;
            floats f = floats_splat(a[k]);
#pragma GCC unroll 4
            for (int i = 0; i < STRIP; i++)
                sum[i] = TILE_ADD(f, floats_load(x + i * LANES), sum[i]);
        }
#pragma GCC unroll 4
        for (int i = 0; i < STRIP; i++)
            floats_store(to + j + i * LANES, sum[i]);
    }
}

/* rows and wide are constants. */
INLINE void shifted(const int rows, const int wide, const struct gemm_tile *t,
                    const uint32_t *offset)
{
    floats left[TILE_ROWS], right[TILE_ROWS], x, y;
    const float *a = t->a, *b = t->b;
    const uint32_t height = t->height;
    tile_begin(rows, wide, left, right, t);
    for (uint32_t k = 0; k < t->depth; k++, a += height) {
        tile_next(wide, GEMM_F32, (const char *)(b + offset[k]), 0, false, &x,
                  &y);
        tile_add(rows, wide, a, 4, x, y, left, right);
    }
    tile_end(rows, wide, left, right, t);
}

#define SHIFTED(ROWS)                                                          \
    case ROWS:                                                                 \
        if (t->columns > LANES)                                                \
            shifted(ROWS, 1, t, offset);                                       \
        else                                                                   \
            shifted(ROWS, 0, t, offset);                                       \
        break;

static void shifted_choose(const struct gemm_tile *t, const uint32_t *offset)
{
    if (t->height == 1 && t->columns > 2 * LANES) {
        shifted_row(t, offset);
        return;
    }
    switch (t->rows) {
        SHIFTED(1)
        SHIFTED(2)
        SHIFTED(3)
        SHIFTED(4)
#if TILE_ROWS > 4
        SHIFTED(5)
        SHIFTED(6)
#endif
#if TILE_ROWS > 6
        SHIFTED(7)
        SHIFTED(8)
        SHIFTED(9)
        SHIFTED(10)
        SHIFTED(11)
        SHIFTED(12)
        SHIFTED(13)
        SHIFTED(14)
#endif
    default:
        break;
    }
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* conv_tile.c - tiles of a convolution: those of a gemm, whose rows of one
 * factor are shifts of the same planes. */
#include "backends/cpu/isa/conv.h"
#include "backends/cpu/isa/gemm_tile.h"

/* ---- channels by positions ---- */

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
        tile_add(rows, wide, a, x, y, left, right);
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

static void multiply(const struct gemm_tile *t, const uint32_t *offset)
{
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

/* ---- taps by channels ---- */

INLINE void taps_begin(const int rows, const int wide, const float *from,
                       int64_t row, floats left[TILE_ROWS],
                       floats right[TILE_ROWS])
{
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        left[i] = right[i] = (floats){0};
        if (from == NULL)
            continue;
        left[i] = floats_load(from + i * row);
        if (wide)
            right[i] = floats_load(from + i * row + LANES);
    }
}

/* rows and wide are constants. */
INLINE void tapped(const int rows, const int wide, const struct conv_taps *t)
{
    floats left[TILE_ROWS], right[TILE_ROWS];
    const float *tap[TILE_ROWS], *b = t->b;
    const int64_t row = t->to_row, gap = t->row - t->wide;
    const uint32_t height = t->height;
    for (int i = 0; i < rows; i++)
        tap[i] = t->planes + t->offset[i];
    taps_begin(rows, wide, t->from, row, left, right);
    int64_t at = 0;
    for (uint32_t p = 0; p < t->high; p++, at += gap)
        for (uint32_t q = 0; q < t->wide; q++, at++, b += height) {
            floats x = floats_load(b), y = wide ? floats_load(b + LANES) : x;
#pragma GCC unroll 14
            for (int i = 0; i < rows; i++) {
                floats f = floats_splat(tap[i][at]);
                left[i] = floats_fma(f, x, left[i]);
                if (wide)
                    right[i] = floats_fma(f, y, right[i]);
            }
        }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        floats_store(t->to + i * row, left[i]);
        if (wide)
            floats_store(t->to + i * row + LANES, right[i]);
    }
}

#define TAPPED(ROWS)                                                           \
    case ROWS:                                                                 \
        if (t->columns > LANES)                                                \
            tapped(ROWS, 1, t);                                                \
        else                                                                   \
            tapped(ROWS, 0, t);                                                \
        break;

static void taps(const struct conv_taps *t)
{
    switch (t->taps) {
        TAPPED(1)
        TAPPED(2)
        TAPPED(3)
        TAPPED(4)
#if TILE_ROWS > 4
        TAPPED(5)
        TAPPED(6)
#endif
#if TILE_ROWS > 6
        TAPPED(7)
        TAPPED(8)
        TAPPED(9)
        TAPPED(10)
        TAPPED(11)
        TAPPED(12)
        TAPPED(13)
        TAPPED(14)
#endif
    default:
        break;
    }
}

const struct conv_kernels ISA_NAME(conv_kernels) = {
    .rows = TILE_ROWS,
    .columns = 2 * LANES,
    .fill = ISA_NAME(conv_fill),
    .multiply = multiply,
    .taps = taps,
    .put = ISA_NAME(conv_put),
    .pack = ISA_NAME(gemm_pack)};

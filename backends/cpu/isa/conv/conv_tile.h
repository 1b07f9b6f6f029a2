/* SPDX-License-Identifier: Apache-2.0 */
/* conv_tile.h - tiles of channels by positions and of taps by channels, for
 * words of either kind: TILE_ADD is the instruction, as in gemm_tile.h, and
 * TAP_STEP the positions in a word of a tap, of which planes have one each. */
#ifndef BACKENDS_CPU_ISA_CONV_CONV_TILE_H
#define BACKENDS_CPU_ISA_CONV_CONV_TILE_H

#include "backends/cpu/isa/conv/conv.h"
#include "backends/cpu/isa/gemm/gemm_tile.h"

/* ---- channels by positions ---- */

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
    if (t->height == 1) {
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

/* ---- taps by channels ---- */

#ifndef TAP_STEP
#define TAP_STEP 1
typedef float tap_cell;
#else
typedef uint16_t tap_cell;
#endif

/* A word of a tap in all lanes: a float32, or the bf16s of two positions. */
INLINE floats tap_splat(const tap_cell *p)
{
    float x;
    memcpy(&x, p, sizeof(x));
    return floats_splat(x);
}

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
    const tap_cell *tap[TILE_ROWS], *planes = t->planes;
    const float *b = t->b;
    const uint32_t wide_steps = (t->wide + TAP_STEP - 1) / TAP_STEP;
    const int64_t row = t->to_row, gap = t->row - wide_steps * TAP_STEP;
    const uint32_t height = t->height;
    for (int i = 0; i < rows; i++)
        tap[i] = planes + t->offset[i];
    taps_begin(rows, wide, t->from, row, left, right);
    int64_t at = 0;
    for (uint32_t p = 0; p < t->high; p++, at += gap)
        for (uint32_t q = 0; q < wide_steps; q++, at += TAP_STEP, b += height) {
            floats x = floats_load(b), y = wide ? floats_load(b + LANES) : x;
#pragma GCC unroll 14
            for (int i = 0; i < rows; i++) {
                floats f = tap_splat(tap[i] + at);
                left[i] = TILE_ADD(f, x, left[i]);
                if (wide)
                    right[i] = TILE_ADD(f, y, right[i]);
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

#endif

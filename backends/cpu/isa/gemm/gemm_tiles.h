/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tiles.h - 32 x 32 sums in four tiles of the processor, or of its model.
 *
 *               b: tile 6  7        TILE_ZERO(T), TILE_LOAD(T, P, ROW),
 *     a: tile 4      | 0 | 1 |      TILE_STREAM, which does not keep it in the
 *             5      | 2 | 3 |      first cache, TILE_STORE and TILE_ADD(C, A,
 *                                   B, F16) are the instructions; unless they
 * are defined before, the model's. Numbers of tiles are constants. A
 * panel of b stays in the first cache while a pass by's; for that a and
 * the sums go past it. */
#ifndef BACKENDS_CPU_ISA_GEMM_GEMM_TILES_H
#define BACKENDS_CPU_ISA_GEMM_GEMM_TILES_H

#include "backends/cpu/isa/gemm/gemm.h"
#include "backends/cpu/isa/vector.h"

#ifndef TILE_ZERO
#include "backends/cpu/isa/gemm/tile_model.h"
/* Its own thread has registers. */
static _Thread_local struct tile_model model;
#define TILE_ZERO(T)           model_zero(&model, T)
#define TILE_LOAD(T, P, ROW)   model_load(&model, T, P, ROW)
#define TILE_STREAM(T, P, ROW) model_load(&model, T, P, ROW)
#define TILE_STORE(T, P, ROW)  model_store(&model, T, P, ROW)
#define TILE_ADD(C, A, B, F16) model_multiply(&model, C, A, B, (F16) != 0)
#endif

#define TILE_WORDS 256u /* of a tile */
#define TILE_ROW   64u  /* bytes */
#define SUMS_ROW   (4u * GEMM_LINES)

/* The factors, and how often they are multiplied. */
enum tile_products { BF16_ONCE, F16_ONCE, HALVES_FOUR, HALVES_THREE };

INLINE void tiles_begin(const int down, const int wide, const float *from)
{
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    if (from == NULL)
        return;
    TILE_STREAM(0, from, SUMS_ROW);
    if (wide)
        TILE_STREAM(1, from + 16, SUMS_ROW);
    if (down)
        TILE_STREAM(2, from + 16 * GEMM_LINES, SUMS_ROW);
    if (down && wide)
        TILE_STREAM(3, from + 16 * GEMM_LINES + 16, SUMS_ROW);
}

INLINE void tiles_end(const int down, const int wide, float *to)
{
    TILE_STORE(0, to, SUMS_ROW);
    if (wide)
        TILE_STORE(1, to + 16, SUMS_ROW);
    if (down)
        TILE_STORE(2, to + 16 * GEMM_LINES, SUMS_ROW);
    if (down && wide)
        TILE_STORE(3, to + 16 * GEMM_LINES + 16, SUMS_ROW);
}

INLINE void tiles_a(const int down, const float *a)
{
    TILE_STREAM(4, a, TILE_ROW);
    if (down)
        TILE_STREAM(5, a + TILE_WORDS, TILE_ROW);
}

INLINE void tiles_b(const int wide, const float *b)
{
    TILE_LOAD(6, b, TILE_ROW);
    if (wide)
        TILE_LOAD(7, b + TILE_WORDS, TILE_ROW);
}

INLINE void tiles_add(const int down, const int wide, const int f16)
{
    TILE_ADD(0, 4, 6, f16);
    if (wide)
        TILE_ADD(1, 4, 7, f16);
    if (down)
        TILE_ADD(2, 5, 6, f16);
    if (down && wide)
        TILE_ADD(3, 5, 7, f16);
}

/* 32 elements of k. Halves are loaded in an order in which few are twice: high
 * by low, low by low, low by high, high by high; without the second one high by
 * low, high by high, low by high. */
INLINE void tiles_step(const int down, const int wide,
                       const enum tile_products products, const float *a,
                       const float *b)
{
    const float *low_a = a + 2 * TILE_WORDS, *low_b = b + 2 * TILE_WORDS;
    if (products == BF16_ONCE || products == F16_ONCE) {
        tiles_b(wide, b);
        tiles_a(down, a);
        tiles_add(down, wide, products == F16_ONCE);
        return;
    }
    tiles_a(down, a);
    tiles_b(wide, low_b);
    tiles_add(down, wide, 0);
    if (products == HALVES_FOUR) {
        tiles_a(down, low_a);
        tiles_add(down, wide, 0);
        tiles_b(wide, b);
        tiles_add(down, wide, 0);
        tiles_a(down, a);
        tiles_add(down, wide, 0);
    } else {
        tiles_b(wide, b);
        tiles_add(down, wide, 0);
        tiles_a(down, low_a);
        tiles_add(down, wide, 0);
    }
}

/* Finish n more rows of the sums that wait, or what is left of them. */
INLINE void tiles_finish(struct gemm_later *l, uint32_t n)
{
    uint32_t first = l->first;
    if (n > l->rows - first)
        n = l->rows - first;
    if (n == 0)
        return;
    ISA_NAME(gemm_finish)
    (l->result, l->sums + first * GEMM_LINES, GEMM_LINES, n, l->columns,
     l->i + first, l->j);
    l->first = first + n;
}

/* Bytes that a step prefetches of the next part of b, which the tiles that
 * read this panel share among them. */
INLINE uint32_t fetched(const struct gemm_tile *t, uint32_t steps)
{
    int64_t lines = t->ahead / 64, steps_of_all = (int64_t)t->turns * steps;
    return (uint32_t)((lines + steps_of_all - 1) / steps_of_all) * 64;
}

/* down, wide and products are constants. The tile before is finished from a
 * quarter of the way on: right after they were stored its sums are not yet
 * there to be read. */
INLINE void tiles_multiply(const int down, const int wide,
                           const enum tile_products products,
                           const struct gemm_tile *t)
{
    const int cut = products == HALVES_FOUR || products == HALVES_THREE;
    const uint32_t apart = cut ? 4 * TILE_WORDS : 2 * TILE_WORDS;
    const uint32_t deep = cut ? 32 : 16;
    const uint32_t steps = (t->depth + deep - 1) / deep, late = steps / 4;
    const uint32_t rows = GEMM_LINES / (steps - late) + 1;
    const float *a = t->a, *b = t->b;
    const uint32_t bytes = fetched(t, steps);
    const char *next = (const char *)b + t->ahead + t->turn * steps * bytes;
    tiles_begin(down, wide, t->from);
    for (uint32_t k = 0; k < steps; k++, a += apart, b += apart) {
        tiles_step(down, wide, products, a, b);
        if (k >= late)
            tiles_finish(t->later, rows);
        for (uint32_t q = 0; q < bytes; q += 64)
            fetch(next + q);
        next += bytes;
    }
    tiles_finish(t->later, GEMM_LINES);
    tiles_end(down, wide, t->to);
}

/* products is a constant. */
INLINE void tiles_choose(const enum tile_products products,
                         const struct gemm_tile *t)
{
    const bool down = t->rows > 16, wide = t->columns > 16;
    if (down && wide)
        tiles_multiply(1, 1, products, t);
    else if (down)
        tiles_multiply(1, 0, products, t);
    else if (wide)
        tiles_multiply(0, 1, products, t);
    else
        tiles_multiply(0, 0, products, t);
}

#define TILES_MULTIPLY(NAME, PRODUCTS)                                         \
    static void NAME(const struct gemm_tile *t)                                \
    {                                                                          \
        tiles_choose(PRODUCTS, t);                                             \
    }

/* `most` elements of k in a block: a panel of b is 40 KiB of pairs, 24 KiB of
 * halves for four products, 32 KiB for three, of a first cache of 48. */
#define TILES_KERNELS(MULTIPLY, PACK, PAIR, UNIT, MOST)                        \
    {                                                                          \
        .rows = GEMM_LINES, .columns = GEMM_LINES, .pair = PAIR,               \
        .pack = ISA_NAME(PACK##_b), .multiply = MULTIPLY,                      \
        .finish = ISA_NAME(gemm_finish), .tiles = true,                        \
        .pack_a = ISA_NAME(PACK##_a), .unit = UNIT, .deep = (MOST) / (PAIR),   \
        .begin = tiles_configure, .end = tiles_release                         \
    }
#define TILES_ALL(BF16, F16, FOUR, THREE)                                      \
    TILES_MULTIPLY(multiply_bf16, BF16_ONCE)                                   \
    TILES_MULTIPLY(multiply_f16, F16_ONCE)                                     \
    TILES_MULTIPLY(multiply_four, HALVES_FOUR)                                 \
    TILES_MULTIPLY(multiply_three, HALVES_THREE)                               \
    static const struct gemm_kernels BF16 =                                    \
        TILES_KERNELS(multiply_bf16, gemm_pack_tiles, 2, 16, 640);             \
    static const struct gemm_kernels F16 =                                     \
        TILES_KERNELS(multiply_f16, gemm_pack_tiles, 2, 16, 640);              \
    static const struct gemm_kernels FOUR =                                    \
        TILES_KERNELS(multiply_four, gemm_pack_halves, 1, 32, 192);            \
    static const struct gemm_kernels THREE =                                   \
        TILES_KERNELS(multiply_three, gemm_pack_halves, 1, 32, 256);

#endif

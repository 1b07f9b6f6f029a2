/* SPDX-License-Identifier: Apache-2.0 */
/* kept.h - a block of a row in shared memory, each item with places of its own.
 *
 * An item of a group fetches elements of a block, looks at them in one pass or
 * several, and writes what has become of them. Its own places are LOCAL_ID,
 * LOCAL_ID + WG, and on; no other item touches them, so that no barrier is
 * needed between. Place i holds element KEPT_ELEMENT(i, wide) of the block: i
 * itself, but where QUADS (quads.h) let the item fetch four neighbours at a
 * time. Then the first wide elements, whole turns of four for each item, are
 * dealt out so that
 *
 *     place turn + c WG + LOCAL_ID  holds  element turn + 4 LOCAL_ID + c
 *
 * Items that are neighbours touch neighbouring places, which are in different
 * banks, and neighbouring quads. A pass that only sums, or takes the largest,
 * does not ask which element it has. A source has
 *
 *     bool quads = pc.x_step == 1u && QUADS_FROM(float, x, from) && ...
 *     u32 wide = KEPT_WIDE(size, quads);
 *     KEPT_FETCH(kept, x, float, from, wide, VALUE, DT_F32)
 *                                                     kept[i] = VALUE(x[..])
 *     EACH_REST(i, wide, size) kept[i] = VALUE(AT(x, from + i));
 *     ...
 *     KEPT_PUT(y, float, to, wide, BITS, V, DT_F32)   y[..] = BITS(V), V of i
 *     EACH_REST(i, wide, size) AT(y, to + i) = BITS(V);
 *
 *     KEPT_PUT(y, float, to, wide, BITS, V, DT_F32)   y[..] = BITS(V), by i
 * all elements that way where it has instructions for f16s, or where the result
 * should go past its caches (stream.h): it puts a block together first. */
#ifndef KERNELS_OPERANDS_KEPT_H
#define KERNELS_OPERANDS_KEPT_H

#include "kernels/scalar/f16_blocks.h"
#include "kernels/operands/quads.h"

/* How much of a row is kept where a GPU keeps N elements. A processor's caches
 * hold more, and so does the shared memory of NVIDIA's GPUs, of which the
 * smallest has 64 KiB for 1024 items. Bits do not depend on it. */
#ifdef NATIVE
#define KEPT_OF(N) 8192
#elif defined(DIALECT_CUDA)
#define KEPT_OF(N) (2 * (N))
#else
#define KEPT_OF(N) N
#endif

#define EACH_KEPT(I, SIZE)                                                     \
    LANES_LOOP for (INDEX I = LOCAL_ID; I < (SIZE); I += U32(WG))
#define EACH_REST(I, WIDE, SIZE)                                               \
    LANES_LOOP for (INDEX I = (WIDE) + LOCAL_ID; I < (SIZE); I += U32(WG))

#if QUADS
/* A turn: four elements for each item. */
#define KEPT_TURN (4u * U32(WG))
#define KEPT_WIDE(SIZE, ALIGNED)                                               \
    ((ALIGNED) ? (SIZE) / KEPT_TURN * KEPT_TURN : 0u)
#define KEPT_ELEMENT(I, WIDE)                                                  \
    ((I) < (WIDE)                                                              \
         ? (I) - (I) % KEPT_TURN + 4u * LOCAL_ID + (I) % KEPT_TURN / U32(WG)   \
         : (I))
/* May N be asked for quads from its element FROM on? */
#define QUADS_FROM(T, N, FROM)                                                 \
    (((QUAD_PLACE)&AT(N, FROM) & (sizeof(QUAD(T)) - 1u)) == 0u)
/* The own quad of the turn whose first own place is J. */
#define KEPT_QUAD(T, N, FROM, J) (&AT(N, (FROM) + (J) + 3u * LOCAL_ID))

#define EACH_TURN(J, WIDE) for (u32 J = LOCAL_ID; J < (WIDE); J += KEPT_TURN)
#define KEPT_FETCH(KEPT_IN, N, T, FROM, WIDE, VALUE, DTYPE)                    \
    EACH_TURN(j, WIDE)                                                         \
    {                                                                          \
        QUAD(T) quad = *(const QUAD(T) *)KEPT_QUAD(T, N, FROM, j);             \
        KEPT_IN[j] = VALUE(quad.x);                                            \
        KEPT_IN[j + U32(WG)] = VALUE(quad.y);                                  \
        KEPT_IN[j + 2u * U32(WG)] = VALUE(quad.z);                             \
        KEPT_IN[j + 3u * U32(WG)] = VALUE(quad.w);                             \
    }
/* BITS says i. */
#define KEPT_PUT_ONE(MEMBER, I, BITS)                                          \
    {                                                                          \
        u32 i = (I);                                                           \
        quad.MEMBER = BITS;                                                    \
    }
#define KEPT_PUT(N, T, FROM, WIDE, BITS, VALUE, DTYPE)                         \
    EACH_TURN(j, WIDE)                                                         \
    {                                                                          \
        QUAD(T) quad = {0, 0, 0, 0};                                           \
        KEPT_PUT_ONE(x, j, BITS(VALUE))                                        \
        KEPT_PUT_ONE(y, j + U32(WG), BITS(VALUE))                              \
        KEPT_PUT_ONE(z, j + 2u * U32(WG), BITS(VALUE))                         \
        KEPT_PUT_ONE(w, j + 3u * U32(WG), BITS(VALUE))                         \
        *(QUAD(T) *)KEPT_QUAD(T, N, FROM, j) = quad;                           \
    }
#elif F16_BLOCKS
#define KEPT_WIDE(SIZE, DENSE) ((DENSE) ? (SIZE) : 0u)
#define KEPT_ELEMENT(I, WIDE)  (I)
#define QUADS_FROM(T, N, FROM) true
#define KEPT_FETCH(KEPT_IN, N, T, FROM, WIDE, VALUE, DTYPE)                    \
    if ((DTYPE) == DT_F16)                                                     \
        f16_block_load(KEPT_IN, (const void *)&AT(N, FROM), WIDE);             \
    else                                                                       \
        EACH_KEPT(j, WIDE) KEPT_IN[j] = VALUE(AT(N, (FROM) + j));
/* As many of a result's elements as are put together before they go out. */
#define KEPT_LINE       512u
#define EACH_IN_LINE(I) LANES_LOOP for (INDEX I = begin; I < end; I++)
#define KEPT_PUT(N, T, FROM, WIDE, BITS, VALUE, DTYPE)                         \
    for (INDEX begin = 0u; begin < (WIDE); begin += KEPT_LINE) {               \
        INDEX end = (WIDE)-begin < KEPT_LINE ? (WIDE) : begin + KEPT_LINE;     \
        T line[KEPT_LINE];                                                     \
        if ((DTYPE) == DT_F16) {                                               \
            float f[KEPT_LINE];                                                \
            EACH_IN_LINE(i) f[i - begin] = VALUE;                              \
            f16_block_store((void *)line, f, end - begin);                     \
        } else {                                                               \
            EACH_IN_LINE(i) line[i - begin] = BITS(VALUE);                     \
        }                                                                      \
        put_out(&AT(N, (FROM) + begin), line, (end - begin) * sizeof(T),       \
                STREAMS((size_t)pc.rows * pc.n, T));                           \
    }
#else
#define KEPT_WIDE(SIZE, ALIGNED) ((ALIGNED) ? 0u : 0u)
#define KEPT_ELEMENT(I, WIDE)    (I)
#define QUADS_FROM(T, N, FROM)   false
#define KEPT_FETCH(KEPT_IN, N, T, FROM, WIDE, VALUE, DTYPE)
#define KEPT_PUT(N, T, FROM, WIDE, BITS, VALUE, DTYPE)
#endif

#endif

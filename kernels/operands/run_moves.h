/* SPDX-License-Identifier: Apache-2.0 */
/* run_moves.h - the elements of a run from and to memory.
 *
 * RUN_F are the conversions between cells and what a run's arrays hold. For
 * every operand a kernel of runs.h has a loop for each dtype that it may be of,
 * dense or strided: many times as much to compile as the computation itself,
 * and the same in all kernels. In the cpu backend's C those loops are
 * functions, which all variants of a source share: fetch_F and put_F. RUN_MOVES
 * is 1 there. */
#ifndef KERNELS_OPERANDS_RUN_MOVES_H
#define KERNELS_OPERANDS_RUN_MOVES_H

#include "kernels/scalar/f16_blocks.h"
#include "kernels/dialect/stream.h"

#define RUN_AS_F32(E)    AS_F32(E)
#define RUN_FROM_F16(E)  f16_load(U32(E))
#define RUN_FROM_BF16(E) bf16_load(U32(E))
#define RUN_FROM_U16(E)  U32(E)
#define RUN_FROM_U8(E)   U32(E)
#define RUN_AS_U32(V)    AS_U32(V)
#define RUN_TO_F16(V)    U16(f16_store(V))
#define RUN_TO_BF16(V)   U16(bf16_store(V))
#define RUN_U32(E)       U32(E)
#define RUN_U16(V)       U16(V)
#define RUN_U8(V)        U8(V)

#ifdef NATIVE
#define RUN_MOVES 1
#define MOVE_MOST 256 /* elements of a run */
#define MOVE_FN   static __attribute__((noinline))
#define MOVE_LOOP LANES_LOOP for (INDEX j = 0u; j < run; j++)

/* v[j] = F(c[j * step]) */
#define MOVE_FETCH(F, T, C, DENSE)                                             \
    MOVE_FN void fetch_##F(T *restrict v, const C *restrict c, u32 step,       \
                           u32 run)                                            \
    {                                                                          \
        if (step == 1u) {                                                      \
            DENSE                                                              \
        } else {                                                               \
            MOVE_LOOP v[j] = F(c[j * step]);                                   \
        }                                                                      \
    }
MOVE_FETCH(RUN_AS_F32, float, u32, MOVE_LOOP v[j] = RUN_AS_F32(c[j]);)
MOVE_FETCH(RUN_FROM_BF16, float, u16, MOVE_LOOP v[j] = RUN_FROM_BF16(c[j]);)
MOVE_FETCH(RUN_U32, u32, u32, MOVE_LOOP v[j] = RUN_U32(c[j]);)
MOVE_FETCH(RUN_FROM_U16, u32, u16, MOVE_LOOP v[j] = RUN_FROM_U16(c[j]);)
MOVE_FETCH(RUN_FROM_U8, u32, u8, MOVE_LOOP v[j] = RUN_FROM_U8(c[j]);)
#if F16_BLOCKS
MOVE_FETCH(RUN_FROM_F16, float, u16, f16_block_load(v, c, run);)
#else
MOVE_FETCH(RUN_FROM_F16, float, u16, MOVE_LOOP v[j] = RUN_FROM_F16(c[j]);)
#endif

/* c[j * step] = F(v[j]); past_F: the same, contiguous and past the caches. */
#define MOVE_PUT(F, T, C, DENSE)                                               \
    MOVE_FN void put_##F(C *restrict c, const T *restrict v, u32 step,         \
                         u32 run)                                              \
    {                                                                          \
        if (step == 1u) {                                                      \
            DENSE                                                              \
        } else {                                                               \
            MOVE_LOOP c[j * step] = F(v[j]);                                   \
        }                                                                      \
    }                                                                          \
    MOVE_PAST(F, T, C)
#if STREAMED
#define MOVE_PAST(F, T, C)                                                     \
    MOVE_FN void past_##F(C *c, const T *v, u32 run)                           \
    {                                                                          \
        C line[MOVE_MOST];                                                     \
        put_##F(line, v, 1u, run);                                             \
        stream_out(c, line, run * sizeof(C));                                  \
    }
#else
#define MOVE_PAST(F, T, C)
#endif
MOVE_PUT(RUN_AS_U32, float, u32, MOVE_LOOP c[j] = RUN_AS_U32(v[j]);)
MOVE_PUT(RUN_U32, u32, u32, MOVE_LOOP c[j] = RUN_U32(v[j]);)
MOVE_PUT(RUN_TO_BF16, float, u16, MOVE_LOOP c[j] = RUN_TO_BF16(v[j]);)
MOVE_PUT(RUN_U16, u32, u16, MOVE_LOOP c[j] = RUN_U16(v[j]);)
MOVE_PUT(RUN_U8, u32, u8, MOVE_LOOP c[j] = RUN_U8(v[j]);)
#if F16_BLOCKS
MOVE_PUT(RUN_TO_F16, float, u16, f16_block_store(c, v, run);)
#else
MOVE_PUT(RUN_TO_F16, float, u16, MOVE_LOOP c[j] = RUN_TO_F16(v[j]);)
#endif
#else
#define RUN_MOVES 0
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* floats.h - operands that are floats of one dtype, or of one each.
 *
 * A key D of f32, f16 or bf16 says that all operands which could be any float
 * are of it. With D 0 they differ; all are bound as u16, and a parameter each
 * tells the dtype:
 *
 *     BUF_RO(0, FLOATS(D), x) SEP        GET(x, i, D, pc.x_dtype)
 *     BUF_RW(1, FLOATS(D), y) SEP        PUT(y, i, D, pc.y_dtype, value)
 *
 * lib/plan/floats.h chooses D. Rare mixes cost one variant, not one each. */
#ifndef KERNELS_OPERANDS_FLOATS_H
#define KERNELS_OPERANDS_FLOATS_H

#include "kernels/operands/tensor.h"

#define FLOATS(D) TENSOR_NAME(FLOATS_, D)
#define FLOATS_0  u16
#define FLOATS_1  float
#define FLOATS_2  u16
#define FLOATS_3  u16

#define GET(N, I, D, DTYPE) TENSOR_NAME(GET_, D)(N, I, DTYPE)
#define GET_1(N, I, DTYPE)  AT(N, I)
#define GET_2(N, I, DTYPE)  f16_load(U32(AT(N, I)))
#define GET_3(N, I, DTYPE)  bf16_load(U32(AT(N, I)))
#define GET_0(N, I, DTYPE)                                                     \
    ((DTYPE) == DT_F32                                                         \
         ? AS_F32(U32(AT(N, 2u * (I))) | (U32(AT(N, 2u * (I) + 1u)) << 16))    \
         : cell_2(U32(AT(N, I)), DTYPE))

/* Statements. */
#define PUT(N, I, D, DTYPE, V) TENSOR_NAME(PUT_, D)(N, I, DTYPE, V)
#define PUT_1(N, I, DTYPE, V)  AT(N, I) = V
#define PUT_2(N, I, DTYPE, V)  AT(N, I) = U16(f16_store(V))
#define PUT_3(N, I, DTYPE, V)  AT(N, I) = U16(bf16_store(V))
#define PUT_0(N, I, DTYPE, V)                                                  \
    do {                                                                       \
        EXACT float put_v = V;                                                 \
        if ((DTYPE) == DT_F32) {                                               \
            AT(N, 2u * (I)) = U16(AS_U32(put_v) & 0xffffu);                    \
            AT(N, 2u * (I) + 1u) = U16(AS_U32(put_v) >> 16);                   \
        } else {                                                               \
            AT(N, I) = U16(to_cell_2(put_v, DTYPE));                           \
        }                                                                      \
    } while (false)

#ifdef VULKAN
/* D is a constant of the pipeline: constants.h. With D 0 an operand is bound as
 * N_2, and as two halves of a word if it is float32. */
#define FLOATS_CONSTANT_0              CELLS
#define FLOATS_CONSTANT_1              CELLS
#define GET_CONSTANT_0(N, I, DTYPE)    FLOATS_GET(N, I, CONSTANT_0, DTYPE)
#define GET_CONSTANT_1(N, I, DTYPE)    FLOATS_GET(N, I, CONSTANT_1, DTYPE)
#define PUT_CONSTANT_0(N, I, DTYPE, V) FLOATS_PUT(N, I, CONSTANT_0, DTYPE, V)
#define PUT_CONSTANT_1(N, I, DTYPE, V) FLOATS_PUT(N, I, CONSTANT_1, DTYPE, V)
#define FLOATS_DTYPE(D, DTYPE)         ((D) == 0u ? (DTYPE) : (D))
#define FLOATS_GET(N, I, D, DTYPE)                                             \
    ((D) == DT_F32 ? AS_F32(CELLS_4(N, I))                                     \
     : (D) == 0u && (DTYPE) == DT_F32                                          \
         ? AS_F32(U32(CELLS_2(N, 2u * (I))) |                                  \
                  (U32(CELLS_2(N, 2u * (I) + 1u)) << 16))                      \
         : cell_2(U32(CELLS_2(N, I)), FLOATS_DTYPE(D, DTYPE)))
#define FLOATS_PUT(N, I, D, DTYPE, V)                                          \
    CONST_PUT_OR(N, I, FLOATS_DTYPE(D, DTYPE) != DT_F32, (D) == 0u,            \
                 cells_float_bits(V, FLOATS_DTYPE(D, DTYPE)))
#endif

#endif

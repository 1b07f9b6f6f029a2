/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - operands of any dtype and any strides, in the dialect.
 *
 * A key that is a dtype (1 f32, 2 f16, 3 bf16, 4 i32, 5 u8, as DT_ in
 * convert.h) gives a buffer its type and an element its value:
 *
 *     BUF_RO(0, TYPE(X), x) SEP          LOAD(x, i, X)       as float32
 *     BUF_RW(1, TYPE(Y), y) SEP          STORE(y, i, Y, value)
 *
 * A key that is a number of bytes (1, 2, 4) does it for all dtypes of that
 * size, so that there are fewer variants; which one it is, is a parameter:
 *
 *     BUF_RO(0, CELL(X), x) SEP          LOAD_CELL(x, i, X, pc.x_dtype)
 *     BUF_RW(1, CELL(Y), y) SEP          STORE_CELL(y, i, Y, pc.y_dtype, value)
 *
 * CELL buffers hold raw bits: U32(AT(x, i)) is an element as it is. */
#ifndef KERNELS_OPERANDS_TENSOR_H
#define KERNELS_OPERANDS_TENSOR_H

#include "kernels/scalar/convert.h"

#define TENSOR_PASTE(A, B) A##B
#define TENSOR_NAME(A, B)  TENSOR_PASTE(A, B)

#define TYPE(D) TENSOR_NAME(TYPE_, D)
#define TYPE_1  float
#define TYPE_2  u16
#define TYPE_3  u16
#define TYPE_4  u32
#define TYPE_5  u8

#define LOAD(N, I, D)   TENSOR_NAME(LOAD_AT_, D)(N, I)
#define LOAD_AT_1(N, I) AT(N, I)
#define LOAD_AT_2(N, I) LOAD_2(AT(N, I))
#define LOAD_AT_3(N, I) LOAD_3(AT(N, I))
#define LOAD_AT_4(N, I) LOAD_4(AT(N, I))
#define LOAD_AT_5(N, I) LOAD_5(AT(N, I))
#define LOAD_1(E)       (E)
#define LOAD_2(E)       f16_load(U32(E))
#define LOAD_3(E)       bf16_load(U32(E))
#define LOAD_4(E)       i32_to_f32(E)
#define LOAD_5(E)       F32(U32(E))

#define STORE(N, I, D, V)   TENSOR_NAME(STORE_AT_, D)(N, I, V)
#define STORE_AT_1(N, I, V) AT(N, I) = V
#define STORE_AT_2(N, I, V) AT(N, I) = STORE_2(V)
#define STORE_AT_3(N, I, V) AT(N, I) = STORE_3(V)
#define STORE_AT_4(N, I, V) AT(N, I) = STORE_4(V)
#define STORE_AT_5(N, I, V) AT(N, I) = STORE_5(V)
#define STORE_1(V)          (V)
#define STORE_2(V)          U16(f16_store(V))
#define STORE_3(V)          U16(bf16_store(V))
#define STORE_4(V)          f32_to_i32(V)
#define STORE_5(V)          U8(i32_to_u8(f32_to_i32(V)))

/* The bytes of an element of dtype D. */
#define BYTES(D) TENSOR_NAME(BYTES_, D)
#define BYTES_1  4
#define BYTES_2  2
#define BYTES_3  2
#define BYTES_4  4
#define BYTES_5  1

#define CELL(W) TENSOR_NAME(CELL_, W)
#define CELL_1  u8
#define CELL_2  u16
#define CELL_4  u32

/* Raw bits in and out. */
#define GET_CELL(N, I, W)    TENSOR_NAME(GET_CELL_, W)(N, I)
#define GET_CELL_1(N, I)     U32(AT(N, I))
#define GET_CELL_2(N, I)     U32(AT(N, I))
#define GET_CELL_4(N, I)     AT(N, I)
#define PUT_CELL(N, I, W, B) TENSOR_NAME(PUT_CELL_, W)(N, I, B)
#define PUT_CELL_1(N, I, B)  AT(N, I) = U8(B)
#define PUT_CELL_2(N, I, B)  AT(N, I) = U16(B)
#define PUT_CELL_4(N, I, B)  AT(N, I) = B
#define AS_CELL(W, B)        TENSOR_NAME(BITS_, W)(B)
#define BITS_1(B)            U8(B)
#define BITS_2(B)            U16(B)
#define BITS_4(B)            (B)

/* u8 is alone in its size. */
#define cell_1(BITS, DTYPE)     F32(BITS)
#define to_cell_1(VALUE, DTYPE) i32_to_u8(f32_to_i32(VALUE))

FN float cell_2(u32 bits, u32 dtype)
{
    return dtype == DT_F16 ? f16_load(bits) : bf16_load(bits);
}

FN float cell_4(u32 bits, u32 dtype)
{
    return dtype == DT_F32 ? AS_F32(bits) : i32_to_f32(bits);
}

FN u32 to_cell_2(float value, u32 dtype)
{
    return dtype == DT_F16 ? f16_store(value) : bf16_store(value);
}

FN u32 to_cell_4(float value, u32 dtype)
{
    return dtype == DT_F32 ? AS_U32(value) : f32_to_i32(value);
}

#define LOAD_CELL(N, I, W, DTYPE)                                              \
    TENSOR_NAME(cell_, W)(GET_CELL(N, I, W), DTYPE)
#define STORE_CELL(N, I, W, DTYPE, V)                                          \
    PUT_CELL(N, I, W, TENSOR_NAME(to_cell_, W)(V, DTYPE))

#include "kernels/operands/constants.h" /* of Vulkan alone */

/* Strides. The parameters of a launch that walks strided views together have
 * `u32 rank; u32 size[WALK_RANK];`, and `u32 x_steps[WALK_RANK];` for each
 * view; walk_shape and walk_steps of lib/plan/walk.h fill them. WALK2(i, x_off,
 * x_steps, y_off, y_steps) declares each view's element offset at position i of
 * the common shape, row-major. */
#define WALK_RANK     6

#define WALK_BEGIN(I)                                                          \
    u32 walk_rest = I;                                                         \
    for (u32 walk_d = pc.rank; walk_d > 0u; walk_d--) {                        \
        u32 walk_q = walk_rest / pc.size[walk_d - 1u];                         \
        u32 walk_r = walk_rest - walk_q * pc.size[walk_d - 1u];                \
        walk_rest = walk_q;
#define WALK_ADD(OFF, STEPS) OFF += walk_r * pc.STEPS[walk_d - 1u];
#define WALK_END             }

#define WALK1(I, A, A_STEPS)                                                   \
    u32 A = 0u;                                                                \
    WALK_BEGIN(I)                                                              \
    WALK_ADD(A, A_STEPS)                                                       \
    WALK_END
#define WALK2(I, A, A_STEPS, B, B_STEPS)                                       \
    u32 A = 0u;                                                                \
    u32 B = 0u;                                                                \
    WALK_BEGIN(I)                                                              \
    WALK_ADD(A, A_STEPS)                                                       \
    WALK_ADD(B, B_STEPS)                                                       \
    WALK_END
#define WALK3(I, A, A_STEPS, B, B_STEPS, C, C_STEPS)                           \
    u32 A = 0u;                                                                \
    u32 B = 0u;                                                                \
    u32 C = 0u;                                                                \
    WALK_BEGIN(I)                                                              \
    WALK_ADD(A, A_STEPS)                                                       \
    WALK_ADD(B, B_STEPS)                                                       \
    WALK_ADD(C, C_STEPS)                                                       \
    WALK_END
#define WALK4(I, A, A_STEPS, B, B_STEPS, C, C_STEPS, D, D_STEPS)               \
    u32 A = 0u;                                                                \
    u32 B = 0u;                                                                \
    u32 C = 0u;                                                                \
    u32 D = 0u;                                                                \
    WALK_BEGIN(I)                                                              \
    WALK_ADD(A, A_STEPS)                                                       \
    WALK_ADD(B, B_STEPS)                                                       \
    WALK_ADD(C, C_STEPS)                                                       \
    WALK_ADD(D, D_STEPS)                                                       \
    WALK_END

#endif

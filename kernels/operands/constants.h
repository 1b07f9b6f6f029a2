/* SPDX-License-Identifier: Apache-2.0 */
/* constants.h - operands whose key is a constant of a Vulkan pipeline.
 *
 * A line `constants:` in a source's first comment names keys that Vulkan does
 * not compile in: key number I becomes CONSTANT_I, and one module serves all
 * its values. The driver knows the value when it makes the pipeline, so the
 * code is the same. The other languages have a macro and a program for each
 * value.
 *
 * Operand N of such a key is CELLS: a binding with two names, N_2 of 2 bytes
 * and N_4 of 4. Each access has both, and the constant decides. AT(N, i) is not
 * possible: use LOAD and STORE, LOAD_CELL and STORE_CELL, GET_CELL and
 * PUT_CELL, or GET and PUT of floats.h. */
#ifndef KERNELS_OPERANDS_CONSTANTS_H
#define KERNELS_OPERANDS_CONSTANTS_H

#ifdef VULKAN

#define CELLS_2(N, I) N##_2[pc.N##_at + (I)]
#define CELLS_4(N, I) N##_4[pc.N##_at + (I)]
#define CONST_GET(N, I, SHORT)                                                 \
    ((SHORT) ? U32(CELLS_2(N, I)) : CELLS_4(N, I))
#define CONST_PUT(N, I, SHORT, B) CONST_PUT_OR(N, I, SHORT, false, B)
/* If HALVES, what is not SHORT is written as two halves of a word. */
#define CONST_PUT_OR(N, I, SHORT, HALVES, B)                                   \
    do {                                                                       \
        u32 cells_bits = B;                                                    \
        if (SHORT) {                                                           \
            CELLS_2(N, I) = U16(cells_bits);                                   \
        } else if (HALVES) {                                                   \
            CELLS_2(N, 2u * (I)) = U16(cells_bits & 0xffffu);                  \
            CELLS_2(N, 2u * (I) + 1u) = U16(cells_bits >> 16);                 \
        } else {                                                               \
            CELLS_4(N, I) = cells_bits;                                        \
        }                                                                      \
    } while (false)

/* The key is a number of bytes. */
FN float cells_value(u32 bytes, u32 bits, u32 dtype)
{
    return bytes == 2u ? cell_2(bits, dtype) : cell_4(bits, dtype);
}

FN u32 cells_bits_of(u32 bytes, float value, u32 dtype)
{
    return bytes == 2u ? to_cell_2(value, dtype) : to_cell_4(value, dtype);
}

/* The key is a dtype of 2 or 4 bytes; only floats have values. */
FN u32 cells_float_bits(float value, u32 dtype)
{
    return dtype == DT_F32 ? AS_U32(value) : to_cell_2(value, dtype);
}

#define CELLS_SHORT(D) ((D) == DT_F16 || (D) == DT_BF16)
#define CONST_LOAD(N, I, D)                                                    \
    ((D) == DT_F32 ? AS_F32(CELLS_4(N, I)) : cell_2(U32(CELLS_2(N, I)), D))
#define CONST_STORE(N, I, D, V)                                                \
    CONST_PUT(N, I, CELLS_SHORT(D), cells_float_bits(V, D))

/* The same by key. OF_CONSTANT_I are the bytes of a dtype. */
#define CELL_CONSTANT_0 CELLS
#define GET_CELL_CONSTANT_0(N, I) CONST_GET(N, I, CONSTANT_0 == 2u)
#define PUT_CELL_CONSTANT_0(N, I, B) CONST_PUT(N, I, CONSTANT_0 == 2u, B)
#define cell_CONSTANT_0(BITS, DTYPE) cells_value(CONSTANT_0, BITS, DTYPE)
#define to_cell_CONSTANT_0(VALUE, DTYPE) cells_bits_of(CONSTANT_0, VALUE, DTYPE)
#define TYPE_CONSTANT_0 CELLS
#define LOAD_AT_CONSTANT_0(N, I) CONST_LOAD(N, I, CONSTANT_0)
#define STORE_AT_CONSTANT_0(N, I, V) CONST_STORE(N, I, CONSTANT_0, V)
#define BYTES_CONSTANT_0 OF_CONSTANT_0
#define CELL_OF_CONSTANT_0 CELLS
#define GET_CELL_OF_CONSTANT_0(N, I) CONST_GET(N, I, CELLS_SHORT(CONSTANT_0))
#define PUT_CELL_OF_CONSTANT_0(N, I, B)                                        \
    CONST_PUT(N, I, CELLS_SHORT(CONSTANT_0), B)

#define CELL_CONSTANT_1 CELLS
#define GET_CELL_CONSTANT_1(N, I) CONST_GET(N, I, CONSTANT_1 == 2u)
#define PUT_CELL_CONSTANT_1(N, I, B) CONST_PUT(N, I, CONSTANT_1 == 2u, B)
#define cell_CONSTANT_1(BITS, DTYPE) cells_value(CONSTANT_1, BITS, DTYPE)
#define to_cell_CONSTANT_1(VALUE, DTYPE) cells_bits_of(CONSTANT_1, VALUE, DTYPE)
#define TYPE_CONSTANT_1 CELLS
#define LOAD_AT_CONSTANT_1(N, I) CONST_LOAD(N, I, CONSTANT_1)
#define STORE_AT_CONSTANT_1(N, I, V) CONST_STORE(N, I, CONSTANT_1, V)
#define BYTES_CONSTANT_1 OF_CONSTANT_1
#define CELL_OF_CONSTANT_1 CELLS
#define GET_CELL_OF_CONSTANT_1(N, I) CONST_GET(N, I, CELLS_SHORT(CONSTANT_1))
#define PUT_CELL_OF_CONSTANT_1(N, I, B)                                        \
    CONST_PUT(N, I, CELLS_SHORT(CONSTANT_1), B)

#define CELL_CONSTANT_2 CELLS
#define GET_CELL_CONSTANT_2(N, I) CONST_GET(N, I, CONSTANT_2 == 2u)
#define PUT_CELL_CONSTANT_2(N, I, B) CONST_PUT(N, I, CONSTANT_2 == 2u, B)
#define cell_CONSTANT_2(BITS, DTYPE) cells_value(CONSTANT_2, BITS, DTYPE)
#define to_cell_CONSTANT_2(VALUE, DTYPE) cells_bits_of(CONSTANT_2, VALUE, DTYPE)

#define CELL_CONSTANT_3 CELLS
#define GET_CELL_CONSTANT_3(N, I) CONST_GET(N, I, CONSTANT_3 == 2u)
#define PUT_CELL_CONSTANT_3(N, I, B) CONST_PUT(N, I, CONSTANT_3 == 2u, B)
#define cell_CONSTANT_3(BITS, DTYPE) cells_value(CONSTANT_3, BITS, DTYPE)
#define to_cell_CONSTANT_3(VALUE, DTYPE) cells_bits_of(CONSTANT_3, VALUE, DTYPE)
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* either.h - floats of a dtype that is only known at the launch: operand N is
 * bound twice, as N2 of 2 bytes and N4 of 4; one of them exists. */
#ifndef KERNELS_OPERANDS_EITHER_H
#define KERNELS_OPERANDS_EITHER_H

#include "kernels/operands/tensor.h"

#define LOAD_EITHER(N, I, DTYPE)                                               \
    (DTYPE == DT_F32 ? AS_F32(AT(N##4, I)) : cell_2(U32(AT(N##2, I)), DTYPE))
#define PUT_EITHER(N, I, DTYPE, BITS)                                          \
    if (DTYPE == DT_F32)                                                       \
        AT(N##4, I) = BITS;                                                    \
    else                                                                       \
        AT(N##2, I) = U16(BITS);
#define STORE_EITHER(N, I, DTYPE, VALUE)                                       \
    PUT_EITHER(N, I, DTYPE, f32_to_bits(VALUE, DTYPE, ROUND_NEAREST, 0u))

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - the kinds of unary ops by name: UNARY_exp, UNARY_softplus. */
#ifndef LIB_OP_ELEMENTWISE_KINDS_H
#define LIB_OP_ELEMENTWISE_KINDS_H

#include "kernels/elementwise/unary.h"

#define KIND_BOTH(N, NAME, WITH, CLASS, Y, DX)            UNARY_##NAME = N,
#define KIND_SIGNED(N, NAME, WITH, CLASS, Y, DX, INTEGER) UNARY_##NAME = N,
#define KIND(N, NAME, WITH, CLASS, Y)                     UNARY_##NAME = N,
enum unary_kind { UNARY_KINDS(KIND_BOTH, KIND_SIGNED, KIND, KIND) UNARY_LAST };
#undef KIND_BOTH
#undef KIND_SIGNED
#undef KIND

#endif

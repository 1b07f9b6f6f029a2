// SPDX-License-Identifier: Apache-2.0
/* integer.h - operands of ops on integers.
 *
 * The library has int32 and uint8. Tensors of int64 are computed through their
 * lower words, if the values fit in 32 bits and the results do. */
#ifndef SESQUI_TORCH_INTEGER_H
#define SESQUI_TORCH_INTEGER_H

#include "elementwise.h"

namespace sesqui_torch
{

struct Integer {
    Tensor x; /* int32, uint8 or bool */
    Bounds bounds;
};

/* An operand, or none if it does not fit. A scalar of the CPU becomes a
 * constant; `common` is the dtype that torch computes in. */
std::optional<Integer> integer_operand(const Tensor &x, at::ScalarType common,
                                       c10::Device device);

inline bool is_integer(at::ScalarType t)
{
    return t == at::kLong || t == at::kBool || is_native_int(t);
}

/* Bounds of results, computed without overflow. */
Bounds bounds_sum(Bounds a, Bounds b);
Bounds bounds_difference(Bounds a, Bounds b);
Bounds bounds_product(Bounds a, Bounds b);
Bounds bounds_hull(Bounds a, Bounds b);

} // namespace sesqui_torch

#endif

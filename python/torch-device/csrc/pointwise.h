// SPDX-License-Identifier: Apache-2.0
/* pointwise.h - an op on one element of each operand, for any shapes.
 *
 *     pointwise({&out, &a, &b}, [&](const Ref *t) {
 *         check(ssq_add(queue, SSQ_BINARY(.a = t[1], .b = t[2], .y = t[0])));
 *     });
 *
 * Dimensions that can be merged are merged, in the order of the strides of
 * the result. Operands in channels_last, for example, become vectors. If more
 * than SSQ_MAX_RANK dimensions are left, the function is called for parts. */
#ifndef SESQUI_TORCH_POINTWISE_H
#define SESQUI_TORCH_POINTWISE_H

#include "tensor.h"

#include <c10/util/FunctionRef.h>

#include <initializer_list>

namespace sesqui_torch
{

/* The op broadcasts its operands, or they must have equal shapes. */
enum Shapes { BROADCAST, EQUAL };

/* The first n_out operands are written; the others broadcast to the first
 * one. Nothing is called for a result without elements. */
void pointwise(std::initializer_list<const Tensor *> operands,
               c10::function_ref<void(const Ref *)> call,
               Shapes shapes = BROADCAST, size_t n_out = 1);

} // namespace sesqui_torch

#endif

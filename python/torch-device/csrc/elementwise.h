// SPDX-License-Identifier: Apache-2.0
/* elementwise.h - elementwise ops of the library on tensors of PyTorch.
 *
 * The functions broadcast, and work for any shape. Results are float16,
 * bfloat16 or float32, if nothing else is said. */
#ifndef SESQUI_TORCH_ELEMENTWISE_H
#define SESQUI_TORCH_ELEMENTWISE_H

#include "call.h"
#include "pointwise.h"

namespace sesqui_torch
{

using Unary = ssq_status (*)(ssq_queue *, const ssq_unary_args *);
using UnaryBackward = ssq_status (*)(ssq_queue *,
                                     const ssq_unary_backward_args *);
using Binary = ssq_status (*)(ssq_queue *, const ssq_binary_args *);
using Compare = ssq_status (*)(ssq_queue *, const ssq_compare_args *);

/* f(y, x), with the dtypes that f accepts. */
void unary(ssq_queue *q, Unary f, const Tensor &y, const Tensor &x);
void unary_backward(ssq_queue *q, UnaryBackward f, const Tensor &dx,
                    const Tensor &x, const Tensor &dy);
void binary(ssq_queue *q, Binary f, const Tensor &y, const Tensor &a,
            const Tensor &b);
/* y is bool. */
void compare(ssq_queue *q, Compare f, const Tensor &y, const Tensor &a,
             const Tensor &b);
void where(ssq_queue *q, const Tensor &y, const Tensor &cond, const Tensor &a,
           const Tensor &b);
void scale(ssq_queue *q, const Tensor &y, const Tensor &x, double alpha);
/* x times a float32 scalar on the device. */
void scale_by(ssq_queue *q, const Tensor &y, const Tensor &x,
              const Tensor &factor);
void axpby(ssq_queue *q, const Tensor &y, const Tensor &a, const Tensor &b,
           double alpha, double beta);

/* A float operand on the device: a scalar of the CPU is a constant, integers
 * are cast to `type`. Undefined for dtypes that the library lacks. */
Tensor real_operand(const Tensor &x, at::ScalarType type, c10::Device device);
/* The dtype that torch computes in. */
at::ScalarType common_type(const Tensor &a, const Tensor &b);

/* An out argument. An op writes y; finish() casts y to the argument, if its
 * dtype differs. */
class Out
{
  public:
    Out(Call &c, size_t i, Ints sizes, at::ScalarType type);
    void finish();
    Tensor y;

  private:
    const Tensor &given_;
};

} // namespace sesqui_torch

#endif

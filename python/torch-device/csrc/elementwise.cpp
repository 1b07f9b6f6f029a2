// SPDX-License-Identifier: Apache-2.0
/* elementwise.cpp - elementwise ops of the library on tensors of PyTorch. */
#include "elementwise.h"

#include <ATen/native/TypeProperties.h>

namespace sesqui_torch
{

void unary(ssq_queue *q, Unary f, const Tensor &y, const Tensor &x_)
{
    Tensor x = apart(x_, y);
    pointwise({&y, &x}, [&](const Ref *t) {
        check(f(q, SSQ_UNARY(.x = t[1], .y = t[0])));
    });
}

void unary_backward(ssq_queue *q, UnaryBackward f, const Tensor &dx,
                    const Tensor &x, const Tensor &dy)
{
    Tensor a = apart(x, dx), b = apart(dy, dx);
    pointwise({&dx, &a, &b}, [&](const Ref *t) {
        check(f(q, SSQ_UNARY_BACKWARD(.x = t[1], .dy = t[2], .dx = t[0])));
    }, EQUAL);
}

void binary(ssq_queue *q, Binary f, const Tensor &y, const Tensor &a_,
            const Tensor &b_)
{
    Tensor a = apart(a_, y), b = apart(b_, y);
    pointwise({&y, &a, &b}, [&](const Ref *t) {
        check(f(q, SSQ_BINARY(.a = t[1], .b = t[2], .y = t[0])));
    });
}

void compare(ssq_queue *q, Compare f, const Tensor &y, const Tensor &a_,
             const Tensor &b_)
{
    Tensor a = apart(a_, y), b = apart(b_, y);
    pointwise({&y, &a, &b}, [&](const Ref *t) {
        check(f(q, SSQ_COMPARE(.a = t[1], .b = t[2], .y = t[0])));
    });
}

void where(ssq_queue *q, const Tensor &y, const Tensor &cond_,
           const Tensor &a_, const Tensor &b_)
{
    Tensor cond = apart(cond_, y), a = apart(a_, y), b = apart(b_, y);
    pointwise({&y, &cond, &a, &b}, [&](const Ref *t) {
        check(ssq_where(q, SSQ_WHERE(.cond = t[1], .a = t[2], .b = t[3],
                                     .y = t[0])));
    });
}

void scale(ssq_queue *q, const Tensor &y, const Tensor &x_, double alpha)
{
    Tensor x = apart(x_, y);
    pointwise({&y, &x}, [&](const Ref *t) {
        check(ssq_scale(q, SSQ_SCALE(.x = t[1], .y = t[0], .alpha = alpha)));
    });
}

void scale_by(ssq_queue *q, const Tensor &y, const Tensor &x_,
              const Tensor &factor_)
{
    Tensor x = apart(x_, y), factor = apart(factor_, y);
    int64_t one = 1;
    Ref by(factor, SSQ_F32, 1, &one, &one,
           static_cast<uint64_t>(factor.storage_offset()) * sizeof(float));
    pointwise({&y, &x}, [&](const Ref *t) {
        check(ssq_scale(q, SSQ_SCALE(.x = t[1], .y = t[0], .scale = by)));
    });
}

void axpby(ssq_queue *q, const Tensor &y, const Tensor &a_, const Tensor &b_,
           double alpha, double beta)
{
    Tensor a = apart(a_, y), b = apart(b_, y);
    pointwise({&y, &a, &b}, [&](const Ref *t) {
        check(ssq_axpby(q, SSQ_AXPBY(.a = t[1], .b = t[2], .y = t[0],
                                     .alpha = alpha, .beta = beta)));
    });
}

Tensor real_operand(const Tensor &x, at::ScalarType type, c10::Device device)
{
    at::ScalarType t = x.scalar_type();
    if (!is_here(x)) {
        if (at::isComplexType(t))
            return Tensor();
        return constant(x.item().toDouble(), at::kFloat, device);
    }
    if (is_real(t))
        return x;
    if (t != at::kLong && !dtype_of(t))
        return Tensor();
    return cast(x, type);
}

at::ScalarType common_type(const Tensor &a, const Tensor &b)
{
    if (a.scalar_type() == b.scalar_type())
        return a.scalar_type();
    at::native::ResultTypeState state = {};
    state = at::native::update_result_type_state(a, state);
    state = at::native::update_result_type_state(b, state);
    return at::native::result_type(state);
}

Out::Out(Call &c, size_t i, Ints sizes, at::ScalarType type)
    : given_(c.out(i, sizes))
{
    at::ScalarType t = given_.scalar_type();
    TORCH_CHECK(c10::canCast(type, t), "result type ", type,
                " can't be cast to the desired output type ", t);
    y = t == type ? given_ : fresh(sizes, type, c.device());
}

void Out::finish()
{
    if (!y.is_same(given_))
        assign(given_, y);
}

} // namespace sesqui_torch

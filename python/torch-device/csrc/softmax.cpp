// SPDX-License-Identifier: Apache-2.0
/* softmax.cpp - softmax and log-softmax along a dimension. */
#include "elementwise.h"

#include <torch/library.h>

namespace sesqui_torch
{

using Forward = ssq_status (*)(ssq_queue *, const ssq_softmax_args *);
using Backward = ssq_status (*)(ssq_queue *,
                                const ssq_softmax_backward_args *);

/* Contiguous tensors as [outer, n, inner], so that any rank will do. */
struct Rows {
    Rows(const Tensor &x, int64_t axis)
    {
        axis = wrapped(axis, x.dim());
        for (int64_t d = 0; d < x.dim(); d++)
            sizes[d < axis ? 0 : d == axis ? 1 : 2] *= x.size(d);
    }
    Tensor of(const Tensor &x) const { return reshaped(contiguous(x), sizes); }
    int64_t sizes[3] = {1, 1, 1};
};

static bool forward(Call &c, Forward f)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x) || !is_real(c.tensor(3)))
        return false;
    const Tensor &y = c.out(3, x.sizes());
    if (y.numel() > 0) {
        Rows rows(x, c.integer(1));
        Tensor t = y.is_contiguous() && !overlaps(x, y)
                       ? y
                       : fresh(y.sizes(), y.scalar_type(), c.device());
        {
            Ref rx(rows.of(x)), ry(rows.of(t), OUT);
            check(f(c.queue(), SSQ_SOFTMAX(.x = rx, .y = ry, .axis = 1)));
        }
        if (!t.is_same(y))
            assign(y, t);
    }
    c.result_of({3});
    return true;
}

static bool backward(Call &c, Backward f)
{
    const Tensor &dy = c.tensor(0), &y = c.tensor(1);
    if (!is_real(dy) || !is_real(y) || !is_real(c.tensor(4)))
        return false;
    const Tensor &dx = c.out(4, y.sizes());
    if (dx.numel() > 0) {
        Rows rows(y, c.integer(2));
        Tensor t = dx.is_contiguous()
                       ? dx
                       : fresh(dx.sizes(), dx.scalar_type(), c.device());
        {
            Ref ry(rows.of(y)), rdy(rows.of(dy)), rdx(rows.of(t), OUT);
            check(f(c.queue(), SSQ_SOFTMAX_BACKWARD(.y = ry, .dy = rdy,
                                                    .dx = rdx, .axis = 1)));
        }
        if (!t.is_same(dx))
            assign(dx, t);
    }
    c.result_of({4});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "_softmax.out", [](Call &c) { return forward(c, ssq_softmax); });
    op(m, "_log_softmax.out",
       [](Call &c) { return forward(c, ssq_log_softmax); });
    op(m, "_softmax_backward_data.out",
       [](Call &c) { return backward(c, ssq_softmax_backward); });
    op(m, "_log_softmax_backward_data.out",
       [](Call &c) { return backward(c, ssq_log_softmax_backward); });
}

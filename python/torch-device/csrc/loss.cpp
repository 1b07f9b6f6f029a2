// SPDX-License-Identifier: Apache-2.0
/* loss.cpp - losses and their gradients.
 *
 * Losses of the library are float32. A loss of 16 bits is rounded from it. */
#include "elementwise.h"
#include "index.h"
#include "reduce.h"

#include <torch/library.h>

namespace sesqui_torch
{

/* torch's numbers: 0 is none, 1 the mean, 2 the sum. */
static ssq_reduction reduction_of(int64_t r)
{
    return r == 0   ? SSQ_REDUCTION_NONE
           : r == 1 ? SSQ_REDUCTION_MEAN
                    : SSQ_REDUCTION_SUM;
}

static Tensor float32(const Tensor &x)
{
    return cast(x, at::kFloat);
}

/* Class labels as int32, checked if it is not known that they are in range. */
static Tensor labels(Call &c, const Tensor &target, int64_t classes,
                     int64_t ignore)
{
    Tensor t = indices(target, "nll_loss");
    index_check(c.queue(), target, t, classes, "nll_loss", ignore);
    return t;
}

struct Nll {
    Tensor x, target, weight;
    ssq_reduction reduction;
    int64_t ignore;
};

static bool nll_ready(const Nll &n)
{
    return is_real(n.x) && n.x.numel() > 0 && n.x.dim() <= SSQ_MAX_RANK &&
           is_here(n.target) && (!n.weight.defined() || is_real(n.weight));
}

static void nll_forward(Call &c, const Nll &n, const Tensor &loss)
{
    int64_t classes = n.x.size(n.x.dim() == 1 ? 0 : 1);
    Tensor target = labels(c, n.target, classes, n.ignore);
    Ref x(n.x), t(target), w = ref_or_null(n.weight), y(loss, OUT);
    check(ssq_nll_loss(c.queue(),
                       SSQ_NLL_LOSS(.x = x, .target = t, .weight = w,
                                    .loss = y, .ignore_index = n.ignore,
                                    .reduction = n.reduction)));
}

/* (self, target, weight, reduction, ignore_index, output, total_weight). The
 * total weight is not computed: the gradient does not need it. */
static bool nll_loss(Call &c)
{
    Nll n = {c.tensor(0), c.tensor(1), c.maybe(2),
             reduction_of(c.integer(3)), c.integer(4)};
    bool given = c.size() == 7;
    if (!nll_ready(n) || (given && !is_real(c.tensor(5))))
        return false;
    bool each = n.reduction == SSQ_REDUCTION_NONE;
    Tensor loss = fresh(each ? n.target.sizes() : Ints(), at::kFloat,
                        c.device());
    nll_forward(c, n, loss);
    Tensor total;
    if (given) {
        assign(c.out(5, loss.sizes()), loss);
        total = c.out(6, {});
    } else {
        total = fresh({}, n.x.scalar_type(), c.device());
    }
    set_all(total, 0);
    if (given)
        c.result_of({5, 6});
    else
        c.results({cast(loss, n.x.scalar_type()), total});
    return true;
}

/* (grad_output, self, target, weight, reduction, ignore_index, total_weight,
 * grad_input) */
static bool nll_loss_backward(Call &c)
{
    Nll n = {c.tensor(1), c.tensor(2), c.maybe(3),
             reduction_of(c.integer(4)), c.integer(5)};
    bool given = c.size() == 8;
    if (!nll_ready(n) || !is_real(c.tensor(0)) ||
        (given && !is_real(c.tensor(7))))
        return false;
    Tensor to = given ? c.out(7, n.x.sizes())
                      : fresh(n.x.sizes(), n.x.scalar_type(), c.device());
    Tensor target = indices(n.target, "nll_loss");
    {
        Tensor dloss = float32(c.tensor(0));
        Ref x(n.x), t(target), w = ref_or_null(n.weight), d(dloss);
        Ref dx(to, OUT);
        check(ssq_nll_loss(c.queue(),
                           SSQ_NLL_LOSS(.x = x, .target = t, .weight = w,
                                        .dx = dx, .dloss = d,
                                        .ignore_index = n.ignore,
                                        .reduction = n.reduction)));
    }
    if (given)
        c.result_of({7});
    else
        c.result(to);
    return true;
}

/* A loss of two tensors of one shape. */
struct Pair {
    const ssq_tensor *x, *target, *loss, *dx, *dloss;
    ssq_reduction reduction;
    double parameter;
};
using PairLoss = ssq_status (*)(ssq_queue *, const Pair &);

static ssq_status mse(ssq_queue *q, const Pair &p)
{
    return ssq_mse(q, SSQ_MSE(.x = p.x, .target = p.target, .loss = p.loss,
                              .dx = p.dx, .dloss = p.dloss,
                              .reduction = p.reduction));
}

static ssq_status smooth_l1(ssq_queue *q, const Pair &p)
{
    return ssq_smooth_l1(
        q, SSQ_SMOOTH_L1(.x = p.x, .target = p.target, .loss = p.loss,
                         .dx = p.dx, .dloss = p.dloss,
                         .reduction = p.reduction, .beta = p.parameter));
}

static ssq_status huber(ssq_queue *q, const Pair &p)
{
    return ssq_huber(q, SSQ_HUBER(.x = p.x, .target = p.target, .loss = p.loss,
                                  .dx = p.dx, .dloss = p.dloss,
                                  .reduction = p.reduction,
                                  .delta = p.parameter));
}

/* Both operands, expanded to one shape and dense: vectors for the library. */
static Tensor flat(const Tensor &x, Ints sizes)
{
    int64_t n = 1;
    for (int64_t s : sizes)
        n *= s;
    return reshaped(contiguous(expanded(x, sizes)), n);
}

static bool pair_loss(Call &c, PairLoss f, int64_t reduction, double parameter,
                      bool given)
{
    const Tensor &x = c.tensor(0), &target = c.tensor(1);
    size_t last = c.size() - 1;
    auto sizes = broadcast(x.sizes(), target.sizes());
    if (!is_real(x) || !is_real(target) || !is_here(target) ||
        (given && !is_real(c.tensor(last))))
        return false;
    bool each = reduction == 0;
    Tensor loss = fresh(each ? Ints(sizes) : Ints(), at::kFloat, c.device());
    {
        Ref a(flat(x, sizes)), b(flat(target, sizes));
        Ref y(each ? flat(loss, sizes) : loss, OUT);
        check(f(c.queue(), {a, b, y, nullptr, nullptr, reduction_of(reduction),
                            parameter}));
    }
    if (given) {
        assign(c.out(last, loss.sizes()), loss);
        c.result_of({last});
    } else {
        c.result(cast(loss, common_type(x, target)));
    }
    return true;
}

/* (grad_output, self, target, reduction, .., grad_input) */
static bool pair_loss_backward(Call &c, PairLoss f, double parameter,
                               bool given)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1), &target = c.tensor(2);
    size_t last = c.size() - 1;
    int64_t reduction = c.integer(3);
    auto sizes = broadcast(x.sizes(), target.sizes());
    if (!is_real(dy) || !is_real(x) || !is_real(target) ||
        (given && !is_real(c.tensor(last))))
        return false;
    Tensor to = given ? c.out(last, sizes)
                      : fresh(sizes, x.scalar_type(), c.device());
    Tensor t = to.is_contiguous()
                   ? to
                   : fresh(sizes, to.scalar_type(), c.device());
    if (t.numel() > 0) {
        bool one = dy.numel() == 1 && reduction != 0;
        Tensor d = float32(dy);
        Ref a(flat(x, sizes)), b(flat(target, sizes));
        Ref dloss(one ? reshaped(d, {}) : flat(d, sizes));
        Ref dx(flat(t, sizes), OUT);
        check(f(c.queue(), {a, b, nullptr, dx, dloss, reduction_of(reduction),
                            parameter}));
    }
    if (!t.is_same(to))
        assign(to, t);
    if (given)
        c.result_of({last});
    else
        c.result(to);
    return true;
}

/* max(log(x), -100), as torch limits it. */
static Tensor limited_log(ssq_queue *q, Unary f, const Tensor &x)
{
    Tensor t = fresh(x.sizes(), at::kFloat, x.device());
    unary(q, f, t, x);
    binary(q, ssq_maximum, t, t, constant(-100, at::kFloat, x.device()));
    return t;
}

static bool bce_ready(const Tensor &x, const Tensor &target,
                      const Tensor &weight)
{
    return is_real(x) && is_real(target) && x.sizes() == target.sizes() &&
           x.numel() > 0 && (!weight.defined() || is_real(weight));
}

/* A loss of each element, reduced. */
static Tensor reduced(ssq_queue *q, const Tensor &t, int64_t reduction,
                      at::ScalarType type)
{
    if (reduction == 0)
        return cast(t, type);
    Tensor y = fresh({}, type, t.device());
    if (!reduce(q, reduction == 1 ? ssq_mean : ssq_sum, y, t, axes_all(t)))
        throw Refused("too many dimensions");
    return y;
}

/* -w (t log(x) + (1 - t) log(1 - x)): (self, target, weight, reduction) */
static bool bce(Call &c)
{
    const Tensor &x = c.tensor(0), &target = c.tensor(1);
    Tensor weight = c.maybe(2);
    bool given = c.size() == 5;
    if (!bce_ready(x, target, weight) || (given && !is_real(c.tensor(4))))
        return false;
    ssq_queue *q = c.queue();
    Tensor a = limited_log(q, ssq_log, x), b = fresh_like(a);
    unary(q, ssq_neg, b, x);
    b = limited_log(q, ssq_log1p, b);
    binary(q, ssq_sub, a, b, a); /* t (b - a) - b */
    binary(q, ssq_mul, a, a, target);
    binary(q, ssq_sub, a, a, b);
    if (weight.defined())
        binary(q, ssq_mul, a, a, weight);
    Tensor y = reduced(q, a, c.integer(3), x.scalar_type());
    if (given) {
        assign(c.out(4, y.sizes()), y);
        c.result_of({4});
    } else {
        c.result(y);
    }
    return true;
}

/* dy w (x - t) / max(x (1 - x), 1e-12):
 * (grad_output, self, target, weight, reduction) */
static bool bce_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1), &target = c.tensor(2);
    Tensor weight = c.maybe(3);
    bool given = c.size() == 6;
    if (!bce_ready(x, target, weight) || !is_real(dy) ||
        (given && !is_real(c.tensor(5))))
        return false;
    ssq_queue *q = c.queue();
    Tensor t = fresh(x.sizes(), at::kFloat, c.device()), u = fresh_like(t);
    binary(q, ssq_sub, t, constant(1, at::kFloat, c.device()), x);
    binary(q, ssq_mul, t, t, x);
    binary(q, ssq_maximum, t, t, constant(1e-12, at::kFloat, c.device()));
    binary(q, ssq_sub, u, x, target);
    binary(q, ssq_div, t, u, t);
    if (weight.defined())
        binary(q, ssq_mul, t, t, weight);
    if (c.integer(4) == 1)
        scale(q, t, t, 1.0 / double(x.numel()));
    Tensor dx = given ? c.out(5, x.sizes()) : fresh_like(x);
    binary(q, ssq_mul, dx, t, dy);
    if (given)
        c.result_of({5});
    else
        c.result(dx);
    return true;
}

/* (self, target, weight, pos_weight, reduction) */
static bool bce_with_logits(Call &c)
{
    const Tensor &x = c.tensor(0), &target = c.tensor(1);
    Tensor weight = c.maybe(2), pos = c.maybe(3);
    int64_t reduction = c.integer(4);
    if (!is_real(x) || !is_real(target) || x.sizes() != target.sizes() ||
        x.dim() > SSQ_MAX_RANK || x.numel() == 0 ||
        (weight.defined() && !is_real(weight)) ||
        (pos.defined() && !is_real(pos)))
        return false;
    Tensor loss = fresh(reduction == 0 ? x.sizes() : Ints(), at::kFloat,
                        c.device());
    {
        Ref rx(x), t(target), w = ref_or_null(weight), p = ref_or_null(pos);
        Ref y(loss, OUT);
        check(ssq_bce_with_logits(
            c.queue(),
            SSQ_BCE_WITH_LOGITS(.x = rx, .target = t, .weight = w,
                                .pos_weight = p, .loss = y,
                                .reduction = reduction_of(reduction))));
    }
    c.result(cast(loss, common_type(x, target)));
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "nll_loss_forward.output", nll_loss);
    op(m, "nll_loss_backward.grad_input", nll_loss_backward);
    op(m, "nll_loss2d_forward", nll_loss);
    op(m, "nll_loss2d_forward.output", nll_loss);
    op(m, "nll_loss2d_backward", nll_loss_backward);
    op(m, "nll_loss2d_backward.grad_input", nll_loss_backward);
    op(m, "mse_loss.out", [](Call &c) {
        return pair_loss(c, mse, c.integer(2), 0, true);
    });
    op(m, "mse_loss_backward",
       [](Call &c) { return pair_loss_backward(c, mse, 0, false); });
    op(m, "mse_loss_backward.grad_input",
       [](Call &c) { return pair_loss_backward(c, mse, 0, true); });
    op(m, "smooth_l1_loss.out", [](Call &c) {
        return pair_loss(c, smooth_l1, c.integer(2), c.number(3), true);
    });
    op(m, "smooth_l1_loss_backward.grad_input", [](Call &c) {
        return pair_loss_backward(c, smooth_l1, c.number(4), true);
    });
    op(m, "huber_loss", [](Call &c) {
        return pair_loss(c, huber, c.integer(2), c.number(3), false);
    });
    op(m, "huber_loss.out", [](Call &c) {
        return pair_loss(c, huber, c.integer(2), c.number(3), true);
    });
    op(m, "huber_loss_backward.out", [](Call &c) {
        return pair_loss_backward(c, huber, c.number(4), true);
    });
    op(m, "binary_cross_entropy", bce);
    op(m, "binary_cross_entropy.out", bce);
    op(m, "binary_cross_entropy_backward", bce_backward);
    op(m, "binary_cross_entropy_backward.grad_input", bce_backward);
    op(m, "binary_cross_entropy_with_logits", bce_with_logits);
}

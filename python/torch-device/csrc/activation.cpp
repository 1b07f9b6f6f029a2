// SPDX-License-Identifier: Apache-2.0
/* activation.cpp - activations of neural networks, and their gradients. */
#include "elementwise.h"

#include <torch/library.h>

namespace sesqui_torch
{

/* Where the result goes: to a new tensor, to x, or to an out argument. */
enum Form { NEW, IN_PLACE, GIVEN };

using Body1 = std::function<void(const Tensor &y, const Tensor &x)>;

/* y = body(x) with x argument 0. */
static bool apply(Call &c, Form form, const Body1 &body)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x))
        return false;
    if (form == GIVEN) {
        size_t last = c.size() - 1;
        if (!is_real(c.tensor(last)))
            return false;
        body(c.out(last, x.sizes()), x);
        c.result_of({last});
    } else if (form == IN_PLACE) {
        body(x, x);
        c.result_of({0});
    } else {
        Tensor y = fresh_like(x);
        body(y, x);
        c.result(y);
    }
    return true;
}

using Body2 = std::function<void(const Tensor &dx, const Tensor &dy,
                                 const Tensor &x)>;

/* dx = body(dy, x) with dy argument 0, and x argument i. */
static bool apply_backward(Call &c, size_t i, Form form, const Body2 &body)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(i);
    if (!is_real(dy) || !is_real(x))
        return false;
    if (form == GIVEN) {
        size_t last = c.size() - 1;
        if (!is_real(c.tensor(last)))
            return false;
        body(c.out(last, x.sizes()), dy, x);
        c.result_of({last});
    } else {
        Tensor dx = fresh_like(x);
        body(dx, dy, x);
        c.result(dx);
    }
    return true;
}

static Tensor one(const Tensor &x)
{
    return constant(1, at::kFloat, x.device());
}

static Tensor zero(const Tensor &x)
{
    return constant(0, at::kFloat, x.device());
}

static bool relu(Call &c, Form form)
{
    if (!is_real(c.tensor(0)))
        return false;
    return apply(c, form, [&](const Tensor &y, const Tensor &x) {
        unary(c.queue(), ssq_relu, y, x);
    });
}

static bool threshold(Call &c)
{
    double at = c.number(1), value = c.number(2);
    return apply(c, GIVEN, [&](const Tensor &y, const Tensor &x) {
        if (at == 0 && value == 0) {
            unary(c.queue(), ssq_relu, y, x);
            return;
        }
        Tensor low = fresh_like(x, at::kBool);
        compare(c.queue(), ssq_le, low, x,
                constant(at, x.scalar_type(), x.device()));
        where(c.queue(), y, low, constant(value, at::kFloat, x.device()), x);
    });
}

static bool threshold_backward(Call &c)
{
    double at = c.number(2);
    return apply_backward(c, 1, GIVEN, [&](const Tensor &dx, const Tensor &dy,
                                           const Tensor &x) {
        if (at == 0) {
            unary_backward(c.queue(), ssq_relu_backward, dx, x, dy);
            return;
        }
        Tensor low = fresh_like(x, at::kBool);
        compare(c.queue(), ssq_le, low, x,
                constant(at, x.scalar_type(), x.device()));
        where(c.queue(), dx, low, zero(x), dy);
    });
}

static bool leaky_relu(Call &c)
{
    return apply(c, GIVEN, [&](const Tensor &y, const Tensor &x_) {
        Tensor x = apart(x_, y);
        pointwise({&y, &x}, [&](const Ref *t) {
            check(ssq_leaky_relu(c.queue(),
                                 SSQ_LEAKY_RELU(.x = t[1], .y = t[0],
                                                .alpha = c.number(1))));
        });
    });
}

static bool leaky_relu_backward(Call &c)
{
    return apply_backward(c, 1, GIVEN, [&](const Tensor &dx, const Tensor &dy,
                                           const Tensor &x) {
        pointwise({&dx, &x, &dy}, [&](const Ref *t) {
            check(ssq_leaky_relu_backward(
                c.queue(),
                SSQ_LEAKY_RELU_BACKWARD(.x = t[1], .dy = t[2], .dx = t[0],
                                        .alpha = c.number(2))));
        }, EQUAL);
    });
}

/* scale * elu(x * input_scale, alpha) */
static bool elu(Call &c)
{
    double alpha = c.number(1), by = c.number(2), input = c.number(3);
    return apply(c, GIVEN, [&](const Tensor &y, const Tensor &x_) {
        Tensor x = apart(x_, y), out = y;
        if (input != 1) {
            /* Only the negative part is scaled: alpha (exp(x in) - 1). */
            x = fresh_like(x_, at::kFloat);
            scale(c.queue(), x, x_, input);
        }
        if (by != 1 || input != 1)
            out = fresh_like(x_, at::kFloat);
        pointwise({&out, &x}, [&](const Ref *t) {
            check(ssq_elu(c.queue(), SSQ_ELU(.x = t[1], .y = t[0],
                                             .alpha = alpha)));
        });
        if (input != 1) {
            Tensor positive = fresh_like(x_, at::kBool);
            compare(c.queue(), ssq_gt, positive, x_,
                    constant(0, x_.scalar_type(), x_.device()));
            where(c.queue(), out, positive, x_, out);
        }
        if (!out.is_same(y))
            scale(c.queue(), y, out, by);
    });
}

/* The slope below 0 is scale alpha input exp(x input); from the result y it is
 * input (y + scale alpha). */
static bool elu_backward_general(Call &c)
{
    double alpha = c.number(1), by = c.number(2), input = c.number(3);
    return apply_backward(c, 5, GIVEN, [&](const Tensor &dx, const Tensor &dy,
                                           const Tensor &x) {
        ssq_queue *q = c.queue();
        Tensor t = fresh_like(x, at::kFloat), up = fresh_like(x, at::kFloat);
        Tensor negative = fresh_like(x, at::kBool);
        if (c.flag(4)) {
            axpby(q, t, x, one(x), input, input * by * alpha);
        } else {
            scale(q, t, x, input);
            unary(q, ssq_exp, t, t);
            scale(q, t, t, by * alpha * input);
        }
        binary(q, ssq_mul, t, t, dy);
        scale(q, up, dy, by);
        compare(q, ssq_le, negative, x,
                constant(0, x.scalar_type(), x.device()));
        where(q, dx, negative, t, up);
    });
}

static bool elu_backward(Call &c)
{
    double alpha = c.number(1), by = c.number(2), input = c.number(3);
    if (c.flag(4) || input != 1)
        return elu_backward_general(c);
    return apply_backward(c, 5, GIVEN, [&](const Tensor &dx, const Tensor &dy,
                                           const Tensor &x) {
        Tensor t32 = by == 1 ? dx : fresh_like(x, at::kFloat);
        pointwise({&t32, &x, &dy}, [&](const Ref *t) {
            check(ssq_elu_backward(c.queue(),
                                   SSQ_ELU_BACKWARD(.x = t[1], .dy = t[2],
                                                    .dx = t[0],
                                                    .alpha = alpha)));
        }, EQUAL);
        if (by != 1)
            scale(c.queue(), dx, t32, by);
    });
}

static bool gelu(Call &c)
{
    Unary f = c.text(1) == "tanh" ? ssq_gelu_tanh : ssq_gelu;
    return apply(c, GIVEN, [&](const Tensor &y, const Tensor &x) {
        unary(c.queue(), f, y, x);
    });
}

static bool gelu_backward(Call &c)
{
    UnaryBackward f = c.text(2) == "tanh" ? ssq_gelu_tanh_backward
                                          : ssq_gelu_backward;
    return apply_backward(c, 1, GIVEN, [&](const Tensor &dx, const Tensor &dy,
                                           const Tensor &x) {
        unary_backward(c.queue(), f, dx, x, dy);
    });
}

static bool silu_backward(Call &c)
{
    return apply_backward(c, 1, GIVEN, [&](const Tensor &dx, const Tensor &dy,
                                           const Tensor &x) {
        unary_backward(c.queue(), ssq_silu_backward, dx, x, dy);
    });
}

/* dy (y - y^2) */
static bool sigmoid_backward(Call &c)
{
    return apply_backward(c, 1, GIVEN, [&](const Tensor &dx, const Tensor &dy,
                                           const Tensor &y) {
        Tensor t = fresh_like(y, at::kFloat);
        binary(c.queue(), ssq_sub, t, one(y), y);
        binary(c.queue(), ssq_mul, t, t, y);
        binary(c.queue(), ssq_mul, dx, t, dy);
    });
}

/* dy (1 - y^2) */
static bool tanh_backward(Call &c)
{
    return apply_backward(c, 1, GIVEN, [&](const Tensor &dx, const Tensor &dy,
                                           const Tensor &y) {
        Tensor t = fresh_like(y, at::kFloat);
        unary(c.queue(), ssq_square, t, y);
        binary(c.queue(), ssq_sub, t, one(y), t);
        binary(c.queue(), ssq_mul, dx, t, dy);
    });
}

/* beta x > threshold: the library has the threshold 20. */
static Tensor is_above(Call &c, const Tensor &x, double beta, double threshold)
{
    Tensor t = fresh_like(x, at::kFloat), above = fresh_like(x, at::kBool);
    scale(c.queue(), t, x, beta);
    compare(c.queue(), ssq_gt, above, t,
            constant(threshold, at::kFloat, x.device()));
    return above;
}

static bool softplus(Call &c)
{
    double beta = c.number(1), threshold = c.number(2);
    if (!(beta > 1e-30) || threshold > 20)
        return false;
    return apply(c, GIVEN, [&](const Tensor &y, const Tensor &x_) {
        Tensor x = apart(x_, y), above;
        if (threshold != 20)
            above = is_above(c, x, beta, threshold);
        Tensor to = above.defined() ? fresh_like(x) : y;
        pointwise({&to, &x}, [&](const Ref *t) {
            check(ssq_softplus(c.queue(), SSQ_SOFTPLUS(.x = t[1], .y = t[0],
                                                       .beta = beta)));
        });
        if (above.defined())
            where(c.queue(), y, above, x, to);
    });
}

static bool softplus_backward(Call &c)
{
    double beta = c.number(2), threshold = c.number(3);
    if (!(beta > 1e-30) || threshold > 20)
        return false;
    return apply_backward(c, 1, GIVEN, [&](const Tensor &dx, const Tensor &dy,
                                           const Tensor &x) {
        pointwise({&dx, &x, &dy}, [&](const Ref *t) {
            check(ssq_softplus_backward(
                c.queue(), SSQ_SOFTPLUS_BACKWARD(.x = t[1], .dy = t[2],
                                                 .dx = t[0], .beta = beta)));
        }, EQUAL);
        if (threshold != 20)
            where(c.queue(), dx, is_above(c, x, beta, threshold), dy, dx);
    });
}

/* -softplus(-x) */
static void log_sigmoid_to(Call &c, const Tensor &y, const Tensor &x)
{
    Tensor t = fresh_like(x, at::kFloat);
    unary(c.queue(), ssq_neg, t, x);
    pointwise({&t, &t}, [&](const Ref *r) {
        check(ssq_softplus(c.queue(), SSQ_SOFTPLUS(.x = r[1], .y = r[0])));
    });
    unary(c.queue(), ssq_neg, y, t);
}

static bool log_sigmoid(Call &c)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x))
        return false;
    bool given = c.size() == 3;
    Tensor y = given ? c.out(1, x.sizes()) : fresh_like(x);
    if (!is_real(y))
        return false;
    log_sigmoid_to(c, y, x);
    if (given) {
        int64_t none = 0;
        c.out(2, none);
        c.result_of({1, 2});
    } else {
        c.results({y, fresh({0}, x.scalar_type(), c.device())});
    }
    return true;
}

/* dy sigmoid(-x) */
static bool log_sigmoid_backward(Call &c)
{
    Form form = c.size() == 4 ? GIVEN : NEW;
    return apply_backward(c, 1, form, [&](const Tensor &dx, const Tensor &dy,
                                          const Tensor &x) {
        Tensor t = fresh_like(x, at::kFloat);
        unary(c.queue(), ssq_neg, t, x);
        pointwise({&dx, &t, &dy}, [&](const Ref *r) {
            check(ssq_softplus_backward(
                c.queue(), SSQ_SOFTPLUS_BACKWARD(.x = r[1], .dy = r[2],
                                                 .dx = r[0])));
        }, EQUAL);
    });
}

static void clamp_to(Call &c, const Tensor &y, const Tensor &x_, double low,
                     double high)
{
    Tensor x = apart(x_, y);
    pointwise({&y, &x}, [&](const Ref *t) {
        check(ssq_clamp(c.queue(), SSQ_CLAMP(.x = t[1], .y = t[0], .min = low,
                                             .max = high)));
    });
}

static bool hardtanh(Call &c, Form form)
{
    return apply(c, form, [&](const Tensor &y, const Tensor &x) {
        clamp_to(c, y, x, c.number(1), c.number(2));
    });
}

/* dy between the bounds, 0 at and outside of them. */
static void inside(Call &c, const Tensor &dx, const Tensor &dy,
                   const Tensor &x, double low, double high)
{
    Tensor a = fresh_like(x, at::kBool), b = fresh_like(x, at::kBool);
    at::ScalarType type = x.scalar_type();
    compare(c.queue(), ssq_le, a, x, constant(low, type, x.device()));
    compare(c.queue(), ssq_ge, b, x, constant(high, type, x.device()));
    binary(c.queue(), ssq_maximum, a, a, b);
    where(c.queue(), dx, a, zero(x), dy);
}

static bool hardtanh_backward(Call &c, Form form)
{
    return apply_backward(c, 1, form, [&](const Tensor &dx, const Tensor &dy,
                                          const Tensor &x) {
        inside(c, dx, dy, x, c.number(2), c.number(3));
    });
}

/* clamp(x / 6 + 1 / 2, 0, 1) */
static void hardsigmoid_to(Call &c, const Tensor &y, const Tensor &x)
{
    Tensor t = fresh_like(x, at::kFloat);
    binary(c.queue(), ssq_add, t, x, constant(3, at::kFloat, x.device()));
    clamp_to(c, t, t, 0, 6);
    binary(c.queue(), ssq_div, y, t, constant(6, at::kFloat, x.device()));
}

static bool hardsigmoid(Call &c)
{
    return apply(c, GIVEN, [&](const Tensor &y, const Tensor &x) {
        hardsigmoid_to(c, y, x);
    });
}

static bool hardsigmoid_backward(Call &c)
{
    return apply_backward(c, 1, GIVEN, [&](const Tensor &dx, const Tensor &dy,
                                           const Tensor &x) {
        Tensor t = fresh_like(x, at::kFloat);
        scale(c.queue(), t, dy, 1.0 / 6);
        inside(c, dx, t, x, -3, 3);
    });
}

static bool hardswish(Call &c, Form form)
{
    return apply(c, form, [&](const Tensor &y, const Tensor &x) {
        Tensor t = fresh_like(x, at::kFloat);
        hardsigmoid_to(c, t, x);
        binary(c.queue(), ssq_mul, y, x, t);
    });
}

/* dy for x >= 3, 0 for x <= -3, else dy (x / 3 + 1 / 2) */
static bool hardswish_backward(Call &c)
{
    return apply_backward(c, 1, NEW, [&](const Tensor &dx, const Tensor &dy,
                                         const Tensor &x) {
        ssq_queue *q = c.queue();
        at::ScalarType type = x.scalar_type();
        Tensor t = fresh_like(x, at::kFloat), at = fresh_like(x, at::kBool);
        axpby(q, t, x, one(x), 1.0 / 3, 0.5);
        binary(q, ssq_mul, t, t, dy);
        compare(q, ssq_ge, at, x, constant(3, type, x.device()));
        where(q, t, at, dy, t);
        compare(q, ssq_le, at, x, constant(-3, type, x.device()));
        where(q, dx, at, zero(x), t);
    });
}

/* x tanh(softplus(x)) */
static bool mish(Call &c)
{
    return apply(c, GIVEN, [&](const Tensor &y, const Tensor &x) {
        Tensor t = fresh_like(x, at::kFloat);
        pointwise({&t, &x}, [&](const Ref *r) {
            check(ssq_softplus(c.queue(), SSQ_SOFTPLUS(.x = r[1],
                                                       .y = r[0])));
        });
        unary(c.queue(), ssq_tanh, t, t);
        binary(c.queue(), ssq_mul, y, x, t);
    });
}

static bool prelu(Call &c)
{
    const Tensor &x = c.tensor(0), &w = c.tensor(1);
    if (!is_real(x) || !is_real(w))
        return false;
    Tensor y = fresh_like(x), t = fresh_like(x, at::kFloat);
    Tensor positive = fresh_like(x, at::kBool);
    binary(c.queue(), ssq_mul, t, x, w);
    compare(c.queue(), ssq_gt, positive, x,
            constant(0, x.scalar_type(), x.device()));
    where(c.queue(), y, positive, x, t);
    c.result(y);
    return true;
}

static bool prelu_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1), &w = c.tensor(2);
    if (!is_real(x) || !is_real(w) || !is_real(dy))
        return false;
    ssq_queue *q = c.queue();
    Tensor dx = fresh_like(x), dw = fresh_like(x);
    Tensor t = fresh_like(x, at::kFloat), positive = fresh_like(x, at::kBool);
    compare(q, ssq_gt, positive, x, constant(0, x.scalar_type(), x.device()));
    binary(q, ssq_mul, t, dy, w);
    where(q, dx, positive, dy, t);
    binary(q, ssq_mul, t, dy, x);
    where(q, dw, positive, zero(x), t);
    c.results({dx, dw});
    return true;
}

/* The halves of x along a dimension. */
static std::pair<Tensor, Tensor> halves(const Tensor &x, int64_t axis)
{
    axis = wrapped(axis, x.dim());
    int64_t n = x.size(axis) / 2;
    return {sliced(x, axis, 0, n), sliced(x, axis, n, n)};
}

static bool glu(Call &c)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x) || !is_real(c.tensor(2)))
        return false;
    auto [a, b] = halves(x, c.integer(1));
    const Tensor &y = c.out(2, a.sizes());
    pointwise({&y, &a, &b}, [&](const Ref *t) {
        check(ssq_glu(c.queue(), SSQ_GLU(.a = t[1], .b = t[2], .y = t[0])));
    }, EQUAL);
    c.result_of({2});
    return true;
}

static bool glu_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1);
    if (!is_real(x) || !is_real(dy))
        return false;
    auto [a, b] = halves(x, c.integer(2));
    bool given = c.size() == 4;
    Tensor dx = given ? c.out(3, x.sizes())
                      : fresh(x.sizes(), x.scalar_type(), c.device());
    if (!is_real(dx))
        return false;
    auto [da, db] = halves(dx, c.integer(2));
    /* In two calls: the halves may interleave, element by element. */
    pointwise({&da, &a, &b, &dy}, [&](const Ref *t) {
        check(ssq_glu_backward(c.queue(),
                               SSQ_GLU_BACKWARD(.a = t[1], .b = t[2],
                                                .dy = t[3], .da = t[0])));
    }, EQUAL);
    pointwise({&db, &a, &b, &dy}, [&](const Ref *t) {
        check(ssq_glu_backward(c.queue(),
                               SSQ_GLU_BACKWARD(.a = t[1], .b = t[2],
                                                .dy = t[3], .db = t[0])));
    }, EQUAL);
    if (given)
        c.result_of({3});
    else
        c.result(dx);
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "relu", [](Call &c) { return relu(c, NEW); });
    op(m, "relu_", [](Call &c) { return relu(c, IN_PLACE); });
    op(m, "threshold.out", threshold);
    op(m, "threshold_backward.grad_input", threshold_backward);
    op(m, "leaky_relu.out", leaky_relu);
    op(m, "leaky_relu_backward.grad_input", leaky_relu_backward);
    op(m, "elu.out", elu);
    op(m, "elu_backward.grad_input", elu_backward);
    op(m, "gelu.out", gelu);
    op(m, "gelu_backward.grad_input", gelu_backward);
    op(m, "silu_backward.grad_input", silu_backward);
    op(m, "sigmoid_backward.grad_input", sigmoid_backward);
    op(m, "tanh_backward.grad_input", tanh_backward);
    op(m, "softplus.out", softplus);
    op(m, "softplus_backward.grad_input", softplus_backward);
    op(m, "log_sigmoid_forward", log_sigmoid);
    op(m, "log_sigmoid_forward.output", log_sigmoid);
    op(m, "log_sigmoid_backward", log_sigmoid_backward);
    op(m, "log_sigmoid_backward.grad_input", log_sigmoid_backward);
    op(m, "hardtanh", [](Call &c) { return hardtanh(c, NEW); });
    op(m, "hardtanh_", [](Call &c) { return hardtanh(c, IN_PLACE); });
    op(m, "hardtanh.out", [](Call &c) { return hardtanh(c, GIVEN); });
    op(m, "hardtanh_backward",
       [](Call &c) { return hardtanh_backward(c, NEW); });
    op(m, "hardtanh_backward.grad_input",
       [](Call &c) { return hardtanh_backward(c, GIVEN); });
    op(m, "hardsigmoid.out", hardsigmoid);
    op(m, "hardsigmoid_backward.grad_input", hardsigmoid_backward);
    op(m, "hardswish", [](Call &c) { return hardswish(c, NEW); });
    op(m, "hardswish_", [](Call &c) { return hardswish(c, IN_PLACE); });
    op(m, "hardswish.out", [](Call &c) { return hardswish(c, GIVEN); });
    op(m, "hardswish_backward", hardswish_backward);
    op(m, "mish.out", mish);
    op(m, "_prelu_kernel", prelu);
    op(m, "_prelu_kernel_backward", prelu_backward);
    op(m, "glu.out", glu);
    op(m, "glu_backward", glu_backward);
    op(m, "glu_backward.grad_input", glu_backward);
}

// SPDX-License-Identifier: Apache-2.0
/* optimizer.cpp - _fused_adam_, _fused_adamw_, _fused_sgd_, _fused_adagrad_.
 *
 * "Fused" is torch's word: nothing waits for the host. Step counts, the loss
 * scale and the flag for overflow stay on the device. Each parameter takes
 * about nine elementwise ops, in float32. */
#include "elementwise.h"

#include <torch/library.h>

#include <cmath>

namespace sesqui_torch
{

/* What all updates share. */
struct Step {
    ssq_queue *q;
    c10::Device device;
    double lr;
    bool maximize;
    Tensor grad_scale, found; /* found: bool, or undefined */
};

static Tensor scalar32(const Tensor &x)
{
    return x.defined() ? reshaped(cast(x, at::kFloat), {}) : x;
}

static Tensor found_flag(Step &s, const Tensor &found)
{
    if (!found.defined())
        return found;
    Tensor flag = fresh({}, at::kBool, s.device);
    compare(s.q, ssq_ne, flag, scalar32(found),
            constant(0, at::kFloat, s.device));
    return flag;
}

/* The gradient, divided by the scale in place, with its sign. */
static Tensor gradient(const Step &s, const Tensor &g)
{
    if (s.grad_scale.defined())
        binary(s.q, ssq_div, g, g, s.grad_scale);
    if (!s.maximize)
        return g;
    Tensor t = fresh_like(g, at::kFloat);
    unary(s.q, ssq_neg, t, g);
    return t;
}

/* old = value, unless an overflow was found. */
static void store(const Step &s, const Tensor &old, const Tensor &value)
{
    if (s.found.defined())
        where(s.q, old, s.found, old, value);
    else if (!value.is_same(old))
        assign(old, value);
}

/* Where a new value of x is computed: in place if it is always stored. */
static Tensor place(const Step &s, const Tensor &x)
{
    return s.found.defined() ? fresh_like(x, at::kFloat) : x;
}

/* 1 - beta^t for the counts t of all parameters: -expm1(t log(beta)). */
static Tensor correction(const Step &s, const Tensor &counts, double beta)
{
    Tensor t = fresh(counts.sizes(), at::kFloat, s.device);
    scale(s.q, t, counts, std::log(beta));
    unary(s.q, ssq_expm1, t, t);
    unary(s.q, ssq_neg, t, t);
    return t;
}

/* The step counts as one vector. */
static Tensor counts_of(const Step &s, const std::vector<Tensor> &steps)
{
    int64_t n = static_cast<int64_t>(steps.size());
    Tensor all = fresh(n, at::kFloat, s.device);
    std::vector<Ref> refs;
    std::vector<const ssq_tensor *> list;
    refs.reserve(steps.size());
    int64_t one = 1;
    for (const Tensor &x : steps) {
        Tensor t = is_here(x) ? cast(x, at::kFloat)
                              : constant(x.item().toDouble(), at::kFloat,
                                         s.device);
        refs.emplace_back(t, SSQ_F32, 1, &one, &one,
                          uint64_t(t.storage_offset()) * sizeof(float));
        list.push_back(refs.back());
    }
    Ref y(all, OUT);
    check(ssq_concat(s.q, SSQ_CONCAT(.x = list.data(), .n = list.size(),
                                     .y = y)));
    return all;
}

struct Adam {
    double beta1, beta2, decay, eps;
    bool decoupled;
};

struct Moments {
    Tensor m, v, v_max; /* v_max: undefined without amsgrad */
};

/* p - lr / bc1 * m / (sqrt(v) / sqrt(bc2) + eps); bc2 is its root already. */
static void adam_step(const Step &s, const Adam &a, const Tensor &p,
                      const Tensor &g_, const Moments &o, const Tensor &bc1,
                      const Tensor &bc2)
{
    Tensor g = gradient(s, g_);
    if (a.decay != 0 && !a.decoupled) {
        Tensor t = fresh_like(g, at::kFloat);
        axpby(s.q, t, g, p, 1, a.decay);
        g = t;
    }
    Tensor m = place(s, o.m), v = place(s, o.v), t = fresh_like(g, at::kFloat);
    axpby(s.q, m, o.m, g, a.beta1, 1 - a.beta1);
    unary(s.q, ssq_square, t, g);
    axpby(s.q, v, o.v, t, a.beta2, 1 - a.beta2);
    Tensor root = v;
    if (o.v_max.defined()) {
        root = place(s, o.v_max);
        binary(s.q, ssq_maximum, root, o.v_max, v);
        store(s, o.v_max, root);
    }
    unary(s.q, ssq_sqrt, t, root);
    binary(s.q, ssq_div, t, t, bc2);
    binary(s.q, ssq_add, t, t, constant(a.eps, at::kFloat, s.device));
    binary(s.q, ssq_div, t, m, t);
    binary(s.q, ssq_div, t, t, bc1);
    double kept = a.decoupled ? 1 - s.lr * a.decay : 1;
    Tensor next = place(s, p);
    axpby(s.q, next, p, t, kept, -s.lr);
    store(s, o.m, m);
    store(s, o.v, v);
    store(s, p, next);
}

static double number_of(Call &c, size_t i)
{
    const c10::IValue &v = c.at(i);
    return v.isTensor() ? v.toTensor().item().toDouble()
                        : v.toScalar().toDouble();
}

static bool all_real(const std::vector<Tensor> &list)
{
    for (const Tensor &x : list)
        if (!is_real(x) || !is_here(x))
            return false;
    return true;
}

/* (self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr,
 * beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf) */
static bool fused_adam(Call &c, bool decoupled)
{
    auto p = c.tensors(0), g = c.tensors(1), m = c.tensors(2);
    auto v = c.tensors(3), v_max = c.tensors(4), steps = c.tensors(5);
    if (!all_real(p) || !all_real(g) || !all_real(m) || !all_real(v))
        return false;
    Step s = {c.queue(), c.device(), number_of(c, 6), c.flag(12),
              scalar32(c.maybe(13)), Tensor()};
    s.found = found_flag(s, c.maybe(14));
    Adam a = {c.number(7), c.number(8), c.number(9), c.number(10), decoupled};
    Tensor counts = counts_of(s, steps);
    Tensor bc1 = correction(s, counts, a.beta1);
    Tensor bc2 = correction(s, counts, a.beta2);
    unary(s.q, ssq_sqrt, bc2, bc2);
    for (size_t i = 0; i < p.size(); i++) {
        if (p[i].numel() == 0)
            continue;
        Moments o = {m[i], v[i], c.flag(11) ? v_max[i] : Tensor()};
        int64_t at = static_cast<int64_t>(i);
        adam_step(s, a, p[i], g[i], o, selected(bc1, 0, at),
                  selected(bc2, 0, at));
    }
    c.results({});
    return true;
}

struct Sgd {
    double decay, momentum, dampening;
    bool nesterov, first;
};

static void sgd_step(const Step &s, const Sgd &a, const Tensor &p,
                     const Tensor &g_, const Tensor &buffer)
{
    Tensor g = gradient(s, g_);
    if (a.decay != 0) {
        Tensor t = fresh_like(g, at::kFloat);
        axpby(s.q, t, g, p, 1, a.decay);
        g = t;
    }
    if (a.momentum != 0) {
        Tensor b = place(s, buffer);
        if (a.first)
            assign(b, g);
        else
            axpby(s.q, b, buffer, g, a.momentum, 1 - a.dampening);
        Tensor t = b;
        if (a.nesterov) {
            t = fresh_like(g, at::kFloat);
            axpby(s.q, t, g, b, 1, a.momentum);
        }
        g = t;
        if (!b.is_same(buffer))
            store(s, buffer, b);
    }
    Tensor next = place(s, p);
    axpby(s.q, next, p, g, 1, -s.lr);
    if (!next.is_same(p))
        store(s, p, next);
}

/* (self, grads, momentum_buffer_list, weight_decay, momentum, lr, dampening,
 * nesterov, maximize, is_first_step, grad_scale, found_inf) */
static bool fused_sgd(Call &c)
{
    auto p = c.tensors(0), g = c.tensors(1), buffers = c.tensors(2);
    if (!all_real(p) || !all_real(g) || !all_real(buffers))
        return false;
    Step s = {c.queue(), c.device(), number_of(c, 5), c.flag(8),
              scalar32(c.maybe(10)), Tensor()};
    s.found = found_flag(s, c.maybe(11));
    Sgd a = {c.number(3), c.number(4), c.number(6), c.flag(7), c.flag(9)};
    for (size_t i = 0; i < p.size(); i++)
        if (p[i].numel() > 0)
            sgd_step(s, a, p[i], g[i],
                     buffers.empty() ? Tensor() : buffers[i]);
    c.results({});
    return true;
}

/* p - lr * g / (sqrt(sum) + eps); sum is that of the squares of g. */
static void adagrad_step(const Step &s, double decay, double eps,
                         const Tensor &p, const Tensor &g_, const Tensor &sum_)
{
    Tensor g = gradient(s, g_);
    if (decay != 0) {
        Tensor t = fresh_like(g, at::kFloat);
        axpby(s.q, t, g, p, 1, decay);
        g = t;
    }
    Tensor sum = place(s, sum_), t = fresh_like(g, at::kFloat);
    unary(s.q, ssq_square, t, g);
    binary(s.q, ssq_add, sum, sum_, t);
    unary(s.q, ssq_sqrt, t, sum);
    binary(s.q, ssq_add, t, t, constant(eps, at::kFloat, s.device));
    binary(s.q, ssq_div, t, g, t);
    Tensor next = place(s, p);
    axpby(s.q, next, p, t, 1, -s.lr);
    store(s, sum_, sum);
    store(s, p, next);
}

/* (self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps,
 * maximize, grad_scale, found_inf) */
static bool fused_adagrad(Call &c)
{
    auto p = c.tensors(0), g = c.tensors(1), sums = c.tensors(2);
    if (!all_real(p) || !all_real(g) || !all_real(sums) || c.number(5) != 0)
        return false;
    Step s = {c.queue(), c.device(), number_of(c, 4), c.flag(8),
              scalar32(c.maybe(9)), Tensor()};
    s.found = found_flag(s, c.maybe(10));
    for (size_t i = 0; i < p.size(); i++)
        if (p[i].numel() > 0)
            adagrad_step(s, c.number(6), c.number(7), p[i], g[i], sums[i]);
    c.results({});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    for (const char *overload : {"", ".tensor_lr"}) {
        std::string end = overload;
        op(m, ("_fused_adam_" + end).c_str(),
           [](Call &c) { return fused_adam(c, false); });
        op(m, ("_fused_adamw_" + end).c_str(),
           [](Call &c) { return fused_adam(c, true); });
        op(m, ("_fused_sgd_" + end).c_str(), fused_sgd);
        op(m, ("_fused_adagrad_" + end).c_str(), fused_adagrad);
    }
}

// SPDX-License-Identifier: Apache-2.0
/* optimizer.cpp - _fused_adam_, _fused_adamw_, _fused_sgd_, _fused_adagrad_.
 *
 * "Fused" is torch's word: one pass over all parameters, and nothing waits for
 * the host. Step counts, the loss scale and the flag for overflow stay on the
 * device. The pass computes in float32: operands of another dtype or layout are
 * copied before it, and back afterwards. */
#include "elementwise.h"

#include <torch/library.h>

namespace sesqui_torch
{

/* A parameter, its gradient or a moment, as the pass has it: float32, with the
 * elements in the order of the parameter's. */
class Operand
{
  public:
    Operand(const Tensor &given, const Tensor &param, Access access)
        : given_(given), used_(given)
    {
        bool dense = param.is_non_overlapping_and_dense();
        if (given.scalar_type() != at::kFloat || !dense ||
            given.strides() != param.strides()) {
            used_ = dense ? fresh_strided(param.sizes(), param.strides(),
                                          at::kFloat, param.device())
                          : fresh(param.sizes(), at::kFloat, param.device());
            assign(used_, given);
        }
        int64_t n = used_.numel(), one = 1;
        ref_ = Ref(used_, SSQ_F32, 1, &n, &one,
                   uint64_t(used_.storage_offset()) * sizeof(float), access);
    }
    const ssq_tensor *tensor() const { return ref_; }
    void finish() const
    {
        if (!used_.is_same(given_))
            assign(given_, used_);
    }

  private:
    Tensor given_, used_;
    Ref ref_;
};

static Tensor scalar32(const Tensor &x)
{
    return x.defined() ? reshaped(cast(x, at::kFloat), {1}) : x;
}

/* The step counts as one vector, without the step that begins. */
static Tensor steps_before(ssq_queue *q, const std::vector<Tensor> &steps,
                           c10::Device device)
{
    int64_t n = static_cast<int64_t>(steps.size()), one = 1;
    Tensor all = fresh(n, at::kFloat, device);
    std::vector<Ref> refs;
    std::vector<const ssq_tensor *> list;
    refs.reserve(steps.size());
    for (const Tensor &x : steps) {
        Tensor t = is_here(x) ? cast(x, at::kFloat)
                              : constant(x.item().toDouble(), at::kFloat,
                                         device);
        refs.emplace_back(t, SSQ_F32, 1, &one, &one,
                          uint64_t(t.storage_offset()) * sizeof(float));
        list.push_back(refs.back());
    }
    {
        Ref y(all, OUT);
        check(ssq_concat(q, SSQ_CONCAT(.x = list.data(), .n = list.size(),
                                       .y = y)));
    }
    binary(q, ssq_sub, all, all, constant(1, at::kFloat, device));
    return all;
}

/* What all updates share. */
struct Update {
    const char *kind;
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    std::vector<Tensor> params, grads;
    std::vector<std::vector<Tensor>> moments; /* the first of all, .. */
    std::vector<Tensor> steps; /* empty: `step` of each */
    uint32_t step = 0;
    Tensor grad_scale, found;
};

/* As torch does, gradients are divided by the scale in place. */
static void gradients_unscale(ssq_queue *q, const Update &u)
{
    if (u.grad_scale.defined())
        for (const Tensor &g : u.grads)
            if (g.numel() > 0)
                binary(q, ssq_div, g, g, u.grad_scale);
}

using Tensors = std::vector<const ssq_tensor *>;

static void pass(ssq_queue *q, const Update &u, const Tensors &params,
                 const Tensors &grads, const Tensors &moments,
                 c10::Device device)
{
    Tensors t;
    std::vector<Ref> refs;
    if (!u.steps.empty()) {
        Tensor before = steps_before(q, u.steps, device);
        int64_t one = 1;
        for (size_t i = 0; i < u.steps.size(); i++) {
            refs.emplace_back(before, SSQ_F32, 1, &one, &one,
                              i * sizeof(float));
            t.push_back(refs.back());
        }
    }
    Ref found = ref_or_null(u.found);
    check(ssq_optimizer_apply(
        q, SSQ_OPTIMIZER_APPLY(
               .kind = u.kind, .options = &u.options, .n = params.size(),
               .params = params.data(), .grads = grads.data(),
               .moments = moments.data(), .t = t.empty() ? nullptr : t.data(),
               .steps = u.step, .found_inf = found)));
}

static bool all_real(const std::vector<Tensor> &list)
{
    for (const Tensor &x : list)
        if (!is_real(x) || !is_here(x))
            return false;
    return true;
}

/* False if an operand is for the CPU. */
static bool update(Call &c, Update &u)
{
    bool real = all_real(u.params) && all_real(u.grads);
    for (const std::vector<Tensor> &m : u.moments)
        real = real && all_real(m);
    if (!real)
        return false;
    gradients_unscale(c.queue(), u);
    std::vector<Operand> written, read;
    Tensors params, grads, moments;
    for (const Tensor &p : u.params)
        written.emplace_back(p, p, IN);
    for (size_t i = 0; i < u.grads.size(); i++)
        read.emplace_back(u.grads[i], u.params[i], IN);
    for (const std::vector<Tensor> &m : u.moments)
        for (size_t i = 0; i < m.size(); i++)
            written.emplace_back(m[i], u.params[i], IN);
    for (size_t i = 0; i < written.size(); i++)
        (i < u.params.size() ? params : moments)
            .push_back(written[i].tensor());
    for (const Operand &g : read)
        grads.push_back(g.tensor());
    pass(c.queue(), u, params, grads, moments, c.device());
    for (const Operand &o : written)
        o.finish();
    c.results({});
    return true;
}

static double number_of(Call &c, size_t i)
{
    const c10::IValue &v = c.at(i);
    return v.isTensor() ? v.toTensor().item().toDouble()
                        : v.toScalar().toDouble();
}

/* (self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr,
 * beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf) */
static bool fused_adam(Call &c, const char *kind)
{
    Update u = {.kind = kind,
                .params = c.tensors(0),
                .grads = c.tensors(1),
                .moments = {c.tensors(2), c.tensors(3)},
                .steps = c.tensors(5),
                .grad_scale = scalar32(c.maybe(13)),
                .found = scalar32(c.maybe(14))};
    u.options.lr = number_of(c, 6);
    u.options.beta1 = c.number(7);
    u.options.beta2 = c.number(8);
    u.options.weight_decay = c.number(9);
    u.options.eps = c.number(10);
    u.options.amsgrad = c.flag(11);
    u.options.maximize = c.flag(12);
    if (u.options.amsgrad)
        u.moments.push_back(c.tensors(4));
    return update(c, u);
}

/* (self, grads, momentum_buffer_list, weight_decay, momentum, lr, dampening,
 * nesterov, maximize, is_first_step, grad_scale, found_inf) */
static bool fused_sgd(Call &c)
{
    Update u = {.kind = "sgd",
                .params = c.tensors(0),
                .grads = c.tensors(1),
                .step = c.flag(9) ? 0u : 1u,
                .grad_scale = scalar32(c.maybe(10)),
                .found = scalar32(c.maybe(11))};
    u.options.weight_decay = c.number(3);
    u.options.momentum = c.number(4);
    u.options.lr = number_of(c, 5);
    u.options.dampening = c.number(6);
    u.options.nesterov = c.flag(7);
    u.options.maximize = c.flag(8);
    if (u.options.momentum != 0)
        u.moments.push_back(c.tensors(2));
    return update(c, u);
}

/* (self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps,
 * maximize, grad_scale, found_inf) */
static bool fused_adagrad(Call &c)
{
    Update u = {.kind = "adagrad",
                .params = c.tensors(0),
                .grads = c.tensors(1),
                .moments = {c.tensors(2)},
                .steps = c.tensors(3),
                .grad_scale = scalar32(c.maybe(9)),
                .found = scalar32(c.maybe(10))};
    u.options.lr = number_of(c, 4);
    u.options.lr_decay = c.number(5);
    u.options.weight_decay = c.number(6);
    u.options.eps = c.number(7);
    u.options.maximize = c.flag(8);
    return update(c, u);
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    for (const char *overload : {"", ".tensor_lr"}) {
        std::string end = overload;
        op(m, ("_fused_adam_" + end).c_str(),
           [](Call &c) { return fused_adam(c, "adam"); });
        op(m, ("_fused_adamw_" + end).c_str(),
           [](Call &c) { return fused_adam(c, "adamw"); });
        op(m, ("_fused_sgd_" + end).c_str(), fused_sgd);
        op(m, ("_fused_adagrad_" + end).c_str(), fused_adagrad);
    }
}

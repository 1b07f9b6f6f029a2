// SPDX-License-Identifier: Apache-2.0
/* amp.cpp - what torch.amp.GradScaler calls: nothing waits for the host. */
#include "elementwise.h"

#include <torch/library.h>

#include <map>

namespace sesqui_torch
{

/* A scaler of the library with the scale 1, for its check of many gradients in
 * one launch. */
static ssq_scaler *checker(Call &c)
{
    static auto *all = new std::map<ssq_queue *, ssq_scaler *>;
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    ssq_scaler *&scaler = (*all)[c.queue()];
    if (scaler == nullptr) {
        ssq_device *device = device_at(c.device().index()).handle();
        check(ssq_scaler_create(device, "check", nullptr, &scaler));
        Tensor empty = fresh({0}, at::kFloat, c.device());
        Ref x(empty), y(empty);
        check(ssq_scaler_scale_grad(c.queue(), scaler, x, y));
    }
    return scaler;
}

/* The verdict of a check: 0, or 1 if a gradient is not finite. */
static ssq_status verdict_take(ssq_queue *queue, const ssq_tensor *verdict,
                               void *user)
{
    const Tensor &to = *static_cast<const Tensor *>(user);
    ssq_tensor *flat = nullptr;
    ssq_status status = ssq_tensor_reshape(verdict, 0, nullptr, &flat);
    if (status != SSQ_OK)
        return status;
    Ref y(to, OUT);
    status = ssq_cast(queue, SSQ_CAST(.x = flat, .y = y));
    ssq_tensor_destroy(&flat);
    return status;
}

static void check_finite(Call &c, const std::vector<Tensor> &grads,
                         const Tensor &found)
{
    std::vector<Ref> refs;
    std::vector<const ssq_tensor *> list;
    refs.reserve(grads.size());
    for (const Tensor &g : grads) {
        refs.emplace_back(g.dim() <= SSQ_MAX_RANK ? g
                                                  : reshaped(g, g.numel()));
        list.push_back(refs.back());
    }
    Tensor verdict = fresh({}, at::kFloat, c.device());
    ssq_scaler *scaler = checker(c);
    check(ssq_scaler_rank_hook_set(scaler, verdict_take, &verdict));
    ssq_status status = ssq_scaler_check(c.queue(), scaler, list.size(),
                                         list.data());
    check(ssq_scaler_rank_hook_set(scaler, nullptr, nullptr));
    check(status);
    binary(c.queue(), ssq_maximum, found, found, reshaped(verdict,
                                                          found.sizes()));
}

/* (self, found_inf, inv_scale) */
static bool check_and_unscale(Call &c)
{
    std::vector<Tensor> grads = c.tensors(0);
    const Tensor &found = c.tensor(1), &inverse = c.tensor(2);
    for (const Tensor &g : grads)
        if (!is_real(g))
            return false;
    if (found.scalar_type() != at::kFloat ||
        inverse.scalar_type() != at::kFloat || inverse.numel() != 1)
        return false;
    std::vector<Tensor> filled;
    for (const Tensor &g : grads)
        if (g.numel() > 0)
            filled.push_back(g);
    if (!filled.empty())
        check_finite(c, filled, found);
    for (const Tensor &g : filled)
        scale_by(c.queue(), g, g, inverse);
    c.results({});
    return true;
}

/* (self, growth_tracker, found_inf, growth, backoff, interval). With found:
 * scale = scale * backoff, tracker = 0. Otherwise tracker + 1; if that is the
 * interval, scale = scale * growth if this is finite, and tracker = 0. */
static bool update_scale(Call &c)
{
    const Tensor &scale_ = c.tensor(0), &tracker = c.tensor(1);
    const Tensor &found_ = c.tensor(2);
    if (scale_.scalar_type() != at::kFloat ||
        tracker.scalar_type() != at::kInt ||
        found_.scalar_type() != at::kFloat)
        return false;
    ssq_queue *q = c.queue();
    c10::Device device = c.device();
    auto flag = [&] { return fresh(scale_.sizes(), at::kBool, device); };
    auto real = [&] { return fresh(scale_.sizes(), at::kFloat, device); };
    auto whole = [&] { return fresh(scale_.sizes(), at::kInt, device); };
    Tensor found = flag(), grows = flag(), finite = flag();
    Tensor down = real(), up = real(), next = whole();
    Tensor zero = constant(0, at::kInt, device);
    compare(q, ssq_ne, found, reshaped(found_, scale_.sizes()),
            constant(0, at::kFloat, device));
    scale(q, down, scale_, c.number(4));
    scale(q, up, scale_, c.number(3));
    unary(q, ssq_isfinite, finite, up);
    Tensor count = reshaped(tracker, scale_.sizes());
    binary(q, ssq_add, next, count, constant(1, at::kInt, device));
    compare(q, ssq_eq, grows, next,
            constant(double(c.integer(5)), at::kInt, device));
    where(q, next, grows, zero, next);
    where(q, count, found, zero, next);
    binary(q, ssq_minimum, grows, grows, finite);
    where(q, up, grows, up, scale_);
    where(q, scale_, found, down, up);
    c.result_of({0});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "_amp_foreach_non_finite_check_and_unscale_", check_and_unscale);
    op(m, "_amp_update_scale_", update_scale);
}

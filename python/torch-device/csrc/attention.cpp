// SPDX-License-Identifier: Apache-2.0
/* attention.cpp - scaled_dot_product_attention and its gradient.
 *
 * torch's function asks choice() first. If the library has the case, torch
 * calls the "overrideable" ops of this file, otherwise it composes attention of
 * matmul and softmax. */
#include "elementwise.h"
#include "generator.h"

#include <ATen/EmptyTensor.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>
#include <torch/library.h>

namespace sesqui_torch
{

static bool attendable(const Tensor &q, const Tensor &k, const Tensor &v)
{
    return q.dim() == 4 && k.dim() == 4 && v.dim() == 4 && is_real(q) &&
           q.scalar_type() == k.scalar_type() &&
           q.scalar_type() == v.scalar_type() && k.size(1) == v.size(1) &&
           k.size(1) > 0 && q.size(1) % k.size(1) == 0 && q.numel() > 0 &&
           k.numel() > 0 && v.numel() > 0;
}

static int64_t choice(const Tensor &q, const Tensor &k, const Tensor &v,
                      const std::optional<Tensor> &mask, double dropout, bool,
                      std::optional<double>, bool grouped)
{
    bool heads = grouped || q.dim() != 4 || q.size(1) == k.size(1);
    bool mask_is_input = !mask.has_value() || !mask->requires_grad();
    bool fused = attendable(q, k, v) && heads && mask_is_input &&
                 q.size(0) == k.size(0) && q.size(0) == v.size(0) &&
                 dropout < 1;
    return static_cast<int64_t>(fused ? at::SDPBackend::overrideable
                                      : at::SDPBackend::math);
}

/* The seed and the offset of dropout travel with the saved tensors. */
static Tensor number_tensor(uint64_t v)
{
    Tensor x = at::detail::empty_cpu({}, at::kLong);
    *x.mutable_data_ptr<int64_t>() = static_cast<int64_t>(v);
    return x;
}

static uint64_t tensor_number(const Tensor &x)
{
    return x.numel() == 1 ? static_cast<uint64_t>(x.item().toLong()) : 0;
}

/* (query, key, value, attn_bias, dropout_p, is_causal, return_debug_mask,
 * scale) */
static bool forward(Call &c)
{
    const Tensor &q = c.tensor(0), &k = c.tensor(1), &v = c.tensor(2);
    Tensor mask = c.maybe(3);
    double p = c.number(4);
    TORCH_CHECK(attendable(q, k, v), "sesqui: ", c.describe(),
                ": the library has no attention of these operands");
    int64_t b = q.size(0), h = q.size(1), tq = q.size(2), tk = k.size(2);
    int64_t sizes[4] = {b, h, tq, v.size(3)}, kept[3] = {b, h, tq};
    /* Heads of one position are neighbours, as models want the result. */
    int64_t d = v.size(3), strides[4] = {tq * h * d, d, h * d, 1};
    Tensor y = fresh_strided(sizes, strides, q.scalar_type(), c.device());
    Tensor lse = fresh(kept, at::kFloat, c.device());
    Words w = {0, 0};
    if (p > 0)
        w = generator_take(std::nullopt, c.device(), b * h * tq * tk);
    {
        Ref rq(dense_rows(q)), rk(dense_rows(k)), rv(dense_rows(v));
        Ref rmask = ref_or_null(mask), ry(y, OUT), rlse(lse, OUT);
        check(ssq_attention(
            c.queue(),
            SSQ_ATTENTION(.q = rq, .k = rk, .v = rv, .mask = rmask, .y = ry,
                          .lse = rlse, .scale = c.none(7) ? 0 : c.number(7),
                          .causal = c.flag(5), .dropout = p, .seed = w.seed,
                          .offset = w.offset)));
    }
    Tensor none = fresh({0}, at::kInt, c.device());
    torch::jit::Stack results = {y, lse, none, none, tq, tk,
                                 number_tensor(w.seed), number_tensor(w.offset),
                                 fresh({0}, q.scalar_type(), c.device())};
    c.values(std::move(results));
    return true;
}

/* (grad_out, query, key, value, attn_bias, grad_input_mask, out, logsumexp,
 * cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, philox_seed,
 * philox_offset, scale) */
static bool backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &q = c.tensor(1), &k = c.tensor(2);
    const Tensor &v = c.tensor(3), &y = c.tensor(6), &lse = c.tensor(7);
    Tensor mask = c.maybe(4);
    auto wanted = c.at(5).toBoolList();
    Tensor dq, dk, dv;
    if (wanted[0])
        dq = fresh_like(q);
    if (wanted[1])
        dk = fresh_like(k);
    if (wanted[2])
        dv = fresh_like(v);
    for (Tensor *t : {&dq, &dk, &dv})
        if (t->defined() && t->stride(-1) != 1)
            *t = fresh(t->sizes(), t->scalar_type(), c.device());
    if (dq.defined() || dk.defined() || dv.defined()) {
        Ref rq(dense_rows(q)), rk(dense_rows(k)), rv(dense_rows(v));
        Ref rmask = ref_or_null(mask), ry(dense_rows(y)), rlse(lse);
        Ref rdy(dense_rows(dy)), rdq = ref_or_null(dq, OUT);
        Ref rdk = ref_or_null(dk, OUT), rdv = ref_or_null(dv, OUT);
        check(ssq_attention_backward(
            c.queue(),
            SSQ_ATTENTION_BACKWARD(
                .q = rq, .k = rk, .v = rv, .mask = rmask, .y = ry,
                .lse = rlse, .dy = rdy, .dq = rdq, .dk = rdk, .dv = rdv,
                .scale = c.none(16) ? 0 : c.number(16), .causal = c.flag(13),
                .dropout = c.number(12), .seed = tensor_number(c.tensor(14)),
                .offset = tensor_number(c.tensor(15)))));
    }
    c.results({dq, dk, dv, Tensor()});
    return true;
}

} // namespace sesqui_torch

namespace at::native
{
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &sesqui_torch::choice);
} // namespace at::native

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "_scaled_dot_product_fused_attention_overrideable",
       sesqui_torch::forward);
    op(m, "_scaled_dot_product_fused_attention_overrideable_backward",
       sesqui_torch::backward, true);
}

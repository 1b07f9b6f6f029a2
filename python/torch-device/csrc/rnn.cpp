// SPDX-License-Identifier: Apache-2.0
/* rnn.cpp - LSTM and GRU: a layer in one direction is one call of the library.
 *
 * lstm.input and gru.input have kernels above autograd, because torch would
 * otherwise compose them of a cell for each step. Packed sequences take that
 * way, with the cells of rnn_cell.cpp. */
#include "rnn.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace sesqui_torch
{

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using TensorList = at::TensorList;
using Maybe = std::optional<Tensor>; /* Function takes no undefined ones */

constexpr c10::DeviceType kind = c10::DeviceType::PrivateUse1;

/* One layer in one direction. The inputs are x, w_ih, w_hh, b_ih, b_hh, h0 and,
 * of an LSTM, c0; the results are y, hn and cn. */
struct Layer : torch::autograd::Function<Layer> {
    static variable_list forward(AutogradContext *context, Tensor x,
                                 Tensor w_ih, Tensor w_hh, Maybe b_ih_,
                                 Maybe b_hh_, Tensor h0, Maybe c0_,
                                 bool reverse)
    {
        at::AutoDispatchBelowADInplaceOrView below;
        Tensor b_ih = b_ih_.value_or(Tensor());
        Tensor b_hh = b_hh_.value_or(Tensor()), c0 = c0_.value_or(Tensor());
        RnnInputs in = {x, w_ih, w_hh, b_ih, b_hh, h0, c0, reverse};
        RnnResults r = rnn_forward(in);
        context->save_for_backward(
            {x, w_ih, w_hh, b_ih, b_hh, h0, c0, r.y, r.reserve});
        context->saved_data["reverse"] = reverse;
        if (c0.defined())
            return {r.y, r.hn, r.cn};
        return {r.y, r.hn};
    }

    static variable_list backward(AutogradContext *context,
                                  variable_list grads)
    {
        auto s = context->get_saved_variables();
        RnnInputs in = {s[0], s[1], s[2], s[3], s[4], s[5], s[6],
                        context->saved_data["reverse"].toBool()};
        RnnWanted wanted;
        for (size_t i = 0; i < 7; i++)
            wanted[i] = s[i].defined() && s[i].requires_grad();
        RnnGrads g = {grads[0], grads[1],
                      grads.size() > 2 ? grads[2] : Tensor()};
        at::AutoDispatchBelowADInplaceOrView below;
        variable_list result = rnn_backward(in, s[7], s[8], g, wanted);
        result.emplace_back(); /* of reverse */
        return result;
    }
};

/* torch.nn.LSTM under autocast is an op of the lower precision. */
static Tensor lowered(const Tensor &x)
{
    if (!x.defined() || !at::autocast::is_autocast_enabled(kind))
        return x;
    return at::autocast::cached_cast(at::autocast::get_autocast_dtype(kind), x,
                                     kind);
}

struct Options {
    bool has_biases, train, bidirectional, batch_first;
    int64_t layers;
    double dropout;
};

static bool supported(const Tensor &x, TensorList params, const Options &o,
                      size_t states)
{
    if (x.dim() != 3 || x.numel() == 0 || !x.is_floating_point() ||
        x.scalar_type() == at::kDouble)
        return false;
    size_t each = o.has_biases ? 4 : 2;
    size_t n = each * o.layers * (o.bidirectional ? 2 : 1);
    if (params.size() != n || states == 0)
        return false; /* projections have more parameters */
    for (const Tensor &w : params)
        if (w.device() != x.device() ||
            w.scalar_type() != params[0].scalar_type())
            return false;
    return true;
}

/* One direction of one layer, with the states of row `at`. */
static variable_list direction(const Tensor &x, TensorList params, size_t at,
                               const Options &o, const Tensor &h,
                               const Tensor &c, bool reverse)
{
    size_t each = o.has_biases ? 4 : 2;
    TensorList w = params.slice(at * each, each);
    int64_t row = static_cast<int64_t>(at);
    Maybe none;
    return Layer::apply(
        x, lowered(w[0]), lowered(w[1]), o.has_biases ? Maybe(lowered(w[2])) : none,
        o.has_biases ? Maybe(lowered(w[3])) : none,
        lowered(h.select(0, row).contiguous()),
        c.defined() ? Maybe(c.select(0, row).to(at::kFloat).contiguous()) : none,
        reverse);
}

/* All layers: y, and the last states. */
static std::array<Tensor, 3> layers(const Tensor &input, const Tensor &h,
                                    const Tensor &c, TensorList params,
                                    const Options &o)
{
    Tensor x = lowered(o.batch_first ? input.transpose(0, 1) : input);
    std::vector<Tensor> hn, cn;
    size_t at = 0;
    for (int64_t l = 0; l < o.layers; l++) {
        std::vector<Tensor> ys;
        for (int d = 0; d < (o.bidirectional ? 2 : 1); d++) {
            auto r = direction(x.contiguous(), params, at++, o, h, c, d == 1);
            ys.push_back(r[0]);
            hn.push_back(r[1]);
            if (c.defined())
                cn.push_back(r[2]);
        }
        x = ys.size() == 1 ? ys[0] : at::cat(ys, 2);
        if (o.dropout > 0 && o.train && l + 1 < o.layers)
            x = at::dropout(x, o.dropout, true);
    }
    Tensor last_c;
    if (c.defined())
        last_c = at::stack(cn).to(x.scalar_type());
    return {o.batch_first ? x.transpose(0, 1) : x, at::stack(hn), last_c};
}

using Three = std::tuple<Tensor, Tensor, Tensor>;
using Two = std::tuple<Tensor, Tensor>;

static Three lstm(const Tensor &x, TensorList hx, TensorList params,
                  bool has_biases, int64_t n, double dropout, bool train,
                  bool bidirectional, bool batch_first)
{
    Options o = {has_biases, train, bidirectional, batch_first, n, dropout};
    if (!supported(x, params, o, hx.size() == 2) ||
        hx[0].size(2) != hx[1].size(2))
        return at::native::lstm(x, hx, params, has_biases, n, dropout, train,
                                bidirectional, batch_first);
    auto r = layers(x, hx[0], hx[1], params, o);
    return {r[0], r[1], r[2]};
}

static Two gru(const Tensor &x, const Tensor &hx, TensorList params,
               bool has_biases, int64_t n, double dropout, bool train,
               bool bidirectional, bool batch_first)
{
    Options o = {has_biases, train, bidirectional, batch_first, n, dropout};
    if (!supported(x, params, o, 1))
        return at::native::gru(x, hx, params, has_biases, n, dropout, train,
                               bidirectional, batch_first);
    auto r = layers(x, hx, Tensor(), params, o);
    return {r[0], r[1]};
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m)
{
    m.impl("lstm.input", TORCH_FN(sesqui_torch::lstm));
    m.impl("gru.input", TORCH_FN(sesqui_torch::gru));
}

/* Without gradients, too. */
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("lstm.input", TORCH_FN(sesqui_torch::lstm));
    m.impl("gru.input", TORCH_FN(sesqui_torch::gru));
}

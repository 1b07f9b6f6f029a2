// SPDX-License-Identifier: Apache-2.0
/* norm.cpp - batch, group, layer and RMS norm, and their gradients. */
#include "elementwise.h"

#include <torch/library.h>

#include <limits>

namespace sesqui_torch
{

using Dims = c10::SmallVector<int64_t, 8>;

static bool absent_or_real(const Tensor &x)
{
    return !x.defined() || (is_real(x) && is_here(x));
}

/* Parameters and statistics are float32 in the library. */
static Tensor float32(const Tensor &x)
{
    return x.defined() ? contiguous(cast(x, at::kFloat)) : x;
}

/* x as [n, c, s], or as [n s, c] if the channels are dense. */
struct Channels {
    explicit Channels(const Tensor &x)
    {
        int64_t spatial = 1, n = x.size(0), c = x.size(1);
        for (int64_t d = 2; d < x.dim(); d++)
            spatial *= x.size(d);
        last = x.dim() == 4 && !x.is_contiguous() &&
               x.is_contiguous(at::MemoryFormat::ChannelsLast);
        if (last)
            sizes = {n * spatial, c};
        else
            sizes = {n, c, spatial};
    }
    /* A view of x, or of a copy. */
    Tensor of(const Tensor &x) const
    {
        int64_t order[4] = {0, 2, 3, 1};
        return reshaped(last ? permuted(x, order) : contiguous(x), sizes);
    }
    Tensor like(const Tensor &x, at::ScalarType type) const
    {
        return last ? fresh_strided(x.sizes(), x.strides(), type, x.device())
                    : fresh(x.sizes(), type, x.device());
    }
    Dims sizes;
    bool last;
};

struct BatchNorm {
    Tensor x, weight, bias, mean, var;
    bool training;
    double momentum, eps;
};

/* {y, save_mean, save_invstd}; none are saved if it is not training. */
static std::optional<std::array<Tensor, 3>> batch_norm(Call &c,
                                                       const BatchNorm &b)
{
    const Tensor &x = b.x;
    int64_t n = x.dim() >= 2 ? x.size(1) : 0;
    if (!is_real(x) || x.dim() < 2 || x.numel() == 0 || !(b.eps >= 0) ||
        !(b.momentum >= 0 && b.momentum <= 1) || (b.training && x.numel() / n < 2) || !absent_or_real(b.weight) ||
        !absent_or_real(b.bias) || !absent_or_real(b.mean) ||
        !absent_or_real(b.var) || b.mean.defined() != b.var.defined() ||
        (!b.training && !b.mean.defined()))
        return std::nullopt;
    Channels channels(x);
    Tensor y = channels.like(x, x.scalar_type());
    Tensor save_mean = fresh(b.training ? n : 0, at::kFloat, c.device());
    Tensor save_rstd = fresh(b.training ? n : 0, at::kFloat, c.device());
    Tensor running_mean = float32(b.mean), running_var = float32(b.var);
    {
        Ref rx(channels.of(x)), ry(channels.of(y), OUT);
        Ref gamma = ref_or_null(float32(b.weight));
        Ref beta = ref_or_null(float32(b.bias));
        Ref mean = ref_or_null(running_mean, b.training ? OUT : IN);
        Ref var = ref_or_null(running_var, b.training ? OUT : IN);
        Ref s_mean = ref_or_null(b.training ? save_mean : Tensor(), OUT);
        Ref s_rstd = ref_or_null(b.training ? save_rstd : Tensor(), OUT);
        check(ssq_batch_norm(
            c.queue(),
            SSQ_BATCH_NORM(.x = rx, .gamma = gamma, .beta = beta,
                           .running_mean = mean, .running_var = var, .y = ry,
                           .mean = s_mean, .rstd = s_rstd, .axis = 1,
                           .training = b.training, .momentum = b.momentum,
                           .eps = b.eps)));
    }
    if (b.training && b.mean.defined()) {
        if (!running_mean.is_same(b.mean))
            assign(b.mean, running_mean);
        if (!running_var.is_same(b.var))
            assign(b.var, running_var);
    }
    return std::array<Tensor, 3>{y, save_mean, save_rstd};
}

/* native_batch_norm(input, weight, bias, running_mean, running_var, training,
 * momentum, eps) */
static bool native_batch_norm(Call &c)
{
    auto r = batch_norm(c, {c.tensor(0), c.maybe(1), c.maybe(2), c.maybe(3),
                            c.maybe(4), c.flag(5), c.number(6), c.number(7)});
    if (!r)
        return false;
    c.results({(*r)[0], (*r)[1], (*r)[2]});
    return true;
}

/* _native_batch_norm_legit.no_stats(input, weight, bias, training, ..) */
static bool batch_norm_no_stats(Call &c)
{
    auto r = batch_norm(c, {c.tensor(0), c.maybe(1), c.maybe(2), Tensor(),
                            Tensor(), c.flag(3), c.number(4), c.number(5)});
    if (!r)
        return false;
    c.results({(*r)[0], (*r)[1], (*r)[2]});
    return true;
}

/* _batch_norm_with_update(input, weight, bias, running_mean, running_var,
 * momentum, eps) */
static bool batch_norm_with_update(Call &c)
{
    auto r = batch_norm(c, {c.tensor(0), c.maybe(1), c.maybe(2), c.maybe(3),
                            c.maybe(4), true, c.number(5), c.number(6)});
    if (!r)
        return false;
    c.results({(*r)[0], (*r)[1], (*r)[2], fresh({0}, at::kByte, c.device())});
    return true;
}

/* (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd,
 * train, eps, output_mask) */
static bool batch_norm_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1);
    Tensor weight = c.maybe(2);
    bool training = c.flag(7);
    auto wanted = c.at(9).toBoolList();
    if (!is_real(dy) || !is_real(x) || x.dim() < 2 || x.numel() == 0 ||
        !(c.number(8) >= 0) || !absent_or_real(weight))
        return false;
    Channels channels(x);
    Tensor dx, dw, db;
    if (wanted[0])
        dx = channels.like(x, x.scalar_type());
    if (wanted[1])
        dw = fresh(x.size(1), at::kFloat, c.device());
    if (wanted[2])
        db = fresh(x.size(1), at::kFloat, c.device());
    if (wanted[0] || wanted[1] || wanted[2]) {
        Tensor none;
        Ref rx(channels.of(x)), rdy(channels.of(dy));
        Ref gamma = ref_or_null(float32(weight));
        Ref mean = ref_or_null(float32(training ? none : c.maybe(3)));
        Ref var = ref_or_null(float32(training ? none : c.maybe(4)));
        Ref s_mean = ref_or_null(float32(training ? c.maybe(5) : none));
        Ref s_rstd = ref_or_null(float32(training ? c.maybe(6) : none));
        Ref rdx = ref_or_null(dx.defined() ? channels.of(dx) : dx, OUT);
        Ref rdw = ref_or_null(dw, OUT), rdb = ref_or_null(db, OUT);
        check(ssq_batch_norm_backward(
            c.queue(),
            SSQ_BATCH_NORM_BACKWARD(
                .x = rx, .gamma = gamma, .running_mean = mean,
                .running_var = var, .mean = s_mean, .rstd = s_rstd, .dy = rdy,
                .dx = rdx, .dgamma = rdw, .dbeta = rdb, .axis = 1,
                .training = training, .eps = c.number(8))));
    }
    at::ScalarType type = weight.defined() ? weight.scalar_type() : at::kFloat;
    c.results({dx, dw.defined() ? cast(dw, type) : dw,
               db.defined() ? cast(db, type) : db});
    return true;
}

/* native_group_norm(input, weight, bias, N, C, HxW, group, eps) */
static bool group_norm(Call &c)
{
    const Tensor &x = c.tensor(0);
    Tensor weight = c.maybe(1), bias = c.maybe(2);
    int64_t n = c.integer(3), groups = c.integer(6);
    if (!is_real(x) || x.numel() == 0 || !(c.number(7) >= 0) ||
        !absent_or_real(weight) || !absent_or_real(bias))
        return false;
    int64_t sizes[3] = {n, c.integer(4), c.integer(5)}, kept[2] = {n, groups};
    Tensor y = fresh(x.sizes(), x.scalar_type(), c.device());
    Tensor mean = fresh(kept, at::kFloat, c.device());
    Tensor rstd = fresh(kept, at::kFloat, c.device());
    {
        Ref rx(reshaped(contiguous(x), sizes)), ry(reshaped(y, sizes), OUT);
        Ref gamma = ref_or_null(float32(weight));
        Ref beta = ref_or_null(float32(bias));
        Ref rmean(mean, OUT), rrstd(rstd, OUT);
        check(ssq_group_norm(c.queue(),
                             SSQ_GROUP_NORM(.x = rx, .gamma = gamma,
                                            .beta = beta, .y = ry,
                                            .mean = rmean, .rstd = rrstd,
                                            .groups = groups,
                                            .eps = c.number(7))));
    }
    c.results({y, mean, rstd});
    return true;
}

/* (grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask) */
static bool group_norm_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1);
    Tensor weight = c.maybe(4);
    auto wanted = c.at(9).toBoolList();
    if (!is_real(dy) || !is_real(x) || x.numel() == 0 ||
        !absent_or_real(weight))
        return false;
    int64_t sizes[3] = {c.integer(5), c.integer(6), c.integer(7)};
    Tensor dx, dw, db;
    if (wanted[0])
        dx = fresh(x.sizes(), x.scalar_type(), c.device());
    if (wanted[1])
        dw = fresh(sizes[1], at::kFloat, c.device());
    if (wanted[2])
        db = fresh(sizes[1], at::kFloat, c.device());
    if (wanted[0] || wanted[1] || wanted[2]) {
        Ref rx(reshaped(contiguous(x), sizes));
        Ref rdy(reshaped(contiguous(dy), sizes));
        Ref gamma = ref_or_null(float32(weight));
        Ref mean(float32(c.tensor(2))), rstd(float32(c.tensor(3)));
        Ref rdx = ref_or_null(dx.defined() ? reshaped(dx, sizes) : dx, OUT);
        Ref rdw = ref_or_null(dw, OUT), rdb = ref_or_null(db, OUT);
        check(ssq_group_norm_backward(
            c.queue(),
            SSQ_GROUP_NORM_BACKWARD(.x = rx, .gamma = gamma, .mean = mean,
                                    .rstd = rstd, .dy = rdy, .dx = rdx,
                                    .dgamma = rdw, .dbeta = rdb,
                                    .groups = c.integer(8))));
    }
    at::ScalarType type = weight.defined() ? weight.scalar_type()
                                           : x.scalar_type();
    c.results({dx, dw.defined() ? cast(dw, type) : dw,
               db.defined() ? cast(db, type) : db});
    return true;
}

/* x as rows of the normalized dimensions. */
struct Rows {
    Rows(const Tensor &x, const std::vector<int64_t> &normalized)
    {
        int64_t lead = x.dim() - static_cast<int64_t>(normalized.size());
        for (int64_t d = 0; d < x.dim(); d++) {
            (d < lead ? rows : columns) *= x.size(d);
            statistics.push_back(d < lead ? x.size(d) : 1);
        }
    }
    Tensor of(const Tensor &x) const
    {
        int64_t sizes[2] = {rows, columns};
        return reshaped(contiguous(x), sizes);
    }
    Tensor row(const Tensor &w) const
    {
        return w.defined() ? reshaped(contiguous(w), columns) : w;
    }
    Tensor new_statistic(const Tensor &x) const
    {
        return fresh(statistics, at::kFloat, x.device());
    }
    Tensor column(const Tensor &s) const
    {
        return reshaped(float32(s), rows);
    }
    int64_t rows = 1, columns = 1;
    Dims statistics;
};

/* native_layer_norm(input, normalized_shape, weight, bias, eps) */
static bool layer_norm(Call &c)
{
    const Tensor &x = c.tensor(0);
    Tensor weight = c.maybe(2), bias = c.maybe(3);
    if (!is_real(x) || x.numel() == 0 || !(c.number(4) >= 0) ||
        !absent_or_real(weight) || !absent_or_real(bias))
        return false;
    Rows rows(x, c.list(1));
    Tensor y = fresh(x.sizes(), x.scalar_type(), c.device());
    Tensor mean = rows.new_statistic(x), rstd = rows.new_statistic(x);
    {
        Ref rx(rows.of(x)), ry(rows.of(y), OUT);
        Ref gamma = ref_or_null(rows.row(weight));
        Ref beta = ref_or_null(rows.row(bias));
        Ref rmean(rows.column(mean), OUT), rrstd(rows.column(rstd), OUT);
        check(ssq_layer_norm(c.queue(),
                             SSQ_LAYER_NORM(.x = rx, .gamma = gamma,
                                            .beta = beta, .y = ry,
                                            .mean = rmean, .rstd = rrstd,
                                            .eps = c.number(4))));
    }
    c.results({y, mean, rstd});
    return true;
}

/* (grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) */
static bool layer_norm_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1);
    Tensor weight = c.maybe(5), bias = c.maybe(6);
    auto wanted = c.at(7).toBoolList();
    if (!is_real(dy) || !is_real(x) || x.numel() == 0 ||
        !absent_or_real(weight))
        return false;
    Rows rows(x, c.list(2));
    Tensor dx, dw, db;
    if (wanted[0])
        dx = fresh(x.sizes(), x.scalar_type(), c.device());
    if (wanted[1] && weight.defined())
        dw = fresh(weight.sizes(), weight.scalar_type(), c.device());
    if (wanted[2] && bias.defined())
        db = fresh(bias.sizes(), bias.scalar_type(), c.device());
    if (dx.defined() || dw.defined() || db.defined()) {
        Ref rx(rows.of(x)), rdy(rows.of(dy));
        Ref gamma = ref_or_null(rows.row(weight));
        Ref mean(rows.column(c.tensor(3))), rstd(rows.column(c.tensor(4)));
        Ref rdx = ref_or_null(dx.defined() ? rows.of(dx) : dx, OUT);
        Ref rdw = ref_or_null(rows.row(dw), OUT);
        Ref rdb = ref_or_null(rows.row(db), OUT);
        check(ssq_layer_norm_backward(
            c.queue(),
            SSQ_LAYER_NORM_BACKWARD(.x = rx, .gamma = gamma, .mean = mean,
                                    .rstd = rstd, .dy = rdy, .dx = rdx,
                                    .dgamma = rdw, .dbeta = rdb)));
    }
    c.results({dx, dw, db});
    return true;
}

/* torch's eps, if none is given: it depends on the dtype. */
static double eps_of(at::ScalarType type)
{
    return type == at::kHalf       ? 0x1p-10
           : type == at::kBFloat16 ? 0x1p-7
                                   : 0x1p-23;
}

/* _fused_rms_norm(input, normalized_shape, weight, eps) */
static bool rms_norm(Call &c)
{
    const Tensor &x = c.tensor(0);
    Tensor weight = c.maybe(2);
    double eps = c.none(3) ? eps_of(x.scalar_type()) : c.number(3);
    if (!is_real(x) || x.numel() == 0 || !(eps >= 0) ||
        !absent_or_real(weight))
        return false;
    Rows rows(x, c.list(1));
    Tensor y = fresh(x.sizes(), x.scalar_type(), c.device());
    Tensor rstd = rows.new_statistic(x);
    {
        Ref rx(rows.of(x)), ry(rows.of(y), OUT);
        Ref gamma = ref_or_null(rows.row(weight));
        Ref rrstd(rows.column(rstd), OUT);
        check(ssq_rms_norm(c.queue(),
                           SSQ_RMS_NORM(.x = rx, .gamma = gamma, .y = ry,
                                        .rstd = rrstd, .eps = eps)));
    }
    c.results({y, rstd});
    return true;
}

/* The same on the CPU, which has no such op. */
static void rms_norm_backward_on_host(Call &c)
{
    fallback_count("aten::_fused_rms_norm_backward");
    Tensor dy = c.tensor(0).cpu(), x = c.tensor(1).cpu();
    Tensor rstd = c.tensor(3).cpu(), weight = c.maybe(4), dx, dw;
    auto wanted = c.at(5).toBoolList();
    std::vector<int64_t> last, lead;
    int64_t rows = x.dim() - static_cast<int64_t>(c.list(2).size());
    for (int64_t d = 0; d < x.dim(); d++)
        (d < rows ? lead : last).push_back(d);
    Tensor z = x.mul(rstd);
    Tensor g = weight.defined() ? dy.mul(weight.cpu()) : dy;
    if (wanted[0])
        dx = g.sub(z.mul(g.mul(z).mean(last, true)))
                 .mul(rstd)
                 .to(x.scalar_type())
                 .to(c.device());
    if (wanted[1] && weight.defined()) {
        Tensor sum = lead.empty() ? dy.mul(z) : dy.mul(z).sum(lead);
        dw = sum.to(weight.scalar_type()).to(c.device());
    }
    c.results({dx, dw});
}

/* (grad_out, input, normalized_shape, rstd, weight, output_mask) */
static bool rms_norm_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1);
    Tensor weight = c.maybe(4);
    auto wanted = c.at(5).toBoolList();
    if (!is_real(dy) || !is_real(x) || x.numel() == 0 ||
        !absent_or_real(weight)) {
        rms_norm_backward_on_host(c);
        return true;
    }
    Rows rows(x, c.list(2));
    Tensor dx, dw;
    if (wanted[0])
        dx = fresh(x.sizes(), x.scalar_type(), c.device());
    if (wanted[1] && weight.defined())
        dw = fresh(weight.sizes(), weight.scalar_type(), c.device());
    if (dx.defined() || dw.defined()) {
        Ref rx(rows.of(x)), rdy(rows.of(dy));
        Ref gamma = ref_or_null(rows.row(weight));
        Ref rstd(rows.column(c.tensor(3)));
        Ref rdx = ref_or_null(dx.defined() ? rows.of(dx) : dx, OUT);
        Ref rdw = ref_or_null(rows.row(dw), OUT);
        check(ssq_rms_norm_backward(
            c.queue(),
            SSQ_RMS_NORM_BACKWARD(.x = rx, .gamma = gamma, .rstd = rstd,
                                  .dy = rdy, .dx = rdx, .dgamma = rdw)));
    }
    c.results({dx, dw});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "native_batch_norm", native_batch_norm);
    op(m, "_native_batch_norm_legit", native_batch_norm);
    op(m, "_native_batch_norm_legit.no_stats", batch_norm_no_stats);
    op(m, "_batch_norm_with_update", batch_norm_with_update);
    op(m, "native_batch_norm_backward", batch_norm_backward);
    op(m, "batch_norm_backward", batch_norm_backward);
    op(m, "native_group_norm", group_norm);
    op(m, "native_group_norm_backward", group_norm_backward);
    op(m, "native_layer_norm", layer_norm);
    op(m, "native_layer_norm_backward", layer_norm_backward);
    op(m, "_fused_rms_norm", rms_norm);
    op(m, "_fused_rms_norm_backward", rms_norm_backward);
}

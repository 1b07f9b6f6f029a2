// SPDX-License-Identifier: Apache-2.0
/* rnn_cell.cpp - an LSTM or GRU layer, and the cells of single steps. */
#include "elementwise.h"
#include "reduce.h"
#include "rnn.h"

#include <torch/library.h>

namespace sesqui_torch
{

namespace
{
struct RnnContext final : Context {
    explicit RnnContext(const RnnInputs &in) : in(in) {}
    std::string describe() const override
    {
        return std::string(in.c0.defined() ? "lstm" : "gru") + "(input " +
               described(in.x) + ", w_ih " + described(in.w_ih) + ", w_hh " +
               described(in.w_hh) + ", h0 " + described(in.h0) + ")";
    }
    const RnnInputs &in;
};
} // namespace

RnnResults rnn_forward(const RnnInputs &in)
{
    RnnContext context(in);
    Lane lane(in.x);
    bool lstm = in.c0.defined();
    int64_t t = in.x.size(0), n = in.x.size(1), h = in.w_hh.size(1);
    int64_t sizes[3] = {t, n, h}, state[2] = {n, h};
    int64_t kept[3] = {t, n, (lstm ? 5 : 4) * h};
    at::ScalarType type = in.h0.scalar_type();
    c10::Device device = in.x.device();
    RnnResults r = {fresh(sizes, type, device), fresh(state, type, device),
                    Tensor(), fresh(kept, at::kFloat, device)};
    Ref x(in.x), w_ih(contiguous(in.w_ih)), w_hh(contiguous(in.w_hh));
    Ref b_ih = ref_or_null(in.b_ih), b_hh = ref_or_null(in.b_hh);
    Ref h0(in.h0), y(r.y, OUT), hn(r.hn, OUT), reserve(r.reserve, OUT);
    if (lstm) {
        r.cn = fresh(state, at::kFloat, device);
        Ref c0(in.c0), cn(r.cn, OUT);
        check(ssq_lstm(lane.queue,
                       SSQ_LSTM(.x = x, .w_ih = w_ih, .w_hh = w_hh,
                                .b_ih = b_ih, .b_hh = b_hh, .h0 = h0,
                                .c0 = c0, .y = y, .hn = hn, .cn = cn,
                                .reserve = reserve, .reverse = in.reverse)));
    } else {
        check(ssq_gru(lane.queue,
                      SSQ_GRU(.x = x, .w_ih = w_ih, .w_hh = w_hh,
                              .b_ih = b_ih, .b_hh = b_hh, .h0 = h0, .y = y,
                              .hn = hn, .reserve = reserve,
                              .reverse = in.reverse)));
    }
    return r;
}

std::vector<Tensor> rnn_backward(const RnnInputs &in, const Tensor &y_,
                                 const Tensor &reserve_, const RnnGrads &g,
                                 const RnnWanted &wanted)
{
    RnnContext context(in);
    Lane lane(in.x);
    bool lstm = in.c0.defined();
    const Tensor *inputs[7] = {&in.x,    &in.w_ih, &in.w_hh, &in.b_ih,
                               &in.b_hh, &in.h0,   &in.c0};
    std::vector<Tensor> d(7);
    Ref rd[7];
    bool any = false;
    for (size_t i = 0; i < 7; i++) {
        if (!wanted[i] || !inputs[i]->defined())
            continue;
        d[i] = fresh(inputs[i]->sizes(), inputs[i]->scalar_type(),
                     in.x.device());
        rd[i] = Ref(d[i], OUT);
        any = true;
    }
    if (!any)
        return d;
    Ref x(in.x), w_ih(contiguous(in.w_ih)), w_hh(contiguous(in.w_hh));
    Ref h0(in.h0), c0 = ref_or_null(in.c0), y(y_), reserve(reserve_);
    Ref dy = ref_or_null(g.y.defined() ? contiguous(g.y) : g.y);
    Ref dhn = ref_or_null(g.hn.defined() ? contiguous(g.hn) : g.hn);
    if (lstm) {
        Ref dcn = ref_or_null(
            g.cn.defined() ? contiguous(cast(g.cn, at::kFloat)) : g.cn);
        check(ssq_lstm_backward(
            lane.queue,
            SSQ_LSTM_BACKWARD(.x = x, .w_ih = w_ih, .w_hh = w_hh, .h0 = h0,
                              .c0 = c0, .y = y, .reserve = reserve, .dy = dy,
                              .dhn = dhn, .dcn = dcn, .dx = rd[0],
                              .dw_ih = rd[1], .dw_hh = rd[2], .db_ih = rd[3],
                              .db_hh = rd[4], .dh0 = rd[5], .dc0 = rd[6],
                              .reverse = in.reverse)));
    } else {
        check(ssq_gru_backward(
            lane.queue,
            SSQ_GRU_BACKWARD(.x = x, .w_ih = w_ih, .w_hh = w_hh, .h0 = h0,
                             .y = y, .reserve = reserve, .dy = dy, .dhn = dhn,
                             .dx = rd[0], .dw_ih = rd[1], .dw_hh = rd[2],
                             .db_ih = rd[3], .db_hh = rd[4], .dh0 = rd[5],
                             .reverse = in.reverse)));
    }
    return d;
}

/* input + bias, in float32. */
static Tensor gates_of(ssq_queue *q, const Tensor &x, const Tensor &bias)
{
    Tensor t = fresh(x.sizes(), at::kFloat, x.device());
    if (bias.defined())
        binary(q, ssq_add, t, x, bias);
    else
        assign(t, x);
    return t;
}

/* (input_gates, hidden_gates, cx, input_bias, hidden_bias) */
static bool lstm_cell(Call &c)
{
    const Tensor &gi = c.tensor(0), &gh = c.tensor(1), &cx = c.tensor(2);
    if (!is_real(gi) || !is_real(gh) || !is_real(cx))
        return false;
    ssq_queue *q = c.queue();
    Tensor a = gates_of(q, gi, c.maybe(3)), b = gates_of(q, gh, c.maybe(4));
    binary(q, ssq_add, a, a, b);
    Tensor hy = fresh(cx.sizes(), gi.scalar_type(), c.device());
    Tensor cy = fresh(cx.sizes(), at::kFloat, c.device());
    {
        Ref ra(a), rc(cast(cx, at::kFloat)), rh(hy, OUT), rcy(cy, OUT);
        Ref gates(a, OUT);
        check(ssq_lstm_cell(q, SSQ_LSTM_CELL(.a = ra, .c = rc, .y = rh,
                                             .c_out = rcy, .gates = gates)));
    }
    c.results({hy, cast(cy, cx.scalar_type()), a});
    return true;
}

/* (grad_hy, grad_cy, cx, cy, workspace, has_bias) */
static bool lstm_cell_backward(Call &c)
{
    Tensor dh = c.maybe(0), dc = c.maybe(1);
    const Tensor &cx = c.tensor(2), &cy = c.tensor(3), &gates = c.tensor(4);
    if (!is_real(cx) || !is_real(cy) || !is_real(gates))
        return false;
    Tensor da = fresh(gates.sizes(), cx.scalar_type(), c.device());
    Tensor dc_in = fresh(cx.sizes(), at::kFloat, c.device());
    {
        Ref rg(gates), rc(cast(cx, at::kFloat)), rcy(cast(cy, at::kFloat));
        Ref rdh = ref_or_null(dh);
        Ref rdc = ref_or_null(dc.defined() ? cast(dc, at::kFloat) : dc);
        Ref rda(da, OUT), rdci(dc_in, OUT);
        check(ssq_lstm_cell_backward(
            c.queue(),
            SSQ_LSTM_CELL_BACKWARD(.gates = rg, .c = rc, .c_out = rcy,
                                   .dy = rdh, .dc = rdc, .da = rda,
                                   .dc_in = rdci)));
    }
    Tensor db;
    if (c.flag(5)) {
        db = fresh(gates.size(1), cx.scalar_type(), c.device());
        if (!reduce(c.queue(), ssq_sum, db, da, axis_of(da, 0)))
            return false;
    }
    c.results({da, cast(dc_in, cx.scalar_type()), db});
    return true;
}

/* (input_gates, hidden_gates, hx, input_bias, hidden_bias). The workspace has
 * the gates, then v_n, then h. */
static bool gru_cell(Call &c)
{
    const Tensor &gi = c.tensor(0), &gh = c.tensor(1), &hx = c.tensor(2);
    if (!is_real(gi) || !is_real(gh) || !is_real(hx))
        return false;
    ssq_queue *q = c.queue();
    int64_t n = hx.size(0), h = hx.size(1), sizes[2] = {n, 5 * h};
    Tensor u = gates_of(q, gi, c.maybe(3)), v = gates_of(q, gh, c.maybe(4));
    Tensor hy = fresh(hx.sizes(), hx.scalar_type(), c.device());
    Tensor work = fresh(sizes, at::kFloat, c.device());
    assign(sliced(work, 1, 4 * h, h), hx);
    {
        Ref ru(u), rv(v), rh(hx), ry(hy, OUT);
        Ref gates(sliced(work, 1, 0, 3 * h), OUT);
        Ref rq(sliced(work, 1, 3 * h, h), OUT);
        check(ssq_gru_cell(q, SSQ_GRU_CELL(.u = ru, .v = rv, .h = rh, .y = ry,
                                           .gates = gates, .q = rq)));
    }
    c.results({hy, work});
    return true;
}

/* (grad_hy, workspace, has_bias) */
static bool gru_cell_backward(Call &c)
{
    const Tensor &dh = c.tensor(0), &work = c.tensor(1);
    if (!is_real(dh) || work.scalar_type() != at::kFloat)
        return false;
    ssq_queue *q = c.queue();
    int64_t n = work.size(0), h = work.size(1) / 5, sizes[2] = {n, 3 * h};
    at::ScalarType type = dh.scalar_type();
    Tensor du = fresh(sizes, type, c.device()), dv = fresh_like(du);
    Tensor dhx = fresh(dh.sizes(), type, c.device());
    {
        Ref gates(sliced(work, 1, 0, 3 * h)), rq(sliced(work, 1, 3 * h, h));
        Ref rh(sliced(work, 1, 4 * h, h)), rdy(dh), rdu(du, OUT);
        Ref rdv(dv, OUT), rdh(dhx, OUT);
        check(ssq_gru_cell_backward(
            q, SSQ_GRU_CELL_BACKWARD(.gates = gates, .q = rq, .h = rh,
                                     .dy = rdy, .du = rdu, .dv = rdv,
                                     .dh_in = rdh)));
    }
    Tensor db, dc;
    if (c.flag(2)) {
        db = fresh(3 * h, type, c.device());
        dc = fresh(3 * h, type, c.device());
        if (!reduce(q, ssq_sum, db, du, axis_of(du, 0)) ||
            !reduce(q, ssq_sum, dc, dv, axis_of(dv, 0)))
            return false;
    }
    c.results({du, dv, dhx, db, dc});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "_thnn_fused_lstm_cell", lstm_cell);
    op(m, "_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
    op(m, "_thnn_fused_gru_cell", gru_cell);
    op(m, "_thnn_fused_gru_cell_backward", gru_cell_backward);
}

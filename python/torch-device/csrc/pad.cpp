// SPDX-License-Identifier: Apache-2.0
/* pad.cpp - reflection and replication padding, flips and rolls: dimension by
 * dimension, as rows that are gathered. The gradient adds to rows. */
#include "index.h"

#include <ATen/EmptyTensor.h>
#include <torch/library.h>

#include <map>

namespace sesqui_torch
{

using Dims = c10::SmallVector<int64_t, 8>;
enum Kind { REFLECT, REPLICATE, REVERSE };

static int32_t source(Kind kind, int64_t i, int64_t n)
{
    if (kind == REVERSE)
        return static_cast<int32_t>(n - 1 - i);
    if (kind == REPLICATE)
        return static_cast<int32_t>(std::clamp<int64_t>(i, 0, n - 1));
    if (i < 0)
        i = -i;
    return static_cast<int32_t>(i < n ? i : 2 * (n - 1) - i);
}

/* For each element of the result along a dimension: its element of x. */
static Tensor sources(Kind kind, int64_t n, int64_t before, int64_t after,
                      c10::Device device)
{
    using Key = std::tuple<c10::DeviceIndex, Kind, int64_t, int64_t, int64_t>;
    static auto *all = new std::map<Key, Tensor>;
    Tensor &x = (*all)[{device.index(), kind, n, before, after}];
    if (!x.defined()) {
        int64_t m = n + before + after;
        Tensor host = at::detail::empty_cpu({m}, at::kInt);
        for (int64_t i = 0; i < m; i++)
            host.mutable_data_ptr<int32_t>()[i] = source(kind, i - before, n);
        x = fresh(m, at::kInt, device);
        write(x, host, true);
    }
    return x;
}

static Tensor rows_first(const Tensor &x, int64_t axis)
{
    Dims order;
    order.push_back(axis);
    for (int64_t d = 0; d < x.dim(); d++)
        if (d != axis)
            order.push_back(d);
    return permuted(x, order);
}

/* x with one dimension padded, as words. */
static Tensor gathered(ssq_queue *q, const Tensor &x, int64_t axis,
                       const Tensor &index)
{
    Dims sizes(x.sizes());
    sizes[axis] = index.numel();
    Tensor y = fresh(sizes, x.scalar_type(), x.device());
    Ref rx(rows_first(x, axis)), ri(index), ry(rows_first(y, axis), OUT);
    check(ssq_gather_rows(q, SSQ_GATHER_ROWS(.x = rx, .index = ri, .y = ry)));
    return y;
}

static Tensor scattered(ssq_queue *q, const Tensor &dy, int64_t axis,
                        int64_t n, const Tensor &index)
{
    Dims sizes(dy.sizes());
    sizes[axis] = n;
    Tensor dx = fresh(sizes, at::kFloat, dy.device());
    set_all(dx, 0);
    Ref ry(rows_first(dy, axis)), ri(index), rx(rows_first(dx, axis), OUT);
    check(ssq_scatter_add_rows(
        q, SSQ_SCATTER_ADD_ROWS(.dy = ry, .index = ri, .dx = rx)));
    return dx;
}

static bool paddable(const Tensor &x, const std::vector<int64_t> &padding)
{
    for (int64_t p : padding)
        if (p < 0)
            return false;
    return is_real(x) && x.numel() > 0 && x.dim() <= SSQ_MAX_RANK;
}

static bool pad(Call &c, Kind kind, bool given)
{
    const Tensor &x = c.tensor(0);
    auto padding = c.list(1);
    if (!paddable(x, padding) ||
        (given && c.tensor(2).scalar_type() != x.scalar_type()))
        return false;
    Tensor y = x;
    for (size_t i = 0; i < padding.size() / 2; i++) {
        int64_t axis = x.dim() - 1 - static_cast<int64_t>(i);
        int64_t before = padding[2 * i], after = padding[2 * i + 1];
        if (before != 0 || after != 0)
            y = gathered(c.queue(), y, axis,
                         sources(kind, x.size(axis), before, after,
                                 c.device()));
    }
    if (y.is_same(x))
        y = cloned(x);
    if (!given) {
        c.result(y);
        return true;
    }
    assign(c.out(2, y.sizes()), y);
    c.result_of({2});
    return true;
}

/* (grad_output, self, padding[, grad_input]) */
static bool pad_backward(Call &c, Kind kind, bool given)
{
    const Tensor &x = c.tensor(1);
    auto padding = c.list(2);
    Tensor d = c.tensor(0);
    if (!paddable(x, padding) || !is_real(d) ||
        (given && !is_real(c.tensor(3))))
        return false;
    for (size_t i = padding.size() / 2; i-- > 0;) {
        int64_t axis = x.dim() - 1 - static_cast<int64_t>(i);
        int64_t before = padding[2 * i], after = padding[2 * i + 1];
        if (before != 0 || after != 0)
            d = scattered(c.queue(), d, axis, x.size(axis),
                          sources(kind, x.size(axis), before, after,
                                  c.device()));
    }
    if (given) {
        assign(c.out(3, x.sizes()), d);
        c.result_of({3});
    } else {
        Tensor dx = fresh(x.sizes(), x.scalar_type(), c.device());
        assign(dx, d);
        c.result(dx);
    }
    return true;
}

static bool flip(Call &c)
{
    const Tensor &x = c.tensor(0);
    auto dims = c.list(1);
    if (x.dim() == 0 || x.dim() > SSQ_MAX_RANK - 1 || x.numel() == 0)
        return false;
    /* The words of elements have one more dimension at the end. */
    Tensor y = words(x);
    for (int64_t d : dims) {
        int64_t axis = wrapped(d, x.dim());
        y = gathered(c.queue(), y, axis,
                     sources(REVERSE, x.size(axis), 0, 0, c.device()));
    }
    Tensor to = fresh(x.sizes(), x.scalar_type(), c.device());
    assign(words(to), y);
    if (x.scalar_type() == at::kLong)
        block_of(to).bounds = block_of(x).bounds;
    c.result(to);
    return true;
}

/* roll(self, shifts, dims): two parts change places. */
static bool roll(Call &c)
{
    const Tensor &x = c.tensor(0);
    auto shifts = c.list(1), dims = c.list(2);
    if (x.numel() == 0 || (dims.empty() && shifts.size() != 1) ||
        (!dims.empty() && dims.size() != shifts.size()))
        return false;
    Tensor y = x;
    int64_t all = x.numel();
    if (dims.empty()) {
        y = reshaped(contiguous(x), all);
        dims = {0};
    }
    for (size_t i = 0; i < dims.size(); i++) {
        int64_t axis = wrapped(dims[i], y.dim()), n = y.size(axis);
        int64_t by = ((shifts[i] % n) + n) % n;
        Tensor t = fresh(y.sizes(), x.scalar_type(), c.device());
        assign(sliced(t, axis, by, n - by), sliced(y, axis, 0, n - by));
        assign(sliced(t, axis, 0, by), sliced(y, axis, n - by, by));
        y = t;
    }
    c.result(reshaped(y, x.sizes()));
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    for (auto [kind, word] : {std::pair(REFLECT, "reflection_pad"),
                              std::pair(REPLICATE, "replication_pad")})
        for (const char *rank : {"1d", "2d", "3d"}) {
            std::string name = std::string(word) + rank;
            Kind k = kind;
            op(m, (name + ".out").c_str(),
               [k](Call &c) { return pad(c, k, true); });
            op(m, (name + "_backward.grad_input").c_str(),
               [k](Call &c) { return pad_backward(c, k, true); });
        }
    op(m, "reflection_pad2d", [](Call &c) { return pad(c, REFLECT, false); });
    op(m, "reflection_pad2d_backward",
       [](Call &c) { return pad_backward(c, REFLECT, false); });
    op(m, "replication_pad2d_backward",
       [](Call &c) { return pad_backward(c, REPLICATE, false); });
    op(m, "replication_pad3d_backward",
       [](Call &c) { return pad_backward(c, REPLICATE, false); });
    op(m, "flip", flip);
    op(m, "roll", roll);
}

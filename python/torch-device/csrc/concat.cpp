// SPDX-License-Identifier: Apache-2.0
/* concat.cpp - concatenation, and tensors that are computed from nothing. */
#include "call.h"

#include <ATen/EmptyTensor.h>
#include <torch/library.h>

namespace sesqui_torch
{

using Dims = c10::SmallVector<int64_t, 8>;

/* An old exception of torch: an empty vector goes with any shape. */
static bool skipped(const Tensor &x)
{
    return x.dim() == 1 && x.size(0) == 0;
}

static std::optional<Dims> joined_sizes(const std::vector<Tensor> &list,
                                        int64_t axis)
{
    Dims sizes;
    for (const Tensor &x : list) {
        if (skipped(x))
            continue;
        if (sizes.empty()) {
            sizes.assign(x.sizes().begin(), x.sizes().end());
            continue;
        }
        if (static_cast<size_t>(x.dim()) != sizes.size())
            return std::nullopt;
        for (int64_t d = 0; d < x.dim(); d++)
            if (d != axis && x.size(d) != sizes[d])
                return std::nullopt;
        sizes[axis] += x.size(axis);
    }
    return sizes;
}

static void join(ssq_queue *q, const Tensor &y,
                 const std::vector<Tensor> &parts, int64_t axis)
{
    std::vector<Ref> refs;
    std::vector<const ssq_tensor *> list;
    refs.reserve(parts.size());
    for (const Tensor &x : parts) {
        refs.emplace_back(x);
        list.push_back(refs.back());
    }
    Ref to(y, OUT);
    check(ssq_concat(q, SSQ_CONCAT(.x = list.data(), .n = list.size(), .y = to,
                                   .axis = static_cast<int>(axis))));
}

/* cat(tensors, dim, out) */
static bool cat(Call &c)
{
    std::vector<Tensor> list = c.tensors(0);
    int64_t rank = 1;
    for (const Tensor &x : list)
        if (!skipped(x))
            rank = x.dim();
    if (rank == 0)
        return false; /* an error of torch */
    int64_t axis = wrapped(c.integer(1), rank);
    auto sizes = joined_sizes(list, axis);
    if (!sizes || sizes->empty())
        return false;
    const Tensor &y = c.out(2, *sizes);
    at::ScalarType type = y.scalar_type();
    Bounds bounds = block_of(y).bounds;
    std::vector<Tensor> parts;
    for (const Tensor &x : list) {
        if (skipped(x) || x.numel() == 0)
            continue;
        Tensor t = x;
        if (x.scalar_type() != type && !(is_real(x) && is_real(type)))
            t = cast(x, type);
        bounds.include(block_of(t).bounds);
        parts.push_back(is_real(type) ? t : words(t));
    }
    if (parts.empty()) {
        c.result_of({2});
        return true;
    }
    Tensor to = is_real(type) ? y : words(y);
    if (to.dim() > SSQ_MAX_RANK) {
        int64_t at = 0;
        for (const Tensor &x : parts) {
            assign(sliced(to, axis, at, x.size(axis)), x);
            at += x.size(axis);
        }
    } else {
        join(c.queue(), to, parts, axis);
    }
    if (type == at::kLong)
        block_of(y).bounds = bounds;
    c.result_of({2});
    return true;
}

template <class T> static void count_up(const Tensor &x, T start, T step)
{
    T *p = x.mutable_data_ptr<T>();
    for (int64_t i = 0; i < x.numel(); i++)
        p[i] = start + static_cast<T>(i) * step;
}

/* arange(start, end, step, out) */
static bool arange(Call &c)
{
    at::Scalar start = c.scalar(0), end = c.scalar(1), step = c.scalar(2);
    at::ScalarType type = c.tensor(3).scalar_type();
    if ((type != at::kLong && type != at::kInt && type != at::kFloat) ||
        start.isComplex() || end.isComplex() || step.isComplex())
        return false;
    double by = step.toDouble();
    bool whole = start.isIntegral(true) && step.isIntegral(true) &&
                 end.isIntegral(true);
    if (by == 0 || (type != at::kFloat && !whole) ||
        (by > 0) != (end.toDouble() >= start.toDouble()))
        return false;
    int64_t n = static_cast<int64_t>(
        std::ceil((end.toDouble() - start.toDouble()) / by));
    const Tensor &y = c.out(3, n);
    Tensor host = at::detail::empty_cpu({n}, type);
    if (type == at::kLong)
        count_up<int64_t>(host, start.toLong(), step.toLong());
    else if (type == at::kInt)
        count_up<int32_t>(host, static_cast<int32_t>(start.toLong()),
                          static_cast<int32_t>(step.toLong()));
    else
        for (int64_t i = 0; i < n; i++)
            host.mutable_data_ptr<float>()[i] =
                static_cast<float>(start.toDouble() + double(i) * by);
    write(y, host, true);
    c.result_of({3});
    return true;
}

/* linspace(start, end, steps, out): from both ends, as torch. */
static bool linspace(Call &c)
{
    at::Scalar start = c.scalar(0), end = c.scalar(1);
    int64_t n = c.integer(2);
    if (!is_real(c.tensor(3)) || start.isComplex() || end.isComplex() || n < 0)
        return false;
    const Tensor &y = c.out(3, n);
    Tensor host = at::detail::empty_cpu({n}, at::kFloat);
    float a = static_cast<float>(start.toDouble());
    float b = static_cast<float>(end.toDouble());
    float step = n > 1 ? (b - a) / static_cast<float>(n - 1) : 0;
    for (int64_t i = 0; i < n; i++)
        host.mutable_data_ptr<float>()[i] =
            i < n / 2 || n == 1 ? a + step * static_cast<float>(i)
                                : b - step * static_cast<float>(n - i - 1);
    write(y, host.to(y.scalar_type()), true);
    c.result_of({3});
    return true;
}

/* eye(n, m, out) */
static bool eye(Call &c)
{
    int64_t sizes[2] = {c.integer(0), c.integer(1)};
    const Tensor &y = c.out(2, sizes);
    if (!dtype_of(y.scalar_type()) && y.scalar_type() != at::kLong)
        return false;
    set_all(y, 0);
    int64_t n = std::min(sizes[0], sizes[1]);
    int64_t stride = y.stride(0) + y.stride(1);
    set_all(alias(y, y.scalar_type(), n, stride, y.storage_offset()), 1);
    c.result_of({2});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "cat.out", cat);
    op(m, "arange.start_out", arange);
    op(m, "linspace.out", linspace);
    op(m, "eye.m_out", eye);
}

// SPDX-License-Identifier: Apache-2.0
/* reduce.cpp - sums, means, extremes, norms and variances. */
#include "reduce.h"
#include "integer.h"

#include <ATen/EmptyTensor.h>
#include <torch/library.h>

#include <cmath>

namespace sesqui_torch
{

using Dims = c10::SmallVector<int64_t, 8>;

Axes axes_all(const Tensor &x)
{
    return Axes(x.dim(), true);
}

Axes axis_of(const Tensor &x, int64_t axis)
{
    Axes axes(x.dim(), false);
    if (x.dim() > 0)
        axes[wrapped(axis, x.dim())] = true;
    return axes;
}

Axes axes_of(const Tensor &x, const c10::IValue &list)
{
    if (list.isNone())
        return axes_all(x);
    std::vector<int64_t> dims = list.toIntVector();
    if (dims.empty())
        return axes_all(x);
    Axes axes(x.dim(), false);
    for (int64_t d : dims) {
        TORCH_CHECK_INDEX(d >= -std::max<int64_t>(x.dim(), 1) &&
                              d < std::max<int64_t>(x.dim(), 1),
                          "Dimension out of range: ", d, " of ", x.dim());
        if (x.dim() > 0)
            axes[wrapped(d, x.dim())] = true;
    }
    return axes;
}

Dims reduced_sizes(const Tensor &x, const Axes &axes, bool keep)
{
    Dims sizes;
    for (int64_t d = 0; d < x.dim(); d++)
        if (!axes[d])
            sizes.push_back(x.size(d));
        else if (keep)
            sizes.push_back(1);
    return sizes;
}

int64_t reduced_count(const Tensor &x, const Axes &axes)
{
    int64_t n = 1;
    for (int64_t d = 0; d < x.dim(); d++)
        if (axes[d])
            n *= x.size(d);
    return n;
}

namespace
{
/* x with neighbouring dimensions merged, and which of them are reduced. */
struct Merged {
    Tensor x;
    Dims y_sizes, y_strides;
    Axes axes;
};
} // namespace

static Merged merged(const Tensor &x, const Axes &axes)
{
    Merged m;
    Dims sizes, strides;
    for (int64_t d = 0; d < x.dim(); d++) {
        if (x.size(d) == 1)
            continue;
        if (!sizes.empty() && m.axes.back() == axes[d] &&
            strides.back() == x.stride(d) * x.size(d)) {
            sizes.back() *= x.size(d);
            strides.back() = x.stride(d);
        } else {
            sizes.push_back(x.size(d));
            strides.push_back(x.stride(d));
            m.axes.push_back(axes[d]);
        }
    }
    m.x = alias(x, x.scalar_type(), sizes, strides, x.storage_offset());
    for (size_t d = 0; d < sizes.size(); d++)
        m.y_sizes.push_back(m.axes[d] ? 1 : sizes[d]);
    m.y_strides.resize(sizes.size(), 1);
    for (size_t d = sizes.size(); d-- > 1;)
        m.y_strides[d - 1] = m.y_strides[d] * m.y_sizes[d];
    return m;
}

bool reduce(ssq_queue *q, Reduce f, const Tensor &y, const Tensor &x,
            const Axes &axes)
{
    Merged m = merged(x, axes);
    if (m.x.dim() > SSQ_MAX_RANK)
        m = merged(contiguous(x), axes);
    if (m.x.dim() > SSQ_MAX_RANK)
        return false;
    ssq_reduce_args args = SSQ_REDUCE_INIT;
    for (size_t d = 0; d < m.axes.size(); d++)
        if (m.axes[d])
            args.axes[args.n_axes++] = static_cast<int>(d);
    if (args.n_axes == 0)
        args.n_axes = SSQ_AXES_NONE;
    Tensor to = alias(y, y.scalar_type(), m.y_sizes, m.y_strides,
                      y.storage_offset());
    Ref rx(m.x), ry(to, OUT);
    args.x = rx;
    args.y = ry;
    check(f(q, &args));
    return true;
}

/* The contiguous tensor that a reduction writes; copied to y at the end. */
static Tensor dense(const Tensor &y)
{
    return y.is_contiguous() ? y
                             : fresh(y.sizes(), y.scalar_type(), y.device());
}

static void settle(const Tensor &t, const Tensor &y)
{
    if (!t.is_same(y))
        assign(y, t);
}

/* Sums of integers are exact in float32 below 2^24. */
static bool sum_integers(Call &c, const Axes &axes, const Tensor &y)
{
    const Tensor &x = c.tensor(0);
    auto operand = integer_operand(x, at::kLong, c.device());
    if (!operand || y.scalar_type() != at::kLong || x.numel() == 0)
        return false;
    int64_t n = reduced_count(x, axes);
    Bounds b = operand->bounds;
    if (b.empty())
        b = {0, 0};
    if (n > (1 << 24) || std::max(std::abs(double(b.low)),
                                  std::abs(double(b.high))) * double(n) >
                             double(1 << 24))
        return false;
    Tensor terms = cast(operand->x, at::kFloat);
    Tensor sums = fresh(y.sizes(), at::kFloat, c.device());
    if (!reduce(c.queue(), ssq_sum, sums, terms, axes))
        return false;
    Wide wide(y);
    assign(wide.low, sums);
    wide.finish({std::min<int64_t>(b.low * n, 0),
                 std::max<int64_t>(b.high * n, 0)});
    return true;
}

static bool sum_or_mean(Call &c, Reduce f)
{
    const Tensor &x = c.tensor(0), &given = c.tensor(4);
    Axes axes = axes_of(x, c.at(1));
    auto sizes = reduced_sizes(x, axes, c.flag(2));
    if (!is_real(given)) {
        if (f != Reduce(ssq_sum) || !sum_integers(c, axes, c.out(4, sizes)))
            return false;
        c.result_of({4});
        return true;
    }
    Tensor from = real_operand(x, given.scalar_type(), c.device());
    if (!from.defined())
        return false;
    const Tensor &y = c.out(4, sizes);
    Tensor t = dense(y);
    if (y.numel() > 0 && !reduce(c.queue(), f, t, from, axes))
        return false;
    settle(t, y);
    c.result_of({4});
    return true;
}

/* Extremes of one dtype, also of integers. */
static bool extreme_to(ssq_queue *q, Reduce f, const Tensor &y,
                       const Tensor &x, const Axes &axes)
{
    Tensor from = narrow(x);
    if (x.scalar_type() != y.scalar_type() || !from.defined() ||
        x.numel() == 0 || !dtype_of(from.scalar_type()))
        return false;
    if (x.scalar_type() != at::kLong) {
        Tensor t = dense(y);
        if (!reduce(q, f, t, from, axes))
            return false;
        settle(t, y);
        return true;
    }
    Tensor t = fresh(y.sizes(), at::kInt, y.device());
    if (!reduce(q, f, t, from, axes))
        return false;
    Bounds bounds = block_of(x).bounds;
    Wide wide(y);
    assign(wide.low, t);
    wide.finish(bounds);
    return true;
}

static bool amax(Call &c, Reduce f)
{
    const Tensor &x = c.tensor(0);
    Axes axes = axes_of(x, c.at(1));
    if (!extreme_to(c.queue(), f, c.out(3, reduced_sizes(x, axes, c.flag(2))),
                    x, axes))
        return false;
    c.result_of({3});
    return true;
}

static bool extreme_all(Call &c, Reduce f)
{
    const Tensor &x = c.tensor(0);
    bool given = c.size() == 2;
    Tensor y = given ? c.out(1, {}) : fresh({}, x.scalar_type(), c.device());
    if (!extreme_to(c.queue(), f, y, x, axes_all(x)))
        return false;
    if (given)
        c.result_of({1});
    else
        c.result(y);
    return true;
}

using Position = ssq_status (*)(ssq_queue *, const ssq_argmax_args *);

/* Positions along a dimension, into a tensor of int64. */
static bool position_to(ssq_queue *q, Position f, const Tensor &y,
                        const Tensor &x_, int64_t axis)
{
    Tensor x = narrow(x_);
    if (!x.defined() || !dtype_of(x.scalar_type()) || x.numel() == 0 ||
        y.scalar_type() != at::kLong)
        return false;
    /* [outer, n, inner] */
    x = contiguous(x);
    axis = wrapped(axis, x.dim());
    int64_t n = x.dim() > 0 ? x.size(axis) : 1, outer = 1, inner = 1;
    for (int64_t d = 0; d < x.dim(); d++)
        (d < axis ? outer : inner) *= d == axis ? 1 : x.size(d);
    int64_t sizes[3] = {outer, n, inner}, kept[2] = {outer, inner};
    Tensor t = fresh(kept, at::kInt, x.device());
    {
        Ref rx(reshaped(x, sizes)), ry(t, OUT);
        check(f(q, SSQ_ARGMAX(.x = rx, .y = ry, .axis = 1)));
    }
    Wide wide(y);
    assign(wide.low, reshaped(t, y.sizes()));
    wide.finish({0, n - 1});
    return true;
}

static bool extreme_dim(Call &c, Reduce f, Position at)
{
    const Tensor &x = c.tensor(0);
    Axes axes = axis_of(x, c.integer(1));
    auto sizes = reduced_sizes(x, axes, c.flag(2));
    const Tensor &y = c.out(3, sizes), &i = c.out(4, sizes);
    if (!extreme_to(c.queue(), f, y, x, axes) ||
        !position_to(c.queue(), at, i, x, c.integer(1)))
        return false;
    c.result_of({3, 4});
    return true;
}

static bool arg_extreme(Call &c, Position f)
{
    const Tensor &x = c.tensor(0);
    bool all = c.none(1);
    Axes axes = all ? axes_all(x) : axis_of(x, c.integer(1));
    const Tensor &y = c.out(3, reduced_sizes(x, axes, c.flag(2)));
    int64_t n = x.numel();
    if (!position_to(c.queue(), f, y, all ? reshaped(x, n) : x,
                     all ? 0 : c.integer(1)))
        return false;
    c.result_of({3});
    return true;
}

/* any (f is the maximum) and all (the minimum) of truths. */
static bool truth_of(Call &c, Reduce f, const Axes &axes, bool keep,
                     size_t last)
{
    const Tensor &x = c.tensor(0);
    if ((x.scalar_type() != at::kLong && !dtype_of(x.scalar_type())) ||
        x.scalar_type() == at::kByte)
        return false;
    Out out(c, last, reduced_sizes(x, axes, keep), at::kBool);
    if (x.numel() == 0) {
        set_all(out.y, f == Reduce(ssq_min));
    } else {
        Tensor t = dense(out.y);
        if (!reduce(c.queue(), f, t, cast(x, at::kBool), axes))
            return false;
        settle(t, out.y);
    }
    out.finish();
    c.result_of({last});
    return true;
}

static bool any_dim(Call &c, Reduce f)
{
    return truth_of(c, f, axis_of(c.tensor(0), c.integer(1)), c.flag(2), 3);
}

static bool any_dims(Call &c, Reduce f)
{
    return truth_of(c, f, axes_of(c.tensor(0), c.at(1)), c.flag(2), 3);
}

static bool any_all(Call &c, Reduce f)
{
    return truth_of(c, f, axes_all(c.tensor(0)), false, 1);
}

static bool prod_all(Call &c)
{
    const Tensor &x = c.tensor(0);
    at::ScalarType type = c.dtype(1).value_or(x.scalar_type());
    if (!is_real(x) || !is_real(type))
        return false;
    Tensor y = fresh({}, type, c.device());
    if (!reduce(c.queue(), ssq_prod, y, cast(x, type), axes_all(x)))
        return false;
    c.result(y);
    return true;
}

static bool prod_dim(Call &c)
{
    const Tensor &x = c.tensor(0), &given = c.tensor(4);
    if (!is_real(x) || !is_real(given))
        return false;
    Axes axes = axis_of(x, c.integer(1));
    const Tensor &y = c.out(4, reduced_sizes(x, axes, c.flag(2)));
    Tensor t = dense(y);
    if (y.numel() > 0 && !reduce(c.queue(), ssq_prod, t, x, axes))
        return false;
    settle(t, y);
    c.result_of({4});
    return true;
}

/* The sum of squared distances from the mean, over n - correction. */
static bool variance_to(ssq_queue *q, const Tensor &var, const Tensor &mean,
                        const Tensor &x, const Axes &axes, double correction)
{
    auto kept = reduced_sizes(x, axes, true);
    Tensor m = fresh(kept, at::kFloat, x.device());
    if (!reduce(q, ssq_mean, m, x, axes))
        return false;
    Tensor t = fresh_like(x, at::kFloat), sum = fresh_like(m);
    binary(q, ssq_sub, t, x, m);
    unary(q, ssq_square, t, t);
    if (!reduce(q, ssq_sum, sum, t, axes))
        return false;
    double n = double(reduced_count(x, axes)) - correction;
    binary(q, ssq_div, sum, sum,
           constant(std::max(n, 0.0), at::kFloat, x.device()));
    assign(var, reshaped(sum, var.sizes()));
    if (mean.defined())
        assign(mean, reshaped(m, mean.sizes()));
    return true;
}

enum Spread { VAR, STD };

static bool variance(Call &c, Spread spread, bool with_mean)
{
    const Tensor &x = c.tensor(0);
    bool given = c.size() == 5;
    if (!is_real(x) || x.numel() == 0 || (given && !is_real(c.tensor(4))))
        return false;
    double correction = c.none(2) ? 1 : c.number(2);
    Axes axes = axes_of(x, c.at(1));
    auto sizes = reduced_sizes(x, axes, c.flag(3));
    Tensor y = given ? c.out(4, sizes)
                     : fresh(sizes, x.scalar_type(), c.device());
    Tensor mean = with_mean ? fresh(sizes, x.scalar_type(), c.device())
                            : Tensor();
    Tensor t = fresh(sizes, at::kFloat, c.device());
    if (!variance_to(c.queue(), t, mean, x, axes, correction))
        return false;
    if (spread == STD)
        unary(c.queue(), ssq_sqrt, y, t);
    else
        assign(y, t);
    if (given)
        c.result_of({4});
    else if (with_mean)
        c.results({y, mean});
    else
        c.result(y);
    return true;
}

static bool norm_two(ssq_queue *q, const Tensor &y, const Tensor &x,
                     const Axes &axes)
{
    bool all = true;
    for (bool a : axes)
        all = all && a;
    Merged m = merged(x, axes_all(x));
    if (all && m.x.dim() <= SSQ_MAX_RANK) {
        int64_t one = 1;
        Tensor t = fresh({}, at::kFloat, x.device());
        Ref rx(m.x), ry(t, SSQ_F32, 1, &one, &one, 0, OUT);
        check(ssq_norm(q, SSQ_NORM(.x = rx, .y = ry)));
        assign(y, reshaped(t, y.sizes()));
        return true;
    }
    Tensor t = fresh_like(x, at::kFloat);
    Tensor s = fresh(y.sizes(), at::kFloat, x.device());
    unary(q, ssq_square, t, x);
    if (!reduce(q, ssq_sum, s, t, axes))
        return false;
    unary(q, ssq_sqrt, y, s);
    return true;
}

static bool norm_to(ssq_queue *q, const Tensor &y, const Tensor &x, double p,
                    const Axes &axes)
{
    if (p == 2)
        return norm_two(q, y, x, axes);
    Tensor t = fresh_like(x, at::kFloat);
    Tensor s = fresh(y.sizes(), at::kFloat, x.device());
    if (p == 0) {
        Tensor is = fresh_like(x, at::kBool);
        compare(q, ssq_ne, is, x, constant(0, at::kFloat, x.device()));
        assign(t, is);
    } else {
        unary(q, ssq_abs, t, x);
    }
    Reduce f = p == INFINITY    ? ssq_max
               : p == -INFINITY ? ssq_min
                                : ssq_sum;
    bool root = f == Reduce(ssq_sum) && p != 0 && p != 1;
    if (root)
        binary(q, ssq_pow, t, t, constant(p, at::kFloat, x.device()));
    if (!reduce(q, f, s, t, axes))
        return false;
    if (root)
        binary(q, ssq_pow, y, s, constant(1 / p, at::kFloat, x.device()));
    else
        assign(y, s);
    return true;
}

/* norm(self, p, dim, keepdim, .., out), with out the last argument. */
static bool norm(Call &c)
{
    const Tensor &x = c.tensor(0);
    size_t last = c.size() - 1;
    double p = c.none(1) ? 2 : c.number(1);
    if (!is_real(x) || !is_real(c.tensor(last)) || x.numel() == 0)
        return false;
    Axes axes = axes_of(x, c.at(2));
    const Tensor &y = c.out(last, reduced_sizes(x, axes, c.flag(3)));
    if (!norm_to(c.queue(), y, x, p, axes))
        return false;
    c.result_of({last});
    return true;
}

/* The sum of the diagonal. */
static bool trace(Call &c)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x) || x.dim() != 2)
        return false;
    int64_t n = std::min(x.size(0), x.size(1));
    Tensor line = alias(x, x.scalar_type(), n, x.stride(0) + x.stride(1),
                        x.storage_offset());
    Tensor y = fresh({}, x.scalar_type(), c.device());
    if (!reduce(c.queue(), ssq_sum, y, line, axes_all(line)))
        return false;
    c.result(y);
    return true;
}

static bool equal(Call &c)
{
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    Tensor x = narrow(a), y = narrow(b);
    if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type() ||
        !x.defined() || !y.defined() || !dtype_of(x.scalar_type()) ||
        x.numel() == 0)
        return false;
    Tensor differs = fresh(x.sizes(), at::kBool, c.device());
    compare(c.queue(), ssq_ne, differs, x, y);
    Tensor any = fresh({}, at::kBool, c.device());
    if (!reduce(c.queue(), ssq_max, any, differs, axes_all(differs)))
        return false;
    Tensor host = at::detail::empty_cpu({}, at::kBool);
    read(any, host, false);
    c.value(!*host.const_data_ptr<bool>());
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "sum.IntList_out", [](Call &c) { return sum_or_mean(c, ssq_sum); });
    op(m, "mean.out", [](Call &c) { return sum_or_mean(c, ssq_mean); });
    op(m, "amax.out", [](Call &c) { return amax(c, ssq_max); });
    op(m, "amin.out", [](Call &c) { return amax(c, ssq_min); });
    op(m, "max", [](Call &c) { return extreme_all(c, ssq_max); });
    op(m, "min", [](Call &c) { return extreme_all(c, ssq_min); });
    op(m, "max.unary_out", [](Call &c) { return extreme_all(c, ssq_max); });
    op(m, "min.unary_out", [](Call &c) { return extreme_all(c, ssq_min); });
    op(m, "max.dim_max",
       [](Call &c) { return extreme_dim(c, ssq_max, ssq_argmax); });
    op(m, "min.dim_min",
       [](Call &c) { return extreme_dim(c, ssq_min, ssq_argmin); });
    op(m, "argmax.out", [](Call &c) { return arg_extreme(c, ssq_argmax); });
    op(m, "argmin.out", [](Call &c) { return arg_extreme(c, ssq_argmin); });
    op(m, "any.out", [](Call &c) { return any_dim(c, ssq_max); });
    op(m, "all.out", [](Call &c) { return any_dim(c, ssq_min); });
    op(m, "any.dims_out", [](Call &c) { return any_dims(c, ssq_max); });
    op(m, "all.dims_out", [](Call &c) { return any_dims(c, ssq_min); });
    op(m, "any.all_out", [](Call &c) { return any_all(c, ssq_max); });
    op(m, "all.all_out", [](Call &c) { return any_all(c, ssq_min); });
    op(m, "prod", prod_all);
    op(m, "prod.int_out", prod_dim);
    op(m, "var.correction", [](Call &c) { return variance(c, VAR, false); });
    op(m, "var.correction_out",
       [](Call &c) { return variance(c, VAR, false); });
    op(m, "std.correction", [](Call &c) { return variance(c, STD, false); });
    op(m, "std.correction_out",
       [](Call &c) { return variance(c, STD, false); });
    op(m, "var_mean.correction",
       [](Call &c) { return variance(c, VAR, true); });
    op(m, "std_mean.correction",
       [](Call &c) { return variance(c, STD, true); });
    op(m, "linalg_vector_norm.out", norm);
    op(m, "norm.out", norm);
    op(m, "norm.dtype_out", norm);
    op(m, "trace", trace);
    op(m, "equal", equal);
}

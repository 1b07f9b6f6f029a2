// SPDX-License-Identifier: Apache-2.0
/* select.cpp - where, masks, clamps and triangles. */
#include "integer.h"

#include <torch/library.h>

namespace sesqui_torch
{

/* An operand of where, in the dtype of the result. */
static Tensor choice(const Tensor &x, at::ScalarType type, c10::Device device)
{
    if (is_here(x))
        return cast(x, type);
    if (at::isComplexType(type) || at::isComplexType(x.scalar_type())) {
        Tensor y = fresh({}, type, device);
        set_all(y, x.item());
        return y;
    }
    if (x.scalar_type() == at::kLong) { /* a double may not hold it */
        Tensor y = fresh({}, type, device);
        set_all(y, x.item());
        return y;
    }
    return constant(x.item().toDouble(), type, device);
}

/* y = cond ? a : b, all of one dtype: the bits are copied. */
static void choose(ssq_queue *q, const Tensor &y, const Tensor &cond,
                   const Tensor &a, const Tensor &b)
{
    if (is_real(y)) {
        where(q, y, cond, a, b);
        return;
    }
    Bounds bounds = block_of(a).bounds, before = block_of(y).bounds;
    bounds.include(block_of(b).bounds);
    bounds.include(before);
    bool parts = y.element_size() > 4;
    where(q, words(y), parts ? unsqueezed(cond, -1) : cond, words(apart(a, y)),
          words(apart(b, y)));
    if (y.scalar_type() == at::kLong)
        block_of(y).bounds = bounds;
}

static Tensor condition(const Tensor &x, c10::Device device)
{
    if (!is_here(x))
        return constant(x.item().toBool(), at::kByte, device);
    return x;
}

static bool where_self(Call &c)
{
    const Tensor &a = c.tensor(1), &b = c.tensor(2);
    at::ScalarType t = c.tensor(0).scalar_type();
    if (t != at::kBool && t != at::kByte)
        return false;
    Tensor cond = condition(c.tensor(0), c.device());
    at::ScalarType type = common_type(a, b);
    auto sizes = broadcast(broadcast(a.sizes(), b.sizes()), cond.sizes());
    bool given = c.size() == 4;
    if (given && c.tensor(3).scalar_type() != type)
        return false;
    Tensor y;
    if (given)
        y = c.out(3, sizes);
    else if (is_here(a) && a.sizes() == Ints(sizes))
        y = fresh_like(a, type);
    else
        y = fresh(sizes, type, c.device());
    if (y.numel() > 0)
        choose(c.queue(), y, cond, choice(a, type, c.device()),
               choice(b, type, c.device()));
    if (given)
        c.result_of({3});
    else
        c.result(y);
    return true;
}

static bool masked_fill(Call &c, bool scalar)
{
    const Tensor &x = c.tensor(0), &mask = c.tensor(1);
    if (mask.scalar_type() != at::kBool)
        return false;
    Tensor value;
    if (scalar) {
        value = fresh({}, x.scalar_type(), c.device());
        if (is_real(x) && !c.scalar(2).isComplex())
            value = constant(c.number(2), x.scalar_type(), c.device());
        else
            set_all(value, c.scalar(2));
    } else {
        value = choice(c.tensor(2), x.scalar_type(), c.device());
    }
    if (x.numel() > 0)
        choose(c.queue(), x, mask, value, x);
    c.result_of({0});
    return true;
}

/* Integers: the values that fit are bounded by the extremes. */
static bool clamp_integer(Call &c, const std::optional<at::Scalar> &lo,
                          const std::optional<at::Scalar> &hi, size_t last)
{
    const Tensor &x = c.tensor(0);
    at::ScalarType type = x.scalar_type();
    auto operand = integer_operand(x, type, c.device());
    if ((type != at::kLong && type != at::kInt) || !operand ||
        c.tensor(last).scalar_type() != type)
        return false;
    Bounds b = operand->bounds;
    for (const auto &bound : {lo, hi})
        if (bound.has_value() &&
            (!bound->isIntegral(false) ||
             !Bounds{bound->toLong(), bound->toLong()}.narrow()))
            return false;
    const Tensor &y = c.out(last, x.sizes());
    Tensor from = operand->x, t = fresh(x.sizes(), at::kInt, c.device());
    assign(t, from);
    auto limit = [&](Binary f, const std::optional<at::Scalar> &v) {
        if (v.has_value())
            binary(c.queue(), f, t, t,
                   constant(double(v->toLong()), at::kInt, c.device()));
    };
    limit(ssq_maximum, lo);
    limit(ssq_minimum, hi);
    if (type == at::kInt) {
        assign(y, t);
        return true;
    }
    if (lo.has_value())
        b = {std::max(b.low, lo->toLong()), std::max(b.high, lo->toLong())};
    if (hi.has_value())
        b = {std::min(b.low, hi->toLong()), std::min(b.high, hi->toLong())};
    Wide wide(y);
    assign(wide.low, t);
    wide.finish(b);
    return true;
}

/* clamp(self, min, max): scalars, either of which may be missing. */
static bool clamp(Call &c, bool has_min, bool has_max)
{
    const Tensor &x = c.tensor(0);
    size_t last = c.size() - 1;
    size_t high = has_min && has_max ? 2 : 1;
    if (!is_real(x)) {
        std::optional<at::Scalar> least, most;
        if (has_min && !c.none(1))
            least = c.scalar(1);
        if (has_max && !c.none(high))
            most = c.scalar(high);
        if (!clamp_integer(c, least, most, last))
            return false;
        c.result_of({last});
        return true;
    }
    if (!is_real(c.tensor(last)))
        return false;
    double lo = -1e300, hi = 1e300;
    if (has_min && !c.none(1))
        lo = c.number(1);
    if (has_max && !c.none(high))
        hi = c.number(high);
    const Tensor &y = c.out(last, x.sizes());
    Tensor from = apart(x, y);
    pointwise({&y, &from}, [&](const Ref *t) {
        check(ssq_clamp(c.queue(), SSQ_CLAMP(.x = t[1], .y = t[0], .min = lo,
                                             .max = hi)));
    });
    c.result_of({last});
    return true;
}

static bool clamp_tensor(Call &c, bool has_min, bool has_max)
{
    const Tensor &x = c.tensor(0);
    size_t last = c.size() - 1, high = has_min && has_max ? 2 : 1;
    Tensor lo = has_min ? c.maybe(1) : Tensor();
    Tensor hi = has_max ? c.maybe(high) : Tensor();
    if (!is_real(x) || !is_real(c.tensor(last)))
        return false;
    auto sizes = broadcast(x.sizes(), {});
    for (Tensor *bound : {&lo, &hi}) {
        if (!bound->defined())
            continue;
        sizes = broadcast(sizes, bound->sizes());
        *bound = real_operand(*bound, x.scalar_type(), c.device());
        if (!bound->defined())
            return false;
    }
    const Tensor &y = c.out(last, sizes);
    Tensor from = x;
    if (lo.defined()) {
        Tensor t = hi.defined() ? fresh(sizes, x.scalar_type(), c.device()) : y;
        binary(c.queue(), ssq_maximum, t, from, lo);
        from = t;
    }
    if (hi.defined())
        binary(c.queue(), ssq_minimum, y, from, hi);
    c.result_of({last});
    return true;
}

/* The upper or lower triangle of the last two dimensions. */
static bool triangle(Call &c, Compare f)
{
    const Tensor &x = c.tensor(0);
    int64_t diagonal = c.integer(1), rows = x.size(-2), columns = x.size(-1);
    if (c.tensor(2).scalar_type() != x.scalar_type() ||
        std::abs(diagonal) > (1 << 30))
        return false;
    const Tensor &y = c.out(2, x.sizes());
    if (y.numel() > 0) {
        ssq_queue *q = c.queue();
        Tensor row = fresh({rows, 1}, at::kInt, c.device());
        binary(q, ssq_add, row, unsqueezed(counting(rows, c.device()), 1),
               constant(double(diagonal), at::kInt, c.device()));
        Tensor mask = fresh({rows, columns}, at::kBool, c.device());
        compare(q, f, mask, counting(columns, c.device()), row);
        Tensor zero = fresh({}, x.scalar_type(), c.device());
        set_all(zero, 0);
        choose(q, y, mask, x, zero);
    }
    c.result_of({2});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "where.self", where_self);
    op(m, "where.self_out", where_self);
    op(m, "masked_fill_.Scalar", [](Call &c) { return masked_fill(c, true); });
    op(m, "masked_fill_.Tensor", [](Call &c) { return masked_fill(c, false); });
    op(m, "clamp.out", [](Call &c) { return clamp(c, true, true); });
    op(m, "clamp_min.out", [](Call &c) { return clamp(c, true, false); });
    op(m, "clamp_max.out", [](Call &c) { return clamp(c, false, true); });
    op(m, "clamp.Tensor_out",
       [](Call &c) { return clamp_tensor(c, true, true); });
    op(m, "clamp_min.Tensor_out",
       [](Call &c) { return clamp_tensor(c, true, false); });
    op(m, "clamp_max.Tensor_out",
       [](Call &c) { return clamp_tensor(c, false, true); });
    op(m, "triu.out", [](Call &c) { return triangle(c, ssq_ge); });
    op(m, "tril.out", [](Call &c) { return triangle(c, ssq_le); });
}

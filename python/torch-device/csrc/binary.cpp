// SPDX-License-Identifier: Apache-2.0
/* binary.cpp - arithmetic of two and more operands, and comparisons. */
#include "integer.h"

#include <ATen/EmptyTensor.h>
#include <torch/library.h>

#include <cmath>

namespace sesqui_torch
{

/* An op that the library has for floats and for integers. */
struct Arithmetic {
    Binary real;
    Binary of_bool; /* NULL: none */
    Bounds (*bounds)(Bounds, Bounds);
};

static const Arithmetic adds = {ssq_add, ssq_maximum, bounds_sum};
static const Arithmetic subtracts = {ssq_sub, nullptr, bounds_difference};
static const Arithmetic multiplies = {ssq_mul, ssq_minimum, bounds_product};
static const Arithmetic maxima = {ssq_maximum, ssq_maximum, bounds_hull};
static const Arithmetic minima = {ssq_minimum, ssq_minimum, bounds_hull};

using Function = std::function<void(const Tensor &y, const Tensor &a,
                                    const Tensor &b)>;

/* y = f(a, b) for floats; a and b are arguments 0 and 1. */
static bool real_out(Call &c, size_t last, at::ScalarType common,
                     const Function &f)
{
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    if (!is_real(common) || !is_real(c.tensor(last)))
        return false;
    Tensor x = real_operand(a, common, c.device());
    Tensor z = real_operand(b, common, c.device());
    if (!x.defined() || !z.defined())
        return false;
    f(c.out(last, broadcast(a.sizes(), b.sizes())), x, z);
    c.result_of({last});
    return true;
}

static bool integer_out(Call &c, size_t last, at::ScalarType common,
                        const Arithmetic &f)
{
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    at::ScalarType type = c.tensor(last).scalar_type();
    if (!is_integer(common) || type != common)
        return false;
    auto x = integer_operand(a, common, c.device());
    auto z = integer_operand(b, common, c.device());
    if (!x || !z)
        return false;
    Bounds bounds = f.bounds(x->bounds, z->bounds);
    if (type == at::kLong && !bounds.narrow())
        return false;
    Binary call = type == at::kBool ? f.of_bool : f.real;
    if (call == nullptr)
        return false;
    auto sizes = broadcast(a.sizes(), b.sizes());
    const Tensor &y = c.out(last, sizes);
    if (type != at::kLong) {
        binary(c.queue(), call, y, x->x, z->x);
    } else {
        Wide wide(y, same_place(y, a) || same_place(y, b));
        binary(c.queue(), call, wide.low, x->x, z->x);
        wide.finish(bounds);
    }
    c.result_of({last});
    return true;
}

static bool arithmetic(Call &c, const Arithmetic &f)
{
    size_t last = c.size() - 1;
    at::ScalarType common = common_type(c.tensor(0), c.tensor(1));
    if (!is_real(common))
        return integer_out(c, last, common, f);
    return real_out(c, last, common,
                    [&](const Tensor &y, const Tensor &a, const Tensor &b) {
                        binary(c.queue(), f.real, y, a, b);
                    });
}

/* self + sign * alpha * other */
static bool add(Call &c, const Arithmetic &f, double sign)
{
    at::Scalar alpha = c.scalar(2);
    if (alpha.isComplex())
        return false;
    double by = alpha.toDouble();
    if (by == 1)
        return arithmetic(c, f);
    if (by == -1)
        return arithmetic(c, sign > 0 ? subtracts : adds);
    at::ScalarType common = common_type(c.tensor(0), c.tensor(1));
    return real_out(c, 3, common,
                    [&](const Tensor &y, const Tensor &a, const Tensor &b) {
                        axpby(c.queue(), y, a, b, 1, sign * by);
                    });
}

/* alpha other taken from: rsub(self, other) = other - alpha self */
static bool rsub(Call &c)
{
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    at::ScalarType common = common_type(a, b);
    if (!is_real(common) || c.scalar(2).isComplex())
        return false;
    Tensor x = real_operand(a, common, c.device());
    Tensor z = real_operand(b, common, c.device());
    if (!x.defined() || !z.defined())
        return false;
    Tensor y = a.sizes() == broadcast(a.sizes(), b.sizes())
                   ? fresh_like(a, common)
                   : fresh(broadcast(a.sizes(), b.sizes()), common, c.device());
    double alpha = c.number(2);
    if (alpha == 1)
        binary(c.queue(), ssq_sub, y, z, x);
    else
        axpby(c.queue(), y, z, x, 1, -alpha);
    c.result(y);
    return true;
}

/* The quotient of integers is a float. */
static bool divide(Call &c)
{
    at::ScalarType common = common_type(c.tensor(0), c.tensor(1));
    if (at::isIntegralType(common, true))
        common = at::typeMetaToScalarType(c10::get_default_dtype());
    return real_out(c, c.size() - 1, common,
                    [&](const Tensor &y, const Tensor &a, const Tensor &b) {
                        binary(c.queue(), ssq_div, y, a, b);
                    });
}

static bool power(Call &c)
{
    return real_out(c, 2, common_type(c.tensor(0), c.tensor(1)),
                    [&](const Tensor &y, const Tensor &a, const Tensor &b) {
                        binary(c.queue(), ssq_pow, y, a, b);
                    });
}

/* Powers that have an op with less rounding, or that is faster. */
static bool power_by(ssq_queue *q, const Tensor &y, const Tensor &x, double n)
{
    if (n == 2) {
        unary(q, ssq_square, y, x);
    } else if (n == 0.5) {
        unary(q, ssq_sqrt, y, x);
    } else if (n == -0.5) {
        unary(q, ssq_rsqrt, y, x);
    } else if (n == -1) {
        unary(q, ssq_reciprocal, y, x);
    } else if (n == 1) {
        assign(y, x);
    } else if (n == 3) {
        Tensor t = fresh_like(x, at::kFloat);
        unary(q, ssq_square, t, x);
        binary(q, ssq_mul, y, t, x);
    } else {
        return false;
    }
    return true;
}

static bool power_scalar(Call &c)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x) || !is_real(c.tensor(2)) || c.scalar(1).isComplex())
        return false;
    const Tensor &y = c.out(2, x.sizes());
    double n = c.number(1);
    if (!power_by(c.queue(), y, x, n))
        binary(c.queue(), ssq_pow, y, x, constant(n, at::kFloat, c.device()));
    c.result_of({2});
    return true;
}

static bool scalar_power(Call &c)
{
    const Tensor &x = c.tensor(1);
    if (!is_real(x) || !is_real(c.tensor(2)) || c.scalar(0).isComplex())
        return false;
    binary(c.queue(), ssq_pow, c.out(2, x.sizes()),
           constant(c.number(0), at::kFloat, c.device()), x);
    c.result_of({2});
    return true;
}

/* x log(y), and 0 if x is 0 and y is not NaN. */
static bool xlogy(Call &c)
{
    return real_out(c, 2, common_type(c.tensor(0), c.tensor(1)),
                    [&](const Tensor &y, const Tensor &a, const Tensor &b) {
                        ssq_queue *q = c.queue();
                        Tensor t = fresh_like(y, at::kFloat);
                        Tensor l = fresh_like(b, at::kFloat);
                        Tensor at = fresh_like(a, at::kBool);
                        Tensor nan = fresh_like(b, at::kBool);
                        Tensor both = fresh_like(y, at::kBool);
                        unary(q, ssq_log, l, b);
                        binary(q, ssq_mul, t, a, l);
                        compare(q, ssq_eq, at, a,
                                constant(0, at::kFloat, c.device()));
                        compare(q, ssq_eq, nan, b, b);
                        binary(q, ssq_minimum, both, at, nan);
                        where(q, y, both, constant(0, at::kFloat, c.device()),
                              t);
                    });
}

/* The other operand where one is NaN. */
static bool skipping_nan(Call &c, Binary f)
{
    return real_out(c, 2, common_type(c.tensor(0), c.tensor(1)),
                    [&](const Tensor &y, const Tensor &a, const Tensor &b) {
                        ssq_queue *q = c.queue();
                        Tensor t = fresh_like(y);
                        Tensor ok = fresh_like(a, at::kBool);
                        Tensor fine = fresh_like(b, at::kBool);
                        binary(q, f, t, a, b);
                        compare(q, ssq_eq, ok, a, a);
                        compare(q, ssq_eq, fine, b, b);
                        where(q, t, ok, t, b);
                        where(q, y, fine, t, a);
                    });
}

/* self + w (end - self), from the end if w >= 1/2, as torch. */
static bool lerp_scalar(Call &c)
{
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    if (!is_real(a) || !is_real(b) || !is_real(c.tensor(3)) ||
        c.scalar(2).isComplex())
        return false;
    double w = c.number(2);
    const Tensor &y = c.out(3, broadcast(a.sizes(), b.sizes()));
    Tensor t = fresh_like(y, at::kFloat);
    binary(c.queue(), ssq_sub, t, b, a);
    if (std::abs(w) < 0.5)
        axpby(c.queue(), y, a, t, 1, w);
    else
        axpby(c.queue(), y, b, t, 1, w - 1);
    c.result_of({3});
    return true;
}

static bool lerp_tensor(Call &c)
{
    const Tensor &a = c.tensor(0), &b = c.tensor(1), &w = c.tensor(2);
    if (!is_real(a) || !is_real(b) || !is_real(c.tensor(3)))
        return false;
    Tensor by = real_operand(w, a.scalar_type(), c.device());
    if (!by.defined())
        return false;
    auto sizes = broadcast(broadcast(a.sizes(), b.sizes()), w.sizes());
    const Tensor &y = c.out(3, sizes);
    ssq_queue *q = c.queue();
    Tensor t = fresh(sizes, at::kFloat, c.device());
    Tensor near = fresh_like(t), far = fresh_like(t), rest = fresh_like(by);
    Tensor low = fresh(sizes, at::kBool, c.device());
    Tensor half = constant(0.5, at::kFloat, c.device());
    Tensor one = constant(1, at::kFloat, c.device());
    Tensor difference = fresh(broadcast(a.sizes(), b.sizes()), at::kFloat,
                              c.device());
    binary(q, ssq_sub, difference, b, a);
    binary(q, ssq_mul, t, difference, by);
    binary(q, ssq_add, near, a, t);
    rest = fresh_like(by, at::kFloat);
    binary(q, ssq_sub, rest, one, by);
    binary(q, ssq_mul, t, difference, rest);
    binary(q, ssq_sub, far, b, t);
    Tensor size = fresh_like(by, at::kFloat);
    unary(q, ssq_abs, size, by);
    Tensor flag = fresh_like(by, at::kBool);
    compare(q, ssq_lt, flag, size, half);
    where(q, y, flag, near, far);
    c.result_of({3});
    return true;
}

/* self + value * t1 * t2, or with a quotient. */
static bool add_term(Call &c, Binary f)
{
    const Tensor &a = c.tensor(0);
    if (!is_real(a) || !is_real(c.tensor(4)) || c.scalar(3).isComplex())
        return false;
    Tensor x = real_operand(c.tensor(1), a.scalar_type(), c.device());
    Tensor z = real_operand(c.tensor(2), a.scalar_type(), c.device());
    if (!x.defined() || !z.defined())
        return false;
    auto inner = broadcast(x.sizes(), z.sizes());
    Tensor t = x.sizes() == Ints(inner)
                   ? fresh_like(x, at::kFloat)
                   : fresh(inner, at::kFloat, c.device());
    binary(c.queue(), f, t, x, z);
    axpby(c.queue(), c.out(4, broadcast(a.sizes(), inner)), a, t, 1,
          c.number(3));
    c.result_of({4});
    return true;
}

/* Bool operands of logical ops: any dtype, not 0. */
static Tensor truth(const Tensor &x, c10::Device device)
{
    if (!is_here(x))
        return constant(x.item().toBool(), at::kByte, device);
    if (x.scalar_type() == at::kBool)
        return x;
    return x.scalar_type() == at::kLong || dtype_of(x.scalar_type())
               ? cast(x, at::kBool)
               : Tensor();
}

static bool logical(Call &c, Binary f)
{
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    Tensor x = truth(a, c.device()), z = truth(b, c.device());
    if (!x.defined() || !z.defined())
        return false;
    Out out(c, 2, broadcast(a.sizes(), b.sizes()), at::kBool);
    binary(c.queue(), f, out.y, x, z);
    out.finish();
    c.result_of({2});
    return true;
}

/* Not equal, of the two truths. */
static bool logical_xor(Call &c)
{
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    Tensor x = truth(a, c.device()), z = truth(b, c.device());
    if (!x.defined() || !z.defined())
        return false;
    Out out(c, 2, broadcast(a.sizes(), b.sizes()), at::kBool);
    compare(c.queue(), ssq_ne, out.y, x, z);
    out.finish();
    c.result_of({2});
    return true;
}

static bool bitwise(Call &c, bool (*of_bool)(Call &))
{
    bool both = c.tensor(0).scalar_type() == at::kBool &&
                c.tensor(1).scalar_type() == at::kBool &&
                c.tensor(2).scalar_type() == at::kBool;
    return both && of_bool(c);
}

static bool logical_and(Call &c)
{
    return logical(c, ssq_minimum);
}

static bool logical_or(Call &c)
{
    return logical(c, ssq_maximum);
}

static Tensor compare_operand(const Tensor &x, at::ScalarType common,
                              c10::Device device)
{
    if (!is_real(common)) {
        auto i = integer_operand(x, common, device);
        return i ? i->x : Tensor();
    }
    /* A scalar is rounded to the dtype first, as in torch. */
    if (!is_here(x))
        return at::isComplexType(x.scalar_type())
                   ? Tensor()
                   : constant(x.item().toDouble(), common, device);
    return real_operand(x, common, device);
}

/* A number counts less than a tensor when dtypes are combined. */
static Tensor wrapped_scalar(const at::Scalar &value)
{
    Tensor x = at::detail::empty_cpu({}, value.type());
    x.fill_(value);
    x.unsafeGetTensorImpl()->set_wrapped_number(true);
    return x;
}

static bool comparison(Call &c, Compare f, bool scalar)
{
    const Tensor &a = c.tensor(0);
    Tensor b = scalar ? wrapped_scalar(c.scalar(1)) : c.tensor(1);
    at::ScalarType common = common_type(a, b);
    if (!is_real(common) && !is_integer(common))
        return false;
    Tensor x = compare_operand(a, common, c.device());
    Tensor z = compare_operand(b, common, c.device());
    if (!x.defined() || !z.defined())
        return false;
    Out out(c, 2, broadcast(a.sizes(), b.sizes()), at::kBool);
    compare(c.queue(), f, out.y, x, z);
    out.finish();
    c.result_of({2});
    return true;
}

static const struct {
    const char *name;
    Compare f;
} comparisons[] = {
    {"eq", ssq_eq}, {"ne", ssq_ne}, {"lt", ssq_lt},
    {"le", ssq_le}, {"gt", ssq_gt}, {"ge", ssq_ge},
};

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "add.out", [](Call &c) { return add(c, adds, 1); });
    op(m, "sub.out", [](Call &c) { return add(c, subtracts, -1); });
    op(m, "rsub.Tensor", rsub);
    op(m, "mul.out", [](Call &c) { return arithmetic(c, multiplies); });
    op(m, "div.out", divide);
    op(m, "maximum.out", [](Call &c) { return arithmetic(c, maxima); });
    op(m, "minimum.out", [](Call &c) { return arithmetic(c, minima); });
    op(m, "pow.Tensor_Tensor_out", power);
    op(m, "pow.Tensor_Scalar_out", power_scalar);
    op(m, "pow.Scalar_out", scalar_power);
    op(m, "xlogy.OutTensor", xlogy);
    op(m, "fmax.out", [](Call &c) { return skipping_nan(c, ssq_maximum); });
    op(m, "fmin.out", [](Call &c) { return skipping_nan(c, ssq_minimum); });
    op(m, "lerp.Scalar_out", lerp_scalar);
    op(m, "lerp.Tensor_out", lerp_tensor);
    op(m, "addcmul.out", [](Call &c) { return add_term(c, ssq_mul); });
    op(m, "addcdiv.out", [](Call &c) { return add_term(c, ssq_div); });
    op(m, "logical_and.out", logical_and);
    op(m, "logical_or.out", logical_or);
    op(m, "logical_xor.out", logical_xor);
    op(m, "bitwise_and.Tensor_out",
       [](Call &c) { return bitwise(c, logical_and); });
    op(m, "bitwise_or.Tensor_out",
       [](Call &c) { return bitwise(c, logical_or); });
    op(m, "bitwise_xor.Tensor_out",
       [](Call &c) { return bitwise(c, logical_xor); });
    for (const auto &n : comparisons) {
        std::string name = n.name;
        op(m, (name + ".Tensor_out").c_str(),
           [f = n.f](Call &c) { return comparison(c, f, false); });
        op(m, (name + ".Scalar_out").c_str(),
           [f = n.f](Call &c) { return comparison(c, f, true); });
    }
}

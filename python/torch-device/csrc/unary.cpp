// SPDX-License-Identifier: Apache-2.0
/* unary.cpp - functions of one operand. */
#include "elementwise.h"
#include "real64.h"

#include <torch/library.h>

#include <cmath>

namespace sesqui_torch
{

/* Computes y from x, both float. */
using Formula = void (*)(ssq_queue *q, const Tensor &y, const Tensor &x);

/* out = formula(self), where out is argument `last`. */
static bool real_out(Call &c, size_t last,
                     const std::function<void(const Tensor &, const Tensor &)>
                         &formula)
{
    const Tensor &self = c.tensor(0);
    at::ScalarType type = is_real(self) ? self.scalar_type() : at::kFloat;
    if (!is_real(c.tensor(last)) && c.tensor(last).numel() > 0)
        return false;
    Tensor x = real_operand(self, type, c.device());
    if (!x.defined())
        return false;
    Out out(c, last, self.sizes(), c.tensor(last).scalar_type());
    formula(out.y, x);
    out.finish();
    c.result_of({last});
    return true;
}

static bool unary_out(Call &c, Unary f)
{
    return real_out(c, c.size() - 1, [&](const Tensor &y, const Tensor &x) {
        unary(c.queue(), f, y, x);
    });
}

static bool formula_out(Call &c, Formula f)
{
    return real_out(c, c.size() - 1, [&](const Tensor &y, const Tensor &x) {
        f(c.queue(), y, x);
    });
}

static void exp2_formula(ssq_queue *q, const Tensor &y, const Tensor &x)
{
    binary(q, ssq_pow, y, constant(2, at::kFloat, x.device()), x);
}

/* log(x) / log(base), in float32 until the end. */
static void log_base(ssq_queue *q, const Tensor &y, const Tensor &x,
                     double base)
{
    Tensor t = fresh_like(x, at::kFloat);
    unary(q, ssq_log, t, x);
    scale(q, y, t, 1 / std::log(base));
}

static void log2_formula(ssq_queue *q, const Tensor &y, const Tensor &x)
{
    log_base(q, y, x, 2);
}

static void log10_formula(ssq_queue *q, const Tensor &y, const Tensor &x)
{
    log_base(q, y, x, 10);
}

static void tan_formula(ssq_queue *q, const Tensor &y, const Tensor &x)
{
    Tensor s = fresh_like(x, at::kFloat), t = fresh_like(x, at::kFloat);
    unary(q, ssq_sin, s, x);
    unary(q, ssq_cos, t, x);
    binary(q, ssq_div, y, s, t);
}

/* Toward zero: the floor of |x|, with the sign of x. */
static void trunc_formula(ssq_queue *q, const Tensor &y, const Tensor &x)
{
    Tensor down = fresh_like(x), up = fresh_like(x);
    Tensor negative = fresh_like(x, at::kBool);
    unary(q, ssq_floor, down, x);
    unary(q, ssq_ceil, up, x);
    compare(q, ssq_lt, negative, x, constant(0, x.scalar_type(), x.device()));
    where(q, y, negative, up, down);
}

static void frac_formula(ssq_queue *q, const Tensor &y, const Tensor &x)
{
    Tensor t = fresh_like(x);
    trunc_formula(q, t, x);
    binary(q, ssq_sub, y, x, t);
}

/* e^|x| / 2, without an overflow before cosh has one. */
static Tensor half_exp(ssq_queue *q, const Tensor &x)
{
    Tensor t = fresh_like(x, at::kFloat), half = fresh_like(x, at::kFloat);
    unary(q, ssq_abs, t, x);
    scale(q, t, t, 0.5);
    unary(q, ssq_exp, t, t);
    scale(q, half, t, 0.5);
    binary(q, ssq_mul, t, t, half);
    return t;
}

/* e^-|x| / 2 from e^|x| / 2. */
static Tensor quarter_of(ssq_queue *q, const Tensor &t)
{
    Tensor u = fresh_like(t);
    binary(q, ssq_div, u, constant(0.25, at::kFloat, t.device()), t);
    return u;
}

static void cosh_formula(ssq_queue *q, const Tensor &y, const Tensor &x)
{
    Tensor t = half_exp(q, x);
    binary(q, ssq_add, y, t, quarter_of(q, t));
}

/* For |x| < 1 with u = e^x - 1: (u + u / (u + 1)) / 2 */
static void sinh_formula(ssq_queue *q, const Tensor &y, const Tensor &x)
{
    c10::Device device = x.device();
    Tensor u = fresh_like(x, at::kFloat), v = fresh_like(x, at::kFloat);
    unary(q, ssq_expm1, u, x);
    binary(q, ssq_add, v, u, constant(1, at::kFloat, device));
    binary(q, ssq_div, v, u, v);
    axpby(q, u, u, v, 0.5, 0.5);
    Tensor t = half_exp(q, x);
    binary(q, ssq_sub, t, t, quarter_of(q, t));
    unary(q, ssq_sign, v, x);
    binary(q, ssq_mul, t, t, v);
    unary(q, ssq_abs, v, x);
    Tensor small = fresh_like(x, at::kBool);
    compare(q, ssq_lt, small, v, constant(1, at::kFloat, device));
    where(q, y, small, u, t);
}

static void sign_formula(ssq_queue *q, const Tensor &y, const Tensor &x)
{
    unary(q, ssq_sign, y, x);
}

static bool abs_or_neg(Call &c, Unary f)
{
    const Tensor &x = c.tensor(0);
    if (is_real(x))
        return unary_out(c, f);
    at::ScalarType type = x.scalar_type();
    Tensor low = narrow(x);
    if ((type != at::kLong && !is_native_int(type)) || !low.defined() ||
        c.tensor(1).scalar_type() != type)
        return false;
    const Tensor &y = c.out(1, x.sizes());
    if (type != at::kLong) {
        unary(c.queue(), f, y, x);
    } else {
        Bounds b = block_of(x).bounds;
        if (b.low == std::numeric_limits<int32_t>::min())
            return false; /* its negative needs 33 bits */
        Wide wide(y);
        unary(c.queue(), f, wide.low, low);
        int64_t most = std::max(std::abs(b.low), std::abs(b.high));
        if (b.empty())
            most = 0;
        wide.finish(f == Unary(ssq_abs) ? Bounds{0, most}
                                        : Bounds{-most, most});
    }
    c.result_of({1});
    return true;
}

static bool reciprocal(Call &c)
{
    if (c.tensor(0).scalar_type() == at::kDouble &&
        real64_reciprocal(c.tensor(1), c.tensor(0))) {
        c.result_of({1});
        return true;
    }
    return unary_out(c, ssq_reciprocal);
}

/* Integers have no fraction: a copy. */
static bool rounding(Call &c, Unary f)
{
    const Tensor &x = c.tensor(0);
    if (is_real(x))
        return unary_out(c, f);
    if (!at::isIntegralType(x.scalar_type(), false) ||
        c.tensor(1).scalar_type() != x.scalar_type())
        return false;
    assign(c.out(1, x.sizes()), x);
    c.result_of({1});
    return true;
}

static bool test_out(Call &c, Unary f)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x))
        return false;
    Tensor y = fresh_like(x, at::kBool);
    unary(c.queue(), f, y, x);
    c.result(y);
    return true;
}

static bool logical_not(Call &c)
{
    const Tensor &x = c.tensor(0);
    if (!dtype_of(x.scalar_type()))
        return false;
    Out out(c, 1, x.sizes(), at::kBool);
    at::ScalarType type = x.scalar_type() == at::kBool ? at::kByte
                                                       : x.scalar_type();
    compare(c.queue(), ssq_eq, out.y, x, constant(0, type, x.device()));
    out.finish();
    c.result_of({1});
    return true;
}

static bool is_infinity(Call &c, double value)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x))
        return false;
    Out out(c, 1, x.sizes(), at::kBool);
    compare(c.queue(), ssq_eq, out.y, x,
            constant(value, at::kFloat, x.device()));
    out.finish();
    c.result_of({1});
    return true;
}

/* nan_to_num(self, nan, posinf, neginf, out) */
static bool nan_to_num(Call &c)
{
    const Tensor &x = c.tensor(0);
    at::ScalarType type = x.scalar_type();
    if (!is_real(x) || c.tensor(4).scalar_type() != type)
        return false;
    double most = type == at::kHalf       ? 65504
                  : type == at::kBFloat16 ? 0x1.fep127
                                          : 0x1.fffffep127;
    double nan = c.none(1) ? 0 : c.number(1);
    double high = c.none(2) ? most : c.number(2);
    double low = c.none(3) ? -most : c.number(3);
    const Tensor &y = c.out(4, x.sizes());
    ssq_queue *q = c.queue();
    auto at = [&](double v) { return constant(v, at::kFloat, c.device()); };
    Tensor is = fresh_like(x, at::kBool), t = fresh_like(x);
    compare(q, ssq_eq, is, x, x);
    where(q, t, is, x, at(nan));
    compare(q, ssq_eq, is, x, at(INFINITY));
    where(q, t, is, at(high), t);
    compare(q, ssq_eq, is, x, at(-INFINITY));
    where(q, y, is, at(low), t);
    c.result_of({4});
    return true;
}

static bool bitwise_not(Call &c)
{
    return c.tensor(0).scalar_type() == at::kBool && logical_not(c);
}

struct Named {
    const char *name;
    Unary f;
};

static const Named functions[] = {
    {"exp.out", ssq_exp},         {"expm1.out", ssq_expm1},
    {"log.out", ssq_log},         {"log1p.out", ssq_log1p},
    {"sqrt.out", ssq_sqrt},       {"rsqrt.out", ssq_rsqrt},
    {"erf.out", ssq_erf},         {"sin.out", ssq_sin},
    {"cos.out", ssq_cos},         {"sigmoid.out", ssq_sigmoid},
    {"tanh.out", ssq_tanh},       {"silu.out", ssq_silu},
};

static const struct {
    const char *name;
    Formula f;
} formulas[] = {
    {"exp2.out", exp2_formula}, {"log2.out", log2_formula},
    {"log10.out", log10_formula}, {"tan.out", tan_formula},
    {"frac.out", frac_formula}, {"sinh.out", sinh_formula},
    {"cosh.out", cosh_formula}, {"sgn.out", sign_formula},
    {"sign.out", sign_formula},
};

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    for (const Named &n : functions)
        op(m, n.name, [f = n.f](Call &c) { return unary_out(c, f); });
    for (const auto &n : formulas)
        op(m, n.name, [f = n.f](Call &c) {
            return is_real(c.tensor(0)) && formula_out(c, f);
        });
    op(m, "abs.out", [](Call &c) { return abs_or_neg(c, ssq_abs); });
    op(m, "neg.out", [](Call &c) { return abs_or_neg(c, ssq_neg); });
    op(m, "reciprocal.out", reciprocal);
    op(m, "floor.out", [](Call &c) { return rounding(c, ssq_floor); });
    op(m, "ceil.out", [](Call &c) { return rounding(c, ssq_ceil); });
    op(m, "round.out", [](Call &c) { return rounding(c, ssq_round); });
    op(m, "trunc.out", [](Call &c) {
        return is_real(c.tensor(0)) ? formula_out(c, trunc_formula)
                                    : rounding(c, ssq_floor);
    });
    op(m, "isposinf.out", [](Call &c) { return is_infinity(c, INFINITY); });
    op(m, "isneginf.out", [](Call &c) { return is_infinity(c, -INFINITY); });
    op(m, "nan_to_num.out", nan_to_num);
    op(m, "isnan", [](Call &c) { return test_out(c, ssq_isnan); });
    op(m, "logical_not.out", logical_not);
    op(m, "bitwise_not.out", bitwise_not);
}

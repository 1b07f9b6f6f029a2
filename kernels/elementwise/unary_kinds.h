/* SPDX-License-Identifier: Apache-2.0 */
/* unary_kinds.h - the kinds of y = f(x): one list, and one element of each.
 *
 * UNARY_KINDS has a line for each kind, in the order of the lists that are made
 * of it: its number, which is its key and says nothing else (a kind takes the
 * next one), its public name, the parameters of its argument struct, its
 * autocast class, its traits, and what y and dx are of x, dy and the parameters
 * alpha and beta. The macro that a line calls says the rest:
 *
 *   BOTH     floats, with a gradient, which tapes offer (lib/tape/vars.awk)
 *   SIGNED   the same, of which only the sign changes: NaN keeps its bits, and
 *            integers u become what the last column says, modulo 2^32
 *   FORWARD  floats, without a gradient
 *   TEST     a float's bits u are tested, y is 0 or 1
 *
 * Traits, or 0u:
 *
 *   BY_TABLE    of 16-bit x, y and the slope are found in a table faster than
 *               they are computed; dx is dy times the slope, which x alone
 *               decides (backends/cpu/elementwise/unary.c)
 *   Y_BY_TABLE  only y is
 *   DX_OF_Y     dx is the same if y is given for x: a tape does not keep x
 *
 * From it are made the public functions (lib/op/elementwise/unary.c), the
 * variants of the sources, the policy's classes, the vars of tapes and the
 * counts of the tests. */
#ifndef KERNELS_ELEMENTWISE_UNARY_KINDS_H
#define KERNELS_ELEMENTWISE_UNARY_KINDS_H

#include "kernels/elementwise/elementwise.h"

#define Y_BY_TABLE 1u
#define BY_TABLE   3u /* with Y_BY_TABLE */
#define DX_OF_Y    4u

#define UNARY_KINDS(BOTH, SIGNED, FORWARD, TEST)                               \
    BOTH(0, relu, none, ANY, DX_OF_Y, relu_y(x), relu_dx(x, dy))               \
    BOTH(1, leaky_relu, alpha, ANY, 0u, leaky_relu_y(x, alpha),                \
         leaky_relu_dx(x, dy, alpha))                                          \
    BOTH(2, elu, alpha, ANY, BY_TABLE, s_elu(x, alpha),                        \
         s_elu_grad(x, alpha) * dy)                                            \
    BOTH(3, gelu, none, ANY, BY_TABLE, s_gelu(x), s_gelu_grad(x) * dy)         \
    BOTH(4, gelu_tanh, none, ANY, BY_TABLE, s_gelu_tanh(x),                    \
         s_gelu_tanh_grad(x) * dy)                                             \
    BOTH(5, silu, none, ANY, BY_TABLE, s_silu(x), s_silu_grad(x) * dy)         \
    BOTH(6, sigmoid, none, ANY, BY_TABLE, s_sigmoid(x),                        \
         s_sigmoid_grad(x) * dy)                                               \
    BOTH(7, tanh, none, ANY, BY_TABLE, s_tanh(x), s_tanh_grad(x) * dy)         \
    BOTH(30, softsign, none, ANY, 0u, softsign_y(x), softsign_dx(x, dy))       \
    BOTH(8, softplus, beta, FLOAT32, BY_TABLE, softplus_y(x, beta),            \
         softplus_dx(x, dy, beta))                                             \
    BOTH(10, exp, none, FLOAT32, BY_TABLE, s_exp(x), s_exp(x) * dy)            \
    BOTH(21, expm1, none, FLOAT32, BY_TABLE, s_expm1(x), s_exp(x) * dy)        \
    BOTH(11, log, none, FLOAT32, Y_BY_TABLE, s_log(x), s_div(dy, x))           \
    BOTH(20, log1p, none, FLOAT32, Y_BY_TABLE, s_log1p(x),                     \
         s_div(dy, 1.0f + x))                                                  \
    BOTH(12, sqrt, none, ANY, 0u, s_sqrt(x), s_div(dy, 2.0f * s_sqrt(x)))      \
    BOTH(13, rsqrt, none, FLOAT32, 0u, s_rsqrt(x), rsqrt_dx(x, dy))            \
    BOTH(14, reciprocal, none, FLOAT32, 0u, s_rcp(x),                          \
         s_div(s_div(s_neg(dy), x), x))                                        \
    SIGNED(15, abs, none, ANY, 0u, s_abs(x), abs_slope(x) * dy,                \
           abs_integer(u))                                                     \
    SIGNED(16, neg, none, ANY, 0u, s_neg(x), -1.0f * dy, 0u - u)               \
    BOTH(22, square, none, FLOAT32, 0u, square_y(x), 2.0f * x * dy)            \
    BOTH(18, sin, none, ANY, BY_TABLE, s_sin(x), s_cos(x) * dy)                \
    BOTH(19, cos, none, ANY, BY_TABLE, s_cos(x), s_neg(s_sin(x)) * dy)         \
    BOTH(17, erf, none, ANY, BY_TABLE, s_erf(x), erf_slope(x) * dy)            \
    BOTH(9, clamp, bounds, ANY, 0u, clamp_y(x, alpha, beta),                   \
         clamp_dx(x, dy, alpha, beta))                                         \
    FORWARD(23, sign, none, ANY, 0u, s_sign(x))                                \
    FORWARD(24, floor, none, ANY, 0u, s_floor(x))                              \
    FORWARD(25, ceil, none, ANY, 0u, s_ceil(x))                                \
    FORWARD(26, round, none, ANY, 0u, s_round(x))                              \
    TEST(27, isnan, none, ANY, 0u, is_nan_bits(u))                             \
    TEST(28, isinf, none, ANY, 0u, is_inf_bits(u))                             \
    TEST(29, isfinite, none, ANY, 0u, is_finite_bits(u))

/* The kinds by name: UNARY_relu. GLSL has no enum. A name is pasted by the
 * macro that a line calls: one more on the way would expand it, and tanh is a
 * macro in PoCL. */
#ifdef VULKAN
#define UNARY_NAME_BOTH(N, NAME, WITH, CLASS, TRAITS, Y, DX)                   \
    const u32 UNARY_##NAME = U32(N);
#define UNARY_NAME_SIGNED(N, NAME, WITH, CLASS, TRAITS, Y, DX, INTEGER)        \
    const u32 UNARY_##NAME = U32(N);
#define UNARY_NAME(N, NAME, WITH, CLASS, TRAITS, Y)                            \
    const u32 UNARY_##NAME = U32(N);
UNARY_KINDS(UNARY_NAME_BOTH, UNARY_NAME_SIGNED, UNARY_NAME, UNARY_NAME)
#else
#define UNARY_NAME_BOTH(N, NAME, WITH, CLASS, TRAITS, Y, DX) UNARY_##NAME = N,
#define UNARY_NAME_SIGNED(N, NAME, WITH, CLASS, TRAITS, Y, DX, INTEGER)        \
    UNARY_##NAME = N,
#define UNARY_NAME(N, NAME, WITH, CLASS, TRAITS, Y) UNARY_##NAME = N,
enum unary_kind {
    UNARY_KINDS(UNARY_NAME_BOTH, UNARY_NAME_SIGNED, UNARY_NAME, UNARY_NAME)
};
#endif

/* ---- of one kind ---- */

/* x above 0, 0 below, and NaN stays: max(x, 0) of some devices loses it. What
 * is below, -0 with it, is a range of bits. */
FN float relu_y(float x)
{
    return AS_U32(x) - F32_SIGN <= F32_INF ? 0.0f : x;
}

/* dy if the slope is 1; 0 if it is 0, also for a dy that is not finite. */
FN float relu_dx(float x, float dy)
{
    return s_is_nan(x) || f32_positive(x) ? dy : 0.0f;
}

/* x above 0, else alpha x, by which NaN stays one. */
FN float leaky_relu_y(float x, float alpha)
{
    return f32_positive(x) ? x : alpha * x;
}

FN float leaky_relu_dx(float x, float dy, float alpha)
{
    return f32_positive(x) ? dy : dy * alpha;
}

/* log(1 + exp(beta x)) / beta. Above 20 it is x to less than 1/400 ulp. */
FN float softplus_y(float x, float beta)
{
    EXACT float t = beta * x;

    if (t > 20.0f)
        return x;
    return s_div(s_softplus(t), beta);
}

FN float softplus_dx(float x, float dy, float beta)
{
    return dy * s_sigmoid(beta * x);
}

FN float clamp_y(float x, float low, float high)
{
    return f32_minimum(f32_maximum(x, low), high);
}

FN float clamp_dx(float x, float dy, float low, float high)
{
    return compare_value(COMPARE_GE, x, low) &&
                   compare_value(COMPARE_LE, x, high)
               ? dy
               : 0.0f;
}

/* +0 at both zeros and at NaN: the difference of x > 0 and x < 0. */
FN float abs_slope(float x)
{
    u32 u = AS_U32(x);

    if (is_nan_bits(u) || (u & 0x7fffffffu) == 0u)
        return 0.0f;
    return s_copysign(1.0f, x);
}

FN float square_y(float x)
{
    return x * x;
}

FN u32 abs_integer(u32 u)
{
    return (u & F32_SIGN) != 0u ? 0u - u : u;
}

/* 2 / sqrt(pi) exp(-x^2), the square as a pair. */
FN float erf_slope(float x)
{
    if (s_is_nan(x))
        return x;
    if (s_abs(x) > 10.3f)
        return 0.0f;
    EXACT STRUCT(exp_parts) e = exp_pair(pair_neg(two_prod(x, x)));

    e.y = pair_mul(e.y, pair_of(1.1283792f, -5.8635383e-8f));
    return exp_value(e);
}

/* -1/2 dy y^3, y = 1 / sqrt(x), which is infinite with the sign of a zero x. In
 * this order no intermediate leaves the range of float32 unless the result
 * does: y^2 is 1 / |x|. */
FN float rsqrt_dx(float x, float dy)
{
    EXACT float p = s_rsqrt(x) * -0.5f * dy;

    return s_div(p, s_abs(x));
}

/* x / (1 + |x|), and its limits +-1 where both are infinite. */
FN float softsign_y(float x)
{
    EXACT float d = 1.0f + s_abs(x);

    if (is_inf_bits(AS_U32(x)))
        return s_copysign(1.0f, x);
    return s_div(x, d);
}

/* dy / (1 + |x|)^2: divided twice, the square may overflow. */
FN float softsign_dx(float x, float dy)
{
    EXACT float d = 1.0f + s_abs(x);

    return s_div(s_div(dy, d), d);
}

/* ---- of any kind ---- */

/* Return a column of the kind's line. The macros UNARY_NOT pass over the lines
 * that a function does not read. */
#define UNARY_SAYS(N, WHAT)                                                    \
    if (IS_KIND(kind, N))                                                      \
        return WHAT;
#define UNARY_NOT_BOTH(N, NAME, WITH, CLASS, TRAITS, Y, DX)
#define UNARY_NOT_SIGNED(N, NAME, WITH, CLASS, TRAITS, Y, DX, INTEGER)
#define UNARY_NOT(N, NAME, WITH, CLASS, TRAITS, Y)

#define UNARY_IS_SIGNED(N, NAME, WITH, CLASS, TRAITS, Y, DX, INTEGER)          \
    UNARY_SAYS(N, true)
FN bool unary_is_signed(u32 kind)
{
    UNARY_KINDS(UNARY_NOT_BOTH, UNARY_IS_SIGNED, UNARY_NOT, UNARY_NOT)
    return false;
}

#define UNARY_IS(N, NAME, WITH, CLASS, TRAITS, Y) UNARY_SAYS(N, true)
FN bool unary_is_test(u32 kind)
{
    UNARY_KINDS(UNARY_NOT_BOTH, UNARY_NOT_SIGNED, UNARY_NOT, UNARY_IS)
    return false;
}

#define UNARY_TRUE(N, NAME, WITH, CLASS, TRAITS, TRUE) UNARY_SAYS(N, TRUE)
FN bool unary_test(u32 kind, u32 u)
{
    UNARY_KINDS(UNARY_NOT_BOTH, UNARY_NOT_SIGNED, UNARY_NOT, UNARY_TRUE)
    return false;
}

#define UNARY_INTEGER(N, NAME, WITH, CLASS, TRAITS, Y, DX, INTEGER)            \
    UNARY_SAYS(N, INTEGER)
/* i32, and u8 extended with zeros. */
FN u32 unary_int(u32 kind, u32 u)
{
    UNARY_KINDS(UNARY_NOT_BOTH, UNARY_INTEGER, UNARY_NOT, UNARY_NOT)
    return u;
}

#define UNARY_Y_BOTH(N, NAME, WITH, CLASS, TRAITS, Y, DX) UNARY_SAYS(N, Y)
#define UNARY_Y_SIGNED(N, NAME, WITH, CLASS, TRAITS, Y, DX, INTEGER)           \
    UNARY_SAYS(N, Y)
#define UNARY_Y(N, NAME, WITH, CLASS, TRAITS, Y) UNARY_SAYS(N, Y)
FN float unary_function(u32 kind, float x, float alpha, float beta)
{
    UNARY_KINDS(UNARY_Y_BOTH, UNARY_Y_SIGNED, UNARY_Y, UNARY_NOT)
    return x;
}

/* y of any kind that is not a test. */
FN float unary_value(u32 kind, float x, float alpha, float beta)
{
    EXACT float y = unary_function(kind, x, alpha, beta);

    return unary_is_signed(kind) ? y : s_canonical(y);
}

#define UNARY_DX_BOTH(N, NAME, WITH, CLASS, TRAITS, Y, DX) UNARY_SAYS(N, DX)
#define UNARY_DX_SIGNED(N, NAME, WITH, CLASS, TRAITS, Y, DX, INTEGER)          \
    UNARY_SAYS(N, DX)
FN float unary_gradient(u32 kind, float x, float dy, float alpha, float beta)
{
    UNARY_KINDS(UNARY_DX_BOTH, UNARY_DX_SIGNED, UNARY_NOT, UNARY_NOT)
    return dy;
}

FN float unary_grad(u32 kind, float x, float dy, float alpha, float beta)
{
    return s_canonical(unary_gradient(kind, x, dy, alpha, beta));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.h - what one element of every elementwise op is, in the dialect.
 *
 * A NaN result is the one quiet NaN, 0x7fc00000, since sums and products of
 * devices differ in the sign and payload of theirs; only neg and abs keep the
 * argument's, they change the sign bit and nothing else. Numbers are compared
 * as integers: right where subnormals are flushed, and where a compiler may
 * assume that NaNs do not occur. */

#ifndef SSQ_KERNELS_ELEMENTWISE_H
#define SSQ_KERNELS_ELEMENTWISE_H

#include "kernels/scalar/scalar.h"

#define BINARY_ADD     0u
#define BINARY_SUB     1u
#define BINARY_MUL     2u
#define BINARY_DIV     3u
#define BINARY_MAXIMUM 4u
#define BINARY_MINIMUM 5u
#define BINARY_POW     6u
#define BINARY_AXPBY   7u

#define COMPARE_EQ 0u
#define COMPARE_NE 1u
#define COMPARE_LT 2u
#define COMPARE_LE 3u
#define COMPARE_GT 4u
#define COMPARE_GE 5u

/* ---- order ---- */

/* A key that ascends, as an unsigned number, with the number whose bits u are;
 * that of -0 comes before that of +0. */
FN u32 f32_key(u32 u)
{
    return (u & F32_SIGN) != 0u ? ~u : u | F32_SIGN;
}

/* x > 0, infinity included and NaN not: one comparison of bits. */
FN bool f32_positive(float x)
{
    return AS_U32(x) - 1u < F32_INF;
}

FN bool compare_keys(u32 kind, u32 a, u32 b)
{
    if (kind == COMPARE_EQ)
        return a == b;
    if (kind == COMPARE_NE)
        return a != b;
    if (kind == COMPARE_LT)
        return a < b;
    if (kind == COMPARE_LE)
        return a <= b;
    if (kind == COMPARE_GT)
        return a > b;
    return a >= b;
}

/* As IEEE 754 compares: a NaN is unequal to all, and -0 equals +0. */
FN bool compare_value(u32 kind, float a, float b)
{
    u32 ua = AS_U32(a);
    u32 ub = AS_U32(b);

    if (is_nan_bits(ua) || is_nan_bits(ub))
        return kind == COMPARE_NE;
    ua = ua == F32_SIGN ? 0u : ua;
    ub = ub == F32_SIGN ? 0u : ub;
    return compare_keys(kind, f32_key(ua), f32_key(ub));
}

/* i32, and u8 extended with zeros: turning the sign bit makes their order that
 * of unsigned numbers. */
FN bool compare_int(u32 kind, u32 a, u32 b)
{
    return compare_keys(kind, a ^ F32_SIGN, b ^ F32_SIGN);
}

/* IEEE 754-2019 maximum: NaN if any is, and -0 < +0. */
FN float f32_maximum(float a, float b)
{
    if (s_is_nan(a) || s_is_nan(b))
        return AS_F32(F32_NAN);
    return f32_key(AS_U32(a)) >= f32_key(AS_U32(b)) ? a : b;
}

FN float f32_minimum(float a, float b)
{
    if (s_is_nan(a) || s_is_nan(b))
        return AS_F32(F32_NAN);
    return f32_key(AS_U32(a)) <= f32_key(AS_U32(b)) ? a : b;
}

/* ---- to integers ---- */

/* |x| below 2^23 to the nearest integer, ties to even, as bits. In integers: no
 * compiler can take the sum with 2^23, which rounds too, for none. */
FN u32 round_magnitude(u32 a)
{
    if (a < 0x3f800000u) /* 1: only what is above 0.5 becomes 1 */
        return a > 0x3f000000u ? 0x3f800000u : 0u;
    u32 n = 150u - (a >> 23u); /* bits of a fraction, 1 to 23 */
    u32 below = (1u << n) - 1u;

    return (a + (below >> 1u) + ((a >> n) & 1u)) & ~below;
}

/* To the nearest integer, ties to even; the sign of zero stays. It is put on
 * last: of a choice between x and what has x's sign, LLVM 19 makes a masked
 * vpternlogd with its operands in the wrong order where there is AVX-512. */
FN float s_round(float x)
{
    u32 a = AS_U32(x) & 0x7fffffffu;

    if (a < 0x4b000000u) /* 2^23 */
        a = round_magnitude(a);
    return AS_F32(a | (AS_U32(x) & F32_SIGN));
}

/* The nearest integer, less 1 where that is above x. */
FN float s_floor(float x)
{
    EXACT float r = s_round(x);

    if (compare_value(COMPARE_GT, r, x))
        r = r - 1.0f;
    return r;
}

/* In the same way; the sign is put back because of numbers such as -0.7, whose
 * ceiling is -0. */
FN float s_ceil(float x)
{
    EXACT float r = s_round(x);

    if (compare_value(COMPARE_LT, r, x))
        r = r + 1.0f;
    return s_copysign(r, x);
}

/* 1 or -1; a zero and a NaN stay what they are. */
FN float s_sign(float x)
{
    u32 u = AS_U32(x);

    if (is_nan_bits(u) || (u & 0x7fffffffu) == 0u)
        return x;
    return s_copysign(1.0f, x);
}

/* ---- slopes ---- */

/* 1 - tanh(x)^2 = 4 sigmoid(2x) sigmoid(-2x) */
FN float s_tanh_grad(float x)
{
    return 4.0f * s_sigmoid_grad(2.0f * x);
}

/* ---- binary ---- */

/* The value before it is made canonical. alpha and beta are those of
 * BINARY_AXPBY, of which both products and the sum are rounded. */
FN float binary_arithmetic(u32 kind, float a, float b, float alpha, float beta)
{
    if (kind == BINARY_ADD)
        return a + b;
    if (kind == BINARY_SUB)
        return a - b;
    if (kind == BINARY_MUL)
        return a * b;
    if (kind == BINARY_DIV)
        return s_div(a, b);
    if (kind == BINARY_MAXIMUM)
        return f32_maximum(a, b);
    if (kind == BINARY_MINIMUM)
        return f32_minimum(a, b);
    if (kind == BINARY_POW)
        return s_pow(a, b);
    EXACT float p = alpha * a;
    EXACT float q = beta * b;

    return p + q;
}

FN float binary_value(u32 kind, float a, float b, float alpha, float beta)
{
    return s_canonical(binary_arithmetic(kind, a, b, alpha, beta));
}

/* i32, and u8 extended with zeros; modulo 2^32. */
FN u32 binary_int(u32 kind, u32 a, u32 b)
{
    if (kind == BINARY_ADD)
        return a + b;
    if (kind == BINARY_SUB)
        return a - b;
    if (kind == BINARY_MUL)
        return a * b;
    bool less = compare_int(COMPARE_LT, a, b);

    return less == (kind == BINARY_MAXIMUM) ? b : a;
}

/* The gradient of maximum and minimum for the operand x: all of dy to the
 * winner, half to each of a tie, all to both where one is NaN. */
FN float extremum_grad(u32 lost, float x, float other, float dy)
{
    if (compare_value(COMPARE_EQ, x, other))
        return 0.5f * dy;
    return compare_value(lost, x, other) ? 0.0f : dy;
}

/* b a^(b - 1) dy; 0 where b is 0, for any a, since a^0 is 1 everywhere. */
FN float pow_grad_a(float a, float b, float dy)
{
    if ((AS_U32(b) & 0x7fffffffu) == 0u)
        return 0.0f;
    EXACT float d = b - 1.0f;

    d = b * s_pow(a, d);
    return dy * d;
}

/* a^b log(a) dy; at a = 0 it is 0 for b >= 0, where 0^b does not move, and not
 * 0 times -inf. */
FN float pow_grad_b(float a, float b, float dy)
{
    EXACT float d = 0.0f;

    if ((AS_U32(a) & 0x7fffffffu) != 0u || !compare_value(COMPARE_GE, b, 0.0f))
        d = s_pow(a, b) * s_log(a);
    return dy * d;
}

/* One term of da. */
FN float binary_grad_a(u32 kind, float a, float b, float dy)
{
    if (kind == BINARY_MUL)
        return dy * b;
    if (kind == BINARY_DIV)
        return s_div(dy, b);
    if (kind == BINARY_MAXIMUM)
        return extremum_grad(COMPARE_LT, a, b, dy);
    if (kind == BINARY_MINIMUM)
        return extremum_grad(COMPARE_GT, a, b, dy);
    if (kind == BINARY_POW)
        return pow_grad_a(a, b, dy);
    return dy; /* add, sub */
}

/* One term of db. */
FN float binary_grad_b(u32 kind, float a, float b, float dy)
{
    if (kind == BINARY_SUB)
        return s_neg(dy);
    if (kind == BINARY_MUL)
        return dy * a;
    if (kind == BINARY_DIV)
        return s_neg(dy) * s_div(s_div(a, b), b);
    if (kind == BINARY_MAXIMUM)
        return extremum_grad(COMPARE_LT, b, a, dy);
    if (kind == BINARY_MINIMUM)
        return extremum_grad(COMPARE_GT, b, a, dy);
    if (kind == BINARY_POW)
        return pow_grad_b(a, b, dy);
    return dy; /* add */
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* element.c - raw elements of a dtype and their values, as float64. */
#include "conformance/element.h"

#include "conformance/bounds.h"
#include "conformance/suite.h"

#include <string.h>

/* 2^e of a normal double: ldexp takes many times as long. */
static double power(int e)
{
    uint64_t u = (uint64_t)(1023 + e) << 52;
    double p;
    memcpy(&p, &u, 8);
    return p;
}

double harness_round(double x, ssq_dtype d)
{
    if (d == SSQ_F32)
        return (double)(float)x;
    if (d != SSQ_F16 && d != SSQ_BF16)
        return x;
    if (x == 0.0 || isnan(x) || isinf(x))
        return x;
    /* significant bits, and the exponent of the least subnormal */
    int digits = d == SSQ_F16 ? 11 : 8, least = d == SSQ_F16 ? -24 : -133;
    uint64_t u;
    memcpy(&u, &x, 8);
    int e = (int)(u >> 52 & 0x7ff) - 1022; /* as frexp's: 0.5 <= m < 1 */
    int ulp = e - digits < least ? least : e - digits;
    /* fewer than 2^12 units: adding 1.5 * 2^52 rounds them to a whole number */
    double a = fabs(x) * power(-ulp), r = (a + 0x1.8p52) - 0x1.8p52;
    r *= power(ulp);
    return copysign(r >= bound_overflow(d) ? (double)INFINITY : r, x);
}

/* The raw element of a value that dtype d represents. */
uint32_t element_bits(double x, ssq_dtype d)
{
    float f = (float)x;
    uint32_t u, sign;
    memcpy(&u, &f, 4);
    sign = u >> 31;
    if (d == SSQ_F32)
        return u;
    if (d == SSQ_BF16)
        return isnan(x) ? sign << 15 | 0x7fc0 : u >> 16;
    if (d == SSQ_I32)
        return (uint32_t)(int32_t)x;
    if (d == SSQ_U8)
        return (uint8_t)x;
    if (isnan(x))
        return sign << 15 | 0x7e00;
    if (isinf(x))
        return sign << 15 | 0x7c00;
    double a = fabs(x);
    if (a < 0x1p-14)
        return sign << 15 | (uint32_t)(a * 0x1p24);
    /* the float's exponent and its first ten bits: the others are 0 */
    return sign << 15 | ((u & 0x7fffffff) - (112u << 23)) >> 13;
}

static double f32_value(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return (double)f;
}

/* The exponent and fraction of a half, moved to their places in a float, give
 * its value times 2^-112. Inf and NaN get the float's exponent. */
static double element_f16_value(uint32_t u)
{
    uint32_t a = (u & 0x7fff) << 13, special = (u & 0x7c00) == 0x7c00;
    double v = f32_value(special ? a | 0x7f800000u : a) * 0x1p112;
    return (u & 0x8000) != 0 ? -v : v;
}

double element_value(uint32_t u, ssq_dtype d)
{
    switch (d) {
    case SSQ_I32:
        return (double)(int32_t)u;
    case SSQ_U8:
        return (double)u;
    case SSQ_F16:
        return element_f16_value(u);
    case SSQ_BF16:
        return f32_value(u << 16);
    default:
        return f32_value(u);
    }
}

/* A loop for each dtype: the compiler makes vectors of them. */
void element_values(double *value, const uint32_t *u, size_t n, ssq_dtype d)
{
    switch (d) {
    case SSQ_F32:
        for (size_t i = 0; i < n; i++)
            value[i] = f32_value(u[i]);
        return;
    case SSQ_F16:
        for (size_t i = 0; i < n; i++)
            value[i] = element_f16_value(u[i]);
        return;
    default:
        for (size_t i = 0; i < n; i++)
            value[i] = element_value(u[i], d);
    }
}

size_t element_bytes(ssq_dtype d)
{
    return ssq_dtype_bits(d) / 8;
}

double element_largest(ssq_dtype d)
{
    return d == SSQ_F16 ? 65504.0 : d == SSQ_BF16 ? 0x1.FEp127 : 0x1.FFFFFEp127;
}

double element_least_normal(ssq_dtype d)
{
    return d == SSQ_F16 ? 0x1p-14 : 0x1p-126;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* element.c - raw elements of a dtype and their values, as float64. */
#include "tests/op/element.h"

#include "tests/bounds.h"
#include "tests/op/suite.h"

#include <string.h>

/* 2^e of a normal double: ldexp takes many times as long. */
static double power(int e)
{
    uint64_t u = (uint64_t)(1023 + e) << 52;
    double p;
    memcpy(&p, &u, 8);
    return p;
}

double bed_round(double x, ssq_dtype d)
{
    if (d == SSQ_F32)
        return (double)(float)x;
    if (d != SSQ_F16 && d != SSQ_BF16)
        return x;
    if (x == 0.0 || isnan(x) || isinf(x))
        return x;
    /* significant bits, and the exponent of the least subnormal */
    int digits = d == SSQ_F16 ? 11 : 8, least = d == SSQ_F16 ? -24 : -133;
    int e;
    (void)frexp(x, &e);
    int ulp = e - digits < least ? least : e - digits;
    double r = nearbyint(x * power(-ulp)) * power(ulp);
    return fabs(r) >= bound_overflow(d) ? copysign((double)INFINITY, x) : r;
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
    int e;
    double m = frexp(a, &e); /* 0.5 <= m < 1 */
    return sign << 15 | (uint32_t)(e + 14) << 10 |
           ((uint32_t)(m * 2048.0) & 0x3ff);
}

double element_value(uint32_t u, ssq_dtype d)
{
    float f;
    if (d == SSQ_I32)
        return (double)(int32_t)u;
    if (d == SSQ_U8)
        return (double)u;
    if (d == SSQ_F16) {
        uint32_t e = u >> 10 & 31, m = u & 1023;
        double a = e == 31  ? (m != 0 ? (double)NAN : (double)INFINITY)
                   : e == 0 ? m * 0x1p-24
                            : (1024 + m) * power((int)e - 25);
        return (u & 0x8000) != 0 ? -a : a;
    }
    if (d == SSQ_BF16)
        u <<= 16;
    memcpy(&f, &u, 4);
    return (double)f;
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

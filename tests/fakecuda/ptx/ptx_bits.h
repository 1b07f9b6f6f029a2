/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_bits.h - a register's bits as a type, and arithmetic that C leaves open.
 *
 * A slot of 64 bits holds the register's bits with zeros above. PTX defines
 * some results that C leaves undefined or to the machine: shifts past the
 * width, conversions that overflow, division by zero, the NaN that comes out.
 */
#ifndef TESTS_FAKECUDA_PTX_PTX_BITS_H
#define TESTS_FAKECUDA_PTX_PTX_BITS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float f32(uint64_t x)
{
    uint32_t u = (uint32_t)x;
    float f;

    memcpy(&f, &u, sizeof(f));
    return f;
}

/* The bits of a result: the devices make one NaN only. */
static inline uint64_t bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return isnan(f) ? 0x7fffffffu : u;
}

#define AS(T, C)                                                               \
    static inline C T(uint64_t x)                                              \
    {                                                                          \
        return (C)x;                                                           \
    }
AS(u8, uint8_t)
AS(s8, int8_t)
AS(u16, uint16_t)
AS(s16, int16_t)
AS(u32, uint32_t)
AS(s32, int32_t)
AS(u64, uint64_t)
AS(s64, int64_t)
#undef AS

/* An f16's value; a NaN of any kind is the one. */
static inline float of_f16(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 0 ? ldexp(fraction, -24)
                             : ldexp(1024 + fraction, exponent - 25);

    if (exponent == 31)
        v = fraction != 0 ? (double)NAN : (double)INFINITY;
    return (float)((h & 0x8000) != 0 ? -v : v);
}

/* To the nearest f16, ties to even: rint() of its units is that. */
static inline uint64_t to_f16(float x)
{
    double v = fabs((double)x);
    uint64_t sign = signbit(x) ? 0x8000 : 0, n;
    int exponent;

    if (isnan(x))
        return 0x7fff;
    if (v >= 65520.0)
        return sign | 0x7c00;
    if (v < 0x1p-14) /* 1024 units of 2^-24 are the least normal number */
        return sign | (uint64_t)rint(ldexp(v, 24));
    (void)frexp(v, &exponent);
    n = (uint64_t)rint(ldexp(v, 11 - exponent)); /* 1024 to 2048 */
    return sign | (((uint64_t)(exponent + 13) << 10) + n);
}

/* A NaN loses against a number, and -0 is less than +0. */
static inline float least(float a, float b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

static inline float most(float a, float b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

/* Conversions to integers go towards zero and saturate; a NaN is 0. */
static inline uint32_t to_u(float x, uint32_t max)
{
    if (!(x > 0))
        return 0;
    return x >= (float)max ? max : (uint32_t)x;
}

static inline uint32_t to_s32(float x)
{
    if (isnan(x))
        return 0;
    if (x >= 0x1p31f)
        return INT32_MAX;
    return x <= -0x1p31f ? UINT32_C(0x80000000) : (uint32_t)(int32_t)x;
}

static inline uint64_t div_s(int64_t a, int64_t b)
{
    if (b == 0)
        return UINT64_MAX;
    return b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}

static inline uint64_t rem_s(int64_t a, int64_t b)
{
    if (b == 0)
        return (uint64_t)a;
    return b == -1 ? 0 : (uint64_t)(a % b);
}

static inline uint64_t div_u(uint64_t a, uint64_t b)
{
    return b == 0 ? UINT64_MAX : a / b;
}

static inline uint64_t rem_u(uint64_t a, uint64_t b)
{
    return b == 0 ? a : a % b;
}

/* Shifts of n bits by what may be more. */
static inline uint64_t shl(uint64_t a, uint32_t by, uint32_t n)
{
    return by >= n ? 0 : a << by;
}

static inline uint64_t shr(uint64_t a, uint32_t by, uint32_t n)
{
    return by >= n ? 0 : a >> by;
}

static inline uint64_t sar(int64_t a, uint32_t by, uint32_t n)
{
    return (uint64_t)(a >> (by >= n ? n - 1 : by));
}

static inline uint64_t mul_hi_u64(uint64_t a, uint64_t b)
{
    uint64_t low = (uint64_t)u32(a) * u32(b);
    uint64_t one = (a >> 32) * u32(b) + (low >> 32);
    uint64_t two = (uint64_t)u32(a) * (b >> 32) + u32(one);

    return (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32);
}

static inline uint32_t count_zeros(uint32_t a)
{
    uint32_t n = 0;

    while (n < 32 && (a & UINT32_C(0x80000000) >> n) == 0)
        n++;
    return n;
}

static inline uint32_t count_ones(uint32_t a)
{
    uint32_t n = 0;

    for (; a != 0; a &= a - 1)
        n++;
    return n;
}

/* Position and length are the low 8 bits of the operands. */
static inline uint32_t bit_extract(uint32_t a, uint32_t at, uint32_t n)
{
    uint32_t x = (uint32_t)shr(a, at & 255, 32);

    return (n & 255) > 31 ? x : x & ((UINT32_C(1) << (n & 255)) - 1);
}

static inline uint32_t bit_insert(uint32_t a, uint32_t b, uint32_t at,
                                  uint32_t n)
{
    uint64_t ones = (UINT64_C(1) << (n > 32 ? 32 : n)) - 1;
    uint32_t by = at > 32 ? 32 : at;

    return (uint32_t)((b & ~(ones << by)) | (((uint64_t)a & ones) << by));
}

/* Four bytes of b:a by the four digits of s; bit 3 of a digit: its sign. */
static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t s)
{
    uint64_t v = a | (uint64_t)b << 32;
    uint32_t x = 0;

    for (unsigned i = 0; i < 4; i++, s >>= 4) {
        uint32_t byte = u8(v >> 8 * (s & 7));

        if ((s & 8) != 0)
            byte = (byte & 128) != 0 ? 255 : 0;
        x |= byte << 8 * i;
    }
    return x;
}

#endif

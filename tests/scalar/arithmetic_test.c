/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic_test.c - division, square root, pairs and words of scalar.h.
 *
 * The division that corrects a native seed is what OpenCL and Vulkan run; here
 * its seeds are spoilt by -3 to +3 units and its bits compared with the
 * processor's division. */

#include <math.h>
#include <stdint.h>

static uint32_t seed_off; /* units, wrapping */

static float spoil(float x);

#define DIV_SEED(a, b) spoil((a) / (b))
#define SQRT_SEED(x)   spoil(sqrtf(x))

#include "kernels/scalar/scalar.h"
#include "tests/tap.h"

static float spoil(float x)
{
    return AS_F32(AS_U32(x) + seed_off);
}

/* Operands where something happens: limits, powers of two, all-ones. */
static const u32 hard[] = {
    0x00000000u, 0x00000001u, 0x00000002u, 0x00000003u, 0x00000007u,
    0x00000100u, 0x003fffffu, 0x00400000u, 0x00400001u, 0x007ffffeu,
    0x007fffffu, 0x00800000u, 0x00800001u, 0x00ffffffu, 0x01000000u,
    0x01000001u, 0x0b800000u, 0x33800000u, 0x34000001u, 0x3effffffu,
    0x3f000000u, 0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x3fb504f3u,
    0x3fb504f4u, 0x3fc00000u, 0x3fffffffu, 0x40000000u, 0x40000001u,
    0x40400000u, 0x40490fdbu, 0x40a00000u, 0x4b7fffffu, 0x4b800000u,
    0x4b800001u, 0x7e7fffffu, 0x7e800000u, 0x7effffffu, 0x7f000000u,
    0x7f7ffffeu, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u, 0x7f800001u,
};
#define HARD (sizeof(hard) / sizeof(hard[0]))

static bool same(float y, float native, float rule)
{
    if (isnan(native))
        return AS_U32(y) == AS_U32(rule);
    return AS_U32(y) == AS_U32(native);
}

static bool div_right(u32 a, u32 b)
{
    float x = AS_F32(a);
    float y = AS_F32(b);

    return same(div_corrected(x, y), x / y, div_special(x, y)) &&
           same(s_div(x, y), x / y, div_special(x, y));
}

static bool sqrt_right(u32 a)
{
    float x = AS_F32(a);

    return same(sqrt_corrected(x), sqrtf(x), sqrt_special(x)) &&
           same(s_sqrt(x), sqrtf(x), sqrt_special(x));
}

/* a near b, quotients near 1; a a multiple of b; subnormal quotients. */
static u32 shape(u32 kind, u32 a, u32 b)
{
    if (kind == 1)
        return (a & 0x80000000u) | ((b + (a & 15u) - 8u) & 0x7fffffffu);
    if (kind == 2)
        return AS_U32(AS_F32(b) * (float)(1 + (a & 0xfffu)));
    if (kind == 3)
        return (a & 0x80ffffffu) | 0x10000000u;
    return a;
}

static void check_div(int off)
{
    u32 n = tap_full() ? 100000000u : 500000u;
    u32 wrong = 0;

    seed_off = (u32)off;
    for (u32 i = 0; i < n; i++) {
        u32 b = random_u32(1, 2, 3, 4, i, 0);
        u32 a = shape(i & 3, random_u32(5, 2, 3, 4, i, 0), b);

        if ((i & 3) == 3)
            b = (b & 0x80ffffffu) | 0x4e000000u;
        wrong += !div_right(a, b);
    }
    for (size_t i = 0; i < HARD; i++)
        for (size_t k = 0; k < HARD; k++)
            for (u32 s = 0; s < 4; s++)
                wrong +=
                    !div_right(hard[i] | s << 31, hard[k] | (s & 2u) << 30);
    if (!tap_ok(wrong == 0, "division: %u inputs, seeds %+d units off",
                n + (u32)(HARD * HARD) * 4, off))
        tap_diag("%u wrong", wrong);
}

static void check_sqrt(int off)
{
    u32 n = tap_full() ? 0x80000000u : 1000000u;
    u32 wrong = 0;

    seed_off = (u32)off;
    for (u32 i = 0; i < n; i++)
        wrong += !sqrt_right(tap_full() ? i : random_u32(1, 2, 3, 4, i, 0));
    for (size_t i = 0; i < HARD; i++)
        wrong += !(sqrt_right(hard[i]) && sqrt_right(hard[i] | F32_SIGN));
    if (!tap_ok(wrong == 0, "square root: %u inputs, seeds %+d units off",
                n + (u32)HARD * 2, off))
        tap_diag("%u wrong", wrong);
}

/* Two factors of moderate size, often with long runs of ones. */
static float factor(u32 key, u32 i)
{
    u32 r = random_u32(key, 2, 3, 4, i, 0);
    u32 e = 87u + (r >> 8) % 80u;

    if ((r & 1u) != 0)
        r |= 0x000ffff0u;
    if ((r & 2u) != 0)
        r &= 0xfff0000fu;
    return AS_F32((r & 0x807fffffu) | e << 23);
}

static void check_two(void)
{
    const u32 n = 1000000;
    u32 sums = 0;
    u32 products = 0;

    for (u32 i = 0; i < n; i++) {
        float a = factor(1, i);
        float b = factor(2, i);
        struct float_pair p = two_prod(a, b); /* 48 bits fit a double */
        products += p.hi != a * b ||
                    (double)p.hi + (double)p.lo != (double)a * (double)b;
        b = AS_F32((AS_U32(b) & 0x807fffffu) |
                   ((AS_U32(a) >> 23 & 0xffu) + (i & 31u) - 14u) << 23);
        struct float_pair s = two_sum(a, b);
        sums += s.hi != a + b ||
                (double)s.hi + (double)s.lo != (double)a + (double)b;
    }
    tap_ok(products == 0, "two-prod: %u products are exact", n);
    tap_ok(sums == 0, "two-sum: %u sums are exact", n);
}

static void check_pair_products(void)
{
    const u32 n = 1000000;
    double product = 0;
    double reciprocal = 0;

    for (u32 i = 0; i < n; i++) {
        float ah = factor(1, i);
        float bh = factor(2, i);
        float al = ah * 5.9e-8f *
                   (random_uniform(random_u32(3, i, 0, 0, 0, 0)) - 0.5f);
        float bl = bh * 5.9e-8f *
                   (random_uniform(random_u32(4, i, 0, 0, 0, 0)) - 0.5f);
        long double a = (long double)ah + al;
        long double b = (long double)bh + bl;
        struct float_pair p = pair_mul(pair_of(ah, al), pair_of(bh, bl));
        struct float_pair r = pair_rcp(pair_of(ah, al));

        product = fmax(product,
                       (double)fabsl((p.hi + (long double)p.lo) / (a * b) - 1));
        reciprocal =
            fmax(reciprocal, (double)fabsl((r.hi + (long double)r.lo) * a - 1));
    }
    tap_ok(product < ldexp(1, -44), "pair product: 2^%.2f off, bound 2^-44",
           log2(product));
    tap_ok(reciprocal < ldexp(1, -43),
           "pair reciprocal: 2^%.2f off, bound 2^-43", log2(reciprocal));
}

/* 1 - b^t for an optimizer's b, t from 1 to 2^32 - 1: the pair's error, far
 * below the final rounding to 2^-24. */
static void check_powers(double b)
{
    float h = (float)b;
    float l = (float)(b - (double)h);
    long double lb = log1pl(((long double)h - 1) + l);
    double pair = 0;
    double rounded = 0;
    u32 n = 0;

    for (u32 k = 0; k < 32; k++) {
        for (u32 i = 0; i < 200; i++, n++) {
            u32 t =
                (1u << k) + (random_u32(k, i, 0, 0, 0, 0) & ((1u << k) - 1u));
            long double c = -expm1l(t * lb);
            struct float_pair p = pair_pow(pair_of(h, l), t);

            pair = fmax(pair,
                        (double)fabsl((1 - (long double)p.hi - p.lo) / c - 1));
            rounded =
                fmax(rounded, (double)fabsl(one_minus_pow(h, l, t) / c - 1));
        }
    }
    tap_ok(pair < ldexp(1, -30) && rounded < 1.01 * ldexp(1, -24),
           "1 - %g^t for %u t up to 2^32: pair 2^%.1f off, bound 2^-30; "
           "rounded 2^%.3f, bound 2^-23.99",
           b, n, log2(pair), log2(rounded));
}

static void check_power_limits(void)
{
    tap_ok(one_minus_pow(0.9f, 0, 0) == 0, "1 - 0.9^0 is 0");
    tap_ok(one_minus_pow(0, 0, 0) == 0, "1 - 0^0 is 0");
    tap_ok(one_minus_pow(0, 0, 1) == 1, "1 - 0^1 is 1");
    tap_ok(one_minus_pow(1, 0, ~0u) == 0, "1 - 1^4294967295 is 0");
    tap_ok(one_minus_pow(0.5f, 0, 3) == 0.875f, "1 - 0.5^3 is 0.875");
    tap_ok(one_minus_pow(0.9f, 0, ~0u) == 1, "1 - 0.9^4294967295 is 1");
}

static void check_words(void)
{
    const u32 n = 1000000;
    u32 high = 0, zeros = 0, converted = 0;

    for (u32 i = 0; i < n; i++) {
        u32 a = random_u32(1, 2, 3, 4, i, 0) >> (i & 31u);
        u32 b = random_u32(5, 2, 3, 4, i, 0) | (0u - (i & 1u)) << 8;
        u32 lead = 0;

        high += u32_mul_high(a, b) != (u32)((uint64_t)a * b >> 32);
        while (lead < 32 && (a >> (31 - lead) & 1u) == 0)
            lead++;
        zeros += a != 0 && u32_leading_zeros(a) != lead;
        converted += u32_to_float(a) != (float)a;
    }
    tap_ok(high == 0 && u32_mul_high(~0u, ~0u) == 0xfffffffeu,
           "the high word of %u products", n);
    tap_ok(zeros == 0, "the leading zeros of %u words", n);
    tap_ok(converted == 0 && u32_to_float(~0u) == 0x1p32f,
           "%u words to float, to nearest even", n);
}

static void check_scale(void)
{
    u32 wrong = 0;

    for (int e = -252; e <= 252; e++) {
        for (u32 i = 0; i < 100; i++) {
            u32 r = random_u32(1, (u32)e, 0, 0, i, 0);
            float y = AS_F32((r & 0x807fffffu) | (108u + r % 39u) << 23);

            wrong += s_scale(y, (u32)e) != (float)ldexp((double)y, e);
        }
    }
    tap_ok(wrong == 0, "y 2^n is rounded once, n from -252 to 252");
}

int main(void)
{
    for (int off = -3; off <= 3; off++) {
        check_div(off);
        check_sqrt(off);
    }
    seed_off = 0;
    check_two();
    check_pair_products();
    check_powers(0.9);
    check_powers(0.99);
    check_powers(0.999);
    check_powers(0.9999);
    check_powers(0.99999);
    check_power_limits();
    check_words();
    check_scale();
    return tap_done(33);
}

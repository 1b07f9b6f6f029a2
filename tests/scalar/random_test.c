/* SPDX-License-Identifier: Apache-2.0 */
/* random_test.c - Philox and the distributions of scalar.h. */

#include "kernels/scalar/scalar.h"
#include "tests/scalar/oracle.h"
#include "tests/tap.h"

struct known {
    u32 counter[4], key[2], out[4];
};

/* philox4x32-10 of kat_vectors, Random123 1.14. */
static const struct known knowns[] = {
    {{0, 0, 0, 0},
     {0, 0},
     {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
    {{~0u, ~0u, ~0u, ~0u},
     {~0u, ~0u},
     {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
    {{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
     {0xa4093822u, 0x299f31d0u},
     {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}},
};

static void check_philox(void)
{
    for (size_t i = 0; i < sizeof(knowns) / sizeof(knowns[0]); i++) {
        const struct known *k = &knowns[i];
        u32 c0 = k->counter[0];
        u32 c1 = k->counter[1];
        u32 c2 = k->counter[2];
        u32 c3 = k->counter[3];

        PHILOX(c0, c1, c2, c3, k->key[0], k->key[1])
        tap_ok(c0 == k->out[0] && c1 == k->out[1] && c2 == k->out[2] &&
                   c3 == k->out[3],
               "philox: known answer of counter %08x...", k->counter[0]);
    }
}

/* Elements 4b to 4b + 3 are the words of the block with counter b, also where
 * b needs more than 32 bits. */
static void check_element(u32 lo, u32 hi)
{
    const struct known *k = &knowns[2];
    uint64_t block = ((uint64_t)hi << 32 | lo) >> 2;
    u32 c0 = (u32)block;
    u32 c1 = (u32)(block >> 32);
    u32 c2 = k->counter[2];
    u32 c3 = k->counter[3];
    u32 r = random_u32(k->key[0], k->key[1], c3, c2, lo, hi);

    PHILOX(c0, c1, c2, c3, k->key[0], k->key[1])
    u32 words[4] = {c0, c1, c2, c3};

    tap_ok(r == words[lo & 3u],
           "philox: element %08x%08x is word %u of block "
           "%016llx",
           hi, lo, lo & 3u, (unsigned long long)block);
}

/* The distance of x from the quantile of p (of 1 - p if above), in ulp: from
 * the distribution function and its slope. */
static double quantile_ulps(ld x, ld p)
{
    ld a = fabsl(x);
    ld q = erfcl(a * sqrtl(0.5L)) / 2;
    ld slope = expl(-a * a / 2) / sqrtl(2 * oracle_pi);
    ld true_a = a + (q - p) / slope;

    return ulps_f32(a, true_a);
}

/* How much of the range is on the nearer side of r. */
static ld share(u32 r)
{
    u32 v = r < 0x80000000u ? r : ~r;

    return ((ld)v + 0.5L) / 4294967296.0L;
}

static double normal_ulps(u32 r)
{
    return quantile_ulps(random_normal(r), share(r));
}

static double truncated_ulps(u32 r)
{
    ld left = 0.5L - (0.5L - share(r)) * erfl(sqrtl(2));

    return quantile_ulps(random_truncated_normal(r), left);
}

static void check_quantiles(const char *name, double (*off)(u32), double bound)
{
    u32 n = tap_full() ? 20000000u : 300000u;
    double worst = 0;
    u32 at = 0;

    for (u32 i = 0; i < n + 40000u; i++) {
        u32 r = random_u32(1, 2, 3, 4, i, 0);

        if (i >= n) /* the tail and the centre, both sides */
            r = (i & 1u ? i - n : 0x80000000u - (i - n)) ^ (0u - (i >> 1 & 1u));
        double d = off(r);

        if (!(d <= worst)) {
            worst = d;
            at = r;
        }
    }
    tap_ok(worst <= bound, "%s: %u quantiles: %.3f ulp at %08x, bound %g", name,
           n + 40000u, worst, at, bound);
}

static void check_shape(const char *name, float (*draw)(u32), float least)
{
    u32 wrong = 0;

    for (u32 i = 0; i < 300000; i++) {
        u32 r = random_u32(9, 2, 3, 4, i, 0);

        wrong += draw(~r) != -draw(r);
        wrong += r < 0xfffff000u && draw(r) > draw(r + 4096);
    }
    tap_ok(wrong == 0, "%s: odd, monotone over 4096 words", name);
    tap_ok(draw(0) == least && draw(~0u) == -least, "%s: from %.9g to %.9g",
           name, (double)least, (double)-least);
}

/* Mean, variance and fourth moment of 2^20 draws within 5 deviations. */
static void check_moments(const char *name, float (*draw)(u32), double centre,
                          double m2, double m4, double m8)
{
    const u32 n = 1u << 20;
    double s1 = 0;
    double s2 = 0;
    double s4 = 0;

    for (u32 i = 0; i < n; i++) {
        double x = (double)draw(random_u32(11, 12, 13, 14, i, 0)) - centre;

        s1 += x;
        s2 += x * x;
        s4 += x * x * x * x;
    }
    tap_ok(fabs(s1 / n) <= 5 * sqrt(m2 / n), "%s: mean of 2^20 is %.5f off",
           name, s1 / n);
    tap_ok(fabs(s2 / n - m2) <= 5 * sqrt((m4 - m2 * m2) / n),
           "%s: variance of 2^20 is %.5f, should be %.5f", name, s2 / n, m2);
    tap_ok(fabs(s4 / n - m4) <= 5 * sqrt((m8 - m4 * m4) / n),
           "%s: fourth moment of 2^20 is %.5f, should be %.5f", name, s4 / n,
           m4);
}

/* Moment 2k of the normal cut off at 2, by Simpson's rule. */
static double truncated_moment(int k)
{
    const int n = 2000;
    double sum = 0;

    for (int i = 0; i <= n; i++) {
        double x = 4.0 * i / n - 2;
        double weight = i == 0 || i == n ? 1 : i % 2 == 1 ? 4 : 2;

        sum += weight * pow(x, k) * exp(-x * x / 2);
    }
    return sum * 4 / (3 * n) / (sqrt(2 * acos(-1)) * erf(sqrt(2)));
}

/* 256 equal classes of 2^20 draws: chi-square, 255 degrees of freedom. */
static void check_classes(u32 shift)
{
    const u32 n = 1u << 20;
    u32 count[256] = {0};
    double chi = 0;

    for (u32 i = 0; i < n; i++)
        count[random_u32(21, 22, 23, 24, i, 0) >> shift & 255u]++;
    for (int i = 0; i < 256; i++)
        chi += (count[i] - 4096.0) * (count[i] - 4096.0) / 4096;
    tap_ok(fabs(chi - 255) < 5 * sqrt(510.0),
           "philox: bits %u to %u in 256 classes: chi-square %.1f of 255",
           shift, shift + 7, chi);
}

static void check_uniform(void)
{
    tap_ok(random_uniform(0) == 0, "uniform: smallest is 0");
    tap_ok(random_uniform(~0u) == 0x0.ffffffp0f,
           "uniform: largest is 1 - 2^-24");
    tap_ok(random_uniform(0x123456ffu) == 0x123456 * 0x1p-24f,
           "uniform: the upper 24 bits");
    check_moments("uniform", random_uniform, 0.5, 1.0 / 12, 1.0 / 80,
                  1.0 / 2304);
}

int main(void)
{
    check_philox();
    check_element(0, 0);
    check_element(7, 0);
    check_element(0xfffffffeu, 0);
    check_element(1, 1);
    check_element(0xffffffffu, 0xffffffffu);
    check_classes(0);
    check_classes(12);
    check_classes(24);
    check_uniform();
    check_quantiles("normal", normal_ulps, 2);
    check_shape("normal", random_normal, -6.33795786f);
    check_moments("normal", random_normal, 0, 1, 3, 105);
    check_quantiles("truncated normal", truncated_ulps, 2);
    check_shape("truncated normal", random_truncated_normal, -2);
    check_moments("truncated normal", random_truncated_normal, 0,
                  truncated_moment(2), truncated_moment(4),
                  truncated_moment(8));
    return tap_done(29);
}

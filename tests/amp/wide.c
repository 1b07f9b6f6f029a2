/* SPDX-License-Identifier: Apache-2.0 */
/* wide.c - kernels/amp/wide.h against the host's binary64. */
#include "tests/amp/amp.h"

#include "kernels/amp/wide.h"

static uint64_t random_state = 12345;

static uint64_t bits_of(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}

static double double_of(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

static uint32_t times(uint32_t s, double f)
{
    uint64_t u = bits_of(f);
    return wide_times(s, (uint32_t)(u >> 32), (uint32_t)u);
}

static bool times_right(uint32_t s, double f)
{
    uint32_t want = AS_U32((float)((double)AS_F32(s) * f));
    uint32_t got = times(s, f);
    if (got == want)
        return true;
    tap_diag("%a times %a: 0x%08x, expected 0x%08x", AS_F32(s), f,
             (unsigned)got, (unsigned)want);
    return false;
}

/* Positive float32 bits: any, zero and infinity among them. */
static uint32_t any_scale(void)
{
    return (uint32_t)(amp_random(&random_state) >> 32) % (F32_INF + 1);
}

/* A positive double with an exponent in a range and any significand. */
static double any_factor(int least, int most)
{
    uint64_t u = amp_random(&random_state);
    uint64_t e =
        (uint64_t)(1023 + least) + (u >> 52) % (uint64_t)(most - least + 1);
    return double_of(e << 52 | (u & 0xfffffffffffffu));
}

static void random_products(long n)
{
    long wrong = 0;
    for (long i = 0; i < n && wrong < 5; i++)
        wrong += !times_right(any_scale(), any_factor(-300, 300));
    tap_ok(wrong == 0, "%ld products with factors from 2^-300 to 2^300", n);
    for (long i = 0; i < n && wrong < 5; i++)
        wrong += !times_right(any_scale(), any_factor(-2, 1));
    tap_ok(wrong == 0, "%ld products with factors from 1/4 to 4", n);
    for (long i = 0; i < n && wrong < 5; i++)
        wrong +=
            !times_right(any_scale(), (double)(float)any_factor(-100, 100));
    tap_ok(wrong == 0, "%ld products with factors that are float32", n);
}

/* The product in 53 bits is a tie of float32, or next to one: where rounding
 * twice differs from rounding once. */
static void ties(long n)
{
    long wrong = 0, twice = 0;
    for (long i = 0; i < n && wrong < 5; i++) {
        uint32_t s = 0x3f800000u + (any_scale() & 0x7fffffu);
        double middle = (double)AS_F32(any_scale() % 0x7f000000u + 0x800000u);
        middle += double_of((bits_of(middle) & 0x7ff0000000000000u)) * 0x1p-24;
        double f = middle / (double)AS_F32(s);
        wrong += !times_right(s, f);
        long double exact = (long double)AS_F32(s) * (long double)f;
        twice += (float)exact != (float)((double)AS_F32(s) * f);
    }
    tap_ok(wrong == 0,
           "%ld products next to a tie, in %ld of them rounding "
           "twice shows",
           n, twice);
}

static void edges(void)
{
    static const uint32_t scales[] = {0,          1,          2,
                                      0x007fffff, 0x00800000, 0x00800001,
                                      0x3f800000, 0x7f7fffff, 0x7f800000};
    static const double fs[] = {
        0x1p-1074, 0x1p-1022, 1e-300, 0.25,   0.5,  0.1,   1.0,       1.1,
        1.5,       2.0,       3.0,    0x1p30, 1e38, 1e300, 0x1.fp1023};
    bool ok = true;
    for (size_t i = 0; i < 9; i++)
        for (size_t k = 0; k < sizeof(fs) / sizeof(fs[0]); k++)
            if (scales[i] != 0x7f800000)
                ok = times_right(scales[i], fs[k]) && ok;
            else
                ok = times(scales[i], fs[k]) == 0x7f800000 && ok;
    tap_ok(ok, "products of 0, subnormals, the largest and infinity");
}

static bool below(uint32_t a, uint32_t b, double t)
{
    int e;
    double f = frexp(t, &e);
    uint64_t m = t == 0.0 ? 0 : 2 * (uint64_t)ldexp(f, 53) - 1;
    return wide_below(a, b, (uint32_t)(m >> 32), (uint32_t)m,
                      t == 0.0 ? 0 : (uint32_t)(54 - e));
}

static long quotient_wrong(uint32_t a, uint32_t b, double t)
{
    bool want = (double)a / (double)b < t;
    if (below(a, b, t) == want)
        return 0;
    tap_diag("%u / %u < %a: %d, expected %d", (unsigned)a, (unsigned)b, t,
             !want, want);
    return 1;
}

/* Thresholds at the quotient, one unit off, and anywhere. */
static void quotients(long n)
{
    long wrong = 0;
    for (long i = 0; i < n && wrong < 5; i++) {
        unsigned shift = (unsigned)(amp_random(&random_state) >> 59);
        uint32_t b = ((uint32_t)(amp_random(&random_state) >> 32) >> shift) | 1;
        uint32_t a = (uint32_t)(amp_random(&random_state) >> 32) % b + 1;
        double t = (double)a / (double)b;
        wrong += quotient_wrong(a, b, t);
        wrong += quotient_wrong(a, b, nextafter(t, 0.0));
        if (t < 1.0)
            wrong += quotient_wrong(a, b, nextafter(t, 1.0));
        wrong += quotient_wrong(a, b, any_factor(-40, -1));
        wrong += quotient_wrong(a, b, 1.0);
        wrong += quotient_wrong(a, b, 0.0);
    }
    wrong += quotient_wrong(1, UINT32_MAX, 0x1p-1000);
    wrong += quotient_wrong(UINT32_MAX, UINT32_MAX, 1.0);
    wrong += quotient_wrong(UINT32_MAX - 1, UINT32_MAX, 1.0);
    wrong += quotient_wrong(UINT32_MAX, 1, 1.0);
    wrong += quotient_wrong(1, 10, 0.1);
    wrong += quotient_wrong(3, 10, 0.3);
    tap_ok(wrong == 0, "6 x %ld comparisons of a quotient with a double", n);
}

static void inverses(long n)
{
    long wrong = 0;
    for (long i = 0; i < n && wrong < 5; i++) {
        uint32_t s = any_scale();
        uint32_t want = AS_U32((float)(1.0 / (double)AS_F32(s)));
        if (wide_inverse(s) != want) {
            wrong++;
            tap_diag("1 / %a: 0x%08x, expected 0x%08x", AS_F32(s),
                     (unsigned)wide_inverse(s), (unsigned)want);
        }
    }
    for (int e = -149; e <= 127; e++)
        wrong += wide_inverse(AS_U32(ldexpf(1.0f, e))) !=
                 AS_U32((float)(1.0 / ldexp(1.0, e)));
    wrong += wide_inverse(0) != F32_INF || wide_inverse(F32_INF) != 0;
    tap_ok(wrong == 0, "%ld inverses, and those of all powers of two", n);
}

int main(void)
{
    long n = tap_full() ? 200000000 : 2000000;
    edges();
    random_products(n);
    ties(n);
    quotients(n / 4);
    inverses(n);
    return tap_done(7);
}

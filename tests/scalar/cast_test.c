/* SPDX-License-Identifier: Apache-2.0 */
/* cast_test.c - float32 to and from f16 and bf16, against float64 arithmetic.
 *
 * The right result of a store is computed with doubles: the neighbours of x in
 * the format are floor and ceil of x in units of its last place there. Sampled,
 * and at every value, tie and limit of the format; with SSQ_TEST_FULL=1 all
 * 2^32 inputs. */

#include "kernels/scalar/scalar.h"
#include "tests/tap.h"

struct cast_format {
    const char *name;
    int bits, e_min; /* of the significand; of the smallest normal */
    double largest;  /* finite */
    u32 inf;         /* the bits of infinity */
    float (*load)(u32 h);
    u32 (*store)(float x);
    u32 (*store_rtz)(float x);
    u32 (*store_sr)(float x, u32 r);
    double unit[256]; /* the last place, by the exponent of the float32 */
};

static struct cast_format formats[] = {
    {"f16",
     11,
     -14,
     65504,
     0x7c00u,
     f16_load,
     f16_store,
     f16_store_rtz,
     f16_store_sr,
     {0}},
    {"bf16",
     8,
     -126,
     0x1.fep127,
     0x7f80u,
     bf16_load,
     bf16_store,
     bf16_store_rtz,
     bf16_store_sr,
     {0}},
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

enum check { NEAREST, TOWARD_ZERO, STOCHASTIC, CHECKS };

static const char *const check_names[] = {"nearest", "toward zero",
                                          "stochastic"};

struct cast_result {
    uint64_t n;
    uint64_t wrong[CHECKS];
    u32 first[CHECKS];
};

static void fill_units(struct cast_format *f)
{
    for (int e = 0; e < 256; e++) {
        int power = (e == 0 ? 1 : e) - 127;

        power = power < f->e_min ? f->e_min : power;
        f->unit[e] = ldexp(1, power - (f->bits - 1));
    }
}

/* The value of bits of a format, from their definition. */
static double decode(const struct cast_format *f, u32 h)
{
    u32 fraction = h & ((1u << (f->bits - 1)) - 1u);
    int e = (int)((h & 0x7fffu) >> (f->bits - 1));
    double sign = (h & 0x8000u) != 0 ? -1 : 1;

    if ((h & f->inf) == f->inf)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    if (e == 0)
        return sign * ldexp(fraction, f->e_min - (f->bits - 1));
    return sign * ldexp(fraction + (1u << (f->bits - 1)),
                        e - 1 + f->e_min - (f->bits - 1));
}

static u32 nan_bits(const struct cast_format *f, u32 u)
{
    u32 s = (u >> 16) & 0x8000u;
    u32 payload = (u & 0x7fffffu) >> (24 - f->bits);

    return s | f->inf | (1u << (f->bits - 2)) | payload;
}

/* |h| is v exactly, with the sign of u. */
static bool is(const struct cast_format *f, u32 h, double v, u32 u)
{
    if (((h ^ (u >> 16)) & 0x8000u) != 0 || h > 0xffffu)
        return false;
    if (isinf(v))
        return (h & 0x7fffu) == f->inf;
    return (double)fabsf(f->load(h)) == v;
}

static bool nearest_right(const struct cast_format *f, float x, u32 u,
                          double unit)
{
    double v = rint(fabs((double)x) / unit) * unit;

    return is(f, f->store(x), v > f->largest ? (double)INFINITY : v, u);
}

static bool toward_zero_right(const struct cast_format *f, float x, u32 u,
                              double unit)
{
    double v = floor(fabs((double)x) / unit) * unit;

    if (v > f->largest && !isinf(x))
        v = f->largest;
    return is(f, f->store_rtz(x), v, u);
}

/* With the dropped part d of 2^n, r rounds up from 2^n - d on, and not below;
 * bits of r above the n lowest do not matter. */
static bool stochastic_right(const struct cast_format *f, float x, u32 u,
                             double unit)
{
    double a = fabs((double)x) / unit;
    double low = floor(a);
    double up = low + 1;
    double nearest = rint(a) * unit;
    int e = (int)((u >> 23) & 0xffu);
    int n = 24 - f->bits;
    double d;
    u32 r, high;

    if (ldexp(1, e - 127 - n - f->bits + 1) < unit) /* subnormal there */
        n = (int)log2(unit) - ((e == 0 ? 1 : e) - 150);
    n = n > 32 ? 32 : n;
    d = floor(ldexp(a - low, n));
    high = n < 32 ? 0xa5a5a5a5u << n : 0u;
    low *= unit;
    up *= unit;
    if (low > f->largest)
        low = (double)INFINITY;
    if (up > f->largest)
        up = nearest > f->largest ? (double)INFINITY : f->largest;
    if (d == 0) {
        r = n < 32 ? (1u << n) - 1u : 0xffffffffu;
        return is(f, f->store_sr(x, high), low, u) &&
               is(f, f->store_sr(x, high | r), low, u);
    }
    r = (u32)(ldexp(1, n) - d);
    return is(f, f->store_sr(x, high | r), up, u) &&
           is(f, f->store_sr(x, high | (r - 1)), low, u);
}

static void tally(struct cast_result *res, enum check c, u32 u, bool right)
{
    if (right)
        return;
    if (res->wrong[c]++ == 0)
        res->first[c] = u;
}

static void check_input(const struct cast_format *f, u32 u,
                        struct cast_result *res)
{
    float x = AS_F32(u);
    double unit = f->unit[(u >> 23) & 0xffu];

    res->n++;
    if (is_nan_bits(u)) {
        u32 h = nan_bits(f, u);

        tally(res, NEAREST, u, f->store(x) == h);
        tally(res, TOWARD_ZERO, u, f->store_rtz(x) == h);
        tally(res, STOCHASTIC, u, f->store_sr(x, ~0u) == h);
        return;
    }
    if (isinf(x)) {
        tally(res, NEAREST, u, is(f, f->store(x), INFINITY, u));
        tally(res, TOWARD_ZERO, u, is(f, f->store_rtz(x), INFINITY, u));
        tally(res, STOCHASTIC, u, is(f, f->store_sr(x, ~0u), INFINITY, u));
        return;
    }
    tally(res, NEAREST, u, nearest_right(f, x, u, unit));
    tally(res, TOWARD_ZERO, u, toward_zero_right(f, x, u, unit));
    tally(res, STOCHASTIC, u, stochastic_right(f, x, u, unit));
}

static void check_loads(const struct cast_format *f)
{
    u32 wrong = 0;

    for (u32 h = 0; h < 65536; h++) {
        u32 u = AS_U32(f->load(h));
        double v = decode(f, h);

        if (isnan(v)) /* sign and payload kept, quiet */
            wrong += u != (((h & 0x8000u) << 16) | 0x7fc00000u |
                           ((h & 0x7fffu) << (24 - f->bits) & 0x7fffffu));
        else
            wrong += (double)AS_F32(u) != v || u >> 31 != h >> 15;
    }
    tap_ok(wrong == 0, "%s: all 65536 loads: %u wrong", f->name, wrong);
}

/* All values of the format, the ties between them, and what is next to them. */
static void edges(const struct cast_format *f, struct cast_result *res)
{
    for (u32 h = 0; h < 65536; h++) {
        u32 u = AS_U32(f->load(h));
        double next = decode(f, (h & 0x7fffu) == f->inf ? h : h + 1);
        float tie = (float)((decode(f, h) + next) / 2);

        for (u32 k = 0; k < 5; k++) {
            check_input(f, u + k - 2, res);
            check_input(f, AS_U32(tie) + k - 2, res);
        }
    }
}

static void all(const struct cast_format *f, struct cast_result *res)
{
    u32 u = 0;

    do
        check_input(f, u, res);
    while (++u != 0);
}

static void sample(const struct cast_format *f, struct cast_result *res)
{
    for (u32 i = 0; i < 1u << 20; i++)
        check_input(f, random_u32(1, 2, 3, 4, i, 0), res);
    for (u32 i = 0; i < 1u << 20; i++) /* where f16 is not all 0 or infinity */
        check_input(f, 0x32000000u + random_u32(5, 2, 3, 4, i, 0) % 0x16000000u,
                    res);
}

static void check_stores(const struct cast_format *f)
{
    struct cast_result res = {0, {0}, {0}};

    edges(f, &res);
    if (tap_full())
        all(f, &res);
    else
        sample(f, &res);
    for (int c = 0; c < CHECKS; c++) {
        if (!tap_ok(res.wrong[c] == 0, "%s: store, %s: %llu inputs", f->name,
                    check_names[c], (unsigned long long)res.n))
            tap_diag("%llu wrong, the first %08x",
                     (unsigned long long)res.wrong[c], res.first[c]);
    }
}

static void check_classes(const struct cast_format *f, bool (*nan)(u32),
                          bool (*inf)(u32), bool (*finite)(u32))
{
    u32 wrong = 0;

    for (u32 h = 0; h < 65536; h++) {
        double v = decode(f, h);

        wrong += nan(h) != !!isnan(v) || inf(h) != !!isinf(v) ||
                 finite(h) != !!isfinite(v);
    }
    tap_ok(wrong == 0, "%s: NaN, infinite, finite of 65536 words: %u wrong",
           f->name, wrong);
}

static void check_classes_f32(void)
{
    u32 wrong = 0;

    for (u32 i = 0; i < 1u << 20; i++) {
        u32 u = random_u32(1, 1, 1, 1, i, 0) | ((i & 1) ? F32_INF : 0);
        float x;

        if ((i & 15) == 1)
            u &= 0xff800000u;
        x = AS_F32(u);
        wrong += is_nan_bits(u) != !!isnan(x) || is_inf_bits(u) != !!isinf(x) ||
                 is_finite_bits(u) != !!isfinite(x);
    }
    tap_ok(wrong == 0, "f32: NaN, infinite, finite of 2^20 words: %u wrong",
           wrong);
}

/* The mean of 2^20 roundings is within 5 deviations of x. */
static void check_mean(const struct cast_format *f, float x)
{
    const u32 n = 1u << 20;
    double unit = f->unit[(AS_U32(x) >> 23) & 0xffu];
    double part = fabs((double)x) / unit - floor(fabs((double)x) / unit);
    double bound = 5 * unit * sqrt(part * (1 - part) / n);
    double sum = 0;

    for (u32 i = 0; i < n; i++)
        sum += (double)f->load(f->store_sr(x, random_u32(6, 7, 8, 9, i, 0)));
    double off = fabs(sum / n - (double)x);

    tap_ok(off <= bound,
           "%s: stochastic mean of 2^20 roundings of %.9g is %.3g off, "
           "bound %.3g",
           f->name, (double)x, off, bound);
}

int main(void)
{
    static const float means[] = {1.00001f, -0.3333333f, 3.14159274f, 1e-6f,
                                  -2.3e-5f, 1000.123f,   60000.1f,    2.0f};

    for (size_t i = 0; i < FORMATS; i++) {
        fill_units(&formats[i]);
        check_loads(&formats[i]);
        check_stores(&formats[i]);
        for (size_t k = 0; k < sizeof(means) / sizeof(means[0]); k++)
            check_mean(&formats[i], means[k]);
    }
    check_classes(&formats[0], f16_is_nan, f16_is_inf, f16_is_finite);
    check_classes(&formats[1], bf16_is_nan, bf16_is_inf, bf16_is_finite);
    check_classes_f32();
    return tap_done(27);
}

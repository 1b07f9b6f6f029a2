/* SPDX-License-Identifier: Apache-2.0 */
/* scalar_test.c - the functions of kernels/scalar/scalar.h are as accurate as
 * said.
 *
 * Each is compared with long double: all f16 and bf16 inputs with the result
 * rounded to that format, dense and random float32 inputs, and the neighbours
 * of every value where the code changes its mind; specials by their bits. */

#include "kernels/scalar/scalar.h"
#include "tests/scalar/oracle.h"
#include "tests/scalar/special.h"
#include "tests/tap.h"

struct scalar_function {
    const char *name;
    float (*scalar)(float x);
    ld (*oracle)(ld x);
    float lo, hi; /* where the dense samples are */
    double bound; /* ulp, in float32 */
};

static const struct scalar_function functions[] = {
    {"exp", s_exp, o_exp, -104, 89, 1},
    {"exp2", s_exp2, o_exp2, -150, 128, 1},
    {"expm1", s_expm1, o_expm1, -18, 10, 1},
    {"log", s_log, o_log, 0, 3, 1},
    {"log2", s_log2, o_log2, 0, 3, 1},
    {"log1p", s_log1p, o_log1p, -1, 3, 1},
    {"sin", s_sin, o_sin, -10, 10, 1},
    {"cos", s_cos, o_cos, -10, 10, 1},
    {"tanh", s_tanh, o_tanh, -10, 10, 1},
    {"erf", s_erf, o_erf, -4, 4, 1},
    {"erfc", s_erfc, o_erfc, -4, 10.1f, 1},
    {"sqrt", s_sqrt, o_sqrt, 0, 4, 0.5},
    {"rsqrt", s_rsqrt, o_rsqrt, 0, 4, 1},
    {"rcp", s_rcp, o_rcp, -4, 4, 0.5},
    {"sigmoid", s_sigmoid, o_sigmoid, -104, 18, 1},
    {"silu", s_silu, o_silu, -20, 20, 1},
    {"silu_grad", s_silu_grad, o_silu_grad, -20, 20, 1},
    {"gelu", s_gelu, o_gelu, -15, 6, 1},
    {"gelu_grad", s_gelu_grad, o_gelu_grad, -15, 6, 1},
    {"gelu_tanh", s_gelu_tanh, o_gelu_tanh, -11, 6, 1},
    {"gelu_tanh_grad", s_gelu_tanh_grad, o_gelu_tanh_grad, -11, 6, 1},
    {"softplus", s_softplus, o_softplus, -104, 20, 1},
    {"softplus_grad", s_softplus_grad, o_sigmoid, -104, 18, 1},
    {"log_sigmoid", s_log_sigmoid, o_log_sigmoid, -20, 104, 1},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* Where some function takes another branch, or a derivative is zero. */
static const float edges[] = {
    1e-38f,
    2.9802322e-8f,
    0.25f,
    0.34657359f,
    0.41421356f,
    0.5f,
    0.55f,
    0.70710678f,
    0.75179154f,
    0.75246143f,
    0.78f,
    0.78539816f,
    1,
    1.0397208f,
    1.25f,
    1.2784646f,
    1.4142136f,
    1.5707963f,
    1.77f,
    2,
    2.3561945f,
    3.1415927f,
    4,
    6.2831853f,
    10,
    11,
    15,
    16,
    16.635532f,
    17.328679f,
    20,
    41.588831f,
    88.722839f,
    89,
    87.336545f,
    103.97208f,
    105,
    110,
    120,
    126,
    128,
    129,
    149,
    150,
    151,
    16777216,
    3.4028235e38f,
};
#define EDGES (sizeof(edges) / sizeof(edges[0]))

struct scalar_worst {
    double ulps;
    float x;
};

static void note(struct scalar_worst *w, double ulps, float x)
{
    if (ulps > w->ulps || isnan(ulps))
        *w = (struct scalar_worst){ulps, x};
}

static void one(const struct scalar_function *f, float x,
                struct scalar_worst *w)
{
    note(w, ulps_f32(f->scalar(x), f->oracle(x)), x);
}

/* Random bits; equally spaced in [lo, hi], with random low bits. */
static void float32_samples(const struct scalar_function *f, u32 n,
                            struct scalar_worst *w)
{
    for (u32 i = 0; i < n / 4; i++)
        one(f, AS_F32(random_u32(1, 2, 3, 4, i, 0)), w);
    for (u32 i = 0; i < n; i++) {
        float t = ((float)i + random_uniform(random_u32(5, 6, 7, 8, i, 0))) /
                  (float)n;

        one(f, f->lo + (f->hi - f->lo) * t, w);
    }
}

static void float32_edges(const struct scalar_function *f,
                          struct scalar_worst *w)
{
    for (size_t i = 0; i < EDGES; i++) {
        for (u32 k = 0; k < 400; k++) {
            u32 u = AS_U32(edges[i]) + k - 200u;

            one(f, AS_F32(u), w);
            one(f, AS_F32(u | F32_SIGN), w);
        }
    }
}

static void check_float32(const struct scalar_function *f)
{
    u32 n = tap_full() ? 20000000u : 300000u;
    struct scalar_worst w = {0, 0};

    float32_samples(f, n, &w);
    float32_edges(f, &w);
    tap_ok(w.ulps <= f->bound,
           "%s: float32, %u inputs: %.3f ulp at %.9g, bound %g", f->name,
           n + n / 4 + (u32)EDGES * 800, w.ulps, (double)w.x, f->bound);
}

static void check_16(const struct scalar_function *f)
{
    struct scalar_worst h = {0, 0};
    struct scalar_worst b = {0, 0};

    for (u32 i = 0; i < 65536; i++) {
        float x = f16_load(i);

        note(&h, ulps_f16(f16_load(f16_store(f->scalar(x))), f->oracle(x)), x);
        x = bf16_load(i);
        note(&b, ulps_bf16(bf16_load(bf16_store(f->scalar(x))), f->oracle(x)),
             x);
    }
    tap_ok(h.ulps <= 1, "%s: all 65536 f16 inputs: %.4f ulp at %.9g, bound 1",
           f->name, h.ulps, (double)h.x);
    tap_ok(b.ulps <= 1, "%s: all 65536 bf16 inputs: %.4f ulp at %.9g, bound 1",
           f->name, b.ulps, (double)b.x);
}

static void check_elu(float alpha)
{
    u32 n = tap_full() ? 20000000u : 300000u;
    struct scalar_worst y = {0, 0};
    struct scalar_worst g = {0, 0};

    for (u32 i = 0; i < n; i++) {
        u32 r = random_u32(9, 10, 11, 12, i, 0);
        float x = (i & 1) ? -20 * random_uniform(r) : AS_F32(r);

        if (isnan(x))
            continue;
        note(&y, ulps_f32(s_elu(x, alpha), x > 0 ? x : alpha * expm1l(x)), x);
        note(&g, ulps_f32(s_elu_grad(x, alpha), x > 0 ? 1 : alpha * expl(x)),
             x);
    }
    tap_ok(y.ulps <= 1, "elu alpha %g: %u inputs: %.3f ulp at %.9g, bound 1",
           (double)alpha, n, y.ulps, (double)y.x);
    tap_ok(g.ulps <= 1,
           "elu_grad alpha %g: %u inputs: %.3f ulp at %.9g, bound 1",
           (double)alpha, n, g.ulps, (double)g.x);
}

/* b so that a^b is anywhere in float32's range. */
static float pow_exponent(float a, u32 r)
{
    float lg = fabsf(log2f(a)) + 1e-30f;

    return (random_uniform(r) * 2 - 1) * 150 / lg;
}

static void check_pow(void)
{
    u32 n = tap_full() ? 100000000u : 500000u;
    double worst = 0;
    float wa = 0;
    float wb = 0;

    for (u32 i = 0; i < n; i++) {
        u32 r = random_u32(13, 14, 15, 16, i, 0);
        float a = AS_F32(r & 0x7fffffffu);
        float b;

        if (i & 1) /* near 1, where the logarithm cancels */
            a = AS_F32(0x3f800000u + (r & 0x3ffffu) - 0x20000u);
        if ((i & 24) == 8) /* from 0.7 to 1.4: no multiple of log(2) */
            a = 0.7f + 0.7f * random_uniform(r);
        b = pow_exponent(a, random_u32(17, 14, 15, 16, i, 0));
        if (i & 2)
            b = rintf(b);
        if ((i & 6) == 6)
            a = -a;
        double d = ulps_f32(s_pow(a, b), powl(a, b));

        if (d > worst) {
            worst = d;
            wa = a;
            wb = b;
        }
    }
    tap_ok(worst <= 1, "pow: %u inputs: %.3f ulp at %.9g, %.9g, bound 1", n,
           worst, (double)wa, (double)wb);
}

static void check_specials(void)
{
    for (size_t i = 0; i < UNARY_SPECIALS; i++) {
        const struct unary_special *s = &unary_specials[i];
        u32 y = AS_U32(s->fn(AS_F32(s->x)));

        if (!tap_ok(y == s->y, "%s of %08x is %08x", s->name, s->x, s->y))
            tap_diag("got %08x", y);
    }
    for (size_t i = 0; i < BINARY_SPECIALS; i++) {
        const struct binary_special *s = &binary_specials[i];
        u32 y = AS_U32(s->fn(AS_F32(s->a), AS_F32(s->b)));

        if (!tap_ok(y == s->y, "%s of %08x, %08x is %08x", s->name, s->a, s->b,
                    s->y))
            tap_diag("got %08x", y);
    }
}

/* NaN in, the same NaN out, quiet. */
static void check_nan(const struct scalar_function *f)
{
    static const u32 nans[] = {0x7fc00000u, 0xffc00000u, 0x7f800001u,
                               0xffa12345u};
    bool ok = true;

    for (size_t i = 0; i < sizeof(nans) / sizeof(nans[0]); i++)
        ok = ok && AS_U32(f->scalar(AS_F32(nans[i]))) == (nans[i] | 0x400000u);
    tap_ok(ok, "%s: NaN comes back quiet, sign and payload kept", f->name);
}

int main(void)
{
    for (size_t i = 0; i < FUNCTIONS; i++) {
        check_float32(&functions[i]);
        check_16(&functions[i]);
        check_nan(&functions[i]);
    }
    check_elu(1);
    check_elu(0.5f);
    check_elu(1.6732632f);
    check_pow();
    check_specials();
    return tap_done(268);
}

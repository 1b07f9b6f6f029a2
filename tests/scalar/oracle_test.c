/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_test.c - the long double oracle of these tests against MPFR.
 *
 * At 240 bits; the oracle must be right to a thousandth of a float32 ulp, at
 * inputs from everywhere and next to the zeros of the derivatives. */

#include "kernels/scalar/scalar.h"
#include "tests/scalar/oracle.h"
#include "tests/tap.h"

#ifdef HAVE_MPFR
#include <mpfr.h>

#define BITS 240
#define RN   MPFR_RNDN

static void constant(mpfr_t y, const char *text)
{
    mpfr_set_str(y, text, 10, RN);
}

static void m_rsqrt(mpfr_t y, const mpfr_t x)
{
    mpfr_rec_sqrt(y, x, RN);
}

static void m_sigmoid(mpfr_t y, const mpfr_t x)
{
    mpfr_neg(y, x, RN);
    mpfr_exp(y, y, RN);
    mpfr_add_ui(y, y, 1, RN);
    mpfr_ui_div(y, 1, y, RN);
}

/* y = sigmoid(v) (1 + x sigmoid(-v) d) */
static void gate_grad_of(mpfr_t y, const mpfr_t x, const mpfr_t v,
                         const mpfr_t d)
{
    mpfr_t s;

    mpfr_init2(s, BITS);
    mpfr_neg(s, v, RN);
    m_sigmoid(s, s);
    mpfr_mul(s, s, x, RN);
    mpfr_mul(s, s, d, RN);
    mpfr_add_ui(s, s, 1, RN);
    m_sigmoid(y, v);
    mpfr_mul(y, y, s, RN);
    mpfr_clear(s);
}

static void m_silu(mpfr_t y, const mpfr_t x)
{
    m_sigmoid(y, x);
    mpfr_mul(y, y, x, RN);
}

static void m_silu_grad(mpfr_t y, const mpfr_t x)
{
    mpfr_t one;

    mpfr_init2(one, BITS);
    mpfr_set_ui(one, 1, RN);
    gate_grad_of(y, x, x, one);
    mpfr_clear(one);
}

/* v = 2 sqrt(2/pi) (x + 0.044715 x^3) and its derivative d */
static void cubic(mpfr_t v, mpfr_t d, const mpfr_t x)
{
    mpfr_t k;

    mpfr_init2(k, BITS);
    constant(d, "0.044715");
    mpfr_sqr(v, x, RN);
    mpfr_mul(v, v, d, RN);
    mpfr_mul_ui(d, v, 3, RN);
    mpfr_add_ui(v, v, 1, RN);
    mpfr_add_ui(d, d, 1, RN);
    mpfr_mul(v, v, x, RN);
    mpfr_const_pi(k, RN);
    mpfr_ui_div(k, 8, k, RN);
    mpfr_sqrt(k, k, RN);
    mpfr_mul(v, v, k, RN);
    mpfr_mul(d, d, k, RN);
    mpfr_clear(k);
}

static void m_gelu_tanh(mpfr_t y, const mpfr_t x)
{
    mpfr_t d;

    mpfr_init2(d, BITS);
    cubic(y, d, x);
    m_sigmoid(y, y);
    mpfr_mul(y, y, x, RN);
    mpfr_clear(d);
}

static void m_gelu_tanh_grad(mpfr_t y, const mpfr_t x)
{
    mpfr_t v, d;

    mpfr_inits2(BITS, v, d, (mpfr_ptr)NULL);
    cubic(v, d, x);
    gate_grad_of(y, x, v, d);
    mpfr_clears(v, d, (mpfr_ptr)NULL);
}

/* y = erfc(-x / sqrt(2)) / 2 */
static void cumulative(mpfr_t y, const mpfr_t x)
{
    mpfr_set_ui(y, 2, RN);
    mpfr_sqrt(y, y, RN);
    mpfr_div(y, x, y, RN);
    mpfr_neg(y, y, RN);
    mpfr_erfc(y, y, RN);
    mpfr_div_ui(y, y, 2, RN);
}

static void m_gelu(mpfr_t y, const mpfr_t x)
{
    cumulative(y, x);
    mpfr_mul(y, y, x, RN);
}

static void m_gelu_grad(mpfr_t y, const mpfr_t x)
{
    mpfr_t d, k;

    mpfr_inits2(BITS, d, k, (mpfr_ptr)NULL);
    mpfr_sqr(d, x, RN);
    mpfr_div_si(d, d, -2, RN);
    mpfr_exp(d, d, RN);
    mpfr_const_pi(k, RN);
    mpfr_mul_ui(k, k, 2, RN);
    mpfr_rec_sqrt(k, k, RN);
    mpfr_mul(d, d, k, RN);
    mpfr_mul(d, d, x, RN);
    cumulative(y, x);
    mpfr_add(y, y, d, RN);
    mpfr_clears(d, k, (mpfr_ptr)NULL);
}

static void m_softplus(mpfr_t y, const mpfr_t x)
{
    mpfr_exp(y, x, RN);
    mpfr_log1p(y, y, RN);
}

static void m_log_sigmoid(mpfr_t y, const mpfr_t x)
{
    mpfr_neg(y, x, RN);
    m_softplus(y, y);
    mpfr_neg(y, y, RN);
}

#define DIRECT(name)                                                           \
    static void m_##name(mpfr_t y, const mpfr_t x)                             \
    {                                                                          \
        mpfr_##name(y, x, RN);                                                 \
    }
DIRECT(exp)
DIRECT(exp2)
DIRECT(expm1)
DIRECT(log)
DIRECT(log2)
DIRECT(log1p)
DIRECT(sin)
DIRECT(cos)
DIRECT(tanh)
DIRECT(erf)
DIRECT(erfc)

struct oracle_function {
    const char *name;
    ld (*oracle)(ld x);
    void (*mpfr)(mpfr_t y, const mpfr_t x);
    float lo, hi, zero; /* where to look, and closely at */
};

static const struct oracle_function functions[] = {
    {"exp", o_exp, m_exp, -104, 89, 0},
    {"exp2", o_exp2, m_exp2, -150, 128, 0},
    {"expm1", o_expm1, m_expm1, -18, 20, 0},
    {"log", o_log, m_log, 1e-6f, 3, 1},
    {"log2", o_log2, m_log2, 1e-6f, 3, 1},
    {"log1p", o_log1p, m_log1p, -1, 3, 0},
    {"sin", o_sin, m_sin, -1e5f, 1e5f, 3.14159274f},
    {"cos", o_cos, m_cos, -1e5f, 1e5f, 1.57079637f},
    {"tanh", o_tanh, m_tanh, -10, 10, 0},
    {"erf", o_erf, m_erf, -4, 4, 0},
    {"erfc", o_erfc, m_erfc, -4, 10, 0},
    {"rsqrt", o_rsqrt, m_rsqrt, 1e-6f, 4, 1},
    {"sigmoid", o_sigmoid, m_sigmoid, -104, 18, 0},
    {"silu", o_silu, m_silu, -100, 20, 0},
    {"silu_grad", o_silu_grad, m_silu_grad, -100, 20, -1.27846456f},
    {"gelu", o_gelu, m_gelu, -14, 6, 0},
    {"gelu_grad", o_gelu_grad, m_gelu_grad, -14, 6, -0.751791537f},
    {"gelu_tanh", o_gelu_tanh, m_gelu_tanh, -10, 6, 0},
    {"gelu_tanh_grad", o_gelu_tanh_grad, m_gelu_tanh_grad, -10, 6,
     -0.752461433f},
    {"softplus", o_softplus, m_softplus, -104, 20, 0},
    {"log_sigmoid", o_log_sigmoid, m_log_sigmoid, -20, 104, 0},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static double compare(const struct oracle_function *f, float x)
{
    mpfr_t in, out;
    double off;

    mpfr_inits2(BITS, in, out, (mpfr_ptr)NULL);
    mpfr_set_flt(in, x, RN);
    f->mpfr(out, in);
    off = ulps_f32(f->oracle(x), mpfr_get_ld(out, RN));
    mpfr_clears(in, out, (mpfr_ptr)NULL);
    return off;
}

static void check(const struct oracle_function *f)
{
    const u32 n = 2000;
    double worst = 0;
    float at = 0;

    for (u32 i = 0; i < n; i++) {
        u32 r = random_u32(1, 2, 3, 4, i, 0);
        float x = f->lo + (f->hi - f->lo) * random_uniform(r);

        if (i < 200) /* neighbours of the zero */
            x = AS_F32(AS_U32(f->zero) + i - (f->zero == 0 ? 0u : 100u));
        double d = compare(f, x);

        if (!(d <= worst)) {
            worst = d;
            at = x;
        }
    }
    tap_ok(worst <= 0.001,
           "%s: long double and MPFR, %u inputs: %.2g ulp at %.9g, bound 0.001",
           f->name, n, worst, (double)at);
}

int main(void)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        check(&functions[i]);
    mpfr_free_cache();
    return tap_done((long)FUNCTIONS);
}

#else

int main(void)
{
    tap_skip("configured without MPFR (Debian: libmpfr-dev)",
             "long double and MPFR agree");
    return tap_done(0);
}

#endif

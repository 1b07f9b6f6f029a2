/* SPDX-License-Identifier: Apache-2.0 */
/* exp_neg_test.c - s_exp_neg is within 2u, the bound of conformance/bounds_*.h
 * for an exp.
 *
 * Every float32 in [-104.1, -2^-26] with SSQ_TEST_FULL=1, else every 97th, and
 * beyond both ends samples; against long double, which oracle_test.c compares
 * with MPFR. Compiled twice: EXP_FMA is fused, or not. */

#include "kernels/scalar/scalar.h"

#ifdef EXP_FUSED
#define EXP_FMA(a, b, c) FMA(a, b, c)
#define HOW              "fused"
#else
#define EXP_FMA(a, b, c) MAD(a, b, c)
#define HOW              "not fused"
#endif
#include "kernels/scalar/exp_neg.h"
#include "tests/scalar/oracle.h"
#include "tests/tap.h"

struct exp_neg_worst {
    double error;
    float x;
};

/* The error in units of u y, less what a subnormal result's rounding costs. */
static void one(u32 u, struct exp_neg_worst *w)
{
    float x = AS_F32(u);
    ld y = o_exp(x), off = fabsl((ld)s_exp_neg(x) - y);

    if (y < 0x1p-126L)
        off -= 0x1p-150L;
    double e = off <= 0 ? 0 : (double)(off / y * 0x1p24L);

    if (e > w->error || isnan(e))
        *w = (struct exp_neg_worst){e, x};
}

static void check_range(const char *name, u32 from, u32 to, u32 step)
{
    struct exp_neg_worst w = {0, 0};
    u32 n = 0;

    for (u32 u = from; u <= to && u >= from; u += step, n++)
        one(u, &w);
    tap_ok(w.error <= 2, "exp_neg %s, %s: %u inputs: %.3f u at %.9g, bound 2",
           HOW, name, n, w.error, (double)w.x);
}

int main(void)
{
    u32 step = tap_full() ? 1 : 97;

    check_range("-2^-26 to -104.1", 0xb2800000u, 0xc2d03333u, step);
    check_range("-0 to -2^-26", 0x80000000u, 0xb2800000u, 9973);
    check_range("-104.1 to -inf", 0xc2d03333u, 0xff800000u, 9973);
    tap_ok(AS_U32(s_exp_neg(0.0f)) == 0x3f800000u, "exp_neg %s: of 0: 1", HOW);
    tap_ok(AS_U32(s_exp_neg(AS_F32(0xff800000u))) == 0,
           "exp_neg %s: of -inf: 0", HOW);
    tap_ok(s_is_nan(s_exp_neg(AS_F32(0x7fc00001u))) &&
               s_is_nan(s_exp_neg(AS_F32(0xffc12345u))),
           "exp_neg %s: of NaN: NaN", HOW);
    return tap_done(6);
}

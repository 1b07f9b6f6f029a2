/* SPDX-License-Identifier: Apache-2.0 */
/* pair.h - float32 pairs: unevaluated sums hi + lo of about 48 bits.
 *
 * Macros, since a function has one result. Outputs are assigned last, so they
 * may be inputs too; arguments are read more than once. Dekker's product and
 * Knuth's sum (Numer. Math. 18, 1971; TAOCP 2, 4.2.2), with the factors split
 * by masking bits, which cannot overflow: both halves have 12 bits, so their
 * products and the differences below are exact. */

#ifndef SSQ_KERNELS_SCALAR_PAIR_H
#define SSQ_KERNELS_SCALAR_PAIR_H

#include "kernels/scalar/bits.h"
#include "kernels/scalar/div.h"

/* s + e = a + b exactly. */
#define TWO_SUM(s, e, a, b)                                                    \
    {                                                                          \
        EXACT float ts_s = (a) + (b);                                          \
        EXACT float ts_b = ts_s - (a);                                         \
        EXACT float ts_e = ((a) - (ts_s - ts_b)) + ((b)-ts_b);                 \
        s = ts_s;                                                              \
        e = ts_e;                                                              \
    }

/* The same where |a| >= |b| or a = 0. */
#define FAST_TWO_SUM(s, e, a, b)                                               \
    {                                                                          \
        EXACT float fs_s = (a) + (b);                                          \
        EXACT float fs_e = ((a)-fs_s) + (b);                                   \
        s = fs_s;                                                              \
        e = fs_e;                                                              \
    }

/* p + e = a * b exactly, unless p overflows or |p| < 2^-100. A fused
 * multiply-add gives the same e in one step, where that is an instruction;
 * there it also is the same as a product that is exact and a sum. */
#if defined(NATIVE) && defined(__FMA__)
#define TWO_PROD(p, e, a, b)                                                   \
    {                                                                          \
        EXACT float tp_p = (a) * (b);                                          \
        EXACT float tp_e = FMA(a, b, -tp_p);                                   \
        p = tp_p;                                                              \
        e = tp_e;                                                              \
    }
#define MAD_EXACT(a, b, c) FMA(a, b, c)
#else
#define TWO_PROD(p, e, a, b)                                                   \
    {                                                                          \
        EXACT float tp_ah = AS_F32(AS_U32(a) & 0xfffff000u);                   \
        EXACT float tp_al = (a)-tp_ah;                                         \
        EXACT float tp_bh = AS_F32(AS_U32(b) & 0xfffff000u);                   \
        EXACT float tp_bl = (b)-tp_bh;                                         \
        EXACT float tp_p = (a) * (b);                                          \
        EXACT float tp_e =                                                     \
            (((tp_ah * tp_bh - tp_p) + tp_ah * tp_bl) + tp_al * tp_bh) +       \
            tp_al * tp_bl;                                                     \
        p = tp_p;                                                              \
        e = tp_e;                                                              \
    }
#define MAD_EXACT(a, b, c) MAD(a, b, c)
#endif

/* r = c - a * b, where that is a float and a * b is about c: the rest of c
 * by a quotient or a root. */
#if defined(NATIVE) && defined(__FMA__)
#define REMAINDER(r, c, a, b) r = FMA(-(a), b, c);
#else
#define REMAINDER(r, c, a, b)                                                  \
    {                                                                          \
        EXACT float rm_p;                                                      \
        EXACT float rm_e;                                                      \
        TWO_PROD(rm_p, rm_e, a, b)                                             \
        r = ((c)-rm_p) - rm_e;                                                 \
    }
#endif

/* (ph, pl) = (ah, al) * (bh, bl), relative error below 2^-44. Here and below
 * the result of LOOSE is a pair for ph + pl alone, which is its one rounding;
 * else it is pulled tight, and ph is that sum. */
#define PAIR_MUL_LOOSE(ph, pl, ah, al, bh, bl)                                 \
    {                                                                          \
        EXACT float pm_p;                                                      \
        EXACT float pm_e;                                                      \
        TWO_PROD(pm_p, pm_e, ah, bh)                                           \
        pm_e = pm_e + ((ah) * (bl) + (al) * (bh));                             \
        ph = pm_p;                                                             \
        pl = pm_e;                                                             \
    }
#define PAIR_MUL(ph, pl, ah, al, bh, bl)                                       \
    {                                                                          \
        EXACT float pm_h;                                                      \
        EXACT float pm_l;                                                      \
        PAIR_MUL_LOOSE(pm_h, pm_l, ah, al, bh, bl)                             \
        FAST_TWO_SUM(ph, pl, pm_h, pm_l)                                       \
    }

/* (ph, pl) = a * (bh, bl), in the same way. */
#define PAIR_TIMES_LOOSE(ph, pl, a, bh, bl)                                    \
    {                                                                          \
        EXACT float pt_p;                                                      \
        EXACT float pt_e;                                                      \
        TWO_PROD(pt_p, pt_e, a, bh)                                            \
        pt_e = pt_e + (a) * (bl);                                              \
        ph = pt_p;                                                             \
        pl = pt_e;                                                             \
    }
#define PAIR_TIMES(ph, pl, a, bh, bl)                                          \
    {                                                                          \
        EXACT float pt_h;                                                      \
        EXACT float pt_l;                                                      \
        PAIR_TIMES_LOOSE(pt_h, pt_l, a, bh, bl)                                \
        FAST_TWO_SUM(ph, pl, pt_h, pt_l)                                       \
    }

/* (sh, sl) = a + (bh, bl). */
#define PAIR_ADD(sh, sl, a, bh, bl)                                            \
    {                                                                          \
        EXACT float pa_s;                                                      \
        EXACT float pa_e;                                                      \
        TWO_SUM(pa_s, pa_e, a, bh)                                             \
        pa_e = pa_e + (bl);                                                    \
        FAST_TWO_SUM(sh, sl, pa_s, pa_e)                                       \
    }

/* The same where |a| >= |bh|. */
#define PAIR_ADD_LESS_LOOSE(sh, sl, a, bh, bl)                                 \
    {                                                                          \
        EXACT float pa_s;                                                      \
        EXACT float pa_e;                                                      \
        FAST_TWO_SUM(pa_s, pa_e, a, bh)                                        \
        pa_e = pa_e + (bl);                                                    \
        sh = pa_s;                                                             \
        sl = pa_e;                                                             \
    }
#define PAIR_ADD_LESS(sh, sl, a, bh, bl)                                       \
    {                                                                          \
        EXACT float pa_h;                                                      \
        EXACT float pa_l;                                                      \
        PAIR_ADD_LESS_LOOSE(pa_h, pa_l, a, bh, bl)                             \
        FAST_TWO_SUM(sh, sl, pa_h, pa_l)                                       \
    }

/* (qh, ql) = 1 / (dh, dl), for d between 2^-60 and 2^60. */
#define PAIR_RCP(qh, ql, dh, dl)                                               \
    {                                                                          \
        EXACT float pr_q = s_quotient(1.0f, dh);                               \
        EXACT float pr_e;                                                      \
        REMAINDER(pr_e, 1.0f, pr_q, dh)                                        \
        pr_e = pr_e - pr_q * (dl);                                             \
        qh = pr_q;                                                             \
        ql = pr_q * pr_e;                                                      \
    }

/* (rh, rl) = (bh, bl)^t for 0 <= b <= 1, by binary powering. The relative
 * error is below t * 2^-43; powers below 2^-60 become 0. */
#define PAIR_POW(rh, rl, bh, bl, t)                                            \
    {                                                                          \
        EXACT float pp_rh = 1.0f;                                              \
        EXACT float pp_rl = 0.0f;                                              \
        EXACT float pp_bh = bh;                                                \
        EXACT float pp_bl = bl;                                                \
        for (u32 pp_t = t; pp_t != 0u; pp_t >>= 1u) {                          \
            if ((pp_t & 1u) != 0u)                                             \
                PAIR_MUL(pp_rh, pp_rl, pp_rh, pp_rl, pp_bh, pp_bl)             \
            PAIR_MUL(pp_bh, pp_bl, pp_bh, pp_bl, pp_bh, pp_bl)                 \
            if (pp_bh < 8.6736174e-19f) {                                      \
                pp_bh = 0.0f;                                                  \
                pp_bl = 0.0f;                                                  \
            }                                                                  \
            if (pp_rh < 8.6736174e-19f) {                                      \
                pp_rh = 0.0f;                                                  \
                pp_rl = 0.0f;                                                  \
            }                                                                  \
        }                                                                      \
        rh = pp_rh;                                                            \
        rl = pp_rl;                                                            \
    }

/* 1 - (bh + bl)^t for 0 <= b <= 1: an optimizer's bias correction. */
FN float one_minus_pow(float bh, float bl, u32 t)
{
    EXACT float h;
    EXACT float l;

    PAIR_POW(h, l, bh, bl, t)
    PAIR_ADD_LESS_LOOSE(h, l, 1.0f, s_neg(h), s_neg(l))
    return h + l;
}

/* 1 / sqrt(x): the reciprocal of the root, with both remainders put back. */
FN float s_rsqrt(float x)
{
    u32 u = AS_U32(x);

    if (u - 1u >= 0x7f7fffffu) /* neither positive nor finite */
        return s_div(1.0f, s_sqrt(x));
    u32 k = f32_exponent(u) + 127u;
    u32 odd = k & 1u;
    EXACT float m =
        F32(f32_significand(u)) * (odd != 0u ? 2.3841858e-7f : 1.1920929e-7f);
    EXACT float s = s_sqrt(m);
    EXACT float y = s_div(1.0f, s);
    EXACT float r;
    EXACT float t;

    REMAINDER(r, m, s, s)
    REMAINDER(t, 1.0f, s, y)

    return (y + y * (t - 0.5f * r * (y * y))) * s_pow2(127u - (k >> 1u));
}

#endif

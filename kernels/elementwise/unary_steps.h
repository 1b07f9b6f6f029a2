/* SPDX-License-Identifier: Apache-2.0 */
/* unary_steps.h - y = f(x) and dx = dy f'(x) of a run, in steps.
 *
 * A function with an exponential has 60 to 160 instructions, most of which
 * wait for the one before. A processor looks about 200 instructions ahead: at
 * two vectors, and reaches half of its speed. So there each step of such a
 * function is a loop over the run, of which many vectors are in flight; the
 * data that a step leaves for the next is in arrays. The steps are the macros
 * that the functions of kernels/scalar/ are made of, one after the other: the
 * bits are theirs. */
#ifndef KERNELS_ELEMENTWISE_UNARY_STEPS_H
#define KERNELS_ELEMENTWISE_UNARY_STEPS_H

#include "kernels/elementwise/unary_kinds.h"
#include "kernels/operands/runs.h"

#if WG == 1

/* The data that a step leaves for the next. If x is a NaN they may be anything:
 * the last step makes the one NaN of it. */
#define STEP_ARRAYS                                                            \
    EXACT float eh[RUN_MOST];                                                  \
    EXACT float el[RUN_MOST];                                                  \
    EXACT float wh[RUN_MOST];                                                  \
    EXACT float wl[RUN_MOST];                                                  \
    u32 en[RUN_MOST];

/* y, or the one NaN where x is a NaN: a choice of bits, as in s_canonical. */
FN float step_end(float x, float y)
{
    return AS_F32(s_is_nan(x) ? F32_NAN : AS_U32(y));
}

/* ---- functions of E = exp(-|v|) and 1 / (1 + E) ---- */

FN bool unary_is_gate(u32 kind)
{
    return kind == UNARY_sigmoid || kind == UNARY_silu || kind == UNARY_tanh ||
           kind == UNARY_gelu_tanh;
}

/* Beyond which x nothing changes any more. tanh has its E of 2x, and its slope
 * is sigmoid's. */
FN float gate_most(u32 kind, bool slope)
{
    if (kind == UNARY_silu)
        return SILU_MOST;
    if (kind == UNARY_gelu_tanh)
        return GELU_TANH_MOST;
    return kind == UNARY_tanh && !slope ? TANH_MOST : SIGMOID_MOST;
}

FN float gate_minus(u32 kind, bool slope, float x)
{
    return s_minus_at_most(kind == UNARY_tanh ? 2.0f * x : x,
                           gate_most(kind, slope));
}

#define GATE_SPLIT(KIND, SLOPE, n, r, c, x)                                    \
    {                                                                          \
        EXACT float gs_h = gate_minus(KIND, SLOPE, x);                         \
        EXACT float gs_l = -0.0f;                                              \
        if (KIND == UNARY_gelu_tanh)                                           \
            GELU_TANH_PAIR(gs_h, gs_l, gs_h)                                   \
        EXP_SPLIT(n, r, c, gs_h, gs_l)                                         \
    }

FN float gate_value(u32 kind, float x, float eh, float el, u32 n, float qh,
                    float ql)
{
    if (kind == UNARY_sigmoid)
        return sigmoid_end(x, eh, el, n, qh, ql);
    if (kind == UNARY_tanh)
        return tanh_end(x, qh, ql);
    return gate_end(x, gate_minus(kind, false, x), gate_most(kind, false), eh,
                    el, n, qh, ql);
}

#define GATE_STEPS(KIND, SLOPE, V, RUN)                                        \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        GATE_SPLIT(KIND, SLOPE, en[j], eh[j], el[j], V[j]);                    \
    }                                                                          \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        EXP_REDUCED(eh[j], el[j], eh[j], el[j]);                               \
    }                                                                          \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        RCP_ONE_MORE(wh[j], wl[j], eh[j], el[j], en[j]);                       \
    }
#define GATE_RUN(KIND, V, RUN)                                                 \
    GATE_STEPS(KIND, false, V, RUN)                                            \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        EXACT float y =                                                        \
            gate_value(KIND, V[j], eh[j], el[j], en[j], wh[j], wl[j]);         \
        V[j] = step_end(V[j], y);                                              \
    }

/* E (1 + E - t) / (1 + E)^2 in place of E, its zero in place of the other. */
#define GATE_SLOPE(KIND, x, eh, el, n, wh, wl, p)                              \
    {                                                                          \
        EXACT float gs_t = gate_minus(KIND, true, x);                          \
        EXACT float gs_h = gs_t;                                               \
        EXACT float gs_l = -0.0f;                                              \
        if (KIND == UNARY_gelu_tanh)                                           \
            GELU_TANH_SLOPE(gs_h, gs_l, gs_t)                                  \
        GATE_GRAD(eh, el, gs_h, gs_l, eh, el, n, wh, wl)                       \
        if (KIND == UNARY_gelu_tanh)                                           \
            GELU_TANH_ROOT(wh, wl, p, gs_t)                                    \
        else                                                                   \
            SILU_ROOT(wh, wl, p, gs_t)                                         \
    }

FN float gate_slope(u32 kind, float x, float eh, float el, u32 n, float wh,
                    float wl, float p)
{
    EXACT float t = gate_minus(kind, true, x);

    if (kind == UNARY_silu)
        return silu_grad_end(x, t, eh, el, wh, wl, p);
    if (kind == UNARY_gelu_tanh)
        return gelu_tanh_grad_end(x, t, eh, el, wh, wl, p);
    EXACT float y = sigmoid_grad_end(eh, el, n, wh, wl);

    return kind == UNARY_tanh ? 4.0f * y : y;
}

#define GATE_GRAD_RUN(KIND, V, G, RUN)                                         \
    EXACT float ep[RUN_MOST];                                                  \
    GATE_STEPS(KIND, true, V, RUN)                                             \
    if (KIND == UNARY_silu || KIND == UNARY_gelu_tanh) {                       \
        IN_RUN(j, RUN)                                                         \
        {                                                                      \
            GATE_SLOPE(KIND, V[j], eh[j], el[j], en[j], wh[j], wl[j], ep[j]);  \
        }                                                                      \
    }                                                                          \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        EXACT float slope =                                                    \
            gate_slope(KIND, V[j], eh[j], el[j], en[j], wh[j], wl[j], ep[j]);  \
        G[j] = s_canonical(step_end(V[j], slope) * G[j]);                      \
    }

/* ---- gelu: E = exp(-x^2 / 2), and what erfc is besides ---- */

#define GELU_SPLIT(n, r, c, t)                                                 \
    {                                                                          \
        EXACT float gs_h;                                                      \
        EXACT float gs_l;                                                      \
        GELU_EXPONENT(gs_h, gs_l, t)                                           \
        EXP_SPLIT(n, r, c, gs_h, gs_l)                                         \
    }

#define GELU_STEPS(MOST, V, RUN)                                               \
    EXACT float ep[RUN_MOST];                                                  \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        GELU_SPLIT(en[j], eh[j], el[j], s_minus_at_most(V[j], MOST));          \
    }                                                                          \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        EXP_REDUCED(eh[j], el[j], eh[j], el[j]);                               \
    }                                                                          \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        GELU_RCP(wh[j], wl[j], s_minus_at_most(V[j], MOST));                   \
    }                                                                          \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        ep[j] = erfc_start(wh[j]);                                             \
    }                                                                          \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        ERFC_SCALED(wh[j], wl[j], wh[j], wl[j], ep[j]);                        \
    }

#define GELU_RUN(V, RUN)                                                       \
    GELU_STEPS(GELU_MOST, V, RUN)                                              \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        PAIR_MUL(eh[j], el[j], eh[j], el[j], wh[j], wl[j]);                    \
        GELU_NEAR(wh[j], wl[j], V[j]);                                         \
    }                                                                          \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        EXACT float t = s_minus_at_most(V[j], GELU_MOST);                      \
        EXACT float y = gelu_end(V[j], t, eh[j], el[j], en[j], wh[j], wl[j]);  \
        V[j] = step_end(V[j], y);                                              \
    }

#define GELU_GRAD_RUN(V, G, RUN)                                               \
    GELU_STEPS(GELU_GRAD_MOST, V, RUN)                                         \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        EXACT float t = s_minus_at_most(V[j], GELU_GRAD_MOST);                 \
        GELU_GRAD(eh[j], el[j], t, eh[j], el[j], en[j], wh[j], wl[j]);         \
        GELU_ROOT(wh[j], wl[j], ep[j], t);                                     \
    }                                                                          \
    IN_RUN(j, RUN)                                                             \
    {                                                                          \
        EXACT float t = s_minus_at_most(V[j], GELU_GRAD_MOST);                 \
        EXACT float slope =                                                    \
            gelu_grad_end(V[j], t, eh[j], el[j], wh[j], wl[j], ep[j]);         \
        G[j] = s_canonical(step_end(V[j], slope) * G[j]);                      \
    }

/* ---- of any kind ---- */

/* V[j] = f(V[j]) */
#define UNARY_RUN(KIND, V, RUN, ALPHA, BETA)                                   \
    if (unary_is_gate(KIND)) {                                                 \
        STEP_ARRAYS                                                            \
        GATE_RUN(KIND, V, RUN)                                                 \
    } else if (KIND == UNARY_gelu) {                                           \
        STEP_ARRAYS                                                            \
        GELU_RUN(V, RUN)                                                       \
    } else {                                                                   \
        IN_RUN(j, RUN) V[j] = unary_value(KIND, V[j], ALPHA, BETA);            \
    }

/* G[j] = G[j] f'(V[j]) */
#define UNARY_GRAD_RUN(KIND, V, G, RUN, ALPHA, BETA)                           \
    if (unary_is_gate(KIND)) {                                                 \
        STEP_ARRAYS                                                            \
        GATE_GRAD_RUN(KIND, V, G, RUN)                                         \
    } else if (KIND == UNARY_gelu) {                                           \
        STEP_ARRAYS                                                            \
        GELU_GRAD_RUN(V, G, RUN)                                               \
    } else {                                                                   \
        IN_RUN(j, RUN) G[j] = unary_grad(KIND, V[j], G[j], ALPHA, BETA);       \
    }

#else

#define UNARY_RUN(KIND, V, RUN, ALPHA, BETA)                                   \
    IN_RUN(j, RUN) V[j] = unary_value(KIND, V[j], ALPHA, BETA);
#define UNARY_GRAD_RUN(KIND, V, G, RUN, ALPHA, BETA)                           \
    IN_RUN(j, RUN) G[j] = unary_grad(KIND, V[j], G[j], ALPHA, BETA);

#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* unary_steps.h - y = f(x) and dx = dy f'(x) of a run, in steps.
 *
 * A function with an exponential has 60 to 160 instructions, most of which
 * wait for the one before. A processor looks about 200 instructions ahead: at
 * two vectors, and runs at half its speed. So there each step of such a
 * function is a loop over the run, with many vectors in flight, and arrays hold
 * the values between steps. The steps are the parts of the functions of
 * kernels/scalar/, in their order: the bits are the same. */
#ifndef KERNELS_ELEMENTWISE_UNARY_STEPS_H
#define KERNELS_ELEMENTWISE_UNARY_STEPS_H

#include "kernels/elementwise/unary_kinds.h"
#include "kernels/operands/runs.h"

#if WG == 1

/* The values between steps. If x is a NaN they may be anything: the last step
 * returns the canonical NaN. */
struct unary_steps {
    float eh[RUN_MOST];
    float el[RUN_MOST];
    float wh[RUN_MOST];
    float wl[RUN_MOST];
    float ep[RUN_MOST];
    u32 en[RUN_MOST];
};

#define STEP_E(S, J) pair_of((S)->eh[J], (S)->el[J])
#define STEP_W(S, J) pair_of((S)->wh[J], (S)->wl[J])

FN void steps_set_e(struct unary_steps *s, INDEX j, STRUCT(float_pair) e)
{
    s->eh[j] = e.hi;
    s->el[j] = e.lo;
}

FN void steps_set_w(struct unary_steps *s, INDEX j, STRUCT(float_pair) w)
{
    s->wh[j] = w.hi;
    s->wl[j] = w.lo;
}

FN void steps_set_exp(struct unary_steps *s, INDEX j, STRUCT(exp_parts) e)
{
    steps_set_e(s, j, e.y);
    s->en[j] = e.n;
}

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

FN STRUCT(exp_parts) gate_split(u32 kind, bool slope, float x)
{
    EXACT STRUCT(float_pair) v = pair_of(gate_minus(kind, slope, x), -0.0f);

    if (kind == UNARY_gelu_tanh)
        v = gelu_tanh_pair(v.hi);
    return exp_split(v);
}

FN float gate_value(u32 kind, float x, STRUCT(float_pair) e, u32 n,
                    STRUCT(float_pair) q)
{
    if (kind == UNARY_sigmoid)
        return sigmoid_end(x, e, n, q);
    if (kind == UNARY_tanh)
        return tanh_end(x, q);
    return gate_end(x, gate_minus(kind, false, x), gate_most(kind, false), e, n,
                    q);
}

/* E of a run, and 1 / (1 + E). */
FN void gate_steps(struct unary_steps *s, u32 kind, bool slope, const float *v,
                   u32 run)
{
    IN_RUN(j, run) steps_set_exp(s, j, gate_split(kind, slope, v[j]));
    IN_RUN(j, run) steps_set_e(s, j, exp_reduced(STEP_E(s, j)));
    IN_RUN(j, run) steps_set_w(s, j, rcp_one_more(STEP_E(s, j), s->en[j]));
}

FN void gate_run(u32 kind, float *v, u32 run)
{
    struct unary_steps s;

    gate_steps(&s, kind, false, v, run);
    IN_RUN(j, run)
    {
        EXACT float y =
            gate_value(kind, v[j], STEP_E(&s, j), s.en[j], STEP_W(&s, j));
        v[j] = step_end(v[j], y);
    }
}

/* E (1 + E - t) / (1 + E)^2 in place of E, its zero in place of the other. */
FN void gate_slope(struct unary_steps *s, u32 kind, INDEX j, float x)
{
    EXACT float t = gate_minus(kind, true, x);
    EXACT STRUCT(float_pair) v = pair_of(t, -0.0f);

    if (kind == UNARY_gelu_tanh)
        v = gelu_tanh_slope_pair(t);
    steps_set_e(s, j, gate_grad(v, STEP_E(s, j), s->en[j], STEP_W(s, j)));
    v = kind == UNARY_gelu_tanh ? gelu_tanh_root(t) : silu_root(t);
    steps_set_w(s, j, v);
    s->ep[j] = kind == UNARY_gelu_tanh ? gelu_tanh_root_start(v.hi)
                                       : silu_root_start(v.hi);
}

FN float gate_grad_value(const struct unary_steps *s, u32 kind, INDEX j,
                         float x)
{
    EXACT float t = gate_minus(kind, true, x);

    if (kind == UNARY_silu)
        return silu_grad_end(x, t, STEP_E(s, j), STEP_W(s, j), s->ep[j]);
    if (kind == UNARY_gelu_tanh)
        return gelu_tanh_grad_end(x, t, STEP_E(s, j), STEP_W(s, j), s->ep[j]);
    EXACT float y = sigmoid_grad_end(STEP_E(s, j), s->en[j], STEP_W(s, j));

    return kind == UNARY_tanh ? 4.0f * y : y;
}

FN void gate_grad_run(u32 kind, const float *v, float *g, u32 run)
{
    struct unary_steps s;

    gate_steps(&s, kind, true, v, run);
    if (kind == UNARY_silu || kind == UNARY_gelu_tanh) {
        IN_RUN(j, run) gate_slope(&s, kind, j, v[j]);
    }
    IN_RUN(j, run)
    {
        EXACT float slope = gate_grad_value(&s, kind, j, v[j]);
        g[j] = s_canonical(step_end(v[j], slope) * g[j]);
    }
}

/* ---- gelu: E = exp(-x^2 / 2), and what erfc is besides ---- */

FN STRUCT(exp_parts) gelu_split(float t)
{
    return exp_split(gelu_exponent(t));
}

FN void gelu_steps(struct unary_steps *s, float most, const float *v, u32 run)
{
    IN_RUN(j, run)
        steps_set_exp(s, j, gelu_split(s_minus_at_most(v[j], most)));
    IN_RUN(j, run) steps_set_e(s, j, exp_reduced(STEP_E(s, j)));
    IN_RUN(j, run) steps_set_w(s, j, gelu_rcp(s_minus_at_most(v[j], most)));
    IN_RUN(j, run) s->ep[j] = erfc_start(s->wh[j]);
    IN_RUN(j, run) steps_set_w(s, j, erfc_scaled(STEP_W(s, j), s->ep[j]));
}

FN void gelu_run(float *v, u32 run)
{
    struct unary_steps s;

    gelu_steps(&s, GELU_MOST, v, run);
    IN_RUN(j, run)
    {
        steps_set_e(&s, j, pair_mul(STEP_E(&s, j), STEP_W(&s, j)));
        steps_set_w(&s, j, gelu_near(v[j]));
    }
    IN_RUN(j, run)
    {
        EXACT float t = s_minus_at_most(v[j], GELU_MOST);
        EXACT float y =
            gelu_end(v[j], t, STEP_E(&s, j), s.en[j], STEP_W(&s, j));
        v[j] = step_end(v[j], y);
    }
}

FN void gelu_grad_run(const float *v, float *g, u32 run)
{
    struct unary_steps s;

    gelu_steps(&s, GELU_GRAD_MOST, v, run);
    IN_RUN(j, run)
    {
        EXACT float t = s_minus_at_most(v[j], GELU_GRAD_MOST);
        EXACT STRUCT(float_pair) d = gelu_root(t);
        steps_set_e(&s, j, gelu_grad_pair(t, STEP_E(&s, j), s.en[j],
                                          STEP_W(&s, j)));
        steps_set_w(&s, j, d);
        s.ep[j] = gelu_root_start(d.hi);
    }
    IN_RUN(j, run)
    {
        EXACT float t = s_minus_at_most(v[j], GELU_GRAD_MOST);
        EXACT float slope =
            gelu_grad_end(v[j], t, STEP_E(&s, j), STEP_W(&s, j), s.ep[j]);
        g[j] = s_canonical(step_end(v[j], slope) * g[j]);
    }
}

/* ---- of any kind ---- */

/* V[j] = f(V[j]) */
#define UNARY_RUN(KIND, V, RUN, ALPHA, BETA)                                   \
    if (unary_is_gate(KIND)) {                                                 \
        gate_run(KIND, V, RUN);                                                \
    } else if (KIND == UNARY_gelu) {                                           \
        gelu_run(V, RUN);                                                      \
    } else {                                                                   \
        IN_RUN(j, RUN) V[j] = unary_value(KIND, V[j], ALPHA, BETA);            \
    }

/* G[j] = G[j] f'(V[j]) */
#define UNARY_GRAD_RUN(KIND, V, G, RUN, ALPHA, BETA)                           \
    if (unary_is_gate(KIND)) {                                                 \
        gate_grad_run(KIND, V, G, RUN);                                        \
    } else if (KIND == UNARY_gelu) {                                           \
        gelu_grad_run(V, G, RUN);                                              \
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

/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - one element of an LSTM or GRU cell and of its gradient, in the
 * dialect. The formulas are in include/sesqui/ops/rnn.h, every product
 * and sum rounded; a NaN result is 0x7fc00000. */

#ifndef SSQ_KERNELS_RNN_H
#define SSQ_KERNELS_RNN_H

#include "kernels/elementwise/elementwise.h"

/* Each result is made canonical, because it is stored, or multiplied on, as
 * bits that all devices have to agree in. */
FN float rnn_sigmoid(float a)
{
    return s_canonical(s_sigmoid(a));
}

FN float rnn_tanh(float a)
{
    return s_canonical(s_tanh(a));
}

FN float rnn_add(float a, float b)
{
    return s_canonical(a + b);
}

FN float rnn_mul(float a, float b)
{
    return s_canonical(a * b);
}

/* d times the slope of a sigmoid whose value is s. */
FN float rnn_sigmoid_slope(float d, float s)
{
    EXACT float e = s * (1.0f - s);

    e = d * e;
    return s_canonical(e);
}

/* d times the slope of a tanh whose value is t; as a product, so that nothing
 * cancels but what the rounding of t has cost already. */
FN float rnn_tanh_slope(float d, float t)
{
    EXACT float e = (1.0f - t) * (1.0f + t);

    e = d * e;
    return s_canonical(e);
}

/* ---- LSTM ---- */

/* The new state: c' = f c + i g. */
FN float lstm_state(float i, float f, float g, float c)
{
    EXACT float kept = f * c;
    EXACT float added = i * g;

    return s_canonical(kept + added);
}

/* The value: h = o tanh(c'). */
FN float lstm_value(float o, float c)
{
    return s_canonical(o * s_tanh(c));
}

/* The gradient of c, from the next step's and e of h. */
FN float lstm_state_grad(float o, float c, float e, float dc)
{
    EXACT float d = e * o;

    d = d * s_tanh_grad(c);
    return s_canonical(dc + d);
}

/* The gradients of the gates' arguments, where d is the new state's
 * and e the value's. */
FN float lstm_i_grad(float d, float i, float g)
{
    return rnn_sigmoid_slope(d * g, i);
}

FN float lstm_f_grad(float d, float f, float c)
{
    return rnn_sigmoid_slope(d * c, f);
}

FN float lstm_g_grad(float d, float i, float g)
{
    return rnn_tanh_slope(d * i, g);
}

FN float lstm_o_grad(float e, float o, float c)
{
    return rnn_sigmoid_slope(e * s_tanh(c), o);
}

/* ---- GRU ---- */

/* Stages of a cell: all of it; or, where the state is reset before it is
 * multiplied, the operations before that product (of backward: after it), and
 * the rest. */
#define GRU_WHOLE 0u
#define GRU_RESET 1u
#define GRU_REST  2u

/* The factor of v_n, or of the gradient of the tanh's argument. */
FN float gru_factor(u32 stage, float r)
{
    return stage == GRU_REST ? 1.0f : r;
}

/* n = tanh(u + r q). */
FN float gru_candidate(float u, float r, float q)
{
    EXACT float a = r * q;

    a = u + a;
    return rnn_tanh(a);
}

/* h' = (1 - z) n + z h. */
FN float gru_value(float z, float n, float h)
{
    EXACT float fresh = (1.0f - z) * n;
    EXACT float kept = z * h;

    return s_canonical(fresh + kept);
}

/* k: the gradient of the tanh's argument. */
FN float gru_candidate_grad(float e, float z, float n)
{
    EXACT float d = e * (1.0f - z);

    return rnn_tanh_slope(d, n);
}

/* The gradient of r's argument, where k is that of r q and q is what r
 * multiplies. */
FN float gru_r_grad(float k, float r, float q)
{
    return rnn_sigmoid_slope(k * q, r);
}

/* The gradient of z's argument: e the value's. */
FN float gru_z_grad(float e, float z, float n, float h)
{
    EXACT float d = h - n;

    d = e * d;
    return rnn_sigmoid_slope(d, z);
}

#endif

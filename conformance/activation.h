/* SPDX-License-Identifier: Apache-2.0 */
/* activation.h - oracles of ssq_activation: float64 and libm. */
#ifndef CONFORMANCE_ACTIVATION_H
#define CONFORMANCE_ACTIVATION_H

#include <math.h>

#include <sesqui/ops/gemm.h>

/** At -infinity gelu and silu are their limit, 0. */
static inline double activation_oracle(double x, ssq_activation activation)
{
    double t = 0.7978845608028653559 * (x + 0.044715 * x * x * x);
    if (isinf(x) && x < 0.0)
        return activation == SSQ_ACTIVATION_NONE   ? x
               : activation == SSQ_ACTIVATION_TANH ? -1.0
                                                   : 0.0;
    switch (activation) {
    case SSQ_ACTIVATION_RELU:
        return x < 0.0 ? 0.0 : x;
    case SSQ_ACTIVATION_GELU: /* erfc keeps the negative tail */
        return 0.5 * x * erfc(-x * 0.7071067811865475244);
    case SSQ_ACTIVATION_GELU_TANH:
        return x / (1.0 + exp(-2.0 * t));
    case SSQ_ACTIVATION_SILU:
        return x / (1.0 + exp(-x));
    case SSQ_ACTIVATION_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    case SSQ_ACTIVATION_TANH:
        return tanh(x);
    default:
        return x;
    }
}

/** The largest slope: doc/design/numbers.md. */
static inline double activation_lipschitz(ssq_activation activation)
{
    switch (activation) {
    case SSQ_ACTIVATION_GELU:
    case SSQ_ACTIVATION_GELU_TANH:
        return 1.129;
    case SSQ_ACTIVATION_SILU:
        return 1.1;
    case SSQ_ACTIVATION_SIGMOID:
        return 0.25;
    default:
        return 1.0;
    }
}

#endif

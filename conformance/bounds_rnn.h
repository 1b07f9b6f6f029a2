/* SPDX-License-Identifier: Apache-2.0 */
/* bounds_rnn.h - running errors (conformance/running.h) of LSTM and GRU: their
 * gates, gemms and stores. Sums and products are in running.h. */
#ifndef CONFORMANCE_BOUNDS_RNN_H
#define CONFORMANCE_BOUNDS_RNN_H

#include "conformance/running.h"

/** A function of kernels/scalar/scalar.h: within one unit in the last place,
 * 2u. */
static inline struct num num_function(double v, double e)
{
    return (struct num){v, e + 2.0 * RUNNING_U * (fabs(v) + e) + 0x1p-149};
}

static inline double sigmoid_oracle(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* How far a monotonic f moves when its argument moves by e. */
#define NUM_MOVE(F, A)                                                         \
    fmax(F((A).v + (A).e) - F((A).v), F((A).v) - F((A).v - (A).e))

/** At infinity nothing moves. */
static inline struct num num_sigmoid(struct num a)
{
    double v = sigmoid_oracle(a.v);
    return num_function(v, isinf(a.v) ? 0.0 : NUM_MOVE(sigmoid_oracle, a));
}

static inline struct num num_tanh(struct num a)
{
    return num_function(tanh(a.v), isinf(a.v) ? 0.0 : NUM_MOVE(tanh, a));
}

static inline double tanh_slope_oracle(double x)
{
    double c = cosh(x);
    return 1.0 / (c * c);
}

/** 1 - tanh(a)^2 = 4 sigmoid(2a) sigmoid(-2a): 2u twice and a product. Its own
 *  slope is at most 4 / sqrt(27) and at most twice its value. */
static inline struct num num_tanh_slope(struct num a)
{
    double v = tanh_slope_oracle(a.v), near = fmax(fabs(a.v) - a.e, 0.0);
    double e = a.e == 0.0 || isinf(a.v)
                   ? 0.0
                   : a.e * fmin(0.7699, 2.0 * tanh_slope_oracle(near));
    return (struct num){v, e + 5.0 * RUNNING_U * (v + e) + 0x1p-147};
}

/** Stored in a dtype; the value stays the exact one. */
static inline struct num num_store(struct num a, ssq_dtype d)
{
    return (struct num){a.v, bound_store(a.v, a.e, d)};
}

/** A sum of k products of numbers known to within their errors, of a gemm with
 *  c and bias (NULL: none), before it is stored. size: the sum of |a| |b|,
 * moved: the effect of the errors of a and b on the sum. block as in
 * bound_gemm.
 */
static inline struct num num_gemm(double sum, double size, double moved,
                                  double k, double block, const struct num *c,
                                  const struct num *bias)
{
    struct num r = {sum, moved};
    double added = c == NULL ? 0.0 : fabs(c->v) + c->e;
    if (c != NULL) {
        r.v += c->v;
        r.e += c->e;
    }
    r.e += bound_gemm(k, block, size + moved, added, 1.0, 0x1p-150, false);
    if (bias == NULL)
        return r;
    r.v += bias->v;
    r.e = bound_add(r.e + bias->e, r.v);
    return r;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* bounds.h - every error bound the tests use, as doc/design/numbers.md derives
 * it.
 *
 * All in float64, from the unit roundoffs and the length of the longest chain
 * of dependent roundings; never measured, never tuned. Sources: Higham,
 * Accuracy and Stability of Numerical Algorithms, ch. 3 and 4; Blanchard,
 * Higham, Lopez, Mary, Pranesh, SISC 42(3), 2020. */
#ifndef CONFORMANCE_BOUNDS_H
#define CONFORMANCE_BOUNDS_H

#include <math.h>
#include <stdbool.h>

#include <sesqui/dtype.h>

#define U_F32 0x1p-24

/** Unit roundoff of a float dtype; 0 for integers (their results are exact). */
static inline double bound_u(ssq_dtype d)
{
    switch (d) {
    case SSQ_F16:
        return 0x1p-11;
    case SSQ_BF16:
        return 0x1p-8;
    case SSQ_F32:
        return U_F32;
    default:
        return 0.0;
    }
}

/** Half the spacing of the subnormals of a float dtype. */
static inline double bound_eta(ssq_dtype d)
{
    switch (d) {
    case SSQ_F16:
        return 0x1p-25;
    case SSQ_BF16:
        return 0x1p-134;
    case SSQ_F32:
        return 0x1p-150;
    default:
        return 0.0;
    }
}

/** The least magnitude that rounds to infinity; INFINITY for integers. */
static inline double bound_overflow(ssq_dtype d)
{
    switch (d) {
    case SSQ_F16:
        return 65520.0;
    case SSQ_BF16:
        return 0x1.FFp127;
    case SSQ_F32:
        return 0x1.FFFFFFp127;
    default:
        return (double)INFINITY;
    }
}

/** gamma_n(u) = n u / (1 - n u); valid for n u < 1/2. */
static inline double bound_gamma(double n, double u)
{
    return n * u / (1.0 - n * u);
}

/** |rounded - exact| for a value known to within error before it is stored. */
static inline double bound_store(double want, double error, ssq_dtype d)
{
    return error + bound_u(d) * (fabs(want) + error) + bound_eta(d);
}

/** Class R but GEMM: a chain of n dependent float32 operations whose terms
 *  have absolute values adding up to m. */
static inline double bound_chain(double n, double m)
{
    return (n + 8.0) * U_F32 * m;
}

/** The error of a product of floats by underflow: nothing for f16 times f16,
 *  which is a multiple of 2^-48. flushed: the device has no float32
 *  subnormals. */
static inline double bound_eta_product(ssq_dtype a, ssq_dtype b, bool flushed)
{
    if (a == SSQ_F16 && b == SSQ_F16)
        return 0.0;
    return flushed ? 0x1p-126 : 0x1p-150;
}

/** GEMM before bias and activation, doc/design/numbers.md. k products are
 *  summed in float32, in any order: k roundings (float32 products round too),
 *  then alpha's and the addition of beta c: n = k + 2. block != 0: matrix units
 *  add that many products at a time and truncate, which is twice the unit
 *  roundoff and one more rounding per block (Fasi et al. 2021).
 *  product: |alpha| sum|a||b|; added: |beta c|, rounded twice. The last term:
 *  alpha's and beta's products may underflow once each. */
static inline double bound_gemm(double k, double block, double product,
                                double added, double alpha, double eta_product,
                                bool flushed)
{
    double n = block > 0.0 ? k + ceil(k / block) + 3.0 : k + 2.0;
    double u = block > 0.0 ? 2.0 * U_F32 : U_F32;
    return bound_gamma(n, u) * product + bound_gamma(2.0, U_F32) * added +
           fabs(alpha) * k * eta_product +
           2.0 * (flushed ? 0x1p-126 : 0x1p-150);
}

/** GEMM's net for zero-mean data, where errors average out: an alarm, not a
 *  proof. Instead of bound_gemm's first term, for k <= 8192. */
static inline double bound_gemm_alarm(double k, double product)
{
    return 4.0 * sqrt(k) * U_F32 * product;
}

/** One more float32 addition, whose exact result is sum. */
static inline double bound_add(double error, double sum)
{
    return error + U_F32 * (fabs(sum) + error);
}

/** An activation of a value known to within error: its Lipschitz constant,
 *  then at most 2 ulp (2^-22, or two of the least subnormals) for itself. */
static inline double bound_activation(double error, double lipschitz,
                                      double result)
{
    double moved = lipschitz * error;
    return moved + 0x1p-22 * (fabs(result) + moved) + 0x1p-148;
}

/** The longest chain of dependent additions in a sum over n elements that
 *  include/sesqui/ops/reduce.h allows: a lane of at most 64 elements (n of them
 *  where there are fewer), the halving tree over 256 lanes, and for more than
 *  one chunk of 16384 the lanes and tree of the partials. */
static inline double bound_fold_chain(double n)
{
    double chunks = ceil(n / 16384.0);
    double chain = fmin(n, 64.0) + 8.0;
    return chunks > 1.0 ? chain + ceil(chunks / 256.0) + 8.0 : chain;
}

/** A sum of n terms whose absolute values add up to m. */
static inline double bound_sum(double n, double m)
{
    return bound_chain(bound_fold_chain(n), m);
}

/** Their mean: the divisor n and the quotient are rounded too. */
static inline double bound_mean(double n, double m)
{
    return bound_chain(bound_fold_chain(n) + 2.0, m / n);
}

/** A product of n < 2^23 factors, whose absolute value is m; nothing may
 *  underflow or overflow on the way. Each of the n - 1 multiplications rounds,
 *  and each rounding is a relative error of the result: their order does not
 *  matter, unlike that of additions. */
static inline double bound_product(double n, double m)
{
    return bound_gamma(n, U_F32) * m;
}

/** The norm of n elements: each square is rounded, the sums of two classes are
 *  joined by one addition; the root halves the relative error and rounds. */
static inline double bound_norm(double n, double norm)
{
    return ((bound_fold_chain(n) + 2.0 + 8.0) / 2.0 + 1.0) * U_F32 * norm;
}

/** The gradient dx = dy f'(x) of a unary op, before it is stored. In the code
 * that computes it, `roundings` units of 2^-24 occur before the last operation,
 *  which is the store's own rounding in float32 and one more in 16 bits.
 *  f'(x) is subnormal with an error of `subnormals` 2^-149, times dy; what is
 *  divided by x last may be subnormal before: `divisions` 2^-150 / |x|. */
static inline double bound_unary_backward(double roundings, double subnormals,
                                          double divisions, double x, double dy,
                                          double dx, ssq_dtype to)
{
    double n = roundings + (to == SSQ_F32 ? 0 : 1);
    double error = bound_gamma(n, U_F32) * fabs(dx) +
                   subnormals * 0x1p-149 * fabs(dy) + 0x1p-150;
    return divisions == 0 ? error : error + divisions * 0x1p-150 / fabs(x);
}

/** A sum of n terms in the order of kernels/reduce/norm.h, whose absolute
 * values add up to size and whose own errors to error: 63 additions in a lane
 * and 8 in the tree of a chunk, per factor of 16384 in n. */
static inline double bound_fold(double n, double size, double error)
{
    double levels = 0;
    for (; n > 1; n = ceil(n / 16384))
        levels++;
    return error + bound_gamma(71 * levels, U_F32) * (size + error);
}

#endif

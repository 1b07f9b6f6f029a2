/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h - the unary functions for their tests: what they are in exact
 * arithmetic, their derivatives, and how many roundings ours may take. */
#ifndef TESTS_OP_ELEMENTWISE_FUNCTIONS_H
#define TESTS_OP_ELEMENTWISE_FUNCTIONS_H

#include <sesqui.h>

/** A call of any of them; those without a parameter ignore alpha and beta. */
struct unary_call {
    const ssq_tensor *x, *y;
    double alpha, beta;
};

struct unary_backward_call {
    const ssq_tensor *x, *dy, *dx;
    double alpha, beta;
};

struct function {
    const char *name;
    ssq_status (*call)(ssq_queue *, const struct unary_call *);
    ssq_status (*backward)(ssq_queue *, const struct unary_backward_call *);
    long double (*value)(long double x, long double alpha, long double beta);
    /** The gradient in exact arithmetic: dy times the derivative. */
    long double (*gradient)(long double x, long double dy, long double alpha,
                            long double beta);
    double ulps;        /* forward, after rounding to the output's dtype */
    double roundings;   /* backward, in units of 2^-24, before the last one */
    double subnormals;  /* backward, 2^-149 |dy| each */
    double divisions;   /* backward, 2^-150 / |x| each */
    double alpha, beta; /* for the tests */
    int test;           /* isnan and its like: y is u8 */
    int positive;       /* differentiable for x > 0 only */
};

extern const struct function functions[];
extern const unsigned functions_n;
/** How many of them, from the first on, have a backward. */
extern const unsigned functions_backward;

/** Is f smooth within a distance of x? */
int function_is_smooth(const struct function *f, double x, double distance);

#endif

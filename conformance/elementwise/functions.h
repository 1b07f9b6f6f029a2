/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h - the unary functions for their tests: in exact arithmetic, with
 * their derivatives, and with the number of roundings that are allowed. */
#ifndef CONFORMANCE_ELEMENTWISE_FUNCTIONS_H
#define CONFORMANCE_ELEMENTWISE_FUNCTIONS_H

#include <sesqui.h>

/* for how many kinds there are: each must have a line here */
#include "kernels/elementwise/unary_kinds.h"

/** A call of any of them; those without a parameter ignore alpha and beta. */
struct unary_call {
    const ssq_tensor *x, *y;
    double alpha, beta;
};

struct unary_backward_call {
    const ssq_tensor *x, *dy, *dx;
    double alpha, beta;
};

enum smooth { EVERYWHERE, ABOVE_ZERO, BUT_AT_ZERO, BUT_AT_BOUNDS };

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
    enum smooth smooth; /* where it is differentiable */
};

/** One for each kind, those with a backward first, and softplus once more. */
#define FUNCTION_BACKWARD(...) 1 +
#define FUNCTION_FORWARD(...)  0 +
enum {
    FUNCTIONS_BACKWARD = UNARY_KINDS(FUNCTION_BACKWARD, FUNCTION_BACKWARD,
                                     FUNCTION_FORWARD, FUNCTION_FORWARD) 1,
    FUNCTIONS = UNARY_KINDS(FUNCTION_BACKWARD, FUNCTION_BACKWARD,
                            FUNCTION_BACKWARD, FUNCTION_BACKWARD) 1
};
extern const struct function functions[FUNCTIONS];

/** Bits that must come out: signs of zeros, infinities, the one NaN. */
struct function_exact {
    const char *name; /* of the function; NULL ends the list */
    uint32_t x, y;
    double alpha; /* 0: the function's */
};
/** Each function has some. */
extern const struct function_exact functions_exact[];

/** Is f smooth within a distance of x? */
int function_is_smooth(const struct function *f, double x, double distance);

#endif

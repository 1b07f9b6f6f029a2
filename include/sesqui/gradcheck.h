/* SPDX-License-Identifier: Apache-2.0 */
/* gradcheck.h - is the gradient of a function of vars what differences say?
 *
 * With weights w of the checker's own, f = sum(w y) over the elements of the
 * function's result y is summed in double on the host, y coming from float32
 * forward passes. For an element p of a parameter and a step h
 *
 *     D(h) = (f(p + h) - f(p - h)) / 2h
 *
 * has the error of the series, D'''(p) h^2 / 6 and less, and that of rounding.
 * The first is estimated as |D(2h) - D(h)|, three times what theory says of it
 * (Richardson; Dahlquist and Bjoerck, Numerical Methods in Scientific Computing
 * I, 3.4), the second bounded by B / h, where B = ulps 2^-23 max|y| sum|w|: y
 * is taken to be known to that many units of its largest element. Four steps
 * are tried, each twice the one before, and the one is taken whose two errors
 * are the least together; the gradient of the tape has to be within them, and
 * within ulps 2^-23 of its own. */
#ifndef SESQUI_GRADCHECK_H
#define SESQUI_GRADCHECK_H

#include <sesqui/args.h>
#include <sesqui/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is checked: it makes vars on the tape, from parameters of its own, and
 *  answers one of floats, of any shape. It is called again and again and has to
 *  do the same each time: layers that draw random words draw the same ones. */
typedef ssq_var (*ssq_gradcheck_fn)(ssq_tape *tape, void *user);

typedef struct ssq_gradcheck_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gradcheck_args));
    double step SSQ_DEFAULT(0.015625); /**< the least h, above 0; relative to an
                               element that is larger than 1 */
    double ulps SSQ_DEFAULT(16.0);     /**< of the forward pass: see above */
    uint32_t samples SSQ_DEFAULT(16);  /**< elements of each parameter that are
                               tried, spread over all; 0 all of them */
} ssq_gradcheck_args;
#define SSQ_GRADCHECK_DEFAULTS sizeof(ssq_gradcheck_args), 0.015625, 16.0, 16
#define SSQ_GRADCHECK_INIT                                                     \
    {                                                                          \
        SSQ_GRADCHECK_DEFAULTS                                                 \
    }
#define SSQ_GRADCHECK(...)                                                     \
    SSQ_ARGS(ssq_gradcheck_args, SSQ_GRADCHECK_DEFAULTS, __VA_ARGS__)

/** The worst element: whose error is the largest part of its tolerance. */
typedef struct ssq_gradcheck_report {
    size_t struct_size;
    char name[SSQ_PARAM_NAME]; /**< of the parameter */
    uint64_t index;            /**< flat */
    double gradient, difference, tolerance;
    uint64_t tried; /**< elements */
} ssq_gradcheck_report;
#define SSQ_GRADCHECK_REPORT_INIT                                              \
    {                                                                          \
        sizeof(ssq_gradcheck_report), "", 0, 0.0, 0.0, 0.0, 0                  \
    }

/** Check all parameters with a gradient that the tape's set has after a pass of
 *  fn. They get their values back; gradients are clean afterwards, and the pass
 *  is the checker's. Waits.
 *  @param tape    of float32 parameters: rounding to 16 bits is no derivative
 *  @param args    NULL all defaults
 *  @param report  out, optional; written also where a gradient is wrong
 *  @return SSQ_ERR_INVALID a gradient that is not within its tolerance, with
 * the parameter, the element and both values; also a NULL, a wrong struct_size,
 * a step or ulps that is not above 0, parameters of 16 bits, no parameter, fn
 * makes or removes parameters in a later call; what the tape latches;
 * SSQ_ERR_NOMEM; the queue's error. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gradcheck(ssq_tape *tape,
                                                ssq_gradcheck_fn fn, void *user,
                                                const ssq_gradcheck_args *args,
                                                ssq_gradcheck_report *report);

#ifdef __cplusplus
}
#endif

#endif

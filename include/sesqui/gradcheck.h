/* SPDX-License-Identifier: Apache-2.0 */
/* gradcheck.h - compare the gradients of a function of vars with difference
 * quotients.
 *
 *     static ssq_var net(ssq_tape *tape, void *user)
 *     {
 *         ssq_var x = ssq_var_input(tape, user);
 *         return ssq_nn_linear(tape, "fc", x, 3, NULL);
 *     }
 *     ..
 *     ssq_gradcheck_report report = SSQ_GRADCHECK_REPORT_INIT;
 *     if (ssq_gradcheck(tape, net, x, NULL, &report) != SSQ_OK)
 *         return fail(ssq_last_error());
 *
 * Method. Let y be the function's result and w fixed weights of the checker.
 * f = sum(w y) is summed in double on the host, from float32 forward passes.
 * For an element p of a parameter and a step h, the difference quotient is
 *
 *     D(h) = (f(p + h) - f(p - h)) / 2h
 *
 * p + h and p - h are rounded to float32, and their difference is used for 2h.
 * Its error has two parts:
 *
 *  - The truncation error, f'''(p) h^2 / 6 and smaller terms. The check uses
 *    |D(2h) - D(h)|, three times the estimate of Richardson's method (Dahlquist
 *    and Bjoerck, Numerical Methods in Scientific Computing I, 3.4).
 *  - The rounding error, at most B / h with B = ulps 2^-23 max|y| sum|w|. This
 *    assumes that y is exact to `ulps` units of its largest element.
 *
 * Four steps are tried, each twice the previous one. The step with the smallest
 * sum of both errors is used. The gradient g of the tape must agree with D(h)
 * within this sum plus ulps 2^-23 |g|.
 *
 * @sync waits
 * @threads object */
#ifndef SESQUI_GRADCHECK_H
#define SESQUI_GRADCHECK_H

#include <sesqui/args.h>
#include <sesqui/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The function to check. It makes vars on the tape, from its parameters, and
 *  returns a var of a float dtype with any shape. It is called many times and
 *  must do the same each time: for example, it must not read the next batch.
 *  Random layers draw the same numbers in each call. */
typedef ssq_var (*ssq_gradcheck_fn)(ssq_tape *tape, void *user);

/** Arguments of ssq_gradcheck. */
typedef struct ssq_gradcheck_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gradcheck_args));
    double step SSQ_DEFAULT(0.015625); /**< the smallest h, above 0 and finite;
                               multiplied by |p| if that is above 1. p + h and
                               p - h must differ, and p + 16 h and p - 16 h
                               must be finite */
    double ulps SSQ_DEFAULT(16.0);     /**< error of the forward pass, above 0
                               and finite; see the top of this file */
    uint32_t samples SSQ_DEFAULT(16);  /**< at most this many elements of each
                               parameter are tried, evenly spaced; 0: all */
} ssq_gradcheck_args;
#define SSQ_GRADCHECK_DEFAULTS sizeof(ssq_gradcheck_args), 0.015625, 16.0, 16
#define SSQ_GRADCHECK_INIT                                                     \
    {                                                                          \
        SSQ_GRADCHECK_DEFAULTS                                                 \
    }
#define SSQ_GRADCHECK(...)                                                     \
    SSQ_ARGS(ssq_gradcheck_args, SSQ_GRADCHECK_DEFAULTS, __VA_ARGS__)

/** Report of a check. The element is the one whose error is the largest
 *  fraction of its tolerance: of those with a wrong gradient, if there are
 *  any. */
typedef struct ssq_gradcheck_report {
    size_t struct_size;
    char name[SSQ_PARAM_NAME]; /**< name of the parameter */
    uint64_t index;            /**< of the element, in row-major order */
    double gradient, difference, tolerance;
    uint64_t tried; /**< number of elements that were tried */
} ssq_gradcheck_report;
#define SSQ_GRADCHECK_REPORT_INIT                                              \
    {                                                                          \
        sizeof(ssq_gradcheck_report), "", 0, 0.0, 0.0, 0.0, 0                  \
    }

/** Check the gradients of all parameters in the tape's set. The function's
 *  first call may create parameters. Afterwards the parameters have their old
 *  values, and so have running statistics and other states. A state that the
 *  first call creates has the value that this call left. Gradients are clean
 *  (ssq_params_clean), also after an error. The tape's current pass is the
 *  checker's. Random layers later draw as if one pass had been made.
 *  @param tape    its parameters with a gradient must be float32. For example,
 *                 a policy with f16 parameters is refused.
 *  @param user    passed to fn
 *  @param args    NULL: all defaults
 *  @param report  in: struct_size; out: the rest; may be NULL. Written if all
 *                 elements could be tried, also if a gradient is wrong.
 *  @return
 *   - SSQ_ERR_INVALID  a gradient is wrong: the message has the parameter, the
 *                      element and both values. report->tried is above 0.
 *   - SSQ_ERR_INVALID  step or ulps is not above 0 and finite; a graph is being
 *                      captured on the tape's queue, or the caller captures its
 *                      stream (cuda.h). Nothing has changed then
 *   - SSQ_ERR_INVALID  step is too small or too large for the value of an
 *                      element; a parameter is not float32; no parameter has
 *                      a gradient; fn returns no var of its pass or one that
 *                      is i32, u8 or bool, or removes parameters; in a later
 *                      call fn makes parameters, or returns another number of
 *                      elements
 *   - the first error that the tape has latched
 *   - SSQ_ERR_NOMEM or the queue's error: parameters and states may keep
 *     changed values then
 *  @sync waits for all work of the tape's queue
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gradcheck(ssq_tape *tape,
                                                ssq_gradcheck_fn fn, void *user,
                                                const ssq_gradcheck_args *args,
                                                ssq_gradcheck_report *report);

#ifdef __cplusplus
}
#endif

#endif

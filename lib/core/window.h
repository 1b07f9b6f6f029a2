/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - ops larger than a launch may be, in windows that are not. */
#ifndef LIB_CORE_WINDOW_H
#define LIB_CORE_WINDOW_H

#include "lib/core/core.h"

/** Most elements of an operand in one launch: kernels count in 31 bits. */
#define WINDOW_ELEMENTS INT32_MAX

/** What is done with a window: op is valid during the call only. */
typedef ssq_status (*window_fn)(void *user, struct op *op);

/** True if every operand fits a launch that binds at most so many bytes of
 *  each. */
bool window_fits(const struct op *op, uint64_t binding_bytes);

/** Call each for the windows of an op, as few as there can be. Where elements
 *  have random numbers they come in row-major order, and op->first of a window
 *  counts those before it. Stops at the first failure. The op is changed for
 *  each window, and put back in the end.
 *  @return what each returned; SSQ_ERR_UNSUPPORTED the op cannot be split,
 *          with the numbers */
ssq_status window_each(struct op *op, uint64_t binding_bytes, window_fn each,
                       void *user);

#endif

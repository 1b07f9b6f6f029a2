/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - launches for the windows of an op whose operands are larger than
 * a launch sees.
 *
 * A builder gets an op that is BY_PLAN whole. From the whole op it decides all
 * that the bits depend on (parts of rows, the kernel, divisors). Then it notes
 * launches for one window after the other, so that the bits are the same as for
 * an op that fits. */
#ifndef LIB_PLAN_WINDOWS_H
#define LIB_PLAN_WINDOWS_H

#include "lib/core/window.h"
#include "lib/plan/plan.h"

/** Note the launches of a window. op is the op of plan_windows with the views
 * of the window, and with op->first set. */
typedef void (*plan_window_fn)(struct plan *plan, const struct op *op,
                               void *user);

/** Call each for the windows of op, a copy of the builder's, as few as there
 *  can be; once for an op that fits. The plan fails with SSQ_ERR_UNSUPPORTED if
 *  the op cannot be cut so. */
void plan_windows(struct plan *plan, struct op *op,
                  const struct window_cut *cut, plan_window_fn each,
                  void *user);

/** The first n dimensions, for window_cut.dims. */
static inline unsigned plan_dims(int n)
{
    return (1u << n) - 1u;
}

#endif

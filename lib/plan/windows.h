/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - launches for the windows of an op whose operands are too large
 * for one launch.
 *
 * A builder gets a BY_PLAN op whole. It first derives from the whole op
 * everything that affects the result's bits: parts of rows, the kernel,
 * divisors. Then it records the launches window by window. The bits are
 * therefore the same as for an op that fits. */
#ifndef LIB_PLAN_WINDOWS_H
#define LIB_PLAN_WINDOWS_H

#include "lib/core/queue/window.h"
#include "lib/core/queue/plan.h"

/** Record the launches of a window. op is the op of plan_windows() with the
 *  views of the window and with op->first set. */
typedef void (*plan_window_fn)(struct plan *plan, const struct op *op,
                               void *user);

/** Call each for the windows of op, as few as possible; once if the op fits. op
 *  must be a copy, made by the builder. The plan fails with SSQ_ERR_UNSUPPORTED
 *  if the op cannot be cut as *cut says. */
void plan_windows(struct plan *plan, struct op *op,
                  const struct window_cut *cut, plan_window_fn each,
                  void *user);

/** Return the bits of the first n dimensions, for window_cut.dims. */
static inline unsigned plan_dims(int n)
{
    return (1u << n) - 1u;
}

#endif

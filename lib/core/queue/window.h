/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - split ops that are too large for one launch into windows. */
#ifndef LIB_CORE_QUEUE_WINDOW_H
#define LIB_CORE_QUEUE_WINDOW_H

#include "lib/core/core.h"

/** Most elements of an operand in one launch: kernels count in 31 bits. */
#define WINDOW_ELEMENTS INT32_MAX

/** Process a window. op is valid during the call only. */
typedef ssq_status (*window_fn)(void *user, struct op *op);

/** True if every operand fits into a launch that binds at most binding_bytes of
 *  each. */
bool window_fits(const struct op *op, uint64_t binding_bytes);

/** True if one launch can bind this operand; an absent one always fits. */
bool window_view_fits(const struct view *v, uint64_t binding_bytes);

/** True if implementations and plans get the op whole, however large it is. */
bool window_by_plan(const struct op *op);

/** Return SSQ_ERR_UNSUPPORTED. The text names the first operand that does not
 *  fit, its bytes and the limit. At least one operand must not fit. */
ssq_status window_refuse(const struct op *op, uint64_t binding_bytes);

/** How an op may be cut. */
struct window_cut {
    unsigned walked; /* a bit for each view that is cut; others stay whole */
    unsigned dims;   /* a bit for each dimension that may be cut */
    bool in_order;   /* windows come in row-major order, each without gaps */
    int64_t chunk;   /* windows in order: all except the last have a multiple
                        of `chunk` places; 0: any number */
};

/** As window_each(), for an op that may be cut as *cut says. If windows come in
 *  order, op->first counts places of the dimensions that may be cut. */
ssq_status window_cuts(struct op *op, const struct window_cut *cut,
                       uint64_t binding_bytes, window_fn each, void *user);

/** Call each() for the windows of an op, which are as few as possible. If
 *  elements have random numbers, windows come in row-major order, and op->first
 *  of a window counts the elements before it. Stops at the first failure. The
 *  op is changed for each window, and restored at the end.
 *  @return the status of each(); SSQ_ERR_UNSUPPORTED the op cannot be split,
 *          with the numbers */
ssq_status window_each(struct op *op, uint64_t binding_bytes, window_fn each,
                       void *user);

#endif

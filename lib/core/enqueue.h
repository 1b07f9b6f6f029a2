/* SPDX-License-Identifier: Apache-2.0 */
/* enqueue.h - an op to a device, which may refuse it. */
#ifndef LIB_CORE_ENQUEUE_H
#define LIB_CORE_ENQUEUE_H

#include "lib/core/core.h"

/** What is done about an op that is refused; the reason is this thread's last
 *  error text. */
typedef ssq_status (*enqueue_fn)(ssq_queue *queue, const struct op *op);

/** queue_enqueue, but what the device refuses goes to otherwise. */
ssq_status enqueue_or(ssq_queue *queue, struct op *op, enqueue_fn otherwise);
/** The same for what every device must do itself: it stays refused. */
ssq_status enqueue_only(ssq_queue *queue, struct op *op);
/** What a library enqueues by itself, with the queue's lock: native is what the
 *  queue is to the driver. May be called more than once, where it was captured.
 */
typedef ssq_status (*call_fn)(struct object *keep, ssq_queue *queue,
                              void *native);
/** Have fn called where this place in the queue's order is handed over. What
 *  the list has is held until the device is through with it, and keep is.
 *  @return SSQ_ERR_UNSUPPORTED the backend has no such thing; fn's status, or
 *          the queue's, where it is not held or captured */
ssq_status queue_call(ssq_queue *queue, struct view_list *list,
                      struct object *keep, call_fn fn);
/** An op of the kind OP_call. */
struct call_op {
    struct op op;
    call_fn fn;
};

/** A transfer whose write witnesses have been told of: as enqueue_only, on a
 *  queue without spans, captures and bundles. */
ssq_status enqueue_told(ssq_queue *queue, struct op *op);

#endif

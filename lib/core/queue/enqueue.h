/* SPDX-License-Identifier: Apache-2.0 */
/* enqueue.h - enqueue an op on a device, which may refuse it. */
#ifndef LIB_CORE_QUEUE_ENQUEUE_H
#define LIB_CORE_QUEUE_ENQUEUE_H

#include "lib/core/core.h"

/** Called for an op that the device refuses; the reason is this thread's last
 *  error text. */
typedef ssq_status (*enqueue_fn)(ssq_queue *queue, const struct op *op);

/** As queue_enqueue(), but call otherwise for an op that the device refuses. */
ssq_status enqueue_or(ssq_queue *queue, struct op *op, enqueue_fn otherwise);
/** The same for an op that every device must do itself: it stays refused. */
ssq_status enqueue_only(ssq_queue *queue, struct op *op);
/** Enqueue work of another library, under the queue's lock. native is the
 *  driver's handle of the queue. May be called more than once if the call was
 *  captured. */
typedef ssq_status (*call_fn)(struct object *keep, ssq_queue *queue,
                              void *native);
/** Call fn when the work at this place in the queue is handed over. The buffers
 *  in list, and keep, are held until the device has finished that work.
 *  @return SSQ_ERR_UNSUPPORTED the backend has no such call; the status of fn
 *          or of the queue, if the call is not held or captured */
ssq_status queue_call(ssq_queue *queue, struct view_list *list,
                      struct object *keep, call_fn fn);
/** An op with id OP_call. */
struct call_op {
    struct op op;
    call_fn fn;
};

/** Enqueue a transfer whose write was already reported to witnesses: as
 *  enqueue_only(), on a queue without spans, captures and bundles. */
ssq_status enqueue_told(ssq_queue *queue, struct op *op);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - work that another library enqueues at a place of a queue's order. */
#ifndef LIB_CORE_QUEUE_CALL_H
#define LIB_CORE_QUEUE_CALL_H

#include "lib/core/core.h"

/** Enqueue work of another library, under the queue's lock. native is the
 *  driver's handle of the queue. May be called more than once if the call was
 *  captured. */
typedef ssq_status (*call_fn)(struct object *keep, ssq_queue *queue,
                              void *native);

/** An op with id OP_call. */
struct call_op {
    struct op op;
    call_fn fn;
};

/** Call fn when the work at this place in the queue is submitted. The buffers
 *  in list, and keep, are held until the device has finished that work.
 *  @return SSQ_ERR_UNSUPPORTED the backend has no such call; the status of fn
 *          or of the queue, if the call is not deferred or captured */
ssq_status queue_call(ssq_queue *queue, struct view_list *list,
                      struct object *keep, call_fn fn);

#endif

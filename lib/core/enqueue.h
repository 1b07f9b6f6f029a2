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
/** A transfer whose write witnesses have been told of: as enqueue_only, on a
 *  queue without spans, captures and bundles. */
ssq_status enqueue_told(ssq_queue *queue, struct op *op);

#endif

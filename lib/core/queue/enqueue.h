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
/** Enqueue a transfer whose write was already reported to observers: as
 *  enqueue_only(), on a queue without replay, captures and bundles. */
ssq_status enqueue_reported(ssq_queue *queue, struct op *op);

#endif

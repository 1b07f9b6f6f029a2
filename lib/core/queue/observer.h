/* SPDX-License-Identifier: Apache-2.0 */
/* observer.h - observers of writes to elements of a buffer. */
#ifndef LIB_CORE_QUEUE_OBSERVER_H
#define LIB_CORE_QUEUE_OBSERVER_H

#include "lib/core/core.h"

/** Counts every write to its view, as view_overlap() finds it, that is
 *  enqueued, recorded in a capture or launched with a graph. Writes that the
 *  caller makes through the driver are not counted. Ops change the members;
 *  only the creator reads them. */
struct observer {
    struct observer *next, *before; /* in the buffer's list */
    ssq_buffer *buffer;     /* borrowed: the creator holds it; NULL: inactive */
    struct view view;       /* in the buffer */
    atomic_uint writes;     /* so far; wraps */
    enum op_id by;          /* the op of the last write */
    const ssq_queue *queue; /* where it was enqueued; may be gone */
};

/** Start observing writes to a view. */
void observer_start(struct observer *o, const struct view *view);
/** Stop observing; does nothing if the observer was not started. */
void observer_stop(struct observer *o);
/** Copy the state of an observer, consistently. */
void observer_read(const struct observer *o, struct observer *copy);

/** Report the writes of an op to observers. */
void observers_report(const ssq_queue *queue, const struct op *op);

/* For a fork. */
void observers_hold(void);
void observers_let_go(void);

#endif

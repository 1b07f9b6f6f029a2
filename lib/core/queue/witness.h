/* SPDX-License-Identifier: Apache-2.0 */
/* witness.h - detect writes to elements of a buffer. */
#ifndef LIB_CORE_QUEUE_WITNESS_H
#define LIB_CORE_QUEUE_WITNESS_H

#include "lib/core/core.h"

/** Sees every write to its view, as view_overlap() finds it, that is enqueued,
 *  recorded in a capture or launched with a graph. It does not see writes that
 *  the caller makes through the driver. Ops change the members; only the
 *  creator reads them. */
struct witness {
    struct witness *next, *before; /* in the buffer's list */
    ssq_buffer *buffer;     /* borrowed: the creator holds it; NULL: inactive */
    struct view view;       /* in the buffer */
    atomic_uint writes;     /* so far; wraps */
    enum op_id by;          /* the op of the last write */
    const ssq_queue *queue; /* where it was enqueued; may be gone */
};

/** Start observing writes to a view. */
void witness_begin(struct witness *w, const struct view *view);
/** Stop observing; does nothing if the witness was not started. */
void witness_end(struct witness *w);
/** Copy the state of a witness, consistently. */
void witness_ask(const struct witness *w, struct witness *copy);

/** Report the writes of an op to witnesses. */
void witness_tell(const ssq_queue *queue, const struct op *op);

/* For a fork. */
void witness_hold(void);
void witness_let_go(void);

#endif

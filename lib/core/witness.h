/* SPDX-License-Identifier: Apache-2.0 */
/* witness.h - who wants to know that elements of a buffer were written. */
#ifndef LIB_CORE_WITNESS_H
#define LIB_CORE_WITNESS_H

#include "lib/core/core.h"

/** Hears of every write to its view, as view_overlap finds it, that is
 *  enqueued, recorded in a capture or launched with a graph; not of those that
 *  a caller does by means of his driver. Members are read by who made it; ops
 *  change them. */
struct witness {
    struct witness *next, *before; /* of the buffer's */
    ssq_buffer *buffer;     /* borrowed: held by who made it; NULL: of none */
    struct view view;       /* in the buffer */
    atomic_uint writes;     /* so far; wraps */
    enum op_id by;          /* the last of them */
    const ssq_queue *queue; /* where it was enqueued; may be gone */
};

/** Begin to hear of writes to a view. */
void witness_begin(struct witness *w, const struct view *view);
/** Hear no more; nothing for one that has not begun. */
void witness_end(struct witness *w);
/** A copy of what a witness knows, in one piece. */
void witness_ask(const struct witness *w, struct witness *copy);

/** Tell the witnesses of what an op writes. */
void witness_tell(const ssq_queue *queue, const struct op *op);

/* For a fork. */
void witness_hold(void);
void witness_let_go(void);

#endif

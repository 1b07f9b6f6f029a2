/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h - reductions of operands that are too large for a launch, in
 * pieces. */
#ifndef LIB_OP_REDUCE_PIECES_H
#define LIB_OP_REDUCE_PIECES_H

#include "lib/core/core.h"

/** Return true if queue_enqueue() can run all of the op, in windows if
 *  needed. */
bool op_splits(ssq_queue *queue, struct op *op);
/** Return true if a launch can see a view, wherever in a buffer it begins. */
bool piece_fits(ssq_queue *queue, const struct view *v);

/** A dimension in pieces of k elements: `full` of them, and one of `rest`. */
struct pieces {
    int dim;
    int64_t k, full, rest; /* rest: elements of the last one; 0: none */
};

/** Divide dimension dim of v into pieces of k elements. */
struct pieces pieces_of(const struct view *v, int dim, int64_t k);
/** Return the number of pieces, including the rest. */
int64_t pieces_count(const struct pieces *p);
/** Return the full pieces of v. A new first dimension counts them, so the rank
 *  grows by one. */
struct view pieces_full(const struct view *v, const struct pieces *p);
/** Return the rest; it has the dimensions of v. */
struct view pieces_rest(const struct view *v, const struct pieces *p);

#endif

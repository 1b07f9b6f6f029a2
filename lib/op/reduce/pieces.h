/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h - reductions of more elements than a launch may see, in pieces. */
#ifndef LIB_OP_REDUCE_PIECES_H
#define LIB_OP_REDUCE_PIECES_H

#include "lib/core/core.h"

/** True if queue_enqueue will find windows in which all of the op fits. */
bool op_splits(ssq_queue *queue, struct op *op);
/** True if a launch may see a view, wherever in a buffer it begins. */
bool piece_fits(ssq_queue *queue, const struct view *v);

/** A dimension of size n in pieces of k: full of them, and one of rest. */
struct pieces {
    int dim;
    int64_t k, full, rest; /* rest: elements of the last one; 0: none */
};

/** Dimension dim of v in pieces of k. */
struct pieces pieces_of(const struct view *v, int dim, int64_t k);
/** How many, with the rest. */
int64_t pieces_count(const struct pieces *p);
/** The full pieces of v, counted by a first dimension that is put before the
 *  others: the rank grows by one. */
struct view pieces_full(const struct view *v, const struct pieces *p);
/** The rest, in dimensions as v's. */
struct view pieces_rest(const struct view *v, const struct pieces *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - the operands of ops over many tensors.
 *
 * A list is filled once, by who made it, before its first op is enqueued. From
 * then on nobody changes it: queues and graphs hold it, and read it later. */
#ifndef LIB_AMP_LIST_H
#define LIB_AMP_LIST_H

#include "lib/core/core.h"

/** How a tensor of n elements stands in lists: whole, or, where a launch does
 *  not see that much, in pieces of k elements. A piece is made of whole chunks
 *  of kernels/reduce/norm.h, so that the sums of a norm are the same however
 *  much a launch sees. */
struct cut {
    /* elements of the tensor; of each piece but the last, which has the rest */
    int64_t n, k;
    size_t pieces; /* at least 1 */
};

/** For a contiguous tensor; pieces do for any operand with one element of at
 *  most 4 bytes for each of v's. */
struct cut cut_of(const ssq_device *device, const struct view *v);
/** Piece i of a contiguous operand that goes with it. The second and later
 *  ones continue the one before. */
struct view cut_piece(const struct cut *cut, const struct view *v, size_t i);

/* grads.c: lists that callers give */
/** INVALID unless all gradients are floats of the queue's device; n may be 0.
 *  what begins texts. */
ssq_status grads_check(const ssq_queue *queue, size_t n,
                       const ssq_tensor *const *grads, const char *what);
/** INVALID unless each out has its gradient's shape and one of the dtypes, and
 *  overlaps no gradient or other out: only its own gradient it may be, exactly.
 *  dtypes: OR-ed DTYPE_BIT. The gradients have passed grads_check. */
ssq_status grads_check_outs(const ssq_queue *queue, size_t n,
                            const ssq_tensor *const *grads,
                            const ssq_tensor *const *outs, unsigned dtypes,
                            const char *what);
/** The gradients, to be read, as one reference that the caller drops. NULL: no
 *  memory, the text is set. */
struct view_list *grads_list(size_t n, const ssq_tensor *const *grads,
                             const char *what);
/** All gradients, to be read, and then all outs, to be written: a gradient and
 *  its out have as many pieces, in the same order. */
struct view_list *grads_pairs(size_t n, const ssq_tensor *const *grads,
                              const ssq_tensor *const *outs, const char *what);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - the operands of ops over many tensors. */
#ifndef LIB_AMP_LIST_H
#define LIB_AMP_LIST_H

#include "lib/core/core.h"

/** n absent views; one reference, drop it with object_put(&l->object). NULL:
 *  no memory, the text is set. what begins it. */
struct view_list *list_create(size_t n, const char *what);
/** View i becomes v with an access; its buffer gets a reference. */
void list_set(struct view_list *list, size_t i, const struct view *v,
              enum access access);

/** How a tensor of n elements stands in lists: whole, or, where a launch does
 *  not see that much, in pieces of k elements that are whole chunks of
 *  kernels/reduce/norm.h. */
struct cut {
    int64_t n, k;
    size_t pieces;
};

/** For a contiguous tensor; pieces do for any operand with one element of at
 *  most 4 bytes for each of v's. */
struct cut cut_of(const ssq_device *device, const struct view *v);
/** Piece i of a contiguous operand that goes with it. The second and later
 *  ones continue the one before. */
struct view cut_piece(const struct cut *cut, const struct view *v, size_t i);

/* grads.c: lists that callers give */
/** Floats of the queue's device. what begins texts. */
ssq_status grads_check(const ssq_queue *queue, size_t n,
                       const ssq_tensor *const *grads, const char *what);
/** Each out may be its own gradient, and overlap no other. */
ssq_status grads_check_outs(const ssq_queue *queue, size_t n,
                            const ssq_tensor *const *grads,
                            const ssq_tensor *const *outs, unsigned dtypes,
                            const char *what);
/** The gradients, to be read. NULL: no memory, the text is set. */
struct view_list *grads_list(size_t n, const ssq_tensor *const *grads,
                             const char *what);
/** All gradients, to be read, and then all outs, to be written. */
struct view_list *grads_pairs(size_t n, const ssq_tensor *const *grads,
                              const ssq_tensor *const *outs, const char *what);

#endif

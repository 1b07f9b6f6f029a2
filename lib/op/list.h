/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - the operands of ops over many tensors.
 *
 * The code that creates a list fills it before its first op is enqueued. It
 * must not be changed later: queues and graphs hold it and read it later. */
#ifndef LIB_OP_LIST_H
#define LIB_OP_LIST_H

#include "lib/core/core.h"

/** How a tensor of n elements is divided in lists: not at all or, if a launch
 *  cannot see all of it, in pieces of k elements. A piece consists of whole
 *  chunks of kernels/reduce/norm.h, so that the sums of a norm do not depend on
 *  the limit of a launch. */
struct cut {
    /* elements of the tensor, and of each piece; the last has the rest */
    int64_t n, k;
    size_t pieces; /* at least 1 */
};

/** Return the cut of a contiguous tensor. Its pieces fit every operand that has
 *  an element of at most 4 bytes for each element of v. */
struct cut cut_of(const ssq_device *device, const struct view *v);
/** Return piece i of a contiguous operand of this cut. All pieces except the
 *  first continue the piece before. */
struct view cut_piece(const struct cut *cut, const struct view *v, size_t i);

/* grads.c: lists that callers give */
/** Return SSQ_ERR_INVALID unless all gradients are floats of the queue's
 * device. n may be 0. `what` begins texts. */
ssq_status grads_check(const ssq_queue *queue, size_t n,
                       const ssq_tensor *const *grads, const char *what);
/** Return SSQ_ERR_INVALID unless each out has its gradient's shape and one of
 * the dtypes, and overlaps no other out and no gradient except its own, which
 * it may be exactly. dtypes: OR-ed DTYPE_BIT. grads_check() has accepted the
 *  gradients. */
ssq_status grads_check_outs(const ssq_queue *queue, size_t n,
                            const ssq_tensor *const *grads,
                            const ssq_tensor *const *outs, unsigned dtypes,
                            const char *what);
/** Return a list of the gradients, for reading. The caller owns one reference.
 *  NULL: no memory; the text is set. */
struct view_list *grads_list(size_t n, const ssq_tensor *const *grads,
                             const char *what);
/** As grads_list(), with all outs, for writing, after the gradients. A gradient
 *  and its out have the same number of pieces, in the same order. */
struct view_list *grads_pairs(size_t n, const ssq_tensor *const *grads,
                              const ssq_tensor *const *outs, const char *what);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.h - an optimizer's parameters in runs: the gradients of a run are
 * added to their sums, and these are summed over ranks, as one, and while the
 * gradients of other runs are still being made.
 *
 * What a step makes of them has the same bits as without: a sum over ranks is
 * made element by element (comm.h). */
#ifndef LIB_AMP_BUCKETS_H
#define LIB_AMP_BUCKETS_H

#include <sesqui/amp/optimizer.h>

#include "lib/core/core.h"

struct bucket {
    size_t n;                /* parameters */
    const ssq_tensor **sums; /* theirs; the array is owned */
    size_t tensors;          /* in it: n, or one more */
    struct view_list *pairs; /* gradients, then sums */
    /* of the step under way */
    size_t left;         /* gradients that are not there */
    bool added;          /* to the sums */
    bool begun;          /* the sum over ranks */
    ssq_comm_work *work; /* it; NULL: not begun, or waited for */
};

struct buckets {
    size_t n;
    struct bucket *at;
    size_t params; /* in all of them */
    uint32_t *of;  /* the bucket of each of the caller's parameters */
    size_t of_n;   /* those that there were */
    size_t next;   /* all before it have begun */
};

/** No bucket. */
#define BUCKET_NONE UINT32_MAX

/** Divide an optimizer's parameters, whose sums are there. Owned by its state.
 *  @param which  the optimizer's number of each of the caller's n parameters,
 *                or SIZE_MAX: not the optimizer's. From the last to the first
 *                they are put into buckets
 *  @param bytes  least bytes of sums in each bucket, except the last
 *  @param also   a tensor, borrowed, that is summed with the last bucket */
ssq_status buckets_create(ssq_optimizer *optimizer, const size_t *which,
                          size_t n, uint64_t bytes, const ssq_tensor *also);
void buckets_free(struct buckets *buckets);

/** A step begins: no gradient is there. */
void buckets_reset(struct buckets *buckets);
/** Begin the sum over ranks, unless it was: what is enqueued behind bucket_wait
 *  sees it. */
ssq_status bucket_begin(ssq_queue *queue, ssq_comm *comm,
                        struct bucket *bucket);
ssq_status bucket_wait(ssq_queue *queue, struct bucket *bucket);

#endif

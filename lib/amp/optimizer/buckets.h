/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.h - an optimizer's parameters in buckets. The gradients of a bucket
 * are added to their sums. The sums are then reduced over ranks in one call,
 * while the gradients of other buckets are still being computed.
 *
 * The bits of a step are the same as without buckets, because a sum over ranks
 * is computed element by element (comm.h). */
#ifndef LIB_AMP_OPTIMIZER_BUCKETS_H
#define LIB_AMP_OPTIMIZER_BUCKETS_H

#include <sesqui/amp/optimizer.h>

#include "lib/core/core.h"

struct bucket {
    size_t n;                /* parameters */
    const ssq_tensor **sums; /* of the parameters; the array is owned */
    size_t tensors;          /* in sums: n, or one more */
    struct view_list *pairs; /* gradients, then sums */
    /* of the present step */
    size_t left;         /* gradients that do not exist yet */
    bool added;          /* gradients have been added to the sums */
    bool begun;          /* the sum over ranks has begun */
    ssq_comm_work *work; /* of that sum; NULL: not begun, or waited for */
};

struct buckets {
    size_t n;
    struct bucket *at;
    size_t params; /* in all of them */
    uint32_t *of;  /* the bucket of each of the caller's parameters */
    size_t of_n;   /* the number of the caller's parameters */
    size_t next;   /* all buckets before this one have begun */
};

/** The parameter is in no bucket. */
#define BUCKET_NONE UINT32_MAX

/** Divide an optimizer's parameters, whose sums must exist, into buckets. The
 *  optimizer's state owns them.
 *  @param which  the optimizer's number of each of the caller's n parameters,
 * or SIZE_MAX if the optimizer does not have it. Buckets are filled from the
 * last parameter to the first
 *  @param bytes  each bucket except the last has at least this many bytes of
 * sums
 *  @param also   a tensor, borrowed, that is summed with the last bucket */
ssq_status buckets_create(ssq_optimizer *optimizer, const size_t *which,
                          size_t n, uint64_t bytes, const ssq_tensor *also);
void buckets_free(struct buckets *buckets);

/** Begin a step: no gradient exists yet. */
void buckets_reset(struct buckets *buckets);
/** Begin the sum over ranks, unless it has begun. Work enqueued after
 *  bucket_wait() sees the sum. */
ssq_status bucket_begin(ssq_queue *queue, ssq_comm *comm,
                        struct bucket *bucket);
ssq_status bucket_wait(ssq_queue *queue, struct bucket *bucket);

#endif

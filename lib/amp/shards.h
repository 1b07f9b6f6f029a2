/* SPDX-License-Identifier: Apache-2.0 */
/* shards.h - an optimizer of which each rank has a part: masters and moments of
 * some elements of some parameters.
 *
 * All parameters' chunks (kernels/reduce/norm.h), in the order of
 * ssq_optimizer_add, are divided into one run for each rank, of about as many
 * elements: a shard. So a norm's partials are the same as those of one device,
 * and those of all ranks, put together, are folded in the same order. Sums of
 * gradients are whole on every rank until they are reduced, and then true in
 * its shard alone, as parameters are until they are gathered. */
#ifndef LIB_AMP_SHARDS_H
#define LIB_AMP_SHARDS_H

#include <sesqui/amp/optimizer.h>

#include "lib/core/core.h"

struct state;
struct check_op;

/** All of a state that an optimizer without ranks does not have. */
struct shards {
    ssq_comm *comm;
    size_t n;                  /* parameters */
    int64_t *bounds;           /* as lib/comm/parts.h has them; owned */
    uint32_t first, chunks;    /* the shard's first chunk; of all ranks */
    int64_t own, all;          /* elements of the shard; of all */
    struct view_list *sizes;   /* the parameters, for their sizes */
    const ssq_tensor **params; /* those of the optimizer; the array is owned */
    /* partials of a check, and of LAMB's norms or NULL: a tensor for each word,
     * over one buffer */
    ssq_tensor *parts, *norms;
    ssq_tensor **part_rows, **norm_rows;
    int64_t *row_bounds; /* the same for each of them; owned */
};

/** Divide the parameters, at the first use. */
ssq_status shards_create(ssq_queue *queue, const ssq_optimizer *optimizer,
                         struct shards **shards);
void shards_free(struct shards *shards);

/** This rank's elements of parameter i: from which one on, and how many. All of
 *  them where there are no ranks. */
int64_t shard_from(const struct state *state, size_t i);
int64_t shard_count(const ssq_optimizer *optimizer, const struct state *state,
                    size_t i);
/** They in a contiguous view of the parameter's elements, of one element or two
 *  (a remainder) for each: flat where they are not all. */
struct view shard_view(const ssq_optimizer *optimizer,
                       const struct state *state, size_t i,
                       const struct view *v);

/** Sum the gradients' sums over ranks, each for its shard. */
ssq_status shards_reduce(ssq_queue *queue, const ssq_optimizer *optimizer);
/** A check of all ranks' gradients: op has a record, its list is the shard. In
 *  two parts: partials of all ranks, and what is made of them. */
ssq_status shards_look(ssq_queue *queue, const ssq_optimizer *optimizer,
                       const struct check_op *op);
ssq_status shards_judge(ssq_queue *queue, const ssq_optimizer *optimizer,
                        const struct check_op *op);
/** LAMB's step lengths, likewise: list is the step's. */
ssq_status shards_norm(ssq_queue *queue, const ssq_optimizer *optimizer,
                       struct view_list *list);
ssq_status shards_lengths(ssq_queue *queue, const ssq_optimizer *optimizer);
/** All ranks get all parameters. */
ssq_status shards_gather(ssq_queue *queue, const ssq_optimizer *optimizer);

/** A slot of parameter i, whole, on the root or all ranks: whole has its dtype,
 *  and its elements' number. A call of all ranks. */
ssq_status shards_whole(ssq_queue *queue, const ssq_optimizer *optimizer,
                        size_t i, int slot, uint32_t root,
                        const ssq_tensor *whole);
/** The float32 values of parameter i, whose truth is a master or split, in a
 *  tensor that is made for them. A call of all ranks. */
ssq_status shards_exact(ssq_queue *queue, const ssq_optimizer *optimizer,
                        size_t i, ssq_tensor **made);
/** Parameter i and what is here of its truth, from whole float32 values. */
ssq_status shards_write(ssq_queue *queue, const ssq_optimizer *optimizer,
                        const struct state *state, size_t i,
                        const ssq_tensor *from);

#endif

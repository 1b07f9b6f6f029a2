/* SPDX-License-Identifier: Apache-2.0 */
/* batches.h - a labelled set of images on a device, batch by batch. */
#ifndef EXAMPLES_COMMON_BATCHES_H
#define EXAMPLES_COMMON_BATCHES_H

#include <sesqui.h>

#include "examples/common/idx.h"

struct batches {
    ssq_queue *queue;            /* borrowed */
    ssq_tensor *pixels, *labels; /* all: [n, pixels] of 0..1, i32 [n] */
    ssq_tensor *order;           /* i32 [n], the rows of an epoch */
    ssq_tensor *x, *y;           /* room for a batch */
    ssq_tensor *part_x, *part_y; /* the batch of the last call */
    int32_t *shuffled;           /* on the host */
    uint64_t random;             /* its state: a function of the seed */
    int64_t n, batch, at;        /* at: rows of this epoch that are behind us */
    ssq_trainer *trainer; /* whose share of each batch is taken; NULL: all */
};

/** All images of a set on the device, in a dtype.
 *  @return false after saying why; batches_close also then */
bool batches_open(struct batches *b, ssq_queue *queue,
                  const struct images *images, ssq_dtype dtype, int64_t batch,
                  uint64_t seed);
void batches_close(struct batches *b);

/** Batches in an epoch. */
unsigned long batches_count(const struct batches *b);
/** Begin an epoch in an order of its own. Waits for the device. */
bool batches_shuffle(struct batches *b);
/** Begin a walk through the rows as they are. */
void batches_rewind(struct batches *b);

/** The next batch of an epoch, or the trainer's share of it, gathered in its
 *  order into memory that the call after it uses again: x [rows, pixels], y
 *  [rows]; NULL where the share is none. The last may be smaller.
 *  @return SSQ_ERR_NOT_FOUND the epoch is over; else as the ops */
ssq_status batches_next(struct batches *b, const ssq_tensor **x,
                        const ssq_tensor **y);
/** The next batch of a walk: views of the set. */
ssq_status batches_walk(struct batches *b, const ssq_tensor **x,
                        const ssq_tensor **y);

#endif

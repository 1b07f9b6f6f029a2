/* SPDX-License-Identifier: Apache-2.0 */
/* batches.h - batches of labelled images, or a rank's share of each. */
#ifndef EXAMPLES_COMMON_BATCHES_H
#define EXAMPLES_COMMON_BATCHES_H

#include "examples/common/images.h"

struct batches {
    ssq_batches *rows;
    ssq_tensor *part_x, *part_y; /* views of the last batch: the share of it */
    int64_t n;                   /* images */
    ssq_trainer *trainer; /* whose share of each batch is taken; NULL: all */
};

/** Batches of all images of a set, as numbers of 0..1 in a dtype.
 *  @return false after it has printed why; batches_close also then */
bool batches_open(struct batches *b, ssq_queue *queue,
                  const struct images *images, ssq_dtype dtype, int64_t batch,
                  bool shuffle, uint64_t seed);
void batches_close(struct batches *b);

/** Batches in an epoch. */
unsigned long batches_count(const struct batches *b);
/** Go to the beginning of an epoch. */
bool batches_seek(struct batches *b, unsigned epoch);

/** The next batch of an epoch, or the trainer's share of it: x [rows, pixels],
 *  y [rows]; NULL if the share is empty. The last may be smaller.
 *  @return SSQ_ERR_NOT_FOUND the epoch is over; else as the calls */
ssq_status batches_next(struct batches *b, const ssq_tensor **x,
                        const ssq_tensor **y);

#endif

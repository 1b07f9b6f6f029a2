/* SPDX-License-Identifier: Apache-2.0 */
/* batches.h - rows of arrays as batches: the caller's side, and the thread that
 * prepares them. */
#ifndef LIB_DATA_BATCHES_H
#define LIB_DATA_BATCHES_H

#include "lib/data/array.h"

/** A batch in host memory. A slot goes from EMPTY (the thread may fill it) to
 *  READY (the caller may send it) to SENT (a copy may still read it) and back.
 */
struct batch_slot {
    enum { SLOT_EMPTY, SLOT_READY, SLOT_SENT } state;
    void *host[SSQ_BATCH_ARRAYS]; /* in the dtypes of the tensors */
    int64_t rows;
    ssq_event *copied; /* recorded after the copies of a SENT slot */
};

/** How an array becomes a tensor. */
struct batch_field {
    const ssq_array *array; /* held */
    ssq_dtype dtype;        /* of the tensor */
    float scale, shift;
    bool scaled;
    int64_t width;      /* elements of a row */
    size_t row_bytes;   /* in the tensor's dtype */
    ssq_tensor *tensor; /* of a whole batch; owned */
    ssq_tensor *rest;   /* a view of its first rows, for a last batch that has
                           fewer; NULL: there is none */
};

struct ssq_batches {
    ssq_queue *queue; /* held */
    struct batch_field field[SSQ_BATCH_ARRAYS];
    unsigned n, nslots;
    int64_t rows, batch; /* of the arrays; of a batch */
    int64_t used;        /* rows of an epoch */
    uint64_t seed;
    bool shuffle;
    unsigned forks; /* fork_count() at the creation */

    /* the caller's side */
    uint64_t epoch;
    int64_t row;
    unsigned head; /* the slot to send next */

    /* the thread's side, while it runs */
    uint64_t fill_epoch;
    int64_t fill_row;
    unsigned tail;
    uint32_t *order; /* of fill_epoch; NULL without shuffle */
    float *floats;   /* a row, to be scaled */

    pthread_t thread;
    bool running;
    pthread_mutex_t lock; /* guards the states of slots, and stop */
    pthread_cond_t changed;
    bool stop;
    struct batch_slot *slot;
};

/** Start the thread at the caller's position; all slots must be empty. */
ssq_status batches_start(struct ssq_batches *b);
/** End the thread; slots keep their states. */
void batches_stop(struct ssq_batches *b);

/** Write the order of an epoch: a permutation of 0 .. n - 1 that depends on the
 *  arguments alone. */
void batches_order(uint32_t *order, uint32_t n, uint64_t seed, uint64_t epoch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* direct.h - collectives that a library of the devices' does by itself, on the
 * caller's own queue: no gate, and nothing through the host's memory. */
#ifndef LIB_COMM_DIRECT_H
#define LIB_COMM_DIRECT_H

#include "lib/comm/comm.h"
#include "lib/core/queue.h"

/** Longest words of a call in texts: "all_reduce sum number 7 \"grads\"". */
#define DIRECT_WORDS 128

/** Elements of scratch that a call takes at once: 64 MiB of float32. */
#define DIRECT_SCRATCH ((int64_t)1 << 24)

/** A collective that the device has, between two of its queue's events. */
struct mark {
    struct mark *next;
    struct backend_event *before, *after;
    struct progress *queue; /* which is not held: its owner may end it */
    char words[DIRECT_WORDS];
    bool due;     /* before was reached, by then: */
    double since; /* seconds */
};

/** Held by the communicator, and by calls, which a graph may keep longer. */
struct direct {
    struct object object;
    pthread_mutex_t lock;  /* held while the library is called; before watch */
    ssq_comm *comm;        /* NULL: it was destroyed */
    struct progress *last; /* of the last call's queue; the caller's */
    pthread_mutex_t watch; /* of what follows */
    pthread_cond_t changed;
    struct mark *marks, **marks_end; /* under way */
    struct mark *spare;
    bool closing;
    pthread_t thread;
};

/* ---- direct.c ---- */

/** Of a communicator whose transport is direct; starts its watch. */
ssq_status direct_create(ssq_comm *comm);
/** Calls that are left find none. Waits for a call under way. */
void direct_destroy(ssq_comm *comm);
/** Enqueue a job, which is freed. */
ssq_status direct_enqueue(ssq_comm *comm, ssq_queue *queue, struct job *job);
/** The library's calls are in one order on all ranks, whatever the queue: what
 *  this queue has from now on comes behind those of the last call's queue; and
 *  this one is the last. */
ssq_status direct_follow(const ssq_comm *comm, ssq_queue *queue);
void direct_note(ssq_comm *comm, const ssq_queue *queue);

/* ---- gather.c ---- */

/** By the communicator's thread, on its own queue: the same number of bytes of
 *  each rank, one after the other, in all. Waits. */
ssq_status direct_gather(ssq_comm *comm, const void *mine, void *all,
                         size_t bytes);

/* ---- watch.c ---- */

ssq_status watch_start(struct direct *direct);
void watch_stop(struct direct *direct);
/** With the queue's lock: a mark that begins here; and it ends here. */
ssq_status watch_begin(ssq_comm *comm, ssq_queue *queue, const char *words,
                       struct mark **mark);
ssq_status watch_end(ssq_comm *comm, const ssq_queue *queue, struct mark *mark);
/** Instead: nothing was enqueued. */
void watch_drop(ssq_comm *comm, struct mark *mark);
/** The queues of what is under way fail with this thread's text.
 *  @return is anything under way? */
bool watch_fail(ssq_comm *comm, ssq_status status);

/* ---- moves.c ---- */

/** Moves of one call in the making, which go to the library as one. */
struct moves;
struct moves *moves_create(ssq_comm *comm, const struct job *job, size_t most);
/** from and to begin n elements of the smaller of both; the same: in place. */
void moves_add(struct moves *moves, enum comm_move_kind kind,
               enum comm_element element, const struct view *from,
               const struct view *to, uint64_t n);
/** The root of the moves that are added from now on. */
void moves_root(struct moves *moves, unsigned root);
/** Enqueue them where there are any; they are freed in any case. NULL: there
 *  was no memory for them. */
ssq_status moves_enqueue(struct moves *moves, ssq_queue *queue);

/* ---- direct_parts.c, reductions.c ---- */

/** All ops of a call over tensors of which each rank has a part. */
ssq_status direct_parts(ssq_comm *comm, ssq_queue *queue,
                        const struct job *job);
/** All ops of an all_reduce or a reduce_scatter. */
ssq_status direct_all_reduce(ssq_comm *comm, ssq_queue *queue,
                             const struct job *job);
ssq_status direct_reduce_scatter(ssq_comm *comm, ssq_queue *queue,
                                 const struct job *job);

#endif

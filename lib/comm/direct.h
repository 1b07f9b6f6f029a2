/* SPDX-License-Identifier: Apache-2.0 */
/* direct.h - collectives that a library for the devices, for example NCCL, runs
 * by itself on the caller's queue. They need no gate and no host memory. */
#ifndef LIB_COMM_DIRECT_H
#define LIB_COMM_DIRECT_H

#include "lib/comm/comm.h"
#include "lib/core/queue/queue.h"

/** Maximum size of a call's name in messages, for example "all_reduce sum
 *  number 7 \"grads\"". */
#define DIRECT_WORDS 128

/** Maximum number of scratch elements of a call: 64 MiB of float32. */
#define DIRECT_SCRATCH ((int64_t)1 << 24)

/** A collective in flight on the device, between two events of its queue. */
struct watched_call {
    struct watched_call *next;
    struct backend_event *before, *after;
    struct progress *queue; /* does not keep the queue alive */
    char words[DIRECT_WORDS];
    bool due;     /* before was reached, first seen at the time: */
    double since; /* seconds */
};

/** Referenced by the communicator and by its calls. A graph may keep a call
 *  longer than the communicator exists. */
struct direct {
    struct object object;
    pthread_mutex_t lock;  /* held during library calls; before watch */
    ssq_comm *comm;        /* NULL: the communicator was destroyed */
    struct progress *last; /* queue of the last call; for the caller's thread */
    pthread_mutex_t watch; /* for all members that follow */
    pthread_cond_t changed;
    struct watched_call *in_flight, **in_flight_end;
    struct watched_call *spare; /* unused, for later calls */
    bool closing;
    pthread_t thread;
};

/* ---- direct.c ---- */

/** Create comm->direct, for a direct transport, and start its watch. */
ssq_status direct_create(ssq_comm *comm);
/** Detach the communicator: calls that are left find none. Waits for a call
 *  in progress. */
void direct_destroy(ssq_comm *comm);
/** Enqueue a job, and free it in any case. */
ssq_status direct_enqueue(ssq_comm *comm, ssq_queue *queue, struct job *job);
/** All ranks must make the library's calls in one order, also on several
 *  queues. direct_follow() makes later work on this queue wait for the queue of
 *  the last call. direct_set_last() records this queue as the last call's. */
ssq_status direct_follow(const ssq_comm *comm, ssq_queue *queue);
void direct_set_last(ssq_comm *comm, const ssq_queue *queue);

/* ---- gather.c ---- */

/** Gather the same number of bytes from each rank into all, in rank order. Only
 *  for the communicator's thread; uses comm->side. Waits. */
ssq_status direct_gather(ssq_comm *comm, const void *mine, void *all,
                         size_t bytes);

/* ---- watch.c ---- */

ssq_status watch_start(struct direct *direct);
void watch_stop(struct direct *direct);
/** Record the events before and after a call on the queue. Needs the queue's
 *  lock. */
ssq_status watch_begin(ssq_comm *comm, ssq_queue *queue, const char *words,
                       struct watched_call **call);
ssq_status watch_end(ssq_comm *comm, const ssq_queue *queue,
                     struct watched_call *call);
/** Free a call instead of ending it, because nothing was enqueued. */
void watch_drop(ssq_comm *comm, struct watched_call *call);
/** Fail the queues of all collectives in flight, with this thread's error text.
 *  @return true if any was in flight */
bool watch_fail(ssq_comm *comm, ssq_status status);

/* ---- moves.c ---- */

/** The moves of one call while it is built. The library receives them as one
 *  group; most is their maximum number. */
struct moves;
struct moves *moves_create(ssq_comm *comm, const struct job *job, size_t most);
/** Add a move. n counts the elements of the smaller operand. from equal to to:
 *  in place. */
void moves_add(struct moves *moves, enum comm_move_kind kind,
               enum comm_element element, const struct view *from,
               const struct view *to, uint64_t n);
/** Set the root of all moves that are added later. */
void moves_root(struct moves *moves, unsigned root);
/** Enqueue the moves if any were added, and free them in any case. moves NULL:
 *  returns SSQ_ERR_NOMEM. */
ssq_status moves_enqueue(struct moves *moves, ssq_queue *queue);

/* ---- direct_parts.c, reductions.c ---- */

/** Enqueue all ops of a call over tensors of which each rank has a part. */
ssq_status direct_parts(ssq_comm *comm, ssq_queue *queue,
                        const struct job *job);
/** Enqueue all ops of an all_reduce or a reduce_scatter. */
ssq_status direct_all_reduce(ssq_comm *comm, ssq_queue *queue,
                             const struct job *job);
ssq_status direct_reduce_scatter(ssq_comm *comm, ssq_queue *queue,
                                 const struct job *job);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - the queue's inside, for queue.c, event.c and graph.c. */
#ifndef LIB_CORE_QUEUE_H
#define LIB_CORE_QUEUE_H

#include <sesqui/graph.h>

#include "lib/core/core.h"

/** A command the backend has not finished: it holds its op and buffers. */
struct pending {
    struct pending *next;   /* the one enqueued behind it */
    uint64_t sequence;      /* finished when completed() has reached it */
    struct command command; /* what start hands over; borrows op and plan */
    struct op *op;         /* its own copy; NULL when holder has it */
    struct plan *plan;     /* a reference; NULL none, or holder has it */
    struct object *holder; /* the graph, or NULL */
};

struct ssq_queue {
    struct object object;
    ssq_device *device;
    struct backend_queue *impl;
    ssq_queue *next; /* in device->queues */
    pthread_mutex_t lock;         /* of impl and of what is enqueued */
    struct pending *first, **end; /* in the order of their sequence */
    struct pending *kept;         /* in recordings of the caller's */
    uint64_t submitted;           /* commands that the backend took, ever */
    atomic_int failing;    /* somebody writes text, then sticky */
    atomic_int sticky;     /* ssq_status; text is written before it */
    char text[ERROR_TEXT]; /* of the sticky error */
    ssq_graph *capture;    /* NULL: none under way; changed under lock */
    bool capturing;        /* the same; the device's queues_lock */
    bool dry;              /* the capture asks, and keeps no command */
    pthread_t capturer;    /* whose capture it is */
    ssq_graph *bundle;     /* capture, or of its own; NULL: none under way */
    unsigned bundle_depth;     /* begins without their end */
    size_t bundle_from;        /* commands of the capture before the bundle */
    struct progress *progress; /* what others may hold of this queue */
    struct held *held, **held_end; /* behind a gate: lib/core/held.h */
    uint64_t held_commands;        /* of them */
    uint64_t marks;                /* records of events that were held, ever */
    atomic_uint_fast64_t marked;   /* of them, those that were made */
    struct waiter *waiters;        /* queues that wait for one */
    pthread_cond_t moved;          /* held has become shorter */
    bool passing;                  /* a thread hands over what is held */
    unsigned passing_forks;        /* fork_count() when it began */
    _Atomic(struct repeat *) repeat; /* owned; NULL: it has no spans */
    struct report *reports; /* of objects, for a sync: lib/core/report.h */
};

/** An implementation: number index of the backend's list, or of the plans. */
struct choice {
    bool plan;        /* index counts plans; else the backend's own list */
    unsigned index;
    const char *name; /* of the list that it is in, which is constant */
};

/** Number i of all implementations on a device: the backend's own, then the
 *  plans. False past the end. The order is the one that users see listed. */
bool choice_nth(const ssq_device *device, enum op_id op, unsigned i,
                struct choice *choice);
/** SSQ_OK if a choice takes the op; SSQ_ERR_UNSUPPORTED with the reason in
 *  why. */
ssq_status choice_admits(ssq_device *device, const struct op *op,
                         const struct choice *choice, struct why *why);
/** Choose the implementation of an op: lib/core/dispatch.c.
 *  @return SSQ_ERR_UNSUPPORTED with every refusal in the text */
ssq_status dispatch(ssq_device *device, const struct op *op,
                    struct choice *choice);

/** Hand an admitted command to the backend. */
ssq_status queue_submit(ssq_queue *queue, const struct command *command);
/** Hand over n commands of a graph, which is held until they are finished. All
 *  of them or none, as far as the host's memory decides that. */
ssq_status queue_submit_all(ssq_queue *queue, const struct command *commands,
                            size_t n, struct object *graph);
/** The same for commands whose writes witnesses have been told of. */
ssq_status queue_submit_told(ssq_queue *queue, const struct command *commands,
                             size_t n, struct object *graph);
/** Let go of what the backend has finished, all of it when asked to wait: what
 *  was read has landed then. A failure is sticky: it is seen later. */
void queue_retire(ssq_queue *queue, bool wait);
/** The same, waiting, and the failure. */
ssq_status queue_finish(ssq_queue *queue);
/** Let go of everything, when the backend has closed the queue. */
void queue_forget(ssq_queue *queue);
/** Make the queue sticky with this thread's last text; returns status. With or
 *  without the lock. */
ssq_status queue_fail(ssq_queue *queue, ssq_status status);

/* ---- what is held behind a gate: with the queue's lock ---- */

/** Hand over commands, from the first of *chain on, which is moved behind what
 *  the backend took; witnesses know of them. What has been finished at once is
 *  put before *done, and each raises *handed by 1. Where that is so, without
 *  the lock as well, if nobody else calls the backend for this queue. */
ssq_status chain_hand_over(ssq_queue *queue, struct pending **chain,
                           uint64_t *handed, struct pending **done);
/** Unlink what is finished and return it, for chain_finish. */
struct pending *chain_finished(ssq_queue *queue);
/** Tell witnesses of what the commands of a chain write. */
void chain_tell(const ssq_queue *queue, const struct pending *chain);
/** Without the lock: let go of finished commands; good: none has failed. */
void chain_finish(struct pending *chain, bool good);
/** Without the lock: let go of commands that were not handed over. */
void chain_release(struct pending *chain);
/* ---- how far a queue has come: lib/core/progress.c; see native.h, too ---- */

/** One reference, for the queue; impl is not owned. NULL: no memory. */
struct progress *progress_create(const struct backend *backend,
                                 struct backend_queue *impl);
/** One more reference. */
struct progress *progress_get(struct progress *progress);
/** It is this queue's, which it does not hold. */
void progress_bind(struct progress *progress, ssq_queue *queue);
/** As queue_fail, where the queue is there still; from any thread, without a
 *  reference or a lock of it. */
void progress_fail(struct progress *progress, ssq_status status);
/** The queue, with a reference for the caller; NULL: it is gone. */
ssq_queue *progress_queue(struct progress *progress);
/** From now on impl is not asked; closed: and everything is finished. Whoever
 *  is asking at this moment has the lock, so impl is not closed under his
 *  hands. */
void progress_close(struct progress *progress, bool closed);
/** So many commands were handed over to a backend that has finished them: for
 *  those who ask the progress. */
void progress_count(struct progress *progress, uint64_t handed);
/** For fork only: nobody asks it meanwhile. */
void progress_hold(struct progress *progress);
void progress_let_go(struct progress *progress);

/** Append to the graph under construction; takes the command's op over, and
 *  its plan. */
ssq_status capture_record(ssq_graph *graph, const struct command *command);
/** A run of commands of a graph that are all plans, which the backend has as
 *  one thing. */
struct segment {
    struct backend_graph *native;   /* owned by the graph that it is of */
    const struct command *commands; /* n of the graph's, in order */
    size_t n;
};
/** Let go of a command's op and plan. */
void command_release(const struct command *command);
/** End the capture, if there is one, and drop all that it has recorded. */
void capture_drop(ssq_queue *queue);
/** This thread begins or ends a capture: its alone, so that others of the
 *  device go on. */
void capturer_set(ssq_queue *queue, bool on);
/** A capture is under way that only asks whether its ops would run. */
static inline bool capture_dry(const ssq_queue *queue)
{
    return queue->capture != NULL && queue->dry;
}
/** SSQ_ERR_INVALID when a thread other than this one captures on the queue. */
ssq_status capture_mine(const ssq_queue *queue, const char *what);
/** Hand over what a bundle has kept so far, and leave it until resumed: for
 *  work that cannot be kept. *graph is for bundle_resume; NULL: no bundle. */
ssq_status bundle_suspend(ssq_queue *queue, ssq_graph **graph);
/** Go on with a bundle that bundle_suspend has left. */
void bundle_resume(ssq_queue *queue, ssq_graph *graph);

/** The reasons of fallbacks that were logged: lib/core/fallback.c. */
void fallback_forget(ssq_device *device);

#endif

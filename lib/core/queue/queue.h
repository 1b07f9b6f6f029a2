/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - the internals of a queue, shared by the files of lib/core. */
#ifndef LIB_CORE_QUEUE_QUEUE_H
#define LIB_CORE_QUEUE_QUEUE_H

#include <sesqui/graph.h>

#include "lib/core/core.h"

/** A command that the backend has not finished. It holds its op and buffers. */
struct pending {
    struct pending *next;   /* the command enqueued after it */
    uint64_t sequence;      /* finished once completed() has reached it */
    struct command command; /* passed to start(); borrows op and plan */
    struct op *op;          /* an owned copy; NULL: holder has the op */
    struct plan *plan;      /* a reference; NULL: none, or in holder */
    struct object *holder;  /* a reference to the graph, or NULL */
};

struct ssq_queue {
    struct object object;
    ssq_device *device;
    struct backend_queue *impl;
    ssq_queue *next;              /* in device->queues */
    pthread_mutex_t lock;         /* guards impl and all enqueued work */
    struct pending *first, **end; /* ordered by sequence */
    struct pending *kept;         /* in recordings that the caller makes */
    uint64_t submitted;           /* commands that the backend accepted */
    atomic_int failing;           /* a thread sets text, then sticky */
    atomic_int sticky;            /* ssq_status; text is written before it */
    char text[ERROR_TEXT];        /* of the sticky error */
    ssq_graph *capture;           /* NULL: no capture; changed under lock */
    bool capturing;               /* the same, under the device's queues_lock */
    bool dry;              /* the capture checks ops and keeps no command */
    pthread_t capturer;    /* the thread that captures */
    ssq_graph *bundle;     /* capture, or a separate graph; NULL: no bundle */
    unsigned bundle_depth; /* nested begins without an end */
    size_t bundle_from;    /* commands of the capture before the bundle */
    struct progress *progress;       /* the part that outlives the queue */
    struct held *held, **held_end;   /* held at a gate: lib/core/queue/held.h */
    uint64_t held_commands;          /* commands in held */
    uint64_t marks;                  /* event records that were held so far */
    atomic_uint_fast64_t marked;     /* how many of these were made */
    struct waiter *waiters;          /* queues that wait for such a record */
    pthread_cond_t moved;            /* signalled when held becomes shorter */
    bool passing;                    /* a thread is handing over held work */
    unsigned passing_forks;          /* fork_count() when it began */
    _Atomic(struct repeat *) repeat; /* owned; NULL: the queue has no spans */
    struct report *reports;          /* used by a sync: report.h */
};

/** An implementation of an op: an entry of the backend's list or of the plans.
 */
struct choice {
    bool plan; /* index counts plans; else the backend's own list */
    unsigned index;
    const char *name; /* from that list; constant */
};

/** Get implementation number i on a device: the backend's own come first, then
 *  the plans. False past the end. Users see the list in this order. */
bool choice_nth(const ssq_device *device, enum op_id op, unsigned i,
                struct choice *choice);
/** Return SSQ_OK if the implementation accepts the op; else SSQ_ERR_UNSUPPORTED
 *  with the reason in why. */
ssq_status choice_admits(ssq_device *device, const struct op *op,
                         const struct choice *choice, struct why *why);
/** Choose the implementation of an op: lib/core/queue/dispatch.c.
 *  @return SSQ_ERR_UNSUPPORTED with every refusal in the text */
ssq_status dispatch(ssq_device *device, const struct op *op,
                    struct choice *choice);

/** Hand an admitted command to the backend. */
ssq_status queue_submit(ssq_queue *queue, const struct command *command);
/** Hand over n commands of a graph, which is held until they are finished. If
 *  host memory is too short, none of them is handed over. If graph is NULL,
 *  each command's op is copied instead. */
ssq_status queue_submit_all(ssq_queue *queue, const struct command *commands,
                            size_t n, struct object *graph);
/** The same, for commands whose writes were already reported to witnesses. */
ssq_status queue_submit_told(ssq_queue *queue, const struct command *commands,
                             size_t n, struct object *graph);
/** Release what finished commands hold, and land their downloads. If wait is
 *  set, wait for all commands first. A failure is sticky: a later call returns
 *  it. */
void queue_retire(ssq_queue *queue, bool wait);
/** Wait for all commands, release them, and return the error, if any. */
ssq_status queue_finish(ssq_queue *queue);
/** Release everything, after the backend has closed the queue. */
void queue_forget(ssq_queue *queue);
/** Make the queue sticky with status and this thread's last text; returns
 *  status. The caller may or may not hold the lock. */
ssq_status queue_fail(ssq_queue *queue, ssq_status status);
/** Make the queue sticky if the backend knows of a failed command; returns its
 *  error. Waits for nothing. */
ssq_status queue_ask_failure(ssq_queue *queue);

/** Create a queue over an opened backend_queue. Closes impl on failure. */
ssq_status queue_create(ssq_device *device, struct backend_queue *impl,
                        ssq_queue **queue);

/* ---- commands held at a gate: the caller must hold the queue's lock ---- */

/** Hand over the commands of *chain, and advance *chain past each command that
 *  the backend accepted. Witnesses know of them already. A backend without
 *  completed finishes each command immediately: the command is then prepended
 *  to *done, and *handed grows by 1. For such a backend the lock is not needed
 *  if no other thread calls the backend for this queue. */
ssq_status chain_hand_over(ssq_queue *queue, struct pending **chain,
                           uint64_t *handed, struct pending **done);
/** Unlink the finished commands, land their downloads if no command failed, and
 *  return them for chain_release(). */
struct pending *chain_finished(ssq_queue *queue);
/** Report the writes of a chain's commands to witnesses. */
void chain_tell(const ssq_queue *queue, const struct pending *chain);
/** Without the lock: release commands that are finished, or were not handed
 *  over. */
void chain_release(struct pending *chain);
/* ---- progress of a queue: lib/core/queue/progress.c; see core.h, too ---- */

/** Create a progress with one reference, for the queue. impl is borrowed. NULL
 *  without memory. */
struct progress *progress_create(const struct backend *backend,
                                 struct backend_queue *impl);
/** Add a reference; returns progress. */
struct progress *progress_get(struct progress *progress);
/** Set the queue, which is not held. */
void progress_bind(struct progress *progress, ssq_queue *queue);
/** Call queue_fail() if the queue still exists. Any thread may call this; it
 *  needs neither a reference to the queue nor its lock. */
void progress_fail(struct progress *progress, ssq_status status);
/** Get the queue, with a reference for the caller; NULL: it no longer exists.
 */
ssq_queue *progress_queue(struct progress *progress);
/** Stop using impl. closed: all work is finished. A thread that checks the
 *  progress holds the lock, so impl is not closed during the check. */
void progress_close(struct progress *progress, bool closed);
/** Set the number of commands handed over so far. Only for a backend without
 *  completed, which has finished all of them. */
void progress_count(struct progress *progress, uint64_t handed);
/** For fork only: no thread can check the progress in between. */
void progress_hold(struct progress *progress);
void progress_let_go(struct progress *progress);

/** Append a command to the graph under construction. Takes over the command's
 *  op and plan, even on failure. */
ssq_status capture_record(ssq_graph *graph, const struct command *command);
/** Consecutive commands of a graph that are all plans, recorded by the backend
 *  as one object. */
struct segment {
    struct backend_graph *native;   /* owned by the graph with this segment */
    const struct command *commands; /* n of the graph's commands, in order */
    size_t n;
};
/** Release a command's op and plan. */
void command_release(const struct command *command);
/** End the capture, if there is one, and drop all that it has recorded. */
void capture_drop(ssq_queue *queue);
/** Mark the queue as captured by this thread, or end that. Other threads that
 *  use the device are not affected. */
void capturer_set(ssq_queue *queue, bool on);
/** True during a capture that only checks whether its ops would run. */
static inline bool capture_dry(const ssq_queue *queue)
{
    return queue->capture != NULL && queue->dry;
}
/** SSQ_ERR_INVALID if another thread captures on the queue. */
ssq_status capture_mine(const ssq_queue *queue, const char *what);
/** Hand over the commands of the bundle so far, and leave the bundle until
 *  bundle_resume(). Use this for work that cannot be kept in a bundle. *graph
 * is for bundle_resume(); NULL without a bundle. */
ssq_status bundle_suspend(ssq_queue *queue, ssq_graph **graph);
/** Continue a bundle that bundle_suspend() has left. */
void bundle_resume(ssq_queue *queue, ssq_graph *graph);

/** Take the locks of all queues of a device before a fork, and release them
 *  after it. */
void queues_hold(ssq_device *device);
void queues_let_go(ssq_device *device);

/** Free the reasons of fallbacks that were logged: lib/core/queue/fallback.c.
 *  */
void fallback_forget(ssq_device *device);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* comm.h - the internal parts of a communicator.
 *
 * A call creates a job: its arguments, an event after the work that was
 * enqueued before, and a gate (lib/core/queue/gate.h). The gate defers work
 * that is enqueued later. With .work, ssq_comm_wait() puts the gate on the
 * queue (work.c).
 *
 * The communicator's thread runs jobs in their order. It waits for the event
 * on a queue that only this thread uses, and compares the headers of all
 * ranks (header.c). It moves the tensors in pieces through host memory
 * (pieces.c). Then it opens the gate. With a direct transport most calls need
 * no thread (direct.h). */
#ifndef LIB_COMM_COMM_H
#define LIB_COMM_COMM_H

#include <sesqui/comm.h>

#include "lib/comm/transport.h"
#include "lib/core/queue/gate.h"

/** Maximum size of a tag, with its terminating NUL. */
#define COMM_TAG 32

struct parts;

/** The kinds of jobs. */
enum comm_call {
    CALL_BROADCAST = 0,
    CALL_ALL_REDUCE,
    CALL_REDUCE_SCATTER,
    CALL_ALL_GATHER,
    CALL_BARRIER,
    CALL_COMPARE,
    CALL_GIVE_UP /* not a collective: end the group with the text in facts */
};

/** A collective, from its call until it is done. */
struct job {
    struct job *next;
    enum comm_call call;
    ssq_comm_reduction reduction;
    unsigned root;
    uint64_t number; /* among the communicator's collectives, from 1 */
    char tag[COMM_TAG];
    size_t n;              /* number of views; the job holds their buffers */
    struct view *views;    /* a list by dtype; x and y; or tensors to compare */
    struct parts *parts;   /* if each rank has a part of each tensor (parts.h);
                              else NULL */
    const int64_t *bounds; /* in parts: size + 1 for each view */
    uint64_t parts_hash;   /* hash of the bounds */
    char *facts; /* of a comparison: names and values, each with a terminating
                    NUL; facts_bytes in all */
    size_t facts_bytes;
    ssq_event *before; /* recorded after the work that was enqueued before */
    ssq_event *after;  /* recorded when the results are written */
    struct gate
        *gate; /* defers later work; gate_drain() drops this reference */
    ssq_comm_work **work; /* where to store the caller's handle; valid until
                             the job is enqueued. NULL: the call puts the gate
                             on the queue */
};

/** Host memory for a piece, and the events of its transfers. */
struct slot {
    char *at;           /* the piece: own, or the device's memory */
    char *own;          /* this rank's values, later the result */
    char *others;       /* the other ranks' values of this rank's part */
    ssq_event *fetched; /* the download is complete */
    ssq_event *sent;    /* the upload has been read */
    bool sending;       /* sent is recorded, and must be waited for */
};

struct direct;

struct ssq_comm {
    struct object object; /* references of callers that may outlive it */
    ssq_device *device;
    unsigned rank, size;
    const struct comm_transport *transport;
    struct comm_link *link;
    ssq_comm_options options;
    unsigned forks;        /* fork_count() at its creation */
    uint64_t number;       /* number of the last collective */
    struct direct *direct; /* direct.h; NULL: the transport is not direct */
    /* fail the queues of the library's collectives in flight, with this
     * thread's error text. Returns true if any was in flight. NULL
     * without direct */
    bool (*fail)(struct ssq_comm *comm, ssq_status status);

    /* used only by the communicator's thread */
    ssq_queue *side;
    struct slot slots[2];
    struct comm_message *messages; /* 2 * size */
    char *headers;      /* HEADER_BYTES per rank; this rank's header is sent */
    const void **terms; /* [size]: the values that are reduced */

    pthread_mutex_t lock; /* for all members that follow */
    pthread_cond_t changed;
    struct job *jobs, **jobs_end;     /* to be run */
    struct job *drains, **drains_end; /* done: their gates must be drained */
    struct job end; /* the job of comm_give_up(): without memory or gate */
    char end_text[ERROR_TEXT];
    bool closing; /* no job will be added */
    bool drained; /* the thread has ended: no job will be added to drains */
    ssq_status status; /* the error that ended the group */
    char text[ERROR_TEXT];
    pthread_t thread, runner;
};

/* ---- comm.c ---- */

/** Create a communicator over a link. On failure the link is closed. */
ssq_status comm_create(ssq_device *device, unsigned rank, unsigned size,
                       const struct comm_transport *transport,
                       struct comm_link *link, const ssq_comm_options *options,
                       ssq_comm **comm);
/** Check the options and copy them. given NULL: the defaults. */
ssq_status comm_options(const ssq_comm_options *given, const char *what,
                        ssq_comm_options *options);

/* ---- start.c ---- */

/** Start a thread that blocks all signals. */
ssq_status comm_thread_start(pthread_t *thread, void *(*fn)(void *user),
                             void *user);

/* ---- ended.c ---- */

/** Return SSQ_OK, or the error that ended the group, with its text. */
ssq_status comm_check(ssq_comm *comm, const char *what);
/** The same for public calls. After comm_give_up() it returns that error, even
 *  if the thread has not ended the group yet. */
ssq_status comm_usable(ssq_comm *comm, const char *what);
/** Return true if memory of a failed exchange may still be read or written. */
bool comm_pending(const ssq_comm *comm);
/** End the group, on all ranks. Only the first status and text are kept. */
void comm_end(ssq_comm *comm, ssq_status status, const char *text);
/** Only record the end on this rank: no other rank is told and no queue fails.
 *  Returns true if it is the first. */
bool comm_end_here(ssq_comm *comm, ssq_status status, const char *text);

/* ---- module.c ---- */

/** Find and load the module of a transport. */
ssq_status comm_module_find(const char *name,
                            const struct comm_module **module);
/** Create a communicator over a link of a module. On failure the link
 *  is closed. */
ssq_status comm_over(ssq_device *device, const struct comm_module *module,
                     struct comm_link *link, unsigned rank, unsigned size,
                     const ssq_comm_options *options, const char *what,
                     ssq_comm **comm);

/* ---- job.c ---- */

/** Create a job without operands. Returns NULL if memory is short. */
struct job *job_create(enum comm_call call, const char *tag);
void job_free(struct job *job);
/** Add an operand, and hold its buffer. job->views must have room for it. */
void job_hold(struct job *job, const ssq_tensor *tensor);
/** Write a job's name for messages, for example "all_reduce sum number 7
 *  \"grads\"". Returns text. */
const char *job_words(const struct job *job, char *text, size_t bytes);
/** The names of a call and of a reduction, given by their numbers in
 *  a header. */
const char *call_name(uint32_t call);
const char *reduction_name(uint32_t reduction);

/** Return elements at .. at + n of a contiguous view. */
struct view view_range(const struct view *v, int64_t at, int64_t n);

/** Return SSQ_ERR_INVALID if a graph is being captured on the queue, or if the
 *  program records it. */
ssq_status queue_uncaptured(ssq_queue *queue, const char *what);

/* ---- job_enqueue.c ---- */

/** Enqueue a job after the work on the queue. Takes ownership of the job, also
 *  on failure. */
ssq_status job_enqueue(ssq_comm *comm, ssq_queue *queue, struct job *job);

/* ---- call.c ---- */

/** Check the queue, the communicator and the tag of a collective. */
ssq_status call_check(ssq_queue *queue, ssq_comm *comm, const char *tag,
                      const char *what);
/* ---- work.c ---- */

/** Create a handle. gate is not on a queue yet; NULL: the collective is in the
 *  queue's order without a gate. Returns NULL if memory is short. */
ssq_comm_work *work_create(ssq_queue *queue, struct gate *gate);

/* ---- thread.c ---- */

/** The main functions of a communicator's threads: comm_thread() runs jobs,
 *  comm_runner() drains their gates. */
void *comm_thread(void *comm);
void *comm_runner(void *comm);

/* ---- header.c ---- */

/** Size of a header with inlined values, and maximum size of these values. */
#define HEADER_BYTES 2048
#define INLINE_BYTES 1536
/** Compare the headers of all ranks for a job. Up to INLINE_BYTES of values are
 *  sent with the header. Rank r's values are then at comm_inlined(comm, r). */
ssq_status header_exchange(ssq_comm *comm, const struct job *job,
                           size_t inlined);
char *comm_inlined(const ssq_comm *comm, unsigned rank);

/** Finish a comparison. If the hashes differ, exchange the facts and report the
 *  first difference. */
ssq_status compare_facts(ssq_comm *comm, const struct job *job);

/* ---- digest.c ---- */

/** Compute the facts of a comparison of tensors. */
ssq_status digests_run(ssq_comm *comm, const struct job *job);

/* ---- exchange.c ---- */

/** Set message i of the next exchange. */
void exchange_set(ssq_comm *comm, size_t i, unsigned peer, bool send,
                  const void *bytes, size_t size);
/** Exchange the first n messages with the other ranks. Waits. */
ssq_status exchange_run(ssq_comm *comm, size_t n);

/* ---- pieces.c ---- */

/** Move the values of a job. All ranks must have agreed on its header. */
ssq_status pieces_run(ssq_comm *comm, const struct job *job);
/** Handle values that are few enough to be sent with the header.
 *
 *  The size is returned by inlined_bytes(), or 0 if the job needs pieces.
 *  Before the headers, inlined_fetch() reads the values from the device.
 *  After them, inlined_run() reduces the values of all ranks and writes
 *  the result. */
size_t inlined_bytes(const ssq_comm *comm, const struct job *job);
ssq_status inlined_fetch(ssq_comm *comm, const struct job *job);
ssq_status inlined_run(ssq_comm *comm, const struct job *job);

/** Copy elements at .. at + n of a contiguous view to or from host memory, on
 *  comm->side. Does not wait. */
ssq_status piece_transfer(ssq_comm *comm, const struct view *v, int64_t at,
                          int64_t n, char *host, bool to_device);

/* ---- parts.c ---- */

/** Move the values of a job with parts. All ranks must have agreed on
 *  its header. */
ssq_status parts_run(ssq_comm *comm, const struct job *job);

/* ---- reduce.c ---- */

/** Reduce n elements into out. terms[r] are rank r's values; out may be one of
 *  the terms. */
void reduce_run(ssq_comm_reduction reduction, ssq_dtype dtype, unsigned size,
                const void *const *terms, void *out, size_t n);

/** Return where rank r's part of a view begins. For r = size: where the last
 *  part ends. */
static inline int64_t parts_bound(const ssq_comm *comm, const struct job *job,
                                  size_t view, unsigned r)
{
    return job->bounds[view * (comm->size + (size_t)1) + r];
}

#endif

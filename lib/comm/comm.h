/* SPDX-License-Identifier: Apache-2.0 */
/* comm.h - a communicator's inside.
 *
 * A call makes a job: its arguments, an event behind what was enqueued before,
 * and a gate for what comes after (lib/core/gate.h), or a work for whoever puts
 * that gate on the queue later (work.c). The communicator's thread
 * takes jobs in their order: it waits for the event by means of a queue of its
 * own, compares headers with all ranks (header.c), and moves the tensors piece
 * by piece through the host's memory (pieces.c). Then it opens the gate. */
#ifndef LIB_COMM_COMM_H
#define LIB_COMM_COMM_H

#include <sesqui/comm.h>

#include "lib/comm/transport.h"
#include "lib/core/gate.h"

/** Longest tag, with its end. */
#define COMM_TAG 32

struct parts;

/** What is called. */
enum comm_call {
    CALL_BROADCAST = 0,
    CALL_ALL_REDUCE,
    CALL_REDUCE_SCATTER,
    CALL_ALL_GATHER,
    CALL_BARRIER,
    CALL_COMPARE,
    CALL_GIVE_UP /* of one rank: the group ends, with what facts say */
};

/** A collective, from its call to its end. */
struct job {
    struct job *next;
    enum comm_call call;
    ssq_comm_reduction reduction;
    unsigned root;
    uint64_t number; /* of the communicator's collectives, from 1 on */
    char tag[COMM_TAG];
    size_t n;              /* views, which hold their buffers */
    struct view *views;    /* a list, by dtype; or x and y */
    struct parts *parts;   /* of a list: what of it is each rank's (parts.h); or
                              NULL */
    const int64_t *bounds; /* of parts: size + 1 for each view */
    uint64_t parts_hash;   /* of them */
    char *facts;           /* of a comparison: names and values, each with its
                              end; facts_bytes of them */
    size_t facts_bytes;
    ssq_event *before;    /* what is enqueued before is done */
    ssq_event *after;     /* the results are there */
    struct gate *gate;    /* what comes after; this reference is gate_pass's */
    ssq_comm_work **work; /* until it is enqueued: where the caller wants a
                             handle; NULL: the gate is put on the queue */
};

/** A piece's memory on the host, and when the device is through with it. */
struct slot {
    char *at;           /* where the piece is: own, or the device's memory */
    char *own;          /* this rank's values, then the result */
    char *others;       /* other ranks' values of this rank's share */
    ssq_event *fetched; /* the download has arrived */
    ssq_event *sent;    /* the upload has been read; not yet recorded: */
    bool sending;
};

struct direct;

struct ssq_comm {
    struct object object; /* of who may call it when it was destroyed */
    ssq_device *device;
    unsigned rank, size;
    const struct comm_transport *transport;
    struct comm_link *link;
    ssq_comm_options options;
    unsigned forks;        /* fork_count() when it was made */
    uint64_t number;       /* of the last call */
    struct direct *direct; /* direct.h; NULL: through the host's memory */
    /* of what the library has under way: the queues fail, with this thread's
     * text; is there any? NULL without direct */
    bool (*fail)(struct ssq_comm *comm, ssq_status status);

    /* the thread's alone */
    ssq_queue *side;
    struct slot slots[2];
    struct comm_message *messages; /* 2 * size of them */
    char *headers;      /* HEADER_BYTES of each rank; this rank's is sent */
    const void **terms; /* of a sum: size addresses */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct job *jobs, **jobs_end;     /* to do */
    struct job *passes, **passes_end; /* done: their gates are to be passed */
    struct job end; /* the last, when this rank gives up: no memory, no gate */
    char end_text[ERROR_TEXT];
    bool closing;                     /* no more jobs */
    bool drained;                     /* the thread has ended: no more passes */
    ssq_status status; /* that has ended the group, with its text */
    char text[ERROR_TEXT];
    pthread_t thread, runner;
};

/* ---- comm.c ---- */

/** A communicator over a link, which is closed where it cannot be made. */
ssq_status comm_create(ssq_device *device, unsigned rank, unsigned size,
                       const struct comm_transport *transport,
                       struct comm_link *link, const ssq_comm_options *options,
                       ssq_comm **comm);
/** The options that were given, or the defaults; checked. */
ssq_status comm_options(const ssq_comm_options *given, const char *what,
                        ssq_comm_options *options);

/* ---- start.c ---- */

/** A thread without the program's signals. */
ssq_status comm_thread_start(pthread_t *thread, void *(*fn)(void *user),
                             void *user);

/* ---- ended.c ---- */

/** SSQ_OK, or the error that has ended the group, with its text. */
ssq_status comm_check(ssq_comm *comm, const char *what);
/** The same for callers, who are told of an end that their own rank has asked
 *  for before its thread has come to it. */
ssq_status comm_usable(ssq_comm *comm, const char *what);
/** May memory of a failed exchange still be read or written? */
bool comm_pending(const ssq_comm *comm);
/** The group has ended. The first status and text are kept. */
void comm_end(ssq_comm *comm, ssq_status status, const char *text);
/** The same, and no other rank is told; true if it was the first. */
bool comm_end_here(ssq_comm *comm, ssq_status status, const char *text);

/* ---- module.c ---- */

/** The module of a transport. */
ssq_status comm_module_find(const char *name,
                            const struct comm_module **module);
/** The communicator over a link that a module has made. */
ssq_status comm_over(ssq_device *device, const struct comm_module *module,
                     struct comm_link *link, unsigned rank, unsigned size,
                     const ssq_comm_options *options, const char *what,
                     ssq_comm **comm);

/* ---- job.c ---- */

/** A job without operands; NULL without memory. */
struct job *job_create(enum comm_call call, const char *tag);
void job_free(struct job *job);
/** One more operand, whose buffer is held; there is room for it. */
void job_hold(struct job *job, const ssq_tensor *tensor);
/** "all_reduce sum number 7 \"grads\"", for texts; returns text. */
const char *job_words(const struct job *job, char *text, size_t bytes);
/** The same of what a header says. */
const char *call_name(uint32_t call);
const char *reduction_name(uint32_t reduction);

/** Elements at .. at + n of a contiguous view. */
struct view view_range(const struct view *v, int64_t at, int64_t n);

/** SSQ_ERR_INVALID where a graph is being captured on the queue. */
ssq_status queue_uncaptured(ssq_queue *queue, const char *what);

/* ---- stand.c ---- */

/** Enqueue it behind what is on the queue; it is taken over, or freed. */
ssq_status job_enqueue(ssq_comm *comm, ssq_queue *queue, struct job *job);

/* ---- call.c ---- */

/** What every collective asks of its queue, communicator and tag. */
ssq_status call_check(ssq_queue *queue, ssq_comm *comm, const char *tag,
                      const char *what);
/* ---- work.c ---- */

/** A handle of a gate that stands on no queue yet, or NULL: of what is in the
 *  queue's order anyway. NULL without memory. */
ssq_comm_work *work_create(ssq_queue *queue, struct gate *gate);

/* ---- thread.c ---- */

/** What the threads of a communicator do. */
void *comm_thread(void *comm);
void *comm_runner(void *comm);

/* ---- header.c ---- */

/** Bytes of a header, and of values that may follow it at once. */
#define HEADER_BYTES 2048
#define INLINE_BYTES 1536
/** Compare the job's header with those of all ranks. Up to INLINE_BYTES of
 *  values travel with it: rank r's are at comm_inlined(comm, r) then. */
ssq_status header_exchange(ssq_comm *comm, const struct job *job,
                           size_t inlined);
char *comm_inlined(const ssq_comm *comm, unsigned rank);

/** The rest of a comparison whose hashes differ: the first difference. */
ssq_status compare_facts(ssq_comm *comm, const struct job *job);

/* ---- digest.c ---- */

/** The facts of a comparison that has views are found. */
ssq_status digests_run(ssq_comm *comm, const struct job *job);

/* ---- exchange.c ---- */

/** Message i of the next exchange. */
void exchange_set(ssq_comm *comm, size_t i, unsigned peer, bool send,
                  const void *bytes, size_t size);
/** Pass the first n. */
ssq_status exchange_run(ssq_comm *comm, size_t n);

/* ---- pieces.c ---- */

/** Move a job's values, which all ranks have agreed on. */
ssq_status pieces_run(ssq_comm *comm, const struct job *job);
/** Where they are so few that they travel with the header: how many bytes, else
 *  0; read them from the device; and, behind the header, reduce all ranks' and
 *  write the result. */
size_t inlined_bytes(const ssq_comm *comm, const struct job *job);
ssq_status inlined_fetch(ssq_comm *comm, const struct job *job);
ssq_status inlined_run(ssq_comm *comm, const struct job *job);

/** Elements at .. at + n of a contiguous view, to or from the host, on the
 *  communicator's own queue. */
ssq_status piece_transfer(ssq_comm *comm, const struct view *v, int64_t at,
                          int64_t n, char *host, bool to_device);

/* ---- parts.c ---- */

/** Move the values of a job with parts, which all ranks have agreed on. */
ssq_status parts_run(ssq_comm *comm, const struct job *job);

/* ---- reduce.c ---- */

/** out[i] of n elements from the ranks' values: terms[r] are rank r's. out may
 *  be one of them. */
void reduce_run(ssq_comm_reduction reduction, ssq_dtype dtype, unsigned size,
                const void *const *terms, void *out, size_t n);

/** Where rank r's part of a view begins; of rank size: where all end. */
static inline int64_t parts_bound(const ssq_comm *comm, const struct job *job,
                                  size_t view, unsigned r)
{
    return job->bounds[view * (comm->size + (size_t)1) + r];
}

#endif

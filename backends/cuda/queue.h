/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - a stream, how far it has come, and its staging memory. */
#ifndef BACKENDS_CUDA_QUEUE_H
#define BACKENDS_CUDA_QUEUE_H

#include "backends/cuda/cuda.h"

/** Marks that may be under way, and commands between two that nobody asks
 *  about. A queue with all marks under way makes its next mark later: progress
 *  is seen in larger steps then, and nothing waits. */
#define QUEUE_MARKS     64u
#define COMMANDS_A_MARK 8u

/** An event in the stream behind a command. */
struct cuda_mark {
    CUevent event;     /* NULL: not made yet; it is used again and again */
    uint64_t sequence; /* commands up to here */
};

/** Bytes of pinned memory for copies that must not wait, and how many copies
 *  it may hold. */
#define STAGING_BYTES  (UINT32_C(1) << 20)
#define STAGING_PIECES 256u

/** A copy's part of the staging memory. */
struct cuda_piece {
    unsigned char *memory; /* of it */
    uint32_t bytes;
    uint32_t span;     /* bytes that it occupies, with what was skipped */
    void *host;        /* where a read arrives */
    uint64_t sequence; /* of the command */
};

/** Pinned memory that is used round and round: pieces leave it in the order in
 *  which they came. */
struct cuda_staging {
    unsigned char *base; /* NULL: nothing was staged yet, or it failed */
    bool failed;
    uint32_t next, used; /* bytes: where the next piece goes, all pieces */
    uint32_t first, count;
    struct cuda_piece piece[STAGING_PIECES];
};

struct backend_queue {
    struct backend_device *device;
    CUstream stream;
    bool own;             /* made here, and destroyed here */
    pthread_mutex_t lock; /* of the rest: completed() comes from any thread */
    struct cuda_mark mark[QUEUE_MARKS];
    uint32_t first, count;                /* of the marks under way */
    uint64_t submitted, marked, finished; /* commands */
    struct cuda_staging staging;
    /* cuBLASLt's, float32 sums on their way to d, and copies of a and b; NULL:
     * not used yet */
    struct backend_mem *lt_workspace, *lt_sums, *lt_copy[2];
    ssq_status status; /* of the first failure; sticky */
    char text[512];
};

/* queue.c */
ssq_status cuda_queue_open(struct backend_device *device,
                           struct backend_queue **queue);
/** A queue over the caller's stream, which stays his. */
ssq_status cuda_queue_over(struct backend_device *device, CUstream stream,
                           struct backend_queue **queue);
void cuda_queue_close(struct backend_queue *queue);
ssq_status cuda_queue_sync(struct backend_queue *queue);
uint64_t cuda_completed(struct backend_queue *queue);
void cuda_command_end(struct backend_queue *queue);
/** Begin a call that enqueues: SSQ_OK with the context entered, or the sticky
 *  error with its text. */
ssq_status cuda_queue_enter(struct backend_queue *queue);
/** End it: leaves the context; an error makes the queue sticky, once what it
 *  works on is let go. */
ssq_status cuda_queue_leave(struct backend_queue *queue, const char *call,
                            CUresult error);
ssq_status cuda_launch(struct backend_queue *queue,
                       const struct launch *launch);
/** Call fn with the stream, whose device is current meanwhile. */
ssq_status cuda_call(struct backend_queue *queue,
                     ssq_status (*fn)(void *user, void *native), void *user);
/** Is the queue's stream one of the caller's that he is recording? */
ssq_status cuda_captured(struct backend_queue *queue, bool *captured);
/** SSQ_ERR_INVALID: what is nothing that such a stream takes. */
ssq_status cuda_refuse_captured(const struct backend_queue *queue,
                                const char *what);

/* staging.c */
/** Room for a piece of the command that is being enqueued, with the lock and
 *  the context; NULL: there is none just now. */
struct cuda_piece *cuda_stage(struct backend_queue *queue, uint64_t bytes);
/** With the lock: let go of the pieces of commands up to `sequence`, which are
 *  done. */
void cuda_unstage(struct backend_queue *queue, uint64_t sequence);

/* copy.c */
extern const struct upload_impl cuda_uploads[];
extern const struct download_impl cuda_downloads[];

/* gemm_cublaslt.c */
extern const struct gemm_impl cuda_gemms[];
void cuda_gemm_explain(const struct backend_device *device,
                       const struct gemm_op *op, unsigned impl,
                       struct gemm_explanation *explanation);
unsigned cuda_gemm_algorithms(const struct backend_device *device,
                              const struct gemm_op *op, unsigned impl,
                              uint64_t *names);
/** With the context: memory for products, which a queue over a stream of the
 *  caller's has from the beginning, as that may be captured. */
ssq_status cuda_gemm_room(struct backend_queue *queue);

/* event.c */
ssq_status cuda_event_open(struct backend_device *device,
                           struct backend_event **event);
void cuda_event_close(struct backend_event *event);
ssq_status cuda_event_record(struct backend_event *event,
                             struct backend_queue *queue);
ssq_status cuda_event_wait(struct backend_queue *queue,
                           struct backend_event *event);
ssq_status cuda_event_query(struct backend_event *event);
ssq_status cuda_event_sync(struct backend_event *event);
ssq_status cuda_event_elapsed(struct backend_event *from,
                              struct backend_event *to, double *seconds);

/* graph.c */
ssq_status cuda_graph_create(struct backend_queue *queue,
                             const struct launch *const *launches, size_t n,
                             struct backend_graph **graph);
ssq_status cuda_graph_launch(struct backend_queue *queue,
                             struct backend_graph *graph);
void cuda_graph_free(struct backend_graph *graph);

#endif

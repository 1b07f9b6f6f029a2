/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - a stream, its progress, and its staging memory. */
#ifndef BACKENDS_CUDA_QUEUE_H
#define BACKENDS_CUDA_QUEUE_H

#include "backends/cuda/cuda.h"

/** Most marks in flight, and commands from one mark to the next unless a query
 *  adds one. If all marks are in flight, the next mark is added later: the
 *  progress is then seen in larger steps, and no call waits. */
#define QUEUE_MARKS     64u
#define COMMANDS_A_MARK 8u

/** An event in the stream after a command. */
struct cuda_mark {
    CUevent event;     /* NULL: not created yet; it is reused */
    uint64_t sequence; /* number of commands up to here */
};

/** Bytes of pinned memory for copies that must not wait, and the most copies in
 *  it. */
#define STAGING_BYTES  (UINT32_C(1) << 20)
#define STAGING_PIECES 256u

/** The part of the staging memory that one copy uses. */
struct cuda_piece {
    unsigned char *memory;
    uint32_t bytes;
    uint32_t span;     /* bytes that it occupies, including skipped ones */
    void *host;        /* destination of a read */
    uint64_t sequence; /* number of the command */
};

/** A ring of pinned memory: pieces are released in the order in which they were
 *  added. */
struct cuda_staging {
    unsigned char *base; /* NULL: not allocated yet, or allocation failed */
    bool failed;
    uint32_t next, used; /* bytes: offset of the next piece, and size of all
                            pieces */
    uint32_t first, count;
    struct cuda_piece piece[STAGING_PIECES];
};

struct backend_queue {
    struct backend_device *device;
    CUstream stream;
    bool own;             /* created by this backend, which destroys it */
    pthread_mutex_t lock; /* guards the members below: any thread may call
                             cuda_completed() */
    struct cuda_mark mark[QUEUE_MARKS];
    uint32_t first, count;                /* of the marks in flight */
    uint64_t submitted, marked, finished; /* counts of commands */
    struct cuda_staging staging;
    /* the workspace of cuBLASLt, float32 sums of d, and copies of a and b;
     * NULL: not allocated yet. Only calls that enqueue use them */
    struct backend_mem *lt_workspace, *lt_sums, *lt_copy[2];
    ssq_status status; /* of the first failure; sticky */
    char text[512];
};

/* queue.c */
ssq_status cuda_queue_open(struct backend_device *device,
                           struct backend_queue **queue);
/** Create a queue over the caller's stream, which is never destroyed here. */
ssq_status cuda_queue_over(struct backend_device *device, CUstream stream,
                           struct backend_queue **queue);
void cuda_queue_close(struct backend_queue *queue);
ssq_status cuda_queue_sync(struct backend_queue *queue);
uint64_t cuda_completed(struct backend_queue *queue);
ssq_status cuda_queue_failure(struct backend_queue *queue);
/** Mark the commands up to `sequence` as done, because an event after them was
 *  reached. If all marks are in flight, these commands have no mark yet. */
void cuda_queue_reached(struct backend_queue *queue, uint64_t sequence);
void cuda_command_end(struct backend_queue *queue);
/** Begin a call that enqueues: enter the context. If the queue has failed,
 *  return that error with its text instead. */
ssq_status cuda_queue_enter(struct backend_queue *queue);
/** The same for a call that the caller's capture of the stream cannot hold:
 *  SSQ_ERR_INVALID, with the name of the call, if the stream is captured. */
ssq_status cuda_queue_enter_uncaptured(struct backend_queue *queue,
                                       const char *what);
/** End such a call: leave the context. If error is not CUDA_SUCCESS, store it
 *  as the queue's failure, and wait for all commands unless the stream is
 *  captured. The core may then release their operands. */
ssq_status cuda_queue_leave(struct backend_queue *queue, const char *call,
                            CUresult error);
ssq_status cuda_launch(struct backend_queue *queue,
                       const struct launch *launch);
/** Call fn with the stream; the device's context is current during the call. */
ssq_status cuda_call(struct backend_queue *queue,
                     ssq_status (*fn)(void *user, void *native), void *user);
/** Set *captured if the caller captures the queue's stream. SSQ_ERR_INVALID: it
 *  is the default stream, and a captured stream waits for that. */
ssq_status cuda_captured(struct backend_queue *queue, bool *captured);
/** Set an error text which says that `what` cannot be captured, and return
 *  SSQ_ERR_INVALID. */
ssq_status cuda_refuse_captured(const struct backend_queue *queue,
                                const char *what);

/* staging.c */
/** Allocate a piece of staging memory for the command that is being enqueued.
 *  Returns NULL if bytes is more than a quarter of the memory, or not enough is
 *  free. The caller must hold q->lock and have entered the context. */
struct cuda_piece *cuda_stage(struct backend_queue *queue, uint64_t bytes);
/** Release the pieces of the commands up to `sequence`, which are done. The
 *  caller must hold q->lock. */
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

/* gemm_run.c */
/** Run a matmul that gemm_cublaslt.c admits, by cuBLASLt. */
ssq_status cuda_lt_gemm_run(struct backend_queue *queue,
                            const struct gemm_op *op);
/** Allocate the memory for matmuls. A queue over a stream of the caller gets it
 *  when it is created, because the stream may be captured later. */
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
void cuda_event_reached(struct backend_queue *queue,
                        struct backend_event *event);
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

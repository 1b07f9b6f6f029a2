/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - a stream and its progress.
 *
 * After every few commands the stream has a mark, which is an event. If a mark
 * is reached, all commands before it are done. A mark for each command would
 * cost as much as a small launch. A query of the progress adds a mark after all
 * commands, so that repeated queries end.
 *
 * A stream of the caller may be captured into a graph of the caller. During the
 * capture it accepts only launches: marks and waiting would break the
 * capture. */
#include "backends/cuda/queue.h"

#include <stdio.h>

static ssq_status cuda_queue_open_over(struct backend_device *d,
                                       CUstream stream, bool own,
                                       struct backend_queue **queue)
{
    struct backend_queue *q = d->core->mem_alloc(sizeof(*q));
    if (q == NULL || pthread_mutex_init(&q->lock, NULL) != 0) {
        d->core->mem_free(q);
        return cuda_no_memory(d->core, sizeof(*q));
    }
    q->device = d;
    q->stream = stream;
    q->own = own;
    *queue = q;
    return SSQ_OK;
}

ssq_status cuda_queue_open(struct backend_device *d,
                           struct backend_queue **queue)
{
    CUstream stream;
    ssq_status st = cuda_enter(d);
    if (st != SSQ_OK)
        return st;
    /* do not wait for the context's default stream, which other code in the
     * process may use */
    CUresult e = CU(d, StreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
    st = e == CUDA_SUCCESS ? cuda_queue_open_over(d, stream, true, queue)
                           : cuda_error(d, "cuStreamCreate", e);
    if (e == CUDA_SUCCESS && st != SSQ_OK)
        (void)CU(d, StreamDestroy)(stream);
    cuda_leave(d);
    return st;
}

ssq_status cuda_queue_over(struct backend_device *d, CUstream stream,
                           struct backend_queue **queue)
{
    ssq_status st = cuda_queue_open_over(d, stream, false, queue);
    if (st != SSQ_OK)
        return st;
    st = cuda_gemm_room(*queue);
    if (st != SSQ_OK)
        cuda_queue_close(*queue);
    return st;
}

/* Store a failure, unless there is one already. The caller must hold
 * q->lock. */
static void cuda_queue_note_failure(struct backend_queue *q, const char *call,
                                    CUresult error)
{
    if (q->status != SSQ_OK)
        return;
    q->status = SSQ_ERR_DEVICE;
    snprintf(q->text, sizeof(q->text), "cuda: %s: %s (%d)", call,
             cuda_error_name(q->device->calls, error), (int)error);
}

ssq_status cuda_queue_failure(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = q->status;
    pthread_mutex_unlock(&q->lock);
    /* the text never changes after a failure */
    return st == SSQ_OK ? SSQ_OK
                        : q->device->core->error_set(st, "%s", q->text);
}

/* Set *captured if the caller captures the stream. While a stream that waits
 * for the default stream is captured, the default stream reports an error.
 * Calls on it would break that capture, so it counts as captured. With the
 * context. */
static CUresult ask_captured(const struct backend_queue *q, bool *captured)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult e = CUDA_SUCCESS;
    if (!q->own)
        e = CU(q->device, StreamIsCapturing)(q->stream, &status);
    *captured = status != CU_STREAM_CAPTURE_STATUS_NONE ||
                e == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return e;
}

/* As ask_captured(). Another failure concerns the context, and later calls
 * report it. */
static bool is_captured(const struct backend_queue *q)
{
    bool captured;
    (void)ask_captured(q, &captured);
    return captured;
}

ssq_status cuda_captured(struct backend_queue *q, bool *captured)
{
    *captured = false;
    if (q->own)
        return SSQ_OK;
    ssq_status st = cuda_enter(q->device);
    if (st != SSQ_OK)
        return st;
    CUresult e = ask_captured(q, captured);
    cuda_leave(q->device);
    if (e == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return q->device->core->error_set(
            SSQ_ERR_INVALID, "cuda: a stream that waits for the default stream "
                             "is being captured: the default stream rests");
    return e == CUDA_SUCCESS ? SSQ_OK
                             : cuda_error(q->device, "cuStreamIsCapturing", e);
}

ssq_status cuda_refuse_captured(const struct backend_queue *q, const char *what)
{
    return q->device->core->error_set(
        SSQ_ERR_INVALID,
        "cuda: %s: the queue's stream is being captured, by a call of CUDA",
        what);
}

/* Mark the commands up to `sequence` as done. The caller must hold q->lock. */
static void cuda_queue_advance(struct backend_queue *q, uint64_t sequence)
{
    cuda_unstage(q, sequence);
    q->finished = sequence;
}

/* Remove the marks that are reached. The caller must hold q->lock and have
 * entered the context. */
static void pass_reached(struct backend_queue *q)
{
    while (q->count > 0) {
        const struct cuda_mark *m = &q->mark[q->first];
        CUresult e = CU(q->device, EventQuery)(m->event);
        if (e == CUDA_ERROR_NOT_READY)
            return;
        q->first = (q->first + 1) % QUEUE_MARKS;
        q->count--;
        if (e == CUDA_ERROR_CAPTURED_EVENT) {
            /* a capture began while it was recorded: another mark is needed */
            q->marked = q->finished;
            continue;
        }
        if (e != CUDA_SUCCESS)
            cuda_queue_note_failure(q, "a command (cuEventQuery)", e);
        cuda_queue_advance(q, m->sequence);
    }
}

/* Add a mark after all commands. If that fails for lack of memory, the progress
 * is seen at the next sync. The caller must hold q->lock and have entered the
 * context. */
static void put_mark(struct backend_queue *q)
{
    if (q->count == QUEUE_MARKS || q->marked == q->submitted || is_captured(q))
        return;
    struct cuda_mark *m = &q->mark[(q->first + q->count) % QUEUE_MARKS];
    CUresult e = CUDA_SUCCESS;
    if (m->event == NULL)
        e = CU(q->device, EventCreate)(&m->event, CU_EVENT_DISABLE_TIMING);
    if (e != CUDA_SUCCESS) {
        m->event = NULL;
        return;
    }
    e = CU(q->device, EventRecord)(m->event, q->stream);
    if (e != CUDA_SUCCESS) {
        cuda_queue_note_failure(q, "cuEventRecord", e);
        return;
    }
    m->sequence = q->marked = q->submitted;
    q->count++;
}

/* After a failure no mark can be recorded: ask the stream itself whether
 * anything still runs. The caller must hold q->lock and have entered the
 * context. */
static void pass_failed(struct backend_queue *q)
{
    if (q->status != SSQ_OK && q->count == 0 && !is_captured(q) &&
        CU(q->device, StreamQuery)(q->stream) != CUDA_ERROR_NOT_READY)
        cuda_queue_advance(q, q->submitted);
}

/* Wait for all commands, and store the result. The caller must have entered the
 * context, and must not hold q->lock. The stream must not be captured. */
static void cuda_queue_finish(struct backend_queue *q)
{
    CUstreamCaptureMode mode = cuda_relax(q->device);
    CUresult e = CU(q->device, StreamSynchronize)(q->stream);
    cuda_relaxed(q->device, mode);
    pthread_mutex_lock(&q->lock);
    if (e != CUDA_SUCCESS)
        cuda_queue_note_failure(q, "cuStreamSynchronize", e);
    q->first = (q->first + q->count) % QUEUE_MARKS;
    q->count = 0;
    q->marked = q->submitted;
    /* copies of the command that is being enqueued are done, too */
    cuda_unstage(q, q->submitted + 1);
    q->finished = q->submitted;
    pthread_mutex_unlock(&q->lock);
}

ssq_status cuda_queue_enter(struct backend_queue *q)
{
    ssq_status st = cuda_queue_failure(q);
    return st == SSQ_OK ? cuda_enter(q->device) : st;
}

ssq_status cuda_queue_enter_uncaptured(struct backend_queue *q,
                                       const char *what)
{
    bool captured;
    ssq_status st = cuda_captured(q, &captured);
    if (st == SSQ_OK && captured)
        st = cuda_refuse_captured(q, what);
    return st == SSQ_OK ? cuda_queue_enter(q) : st;
}

ssq_status cuda_queue_leave(struct backend_queue *q, const char *call,
                            CUresult error)
{
    if (error == CUDA_SUCCESS) {
        cuda_leave(q->device);
        return SSQ_OK;
    }
    pthread_mutex_lock(&q->lock);
    cuda_queue_note_failure(q, call, error);
    pthread_mutex_unlock(&q->lock);
    if (!is_captured(q))
        cuda_queue_finish(
            q); /* the core releases the command's operands after this */
    cuda_leave(q->device);
    return cuda_queue_failure(q);
}

ssq_status cuda_queue_sync(struct backend_queue *q)
{
    ssq_status st = cuda_enter(q->device);
    if (st != SSQ_OK)
        return st;
    bool captured = is_captured(q);
    if (!captured)
        cuda_queue_finish(q);
    cuda_leave(q->device);
    return captured ? cuda_refuse_captured(q, "sync") : cuda_queue_failure(q);
}

void cuda_queue_close(struct backend_queue *q)
{
    struct backend_device *d = q->device;
    if (cuda_enter(d) == SSQ_OK) {
        CUstreamCaptureMode mode = cuda_relax(d);
        if (!is_captured(q))
            cuda_queue_finish(q);
        for (uint32_t i = 0; i < QUEUE_MARKS; i++)
            if (q->mark[i].event != NULL)
                (void)CU(d, EventDestroy)(q->mark[i].event);
        if (q->staging.base != NULL)
            (void)CU(d, MemFreeHost)(q->staging.base);
        if (q->lt_workspace != NULL)
            cuda_free(d, q->lt_workspace);
        if (q->lt_sums != NULL)
            cuda_free(d, q->lt_sums);
        for (int i = 0; i < 2; i++)
            if (q->lt_copy[i] != NULL)
                cuda_free(d, q->lt_copy[i]);
        if (q->own)
            (void)CU(d, StreamDestroy)(q->stream);
        cuda_relaxed(d, mode);
        cuda_leave(d);
    }
    pthread_mutex_destroy(&q->lock);
    d->core->mem_free(q);
}

void cuda_command_end(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->submitted++;
    if (q->submitted - q->marked >= COMMANDS_A_MARK &&
        cuda_enter(q->device) == SSQ_OK) {
        CUstreamCaptureMode mode = cuda_relax(q->device);
        put_mark(q);
        cuda_relaxed(q->device, mode);
        cuda_leave(q->device);
    }
    pthread_mutex_unlock(&q->lock);
}

void cuda_queue_reached(struct backend_queue *q, uint64_t sequence)
{
    pthread_mutex_lock(&q->lock);
    while (q->count > 0 && q->mark[q->first].sequence <= sequence) {
        q->first = (q->first + 1) % QUEUE_MARKS;
        q->count--;
    }
    if (q->finished < sequence)
        cuda_queue_advance(q, sequence);
    pthread_mutex_unlock(&q->lock);
}

uint64_t cuda_completed(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    if (q->finished < q->submitted && cuda_enter(q->device) == SSQ_OK) {
        CUstreamCaptureMode mode = cuda_relax(q->device);
        pass_reached(q);
        put_mark(q);
        pass_failed(q);
        cuda_relaxed(q->device, mode);
        cuda_leave(q->device);
    }
    uint64_t finished = q->finished;
    pthread_mutex_unlock(&q->lock);
    return finished;
}

ssq_status cuda_launch(struct backend_queue *q, const struct launch *launch)
{
    ssq_status st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    return cuda_queue_leave(q, "cuLaunchKernel",
                            cuda_launch_on(q->device, q->stream, launch));
}

/* An error of fn does not change the queue: its caller reports it. */
ssq_status cuda_call(struct backend_queue *q,
                     ssq_status (*fn)(void *user, void *native), void *user)
{
    ssq_status st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    st = fn(user, q->stream);
    cuda_leave(q->device);
    return st;
}

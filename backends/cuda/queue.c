/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - a stream, and how far it has come.
 *
 * Behind every few commands the stream has a mark, an event; all that came
 * before one that was reached is done. A mark for each command would cost as
 * much as a small launch. Who asks for progress gets a mark behind all that
 * there is, so that asking again and again ends. */
#include "backends/cuda/queue.h"

#include <stdio.h>

static ssq_status open_over(struct backend_device *d, CUstream stream, bool own,
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
    /* one that does not wait for the context's default stream, which others in
     * the process may use */
    CUresult e = CU(d, StreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
    st = e == CUDA_SUCCESS ? open_over(d, stream, true, queue)
                           : cuda_error(d, "cuStreamCreate", e);
    if (e == CUDA_SUCCESS && st != SSQ_OK)
        (void)CU(d, StreamDestroy)(stream);
    cuda_leave(d);
    return st;
}

ssq_status cuda_queue_over(struct backend_device *d, CUstream stream,
                           struct backend_queue **queue)
{
    ssq_status st = open_over(d, stream, false, queue);
    if (st != SSQ_OK)
        return st;
    st = cuda_gemm_room(*queue);
    if (st != SSQ_OK)
        cuda_queue_close(*queue);
    return st;
}

/* With the lock: the first failure stays. */
static void note_failure(struct backend_queue *q, const char *call,
                         CUresult error)
{
    if (q->status != SSQ_OK)
        return;
    q->status = SSQ_ERR_DEVICE;
    snprintf(q->text, sizeof(q->text), "cuda: %s: %s (%d)", call,
             cuda_error_name(q->device->calls, error), (int)error);
}

static ssq_status check(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = q->status;
    pthread_mutex_unlock(&q->lock);
    /* the text of a failure is never written again */
    return st == SSQ_OK ? SSQ_OK
                        : q->device->core->error_set(st, "%s", q->text);
}

/* With the lock: commands up to here are done. */
static void advance(struct backend_queue *q, uint64_t sequence)
{
    cuda_unstage(q, sequence);
    q->finished = sequence;
}

/* With the lock and the context: pass the marks that were reached. */
static void pass_reached(struct backend_queue *q)
{
    while (q->count > 0) {
        const struct cuda_mark *m = &q->mark[q->first];
        CUresult e = CU(q->device, EventQuery)(m->event);
        if (e == CUDA_ERROR_NOT_READY)
            return;
        if (e != CUDA_SUCCESS)
            note_failure(q, "a command (cuEventQuery)", e);
        advance(q, m->sequence);
        q->first = (q->first + 1) % QUEUE_MARKS;
        q->count--;
    }
}

/* With the lock and the context: a mark behind all that was enqueued. Without
 * one (no memory for an event) progress shows at the next sync. */
static void put_mark(struct backend_queue *q)
{
    if (q->count == QUEUE_MARKS || q->marked == q->submitted)
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
        note_failure(q, "cuEventRecord", e);
        return;
    }
    m->sequence = q->marked = q->submitted;
    q->count++;
}

/* Wait for everything, without the lock, and write down what came of it. With
 * the context. */
static void finish(struct backend_queue *q)
{
    CUresult e = CU(q->device, StreamSynchronize)(q->stream);
    pthread_mutex_lock(&q->lock);
    if (e != CUDA_SUCCESS)
        note_failure(q, "cuStreamSynchronize", e);
    q->first = (q->first + q->count) % QUEUE_MARKS;
    q->count = 0;
    q->marked = q->submitted;
    /* a copy of the command under way is done as well */
    cuda_unstage(q, q->submitted + 1);
    q->finished = q->submitted;
    pthread_mutex_unlock(&q->lock);
}

ssq_status cuda_queue_enter(struct backend_queue *q)
{
    ssq_status st = check(q);
    return st == SSQ_OK ? cuda_enter(q->device) : st;
}

ssq_status cuda_queue_leave(struct backend_queue *q, const char *call,
                            CUresult error)
{
    if (error == CUDA_SUCCESS) {
        cuda_leave(q->device);
        return SSQ_OK;
    }
    pthread_mutex_lock(&q->lock);
    note_failure(q, call, error);
    pthread_mutex_unlock(&q->lock);
    finish(q); /* the core lets go of the command's operands */
    cuda_leave(q->device);
    return check(q);
}

ssq_status cuda_queue_sync(struct backend_queue *q)
{
    ssq_status st = cuda_enter(q->device);
    if (st != SSQ_OK)
        return st;
    finish(q);
    cuda_leave(q->device);
    return check(q);
}

void cuda_queue_close(struct backend_queue *q)
{
    struct backend_device *d = q->device;
    if (cuda_enter(d) == SSQ_OK) {
        finish(q);
        for (uint32_t i = 0; i < QUEUE_MARKS; i++)
            if (q->mark[i].event != NULL)
                (void)CU(d, EventDestroy)(q->mark[i].event);
        if (q->staging.base != NULL)
            (void)CU(d, MemFreeHost)(q->staging.base);
        if (q->lt_workspace != NULL)
            cuda_free(d, q->lt_workspace);
        if (q->lt_sums != NULL)
            cuda_free(d, q->lt_sums);
        if (q->own)
            (void)CU(d, StreamDestroy)(q->stream);
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
        put_mark(q);
        cuda_leave(q->device);
    }
    pthread_mutex_unlock(&q->lock);
}

uint64_t cuda_completed(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    if (q->finished < q->submitted && cuda_enter(q->device) == SSQ_OK) {
        pass_reached(q);
        put_mark(q);
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

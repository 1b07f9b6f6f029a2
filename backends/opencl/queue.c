/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - an in-order command queue, and how far it has come.
 *
 * The event of each command's last part is in a ring until it is seen
 * complete: the queue is in order, so that the first ones are always the
 * oldest. A driver may hold work back until it is flushed: the queue flushes
 * now and then, when an event is recorded, and when someone asks for progress
 * a second time without having given it more to do. */
#include "backends/opencl/opencl.h"

#include <stdio.h>

/** Commands that may wait for a flush. */
#define FLUSH_AFTER 16u

/** Where a command ended: its last event, with a reference. */
struct opencl_mark {
    cl_event event;
    /* commands that are done when the event is */
    uint64_t sequence;
};

/* A queue over a command queue, whose reference is taken over, also on
 * failure. */
static ssq_status opencl_queue_open_over(struct backend_device *device,
                                         cl_command_queue cl,
                                         struct backend_queue **queue)
{
    struct backend_queue *q = device->core->mem_alloc(sizeof(*q));
    if (q == NULL || pthread_mutex_init(&q->lock, NULL) != 0) {
        device->core->mem_free(q);
        (void)CL(ReleaseCommandQueue)(cl);
        return opencl_no_memory(device->core, sizeof(*q));
    }
    q->device = device;
    q->cl = cl;
    *queue = q;
    return SSQ_OK;
}

ssq_status opencl_queue_open(struct backend_device *device,
                             struct backend_queue **queue)
{
    cl_int e;
    cl_command_queue cl = CL(CreateCommandQueue)(device->context, device->id,
                                                 CL_QUEUE_PROFILING_ENABLE, &e);
    return cl == NULL
               ? opencl_create_error(device->core, "clCreateCommandQueue", e)
               : opencl_queue_open_over(device, cl, queue);
}

ssq_status opencl_queue_over(struct backend_device *device, cl_command_queue cl,
                             struct backend_queue **queue)
{
    cl_int e = CL(RetainCommandQueue)(cl);
    return e == CL_SUCCESS
               ? opencl_queue_open_over(device, cl, queue)
               : opencl_error(device->core, "clRetainCommandQueue", e);
}

/* Keep a failure, unless there was one before: failures after the first one are
 * its consequence. With the lock. */
static void opencl_queue_note_failure(struct backend_queue *q, const char *call,
                                      cl_int error)
{
    if (q->status != SSQ_OK)
        return;
    q->status = SSQ_ERR_DEVICE;
    snprintf(q->text, sizeof(q->text), "opencl: %s: %s (%d)", call,
             opencl_error_name(error), (int)error);
}

ssq_status opencl_queue_check(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = q->status;
    pthread_mutex_unlock(&q->lock);
    /* the text of a failure is never written again */
    return st == SSQ_OK ? SSQ_OK
                        : q->device->core->error_set(st, "%s", q->text);
}

/* Release the ring's first mark, whose command is finished. With the lock. */
static void pop(struct backend_queue *q)
{
    struct opencl_mark *m = &q->ring[q->head];
    q->finished = m->sequence;
    (void)CL(ReleaseEvent)(m->event);
    q->head = (q->head + 1) & (q->room - 1);
    q->count--;
}

/* Is an event's work done? *error: it failed, or there was no answer. */
static bool opencl_queue_is_done(cl_event event, cl_int *error)
{
    cl_int status = CL_QUEUED;
    *error = CL(GetEventInfo)(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                              sizeof(status), &status, NULL);
    if (*error == CL_SUCCESS && status < 0)
        *error = status;
    return status < 0 || status == CL_COMPLETE;
}

/* Pass all marks whose work is done. The first that is not ends it. With the
 * lock. */
static void pass_done(struct backend_queue *q)
{
    bool done = true;
    while (q->count > 0 && done) {
        cl_int error;
        done = opencl_queue_is_done(q->ring[q->head].event, &error);
        if (error != CL_SUCCESS)
            opencl_queue_note_failure(q, "a command", error);
        if (done)
            pop(q);
    }
}

/* Wait for everything. The lock is only taken to write down what came of it, so
 * that other threads may ask meanwhile. */
static void opencl_queue_finish(struct backend_queue *q)
{
    cl_int e = CL(Finish)(q->cl);
    /* It may have waited for a part only, and the rest still has the host's
     * memory in its hands: wait once more. */
    if (e != CL_SUCCESS)
        (void)CL(Finish)(q->cl);
    pthread_mutex_lock(&q->lock);
    if (e != CL_SUCCESS)
        opencl_queue_note_failure(q, "clFinish", e);
    pass_done(q);
    while (q->count > 0) /* a device that failed finishes nothing more */
        pop(q);
    q->finished = q->submitted;
    q->unflushed = 0;
    pthread_mutex_unlock(&q->lock);
}

ssq_status opencl_queue_fail(struct backend_queue *q, const char *call,
                             cl_int error)
{
    pthread_mutex_lock(&q->lock);
    opencl_queue_note_failure(q, call, error);
    pthread_mutex_unlock(&q->lock);
    /* the core lets go of the command's operands after this */
    opencl_queue_finish(q);
    return opencl_queue_check(q);
}

ssq_status opencl_queue_sync(struct backend_queue *q)
{
    opencl_queue_finish(q);
    return opencl_queue_check(q);
}

void opencl_queue_close(struct backend_queue *q)
{
    opencl_queue_finish(q);
    if (q->last != NULL)
        (void)CL(ReleaseEvent)(q->last);
    (void)CL(ReleaseCommandQueue)(q->cl);
    pthread_mutex_destroy(&q->lock);
    q->device->core->mem_free(q->ring);
    q->device->core->mem_free(q);
}

void opencl_queue_enqueued(struct backend_queue *q, cl_event event)
{
    if (q->last != NULL)
        (void)CL(ReleaseEvent)(q->last);
    q->last = event;
}

/* Make room for one more mark; false: no memory. With the lock. */
static bool opencl_queue_grow(struct backend_queue *q)
{
    if (q->count < q->room)
        return true;
    size_t room = q->room == 0 ? 64 : 2 * q->room;
    struct opencl_mark *ring = q->device->core->mem_alloc(room * sizeof(*ring));
    if (ring == NULL)
        return false;
    for (size_t i = 0; i < q->count; i++)
        ring[i] = q->ring[(q->head + i) & (q->room - 1)];
    q->device->core->mem_free(q->ring);
    q->ring = ring;
    q->room = room;
    q->head = 0;
    return true;
}

void opencl_command_end(struct backend_queue *q)
{
    bool marked = true;
    pthread_mutex_lock(&q->lock);
    q->submitted++;
    q->unflushed++;
    if (q->last != NULL) {
        marked = opencl_queue_grow(q);
        if (marked)
            q->ring[(q->head + q->count++) & (q->room - 1)] =
                (struct opencl_mark){q->last, q->submitted};
        /* The command enqueued nothing: it is done with the one before. */
    } else if (q->count > 0) {
        q->ring[(q->head + q->count - 1) & (q->room - 1)].sequence++;
    } else {
        q->finished = q->submitted;
    }
    bool flush = q->unflushed >= FLUSH_AFTER;
    if (flush)
        q->unflushed = 0;
    pthread_mutex_unlock(&q->lock);
    /* Without memory for the mark no one could tell when the command is done:
     * wait for it instead. */
    if (!marked) {
        opencl_queue_finish(q);
        (void)CL(ReleaseEvent)(q->last);
    } else if (flush) {
        (void)CL(Flush)(q->cl); /* a failure shows at the next sync */
    }
    q->last = NULL;
}

/* A thread that polls twice with nothing enqueued in between is assumed to
 * wait: commands that the driver may hold back are flushed. */
uint64_t opencl_completed(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    pass_done(q);
    uint64_t finished = q->finished;
    bool flush =
        finished < q->submitted && q->unflushed > 0 && q->asked == q->submitted;
    q->asked = q->submitted;
    if (flush)
        q->unflushed = 0;
    pthread_mutex_unlock(&q->lock);
    if (flush)
        (void)CL(Flush)(q->cl);
    return finished;
}

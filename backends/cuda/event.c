/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - events: positions in streams that can be waited for and timed. */
#include "backends/cuda/queue.h"

struct backend_event {
    struct backend_device *device;
    CUevent event;
    uint64_t sequence; /* number of commands before its last record */
};

ssq_status cuda_event_open(struct backend_device *d,
                           struct backend_event **event)
{
    struct backend_event *ev = d->core->mem_alloc(sizeof(*ev));
    if (ev == NULL)
        return cuda_no_memory(d->core, sizeof(*ev));
    ev->device = d;
    ssq_status st = cuda_enter(d);
    if (st == SSQ_OK) {
        CUresult e = CU(d, EventCreate)(&ev->event, CU_EVENT_DEFAULT);
        cuda_leave(d);
        st = e == CUDA_SUCCESS ? SSQ_OK : cuda_error(d, "cuEventCreate", e);
    }
    if (st != SSQ_OK)
        d->core->mem_free(ev);
    else
        *event = ev;
    return st;
}

void cuda_event_close(struct backend_event *ev)
{
    struct backend_device *d = ev->device;
    if (cuda_enter(d) == SSQ_OK) {
        (void)CU(d, EventDestroy)(ev->event);
        cuda_leave(d);
    }
    d->core->mem_free(ev);
}

/* An event that is recorded in a caller's graph could not be queried. */
ssq_status cuda_event_record(struct backend_event *ev, struct backend_queue *q)
{
    ssq_status st = cuda_queue_enter_uncaptured(q, "event_record");
    if (st != SSQ_OK)
        return st;
    st = cuda_queue_leave(q, "cuEventRecord",
                          CU(q->device, EventRecord)(ev->event, q->stream));
    if (st != SSQ_OK)
        return st;
    ev->sequence = q->submitted;
    return SSQ_OK;
}

ssq_status cuda_event_wait(struct backend_queue *q, struct backend_event *ev)
{
    ssq_status st = cuda_queue_enter_uncaptured(q, "queue_wait");
    if (st != SSQ_OK)
        return st;
    return cuda_queue_leave(
        q, "cuStreamWaitEvent",
        CU(q->device, StreamWaitEvent)(q->stream, ev->event, 0));
}

ssq_status cuda_event_query(struct backend_event *ev)
{
    const struct backend_device *d = ev->device;
    ssq_status st = cuda_enter(d);
    if (st != SSQ_OK)
        return st;
    CUstreamCaptureMode mode = cuda_relax(d);
    CUresult e = CU(d, EventQuery)(ev->event);
    cuda_relaxed(d, mode);
    cuda_leave(d);
    if (e == CUDA_ERROR_NOT_READY)
        return d->core->error_set(SSQ_ERR_NOT_READY,
                                  "cuda: the event is not reached yet");
    return e == CUDA_SUCCESS ? SSQ_OK : cuda_error(d, "cuEventQuery", e);
}

ssq_status cuda_event_sync(struct backend_event *ev)
{
    const struct backend_device *d = ev->device;
    ssq_status st = cuda_enter(d);
    if (st != SSQ_OK)
        return st;
    CUstreamCaptureMode mode = cuda_relax(d);
    CUresult e = CU(d, EventSynchronize)(ev->event);
    cuda_relaxed(d, mode);
    cuda_leave(d);
    return e == CUDA_SUCCESS ? SSQ_OK : cuda_error(d, "cuEventSynchronize", e);
}

void cuda_event_reached(struct backend_queue *q, struct backend_event *ev)
{
    cuda_queue_reached(q, ev->sequence);
}

ssq_status cuda_event_elapsed(struct backend_event *from,
                              struct backend_event *to, double *seconds)
{
    const struct backend_device *d = from->device;
    float ms = 0.0f;
    ssq_status st = cuda_enter(d);
    if (st != SSQ_OK)
        return st;
    CUstreamCaptureMode mode = cuda_relax(d);
    CUresult e = CU(d, EventElapsedTime)(&ms, from->event, to->event);
    cuda_relaxed(d, mode);
    cuda_leave(d);
    if (e == CUDA_ERROR_NOT_READY)
        return d->core->error_set(SSQ_ERR_NOT_READY,
                                  "cuda: an event is not reached yet");
    if (e == CUDA_SUCCESS)
        *seconds = (double)ms * 1e-3;
    return e == CUDA_SUCCESS ? SSQ_OK : cuda_error(d, "cuEventElapsedTime", e);
}

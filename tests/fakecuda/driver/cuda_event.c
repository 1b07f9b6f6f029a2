/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_event.c - events: points in streams, and the time when they came. */
#include "tests/fakecuda/driver/cuda_state.h"

#include <stdlib.h>

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    CUresult e = fake_enter("cuEventCreate", CURRENT);
    CUevent v;

    if (e != CUDA_SUCCESS)
        return e;
    if (event == NULL || (flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC |
                                              CU_EVENT_DISABLE_TIMING)) != 0)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    v = fake_object(EVENT, sizeof(*v));
    if (v == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    v->flags = flags;
    *event = v;
    return fake_leave(CUDA_SUCCESS);
}

/* The recorded work is done nevertheless: the object stays. */
CUresult cuEventDestroy_v2(CUevent event)
{
    CUresult e = fake_enter("cuEventDestroy_v2", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(event, EVENT, "event");
    if (e == CUDA_SUCCESS)
        event->object.dead = true;
    return fake_leave(e);
}

/* In a capture an event is where its stream is in the graph, and no work. */
static void record_captured(CUevent event, CUstream s)
{
    event->capture = s->capture;
    event->captured_by = s;
    event->tail = s->tail;
}

CUresult cuEventRecord(CUevent event, CUstream s)
{
    CUresult e = fake_enter("cuEventRecord", CURRENT);
    struct cuda_work *w;

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(event, EVENT, "event");
    if (e == CUDA_SUCCESS)
        e = fake_stream(s, &s);
    if (e == CUDA_SUCCESS && event->object.ctx != s->object.ctx)
        e = fake_refuse(CUDA_ERROR_INVALID_HANDLE,
                        "the event is of another context than the stream");
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    if (s->capture != NULL) {
        record_captured(event, s);
        return fake_leave(CUDA_SUCCESS);
    }
    w = fake_work(RECORD);
    if (w == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    w->event = event;
    e = fake_submit(s, w);
    if (e == CUDA_SUCCESS) {
        event->capture = NULL;
        event->at = (struct point){s, s->submitted};
    }
    return fake_leave(e);
}

/* s joins the capture that the event was recorded in, and waits for it there;
 * a graph's works are kept in an order that respects that already. */
static CUresult join(CUstream s, CUevent event)
{
    CUstream by = event->captured_by;

    if (!event->capture->capturing)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (s->capture != NULL && s->capture != event->capture)
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (s->capture == NULL) {
        s->capture = event->capture;
        s->origin = false;
        s->tail = 0;
        s->joined = false;
    } else if (by->capture == s->capture && by->tail == event->tail) {
        by->joined = true;
    }
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream s, CUevent event, unsigned flags)
{
    CUresult e = fake_enter("cuStreamWaitEvent", CURRENT);
    struct cuda_work *w;

    if (e != CUDA_SUCCESS)
        return e;
    e = flags > 1 ? CUDA_ERROR_INVALID_VALUE
                  : fake_check(event, EVENT, "event");
    if (e == CUDA_SUCCESS)
        e = fake_stream(s, &s);
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    if (event->capture != NULL)
        return fake_leave(join(s, event));
    if (s->capture != NULL)
        return fake_leave(fake_refuse(
            CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
            "a captured stream waits for what was recorded outside"));
    if (fake_done(&event->at))
        return fake_leave(CUDA_SUCCESS);
    w = fake_work(WAIT);
    if (w == NULL || (w->after = malloc(sizeof(*w->after))) == NULL) {
        fake_work_free(w);
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    w->after[0] = event->at;
    w->nafter = 1;
    return fake_leave(fake_submit(s, w));
}

/* An event may be asked for from any context that is current. */
static CUresult usable(CUevent event)
{
    CUresult e = fake_check(event, EVENT, "event");

    if (e == CUDA_SUCCESS && event->capture != NULL)
        e = CUDA_ERROR_CAPTURED_EVENT;
    if (e == CUDA_SUCCESS && event->object.ctx->error != CUDA_SUCCESS)
        e = event->object.ctx->error;
    return e;
}

CUresult cuEventQuery(CUevent event)
{
    CUresult e = fake_enter("cuEventQuery", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = usable(event);
    if (e == CUDA_SUCCESS)
        e = fake_unsafe("cuEventQuery");
    if (e == CUDA_SUCCESS && !fake_done(&event->at))
        e = CUDA_ERROR_NOT_READY;
    return fake_leave(e);
}

CUresult cuEventSynchronize(CUevent event)
{
    CUresult e = fake_enter("cuEventSynchronize", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = usable(event);
    if (e == CUDA_SUCCESS)
        e = fake_unsafe("cuEventSynchronize");
    if (e == CUDA_SUCCESS)
        e = fake_wait(event->object.ctx, event->at);
    return fake_leave(e);
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    CUresult e = fake_enter("cuEventElapsedTime", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = ms == NULL ? CUDA_ERROR_INVALID_VALUE : usable(from);
    if (e == CUDA_SUCCESS)
        e = usable(to);
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    if (((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING) != 0 ||
        from->at.stream == NULL || to->at.stream == NULL)
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    if (!fake_done(&from->at) || !fake_done(&to->at))
        return fake_leave(CUDA_ERROR_NOT_READY);
    *ms = (float)((double)(to->time.tv_sec - from->time.tv_sec) * 1e3 +
                  (double)(to->time.tv_nsec - from->time.tv_nsec) * 1e-6);
    return fake_leave(CUDA_SUCCESS);
}

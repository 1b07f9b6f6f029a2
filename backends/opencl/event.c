/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - events: markers in queues. */
#include "backends/opencl/opencl.h"

struct backend_event {
    const struct services *core;
    /* NULL: not recorded yet; until then the core calls this backend for
     * nothing but a record */
    cl_event mark;
};

ssq_status opencl_event_open(struct backend_device *device,
                             struct backend_event **event)
{
    struct backend_event *e = device->core->mem_alloc(sizeof(*e));
    if (e == NULL)
        return opencl_no_memory(device->core, sizeof(*e));
    e->core = device->core;
    *event = e;
    return SSQ_OK;
}

void opencl_event_close(struct backend_event *event)
{
    if (event->mark != NULL)
        (void)CL(ReleaseEvent)(event->mark);
    event->core->mem_free(event);
}

/* A second record makes another marker; waits for the first are not affected.
 * It is flushed, because a marker that the driver holds back is never reached,
 * and another queue that waits for it would not continue. */
ssq_status opencl_event_record(struct backend_event *event,
                               struct backend_queue *queue)
{
    ssq_status st = opencl_queue_check(queue);
    if (st != SSQ_OK)
        return st;
    cl_event mark;
    cl_int e = CL(EnqueueMarkerWithWaitList)(queue->cl, 0, NULL, &mark);
    if (e != CL_SUCCESS)
        return opencl_queue_fail(queue, "clEnqueueMarkerWithWaitList", e);
    e = CL(Flush)(queue->cl);
    if (e != CL_SUCCESS) { /* the event keeps its last record */
        (void)CL(ReleaseEvent)(mark);
        return opencl_queue_fail(queue, "clFlush", e);
    }
    if (event->mark != NULL)
        (void)CL(ReleaseEvent)(event->mark);
    event->mark = mark;
    return SSQ_OK;
}

/* A barrier, since nothing that is enqueued later may overtake the wait. */
ssq_status opencl_event_wait(struct backend_queue *queue,
                             struct backend_event *event)
{
    ssq_status st = opencl_queue_check(queue);
    if (st != SSQ_OK)
        return st;
    cl_int e = CL(EnqueueBarrierWithWaitList)(queue->cl, 1, &event->mark, NULL);
    return e == CL_SUCCESS
               ? SSQ_OK
               : opencl_queue_fail(queue, "clEnqueueBarrierWithWaitList", e);
}

/* Is the event reached? A negative status is the error of a command before
 * it. */
ssq_status opencl_event_query(struct backend_event *event)
{
    cl_int status;
    cl_int e = CL(GetEventInfo)(event->mark, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                sizeof(status), &status, NULL);
    if (e != CL_SUCCESS)
        return opencl_error(event->core, "clGetEventInfo", e);
    if (status < 0)
        return opencl_error(event->core, "a command before the event", status);
    return status == CL_COMPLETE
               ? SSQ_OK
               : event->core->error_set(SSQ_ERR_NOT_READY,
                                        "opencl: the event is not reached yet");
}

ssq_status opencl_event_sync(struct backend_event *event)
{
    cl_int e = CL(WaitForEvents)(1, &event->mark);
    return e == CL_SUCCESS ? SSQ_OK
                           : opencl_error(event->core, "clWaitForEvents", e);
}

/* When the event was reached, by the device's clock: the end of its marker. */
static ssq_status nanoseconds_of(struct backend_event *event, cl_ulong *ns)
{
    ssq_status st = opencl_event_query(event);
    if (st != SSQ_OK)
        return st;
    cl_int e = CL(GetEventProfilingInfo)(event->mark, CL_PROFILING_COMMAND_END,
                                         sizeof(*ns), ns, NULL);
    if (e == CL_PROFILING_INFO_NOT_AVAILABLE)
        return event->core->error_set(
            SSQ_ERR_UNSUPPORTED,
            "opencl: the caller's queue was made without profiling");
    return e == CL_SUCCESS
               ? SSQ_OK
               : opencl_error(event->core, "clGetEventProfilingInfo", e);
}

ssq_status opencl_event_elapsed(struct backend_event *from,
                                struct backend_event *to, double *seconds)
{
    cl_ulong begin, end;
    ssq_status st = nanoseconds_of(from, &begin);
    if (st == SSQ_OK)
        st = nanoseconds_of(to, &end);
    if (st == SSQ_OK)
        *seconds = ((double)end - (double)begin) * 1e-9;
    return st;
}

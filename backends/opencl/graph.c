/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - launches as a command buffer, cl_khr_command_buffer.
 *
 * A graph may be launched again before it has finished, so the device has to
 * allow simultaneous use; without that, or without the extension, the core
 * hands over each launch again. */
#include "backends/opencl/opencl.h"

#include <string.h>

/* A launch of a command buffer: a kernel object, and so arguments; and the
 * buffer of its parameters, if they are in one. */
struct graph_launch {
    cl_kernel kernel;
    cl_mem params;
};

struct backend_graph {
    const struct services *core;
    cl_command_buffer_khr buffer;
    clReleaseCommandBufferKHR_fn release;
    size_t n;
    struct graph_launch launches[];
};

/* Look up a call of the extension. ISO C has no conversion from a pointer to an
 * object to one to a function; POSIX promises the same representation, so its
 * bytes are copied. */
static bool graph_find(const struct backend_device *d, const char *name,
                       void *call)
{
    void *p = CL(GetExtensionFunctionAddressForPlatform)(d->platform, name);
    memcpy(call, &p, sizeof(p));
    return p != NULL;
}

/* Does the device allow simultaneous use, and ask no more of a queue than ours
 * have? A device without the extension does not know the questions. */
static bool usable(const struct backend_device *d)
{
    cl_bitfield able = 0, wanted = 0;
    return CL(GetDeviceInfo)(d->id, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR,
                             sizeof(able), &able, NULL) == CL_SUCCESS &&
           CL(GetDeviceInfo)(
               d->id, CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR,
               sizeof(wanted), &wanted, NULL) == CL_SUCCESS &&
           (able & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR) != 0 &&
           (wanted & ~(cl_bitfield)CL_QUEUE_PROFILING_ENABLE) == 0;
}

void opencl_recorder_find(struct backend_device *d)
{
    struct opencl_recorder r;
    if (usable(d) && graph_find(d, "clCreateCommandBufferKHR", &r.create) &&
        graph_find(d, "clFinalizeCommandBufferKHR", &r.finalize) &&
        graph_find(d, "clReleaseCommandBufferKHR", &r.release) &&
        graph_find(d, "clEnqueueCommandBufferKHR", &r.enqueue) &&
        graph_find(d, "clCommandNDRangeKernelKHR", &r.kernel))
        d->record = r;
}

/* Record launches, each with its arguments, into a command buffer for queues of
 * the device. UNSUPPORTED makes the core hand over launches instead. */
ssq_status opencl_graph_create(struct backend_queue *queue,
                               const struct launch *const *launches, size_t n,
                               struct backend_graph **graph)
{
    const struct backend_device *d = queue->device;
    const struct opencl_recorder *r = &d->record;
    const cl_command_buffer_properties_khr again[] = {
        CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0};
    if (r->create == NULL)
        return queue->device->core->error_set(
            SSQ_ERR_UNSUPPORTED, "opencl: no cl_khr_command_buffer with "
                                 "simultaneous use");
    size_t bytes =
        sizeof(struct backend_graph) + n * sizeof(struct graph_launch);
    struct backend_graph *g = queue->device->core->mem_alloc(bytes);
    if (g == NULL)
        return opencl_no_memory(queue->device->core, bytes);
    cl_int e = CL_SUCCESS;
    const char *call = "clCreateCommandBufferKHR";
    g->core = d->core;
    g->release = r->release;
    g->buffer = r->create(1, &queue->cl, again, &e);
    /* n counts the one that failed, too: it may have a kernel already */
    for (; g->n < n && e == CL_SUCCESS; g->n++)
        e = opencl_record(d, g->buffer, launches[g->n],
                          &g->launches[g->n].kernel, &g->launches[g->n].params,
                          &call);
    if (e == CL_SUCCESS) {
        call = "clFinalizeCommandBufferKHR";
        e = r->finalize(g->buffer);
    }
    if (e == CL_SUCCESS) {
        *graph = g;
        return SSQ_OK;
    }
    opencl_graph_free(g);
    return opencl_create_error(queue->device->core, call, e);
}

ssq_status opencl_graph_launch(struct backend_queue *queue,
                               struct backend_graph *graph)
{
    ssq_status st = opencl_queue_check(queue);
    if (st != SSQ_OK)
        return st;
    cl_event done;
    cl_int e = queue->device->record.enqueue(1, &queue->cl, graph->buffer, 0,
                                             NULL, &done);
    if (e != CL_SUCCESS)
        return opencl_queue_fail(queue, "clEnqueueCommandBufferKHR", e);
    opencl_queue_enqueued(queue, done);
    return SSQ_OK;
}

void opencl_graph_free(struct backend_graph *graph)
{
    if (graph->buffer != NULL)
        (void)graph->release(graph->buffer);
    for (size_t i = 0; i < graph->n; i++) {
        if (graph->launches[i].kernel != NULL)
            (void)CL(ReleaseKernel)(graph->launches[i].kernel);
        if (graph->launches[i].params != NULL)
            (void)CL(ReleaseMemObject)(graph->launches[i].params);
    }
    graph->core->mem_free(graph);
}

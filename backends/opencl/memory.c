/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - device memory, and copies between it and the host.
 *
 * The copies do not block: the core keeps the op, and with it the bytes that it
 * carries, until the queue has passed it. The queue's order keeps them between
 * the kernels before and after. */
#include "backends/opencl/opencl.h"

#include "backends/common/room.h"
#include "lib/core/module/data.h"

/* A memory over a buffer, whose reference is taken over, also on failure. */
static ssq_status opencl_memory_wrap(const struct services *core, cl_mem cl,
                                     uint64_t bytes, struct backend_mem **mem)
{
    struct opencl_mem *m = core->mem_alloc(sizeof(*m));
    if (m == NULL) {
        (void)CL(ReleaseMemObject)(cl);
        return opencl_no_memory(core, sizeof(*m));
    }
    m->cl = cl;
    m->mem.bytes = bytes;
    *mem = &m->mem;
    return SSQ_OK;
}

ssq_status opencl_alloc(struct backend_device *device, uint64_t bytes,
                        struct backend_mem **mem)
{
    if (bytes > device->most_bytes)
        return device->core->error_set(
            SSQ_ERR_NOMEM,
            "opencl: %llu bytes are more than the %llu that one buffer of "
            "this device may have",
            (unsigned long long)bytes, (unsigned long long)device->most_bytes);
    /* A processor's driver may map the memory at its first use, and end the
     * process where there is none. */
    struct why why;
    if (device->cpu && !room_for_bytes(bytes, "clCreateBuffer", &why))
        return device->core->error_set(SSQ_ERR_NOMEM, "opencl: %s", why.text);
    cl_int e;
    cl_mem cl = CL(CreateBuffer)(device->context, CL_MEM_READ_WRITE,
                                 (size_t)bytes, NULL, &e);
    return cl == NULL ? opencl_create_error(device->core, "clCreateBuffer", e)
                      : opencl_memory_wrap(device->core, cl, bytes, mem);
}

ssq_status opencl_mem_over(struct backend_device *device, cl_mem cl,
                           uint64_t bytes, struct backend_mem **mem)
{
    if (bytes > device->most_bytes)
        return device->core->error_set(
            SSQ_ERR_UNSUPPORTED,
            "opencl: the buffer has %llu bytes, a launch reaches %llu",
            (unsigned long long)bytes, (unsigned long long)device->most_bytes);
    cl_int e = CL(RetainMemObject)(cl);
    return e == CL_SUCCESS ? opencl_memory_wrap(device->core, cl, bytes, mem)
                           : opencl_error(device->core, "clRetainMemObject", e);
}

void opencl_free(struct backend_device *device, struct backend_mem *mem)
{
    struct opencl_mem *m = (struct opencl_mem *)mem;
    (void)CL(ReleaseMemObject)(m->cl);
    device->core->mem_free(m);
}

static cl_mem opencl_memory_mem_of(const struct view *v)
{
    return ((struct opencl_mem *)v->buffer->mem)->cl;
}

/* Bytes from the buffer's begin to the view's first element. */
static size_t opencl_memory_place_of(const struct view *v)
{
    return (size_t)(v->buffer->offset + v->offset);
}

/* Enqueue a copy of the host's bytes, or of the few that the op carries
 * itself. */
static ssq_status opencl_memory_upload(struct backend_queue *queue,
                                       const struct upload_op *op)
{
    ssq_status st = opencl_queue_check(queue);
    if (st != SSQ_OK)
        return st;
    cl_event done;
    cl_int e = CL(EnqueueWriteBuffer)(
        queue->cl, opencl_memory_mem_of(&op->dst), CL_FALSE,
        opencl_memory_place_of(&op->dst), (size_t)op->bytes,
        op->host == NULL ? op->inlined : op->host, 0, NULL, &done);
    if (e != CL_SUCCESS)
        return opencl_queue_fail(queue, "clEnqueueWriteBuffer", e);
    opencl_queue_enqueued(queue, done);
    return SSQ_OK;
}

/* Enqueue a copy to the host, whose memory the caller keeps until the queue has
 * passed it. */
static ssq_status opencl_memory_download(struct backend_queue *queue,
                                         const struct download_op *op)
{
    ssq_status st = opencl_queue_check(queue);
    if (st != SSQ_OK)
        return st;
    cl_event done;
    cl_int e =
        CL(EnqueueReadBuffer)(queue->cl, opencl_memory_mem_of(&op->src),
                              CL_FALSE, opencl_memory_place_of(&op->src),
                              (size_t)op->bytes, op->host, 0, NULL, &done);
    if (e != CL_SUCCESS)
        return opencl_queue_fail(queue, "clEnqueueReadBuffer", e);
    opencl_queue_enqueued(queue, done);
    return SSQ_OK;
}

const struct upload_impl opencl_uploads[] = {
    {.name = "write", .run = opencl_memory_upload}, {.name = NULL}};
const struct download_impl opencl_downloads[] = {
    {.name = "read", .run = opencl_memory_download}, {.name = NULL}};

/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - copies between the host and the device.
 *
 * Small copies go through the queue's staging memory and do not wait. For
 * larger ones the driver gets the caller's memory. If that is pageable, an
 * upload returns when the memory may be overwritten, and a download when the
 * bytes have arrived.
 *
 * A stream that the caller captures accepts no copies. A copy in a graph would
 * access host memory at each launch of the graph, long after the call. Uploads
 * to new scratch are the exception: they are copied immediately, on another
 * stream. */
#include "backends/cuda/queue.h"

#include <string.h>

#include "lib/core/module/data.h"

/* Copy to new scratch, and wait until it is done. No work in flight uses that
 * memory, so the queue's order does not matter. */
static ssq_status write_now(struct backend_queue *q, const struct upload_op *op,
                            const void *host)
{
    const struct backend_device *d = q->device;
    ssq_status st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    CUstreamCaptureMode mode = cuda_relax(d);
    CUresult e = CU(d, MemcpyHtoDAsync)(cuda_address(&op->dst), host,
                                        (size_t)op->bytes, d->memory_order);
    if (e == CUDA_SUCCESS)
        e = CU(d, StreamSynchronize)(d->memory_order);
    cuda_relaxed(d, mode);
    return cuda_queue_leave(q, "cuMemcpyHtoDAsync", e);
}

static ssq_status cuda_copy_upload(struct backend_queue *q,
                                   const struct upload_op *op)
{
    const void *host = op->host == NULL ? op->inlined : op->host;
    bool captured;
    ssq_status st = cuda_captured(q, &captured);
    if (st == SSQ_OK && captured)
        return op->scratch ? write_now(q, op, host)
                           : cuda_refuse_captured(q, "a write");
    if (st == SSQ_OK)
        st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&q->lock);
    const struct cuda_piece *p = cuda_stage(q, op->bytes);
    if (p != NULL)
        host = memcpy(p->memory, host, p->bytes);
    pthread_mutex_unlock(&q->lock);
    return cuda_queue_leave(
        q, "cuMemcpyHtoDAsync",
        CU(q->device, MemcpyHtoDAsync)(cuda_address(&op->dst), host,
                                       (size_t)op->bytes, q->stream));
}

/* Copy the bytes of a read from the staging memory to the caller's memory. This
 * runs in stream order on a thread of the driver. Work that waits for a later
 * event of the stream therefore finds the bytes. The piece is not reused before
 * the command is finished. */
static void arrive(void *data)
{
    const struct cuda_piece *p = data;
    memcpy(p->host, p->memory, p->bytes);
}

static ssq_status cuda_copy_download(struct backend_queue *q,
                                     const struct download_op *op)
{
    void *host = op->host;
    bool captured;
    ssq_status st = cuda_captured(q, &captured);
    if (st == SSQ_OK && captured)
        return cuda_refuse_captured(q, "a read");
    if (st == SSQ_OK)
        st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&q->lock);
    struct cuda_piece *p = cuda_stage(q, op->bytes);
    if (p != NULL)
        p->host = host;
    pthread_mutex_unlock(&q->lock);
    CUresult e = CU(q->device, MemcpyDtoHAsync)(p == NULL ? host : p->memory,
                                                cuda_address(&op->src),
                                                (size_t)op->bytes, q->stream);
    if (e != CUDA_SUCCESS || p == NULL)
        return cuda_queue_leave(q, "cuMemcpyDtoHAsync", e);
    return cuda_queue_leave(
        q, "cuLaunchHostFunc",
        CU(q->device, LaunchHostFunc)(q->stream, arrive, p));
}

const struct upload_impl cuda_uploads[] = {
    {.name = "write", .run = cuda_copy_upload}, {.name = NULL}};
const struct download_impl cuda_downloads[] = {
    {.name = "read", .run = cuda_copy_download}, {.name = NULL}};

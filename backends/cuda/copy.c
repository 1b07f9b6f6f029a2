/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - copies between the host and the device.
 *
 * Small ones go through the queue's staging memory and do not wait. Of larger
 * ones the driver keeps the order itself: an upload returns when its bytes may
 * be overwritten, a download when they are there.
 *
 * A stream that the caller captures takes none: a copy in a graph would read or
 * write host memory at every launch of it, long after ours is gone. What goes
 * to scratch that is made for it is written at once, beside the stream. */
#include "backends/cuda/queue.h"

#include <string.h>

#include "lib/op/data/data.h"

/* Nothing that is under way touches the bytes' place. */
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

static ssq_status upload(struct backend_queue *q, const struct upload_op *op)
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

/* What a read fetched arrives in the stream's own order: whoever waits for an
 * event behind it, or for another queue that did, finds it. A thread of the
 * driver's runs this; the piece is the command's until that is done. */
static void arrive(void *data)
{
    const struct cuda_piece *p = data;
    memcpy(p->host, p->memory, p->bytes);
}

static ssq_status download(struct backend_queue *q,
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

const struct upload_impl cuda_uploads[] = {{.name = "write", .run = upload},
                                           {.name = NULL}};
const struct download_impl cuda_downloads[] = {
    {.name = "read", .run = download}, {.name = NULL}};

/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - copies between the host and the device.
 *
 * Small ones go through the queue's staging memory and do not wait. Of larger
 * ones the driver keeps the order itself: an upload returns when its bytes may
 * be overwritten, a download when they are there. */
#include "backends/cuda/queue.h"

#include <string.h>

#include "lib/op/data/data.h"

static CUdeviceptr address_of(const struct view *v)
{
    return ((const struct cuda_mem *)v->buffer->mem)->address +
           v->buffer->offset + v->offset;
}

static ssq_status upload(struct backend_queue *q, const struct upload_op *op)
{
    const void *host = op->host == NULL ? op->inlined : op->host;
    ssq_status st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&q->lock);
    const struct cuda_piece *p = cuda_stage(q, op->bytes);
    if (p != NULL)
        host = memcpy(q->staging.base + p->at, host, p->bytes);
    pthread_mutex_unlock(&q->lock);
    return cuda_queue_leave(
        q, "cuMemcpyHtoDAsync",
        CU(q->device, MemcpyHtoDAsync)(address_of(&op->dst), host,
                                       (size_t)op->bytes, q->stream));
}

static ssq_status download(struct backend_queue *q,
                           const struct download_op *op)
{
    void *host = op->host;
    ssq_status st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&q->lock);
    struct cuda_piece *p = cuda_stage(q, op->bytes);
    if (p != NULL) {
        p->host = host;
        host = q->staging.base + p->at;
    }
    pthread_mutex_unlock(&q->lock);
    CUresult e = CU(q->device, MemcpyDtoHAsync)(host, address_of(&op->src),
                                                (size_t)op->bytes, q->stream);
    return cuda_queue_leave(q, "cuMemcpyDtoHAsync", e);
}

const struct upload_impl cuda_uploads[] = {{.name = "write", .run = upload},
                                           {.name = NULL}};
const struct download_impl cuda_downloads[] = {
    {.name = "read", .run = download}, {.name = NULL}};

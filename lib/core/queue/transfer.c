/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - copies of bytes between host memory and a view. */
#include "lib/core/core.h"

#include <string.h>

ssq_status queue_upload(ssq_queue *queue, const struct view *dst,
                        const void *host, uint64_t bytes)
{
    struct upload_op op = upload_of(dst, host, bytes);
    return bytes == 0 ? SSQ_OK : queue_enqueue(queue, &op.op);
}

/* host stays NULL: the backend then reads the bytes from inlined, which is part
 * of the op. */
static ssq_status upload_inlined(ssq_queue *queue, const struct view *dst,
                                 const void *bytes_at_call, uint64_t bytes,
                                 bool scratch)
{
    struct upload_op op = {.op = OP_HEADER(upload, dst),
                           .bytes = bytes,
                           .scratch = scratch,
                           .dst = *dst};
    if (bytes > UPLOAD_INLINE)
        return error_set(SSQ_ERR_INVALID, "upload: %llu bytes at once",
                         (unsigned long long)bytes);
    if (bytes == 0)
        return SSQ_OK;
    memcpy(op.inlined, bytes_at_call, bytes);
    op.dst.access = ACCESS_WRITE;
    return queue_enqueue(queue, &op.op);
}

ssq_status queue_upload_now(ssq_queue *queue, const struct view *dst,
                            const void *bytes_at_call, uint64_t bytes)
{
    return upload_inlined(queue, dst, bytes_at_call, bytes, false);
}

ssq_status queue_upload_scratch(ssq_queue *queue, const struct view *dst,
                                const void *bytes_at_call, uint64_t bytes)
{
    return upload_inlined(queue, dst, bytes_at_call, bytes, true);
}

ssq_status queue_download(ssq_queue *queue, const struct view *src, void *host,
                          uint64_t bytes)
{
    struct download_op op = download_of(src, host, bytes);
    return bytes == 0 ? SSQ_OK : queue_enqueue(queue, &op.op);
}

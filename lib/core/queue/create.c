/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - buffers and tensors that a program creates, which a capture
 * refuses. */
#include "lib/core/core.h"

/* Unlike buffer_create(), this refuses captures. Memory that a caller creates
 * during a capture would not belong to the graph, although its ops use it. */
ssq_status ssq_buffer_create(ssq_device *device, uint64_t bytes,
                             ssq_buffer **buffer)
{
    if (device == NULL || buffer == NULL)
        return error_set(SSQ_ERR_INVALID, "buffer_create: %s is NULL",
                         device == NULL ? "device" : "buffer");
    ssq_status st = capture_check(device, "buffer_create");
    return st == SSQ_OK ? buffer_create(device, bytes, buffer) : st;
}

ssq_status ssq_tensor_create(ssq_device *device, ssq_dtype dtype, int rank,
                             const int64_t *shape, ssq_tensor **tensor)
{
    if (device == NULL || tensor == NULL)
        return error_set(SSQ_ERR_INVALID, "tensor_create: %s is NULL",
                         device == NULL ? "device" : "tensor");
    ssq_status st = capture_check(device, "tensor_create");
    return st == SSQ_OK ? tensor_create(device, dtype, rank, shape, tensor)
                        : st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - <sesqui/cuda.h>: the functions with CUDA's handles. The core takes
 * handles as pointers and only the backend interprets them. Therefore this file
 * includes no CUDA header. */
#include <sesqui/cuda.h>

#include "lib/core/device/native.h"

/** CU_STREAM_LEGACY: a non-NULL handle of the default stream. */
#define DEFAULT_STREAM ((const void *)(uintptr_t)1)

ssq_status ssq_cuda_device_open(struct CUctx_st *context,
                                const ssq_device_options *options,
                                ssq_device **device)
{
    const void *const handles[] = {context};
    if (context == NULL || device == NULL)
        return error_set(SSQ_ERR_INVALID, "cuda_device_open: %s is NULL",
                         context == NULL ? "context" : "device");
    return native_device_open("cuda", handles, options, "cuda_device_open",
                              device);
}

/* For CUDA, NULL is the default stream. The core refuses NULL, so pass the
 * other handle of that stream. */
ssq_status ssq_cuda_queue_create(ssq_device *device, struct CUstream_st *native,
                                 ssq_queue **queue)
{
    const void *handle = native == NULL ? DEFAULT_STREAM : native;
    return native_queue_create("cuda", device, handle, "cuda_queue_create",
                               queue);
}

ssq_status ssq_cuda_queue_stream(ssq_queue *queue, struct CUstream_st **stream)
{
    void *handle = NULL;
    if (queue == NULL || stream == NULL)
        return error_set(SSQ_ERR_INVALID, "cuda_queue_stream: %s is NULL",
                         queue == NULL ? "queue" : "stream");
    ssq_status st =
        native_queue_handle("cuda", queue, "cuda_queue_stream", &handle);
    if (st == SSQ_OK)
        *stream = handle;
    return st;
}

/* An address does not include a size, so the caller gives it. The span is only
 * read during the call. */
ssq_status ssq_cuda_buffer_import(ssq_device *device, uint64_t address,
                                  uint64_t bytes, ssq_buffer **buffer)
{
    const struct native_span span = {address, bytes};
    if (address == 0 || bytes == 0)
        return error_set(
            SSQ_ERR_INVALID, "cuda_buffer_import: %llu bytes at %#llx",
            (unsigned long long)bytes, (unsigned long long)address);
    return native_buffer_import("cuda", device, &span, "cuda_buffer_import",
                                buffer);
}

/* The handle of CUDA memory is its address. Other APIs return an offset as
 * well; here it is added to the address. */
ssq_status ssq_cuda_buffer_address(const ssq_buffer *buffer, uint64_t *address)
{
    void *handle = NULL;
    uint64_t offset = 0;
    ssq_status st =
        native_buffer_handle("cuda", buffer, "cuda_buffer_address",
                             address == NULL ? NULL : &handle, &offset);
    if (st == SSQ_OK)
        *address = (uint64_t)(uintptr_t)handle + offset;
    return st;
}

ssq_status ssq_cuda_allocator_set(ssq_device *device,
                                  const ssq_cuda_allocator *allocator)
{
    if (allocator != NULL && allocator->struct_size != sizeof(*allocator))
        return error_set(SSQ_ERR_INVALID,
                         "cuda_allocator_set: struct_size is %zu, expected %zu",
                         allocator->struct_size, sizeof(*allocator));
    if (allocator != NULL &&
        (allocator->alloc == NULL || allocator->free == NULL))
        return error_set(SSQ_ERR_INVALID, "cuda_allocator_set: %s is NULL",
                         allocator->alloc == NULL ? "alloc" : "free");
    return native_allocator_set("cuda", device, allocator,
                                "cuda_allocator_set");
}

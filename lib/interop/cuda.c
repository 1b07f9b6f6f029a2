/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - <sesqui/cuda.h>: the names of CUDA's handles, and no more. The core
 * takes them as pointers, and only the backend knows what they are: this file
 * includes no header of CUDA's. */
#include <sesqui/cuda.h>

#include "lib/core/native.h"

/** CU_STREAM_LEGACY, a handle of the stream that NULL stands for. */
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

/* NULL is a stream to CUDA and no stream to the core, which refuses it: so the
 * default stream goes there by its other name. */
ssq_status ssq_cuda_queue_create(ssq_device *device, struct CUstream_st *native,
                                 ssq_queue **queue)
{
    const void *handle = native == NULL ? DEFAULT_STREAM : native;
    return native_queue_create("cuda", device, handle, "cuda_queue_create",
                               queue);
}

/* Device memory is an address and does not tell its size here, so the caller
 * does. The span is read within the call. */
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

/* The handle of CUDA's memory is its address: unlike those of other APIs it can
 * be added to, and the caller needs no offset. */
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

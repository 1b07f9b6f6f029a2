/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - reference: device memory is aligned host memory.
 *
 * It does not use the caller's allocation callbacks: these are for the
 * library's own objects, and guarantee no alignment. */
#include "backends/reference/reference.h"

#include "lib/core/base/error.h"

#include <stdlib.h>

/* A backend_mem and the start of its memory. */
struct memory_block {
    struct backend_mem mem;
    void *start;
};

/* Allocate memory. Its contents are undefined, as on other devices. */
ssq_status reference_alloc(struct backend_device *device, uint64_t bytes,
                           struct backend_mem **mem)
{
    (void)device;
    struct memory_block *b = mem_alloc(sizeof(*b));
    if (b == NULL)
        return error_nomem("reference", sizeof(*b));
    if (bytes > SIZE_MAX - REFERENCE_ALIGNMENT ||
        posix_memalign(&b->start, REFERENCE_ALIGNMENT, bytes) != 0) {
        mem_free(b);
        return error_set(SSQ_ERR_NOMEM, "reference: no memory for %llu bytes",
                         (unsigned long long)bytes);
    }
    b->mem.bytes = bytes;
    b->mem.host = b->start;
    *mem = &b->mem;
    return SSQ_OK;
}

/* Import memory of the caller: start is NULL, so that it is not freed. */
ssq_status reference_import(struct backend_device *device, const void *handle,
                            struct backend_mem **mem)
{
    const struct native_span *span = handle;
    (void)device;
    struct memory_block *b = mem_alloc(sizeof(*b));
    if (b == NULL)
        return error_nomem("reference", sizeof(*b));
    b->mem.bytes = span->bytes;
    b->mem.host = (void *)(uintptr_t)span->address;
    *mem = &b->mem;
    return SSQ_OK;
}

void *reference_mem_handle(const struct backend_mem *mem)
{
    return mem->host;
}

void reference_free(struct backend_device *device, struct backend_mem *mem)
{
    (void)device;
    struct memory_block *b = (struct memory_block *)mem;
    free(b->start);
    mem_free(b);
}

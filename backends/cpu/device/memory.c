/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - device memory is host memory, in large pages where it is large.
 *
 * Not from the allocation callbacks: those are for the library's own objects,
 * and promise no alignment. */
#define _GNU_SOURCE
#include "backends/cpu/cpu.h"

#include "lib/core/base/error.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Of x86 and most others. A walk of the tables of small pages costs products
 * and passes over memory. */
#define LARGE_PAGE (2u << 20)

ssq_status cpu_alloc(struct backend_device *device, uint64_t bytes,
                     struct backend_mem **mem)
{
    (void)device;
    size_t align = bytes >= LARGE_PAGE ? LARGE_PAGE : CPU_ALIGNMENT;
    struct cpu_mem *m = mem_alloc(sizeof(*m));
    if (m == NULL)
        return error_nomem("cpu", sizeof(*m));
    if (bytes > SIZE_MAX - align ||
        posix_memalign(&m->mem.host, align, bytes) != 0) {
        mem_free(m);
        return error_set(SSQ_ERR_NOMEM, "cpu: no memory for %llu bytes",
                         (unsigned long long)bytes);
    }
    if (align == LARGE_PAGE) /* advice: without it all is slower, and right */
        (void)madvise(m->mem.host, bytes, MADV_HUGEPAGE);
    m->mem.bytes = bytes;
    *mem = &m->mem;
    return SSQ_OK;
}

/* The core has aligned the span: bytes before the caller's are not used. */
ssq_status cpu_import(struct backend_device *device, const void *handle,
                      struct backend_mem **mem)
{
    const struct native_span *span = handle;
    struct cpu_mem *m = mem_alloc(sizeof(*m));
    (void)device;
    if (m == NULL)
        return error_nomem("cpu", sizeof(*m));
    m->mem.host = (void *)(uintptr_t)span->address;
    m->mem.bytes = span->bytes;
    m->borrowed = true;
    *mem = &m->mem;
    return SSQ_OK;
}

void *cpu_mem_handle(const struct backend_mem *mem)
{
    return mem->host;
}

void cpu_free(struct backend_device *device, struct backend_mem *mem)
{
    (void)device;
    if (!((struct cpu_mem *)mem)->borrowed)
        free(mem->host);
    mem_free(mem);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - memory and timeline semaphores of another API, as files. */
#include "backends/cuda/queue.h"

#include <unistd.h>

struct backend_semaphore {
    CUexternalSemaphore semaphore;
};

static ssq_status share_begin(struct backend_device *d)
{
    struct why why;
    if (!cuda_calls_have(d->calls, CUDA_EXTERNAL, &why))
        return d->core->error_set(SSQ_ERR_UNSUPPORTED, "cuda: %s", why.text);
    return cuda_enter(d);
}

static ssq_status share_refused(const struct backend_device *d,
                                const char *call, CUresult e)
{
    return e == CUDA_ERROR_OUT_OF_MEMORY
               ? cuda_error(d, call, e)
               : d->core->error_set(SSQ_ERR_INVALID, "cuda: %s: %s (%d)", call,
                                    cuda_error_name(d->calls, e), (int)e);
}

/* Vulkan's memory is dedicated to one buffer, and CUDA must be told. */
ssq_status cuda_mem_import(struct backend_device *d, int fd, uint64_t bytes,
                           uint64_t size, struct backend_mem **mem)
{
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC from = {
        .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
        .handle.fd = fd,
        .size = size,
        .flags = CUDA_EXTERNAL_MEMORY_DEDICATED};
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 0, .size = bytes};
    CUexternalMemory external = NULL;
    CUdeviceptr address = 0;
    const char *call = "cuImportExternalMemory";
    ssq_status st = share_begin(d);
    if (st != SSQ_OK) {
        close(fd);
        return st;
    }
    CUresult e = CU(d, ImportExternalMemory)(&external, &from);
    bool taken = e == CUDA_SUCCESS; /* the file is the driver's now */
    if (taken) {
        call = "cuExternalMemoryGetMappedBuffer";
        e = CU(d, ExternalMemoryGetMappedBuffer)(&address, external, &part);
    }
    if (e == CUDA_SUCCESS)
        st = cuda_mem_external(d, address, bytes, external, mem);
    else
        st = share_refused(d, call, e);
    if (st != SSQ_OK && address != 0)
        (void)CU(d, MemFree)(address);
    if (st != SSQ_OK && taken)
        (void)CU(d, DestroyExternalMemory)(external);
    cuda_leave(d);
    if (!taken)
        close(fd);
    return st;
}

ssq_status cuda_shared_import(struct backend_device *d, int fd,
                              struct backend_semaphore **semaphore)
{
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC from = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
        .handle.fd = fd};
    struct backend_semaphore *s = d->core->mem_alloc(sizeof(*s));
    ssq_status st =
        s == NULL ? cuda_no_memory(d->core, sizeof(*s)) : share_begin(d);
    if (st == SSQ_OK) {
        CUresult e = CU(d, ImportExternalSemaphore)(&s->semaphore, &from);
        cuda_leave(d);
        if (e != CUDA_SUCCESS)
            st = share_refused(d, "cuImportExternalSemaphore", e);
    }
    if (st == SSQ_OK) {
        *semaphore = s;
    } else {
        close(fd);
        d->core->mem_free(s);
    }
    return st;
}

void cuda_shared_close(struct backend_device *d, struct backend_semaphore *s)
{
    if (cuda_enter(d) == SSQ_OK) {
        (void)CU(d, DestroyExternalSemaphore)(s->semaphore);
        cuda_leave(d);
    }
    d->core->mem_free(s);
}

ssq_status cuda_shared_signal(struct backend_queue *q,
                              struct backend_semaphore *s, uint64_t value)
{
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p = {.params.fence.value =
                                                         value};
    ssq_status st = cuda_queue_enter_uncaptured(q, "semaphore_signal");
    if (st != SSQ_OK)
        return st;
    return cuda_queue_leave(q, "cuSignalExternalSemaphoresAsync",
                            CU(q->device, SignalExternalSemaphores)(
                                &s->semaphore, &p, 1, q->stream));
}

ssq_status cuda_shared_await(struct backend_queue *q,
                             struct backend_semaphore *s, uint64_t value)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p = {.params.fence.value = value};
    ssq_status st = cuda_queue_enter_uncaptured(q, "semaphore_wait");
    if (st != SSQ_OK)
        return st;
    return cuda_queue_leave(
        q, "cuWaitExternalSemaphoresAsync",
        CU(q->device, WaitExternalSemaphores)(&s->semaphore, &p, 1, q->stream));
}

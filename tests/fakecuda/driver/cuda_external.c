/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_external.c - memory and timeline semaphores of another API.
 *
 * A file of memory is mapped, as lavapipe's is. A semaphore is the first 64
 * bits of a file: the stand-in cannot read a driver's own files of semaphores.
 */
#include "tests/fakecuda/driver/cuda_state.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPAQUE_FD          1
#define TIMELINE_SEMAPHORE 9

/* Return the offset of the memory in its file. A file of lavapipe begins with
 * two numbers: the file's size and this offset. */
static uint64_t bytes_at(int fd)
{
    uint64_t head[2];
    struct stat s;
    bool has = pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
               fstat(fd, &s) == 0;
    return has && head[0] == (uint64_t)s.st_size && head[1] < head[0] ? head[1]
                                                                      : 0;
}

/* Return whether the file has at least this number of bytes. */
static bool has_bytes(int fd, uint64_t bytes)
{
    struct stat s;
    return fstat(fd, &s) == 0 && s.st_size >= 0 && (uint64_t)s.st_size >= bytes;
}

CUresult cuImportExternalMemory(CUexternalMemory *memory,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *from)
{
    CUresult e = fake_enter("cuImportExternalMemory", CURRENT);
    CUexternalMemory m;

    if (e != CUDA_SUCCESS)
        return e;
    if (memory == NULL || from == NULL || from->type != OPAQUE_FD ||
        from->size == 0 || (from->flags & ~1u) != 0 ||
        !has_bytes(from->handle.fd, from->size))
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    m = fake_object(EXTERNAL, sizeof(*m));
    if (m == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    m->fd = from->handle.fd; /* the driver's from now on */
    m->size = from->size;
    m->offset = bytes_at(m->fd);
    *memory = m;
    return fake_leave(CUDA_SUCCESS);
}

CUresult
cuExternalMemoryGetMappedBuffer(CUdeviceptr *p, CUexternalMemory memory,
                                const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *part)
{
    CUresult e = fake_enter("cuExternalMemoryGetMappedBuffer", CURRENT);
    struct memory *m;

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(memory, EXTERNAL, "external memory");
    if (e == CUDA_SUCCESS && (p == NULL || part == NULL || part->flags != 0 ||
                              part->size == 0 || part->offset > memory->size ||
                              part->size > memory->size - part->offset))
        e = CUDA_ERROR_INVALID_VALUE;
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    m = fake_memory_map(memory->fd, memory->offset + part->offset, part->size);
    if (m == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    m->external = memory;
    *p = m->base;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory)
{
    CUresult e = fake_enter("cuDestroyExternalMemory", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(memory, EXTERNAL, "external memory");
    for (const struct memory *m = fake.memory; m != NULL; m = m->next)
        if (e == CUDA_SUCCESS && m->external == memory)
            e = fake_refuse(CUDA_ERROR_INVALID_VALUE,
                            "a mapping of the external memory is not freed");
    if (e == CUDA_SUCCESS) {
        memory->object.dead = true;
        close(memory->fd);
    }
    return fake_leave(e);
}

CUresult
cuImportExternalSemaphore(CUexternalSemaphore *semaphore,
                          const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *from)
{
    CUresult e = fake_enter("cuImportExternalSemaphore", CURRENT);
    CUexternalSemaphore s;
    void *p;

    if (e != CUDA_SUCCESS)
        return e;
    if (semaphore == NULL || from == NULL || from->type != TIMELINE_SEMAPHORE ||
        from->flags != 0 || !has_bytes(from->handle.fd, sizeof(*s->value)))
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    p = mmap(NULL, sizeof(*s->value), PROT_READ | PROT_WRITE, MAP_SHARED,
             from->handle.fd, 0);
    if (p == MAP_FAILED)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    s = fake_object(SEMAPHORE, sizeof(*s));
    if (s == NULL) {
        (void)munmap(p, sizeof(*s->value));
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    close(from->handle.fd);
    s->value = p;
    *semaphore = s;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDestroyExternalSemaphore(CUexternalSemaphore semaphore)
{
    CUresult e = fake_enter("cuDestroyExternalSemaphore", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(semaphore, SEMAPHORE, "external semaphore");
    if (e == CUDA_SUCCESS) {
        semaphore->object.dead = true;
        (void)munmap((void *)(uintptr_t)semaphore->value,
                     sizeof(*semaphore->value));
    }
    return fake_leave(e);
}

/* The work of a stream that sets a semaphore or waits for it. */
struct point_of {
    _Atomic uint64_t *semaphore;
    uint64_t value;
};

static void set(void *of)
{
    const struct point_of *p = of;
    atomic_store(p->semaphore, p->value);
}

static void await(void *of)
{
    const struct point_of *p = of;
    while (atomic_load(p->semaphore) < p->value)
        sched_yield();
}

static CUresult enqueue(const CUexternalSemaphore *semaphore,
                        const CUDA_EXTERNAL_SEMAPHORE_PARAMS *to, unsigned n,
                        CUstream s, CUhostFn fn)
{
    CUresult e = n == 1 && semaphore != NULL && to != NULL && to->flags == 0
                     ? fake_check(*semaphore, SEMAPHORE, "external semaphore")
                     : CUDA_ERROR_INVALID_VALUE;
    struct cuda_work *w;

    if (e == CUDA_SUCCESS)
        e = fake_stream(s, &s);
    if (e != CUDA_SUCCESS)
        return e;
    w = fake_work(COMPUTE);
    if (w == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const struct point_of p = {(*semaphore)->value, to->value};
    w->fn = fn;
    w->param = malloc(sizeof(p));
    w->param_bytes = sizeof(p);
    w->bound = true;
    if (w->param == NULL) {
        fake_work_free(w);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(w->param, &p, sizeof(p));
    return fake_submit(s, w);
}

CUresult
cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *semaphore,
                                const CUDA_EXTERNAL_SEMAPHORE_PARAMS *to,
                                unsigned n, CUstream s)
{
    CUresult e = fake_enter("cuSignalExternalSemaphoresAsync", CURRENT);

    return e != CUDA_SUCCESS ? e
                             : fake_leave(enqueue(semaphore, to, n, s, set));
}

CUresult cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *semaphore,
                                       const CUDA_EXTERNAL_SEMAPHORE_PARAMS *to,
                                       unsigned n, CUstream s)
{
    CUresult e = fake_enter("cuWaitExternalSemaphoresAsync", CURRENT);

    return e != CUDA_SUCCESS ? e
                             : fake_leave(enqueue(semaphore, to, n, s, await));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_memory.c - allocations of devices and of pinned host memory.
 *
 * A device's address is the host's. Memory that is fresh is full of ones: as a
 * float that is a NaN. */
#include "tests/fakecuda/driver/cuda_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 512 /* of memory of cuMemAlloc */

struct memory *fake_memory(uint64_t p, uint64_t bytes)
{
    for (struct memory *m = fake.memory; m != NULL; m = m->next)
        if (p >= m->base && bytes <= m->bytes &&
            p - m->base <= m->bytes - bytes)
            return m;
    return NULL;
}

static void pool_trim(CUmemoryPool pool, uint64_t keep)
{
    if (pool->kept <= keep)
        return;
    fake.used[pool->device] -= pool->kept - keep;
    pool->kept = keep;
}

static void pool_give(CUmemoryPool pool, uint64_t bytes)
{
    pool->live -= bytes;
    pool->kept += bytes;
    pool_trim(pool, pool->object.dead ? 0 : pool->threshold);
}

void fake_memory_end(struct memory *m)
{
    struct memory **at = &fake.memory;
    void *p = (void *)(uintptr_t)m->base;

    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    if (m->pool != NULL)
        pool_give(m->pool, m->bytes);
    else if (!m->host && !m->mapped)
        fake.used[m->ctx->device] -= m->bytes;
    ptx_shadow_destroy(m->shadow);
    if (m->mapped)
        (void)munmap(p, m->bytes);
    else
        free(p);
    free(m);
}

static CUresult allocate(size_t bytes, bool host, struct memory **out)
{
    CUcontext ctx = fake_current();
    struct memory *m;
    void *p = NULL;

    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!host && (bytes > fake.memory_bytes ||
                  fake.used[ctx->device] > fake.memory_bytes - bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    m = calloc(1, sizeof(*m));
    if (m == NULL || posix_memalign(&p, ALIGNMENT, bytes) != 0) {
        free(m);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(p, 0xff, bytes);
    m->base = (uintptr_t)p;
    m->bytes = bytes;
    m->host = host;
    m->ctx = ctx;
    if (fake.race_mode && !host)
        m->shadow = ptx_shadow_create(m->base, bytes);
    if (!host)
        fake.used[ctx->device] += bytes;
    m->next = fake.memory;
    fake.memory = m;
    *out = m;
    return CUDA_SUCCESS;
}

struct memory *fake_memory_map(int fd, uint64_t offset, uint64_t bytes)
{
    struct memory *m = calloc(1, sizeof(*m));
    void *p = m == NULL ? MAP_FAILED
                        : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                               fd, (off_t)offset);

    if (p == MAP_FAILED) {
        free(m);
        return NULL;
    }
    m->base = (uintptr_t)p;
    m->bytes = bytes;
    m->mapped = true;
    m->ctx = fake_current();
    m->next = fake.memory;
    fake.memory = m;
    return m;
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
    CUresult e = fake_enter("cuMemAlloc_v2", CURRENT);
    struct memory *m;

    if (e != CUDA_SUCCESS)
        return e;
    e = p == NULL ? CUDA_ERROR_INVALID_VALUE : fake_unsafe("cuMemAlloc");
    if (e == CUDA_SUCCESS)
        e = allocate(bytes, false, &m);
    if (e == CUDA_SUCCESS)
        *p = m->base;
    return fake_leave(e);
}

CUresult cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
    CUresult e = fake_enter("cuMemHostAlloc", CURRENT);
    struct memory *m;

    if (e != CUDA_SUCCESS)
        return e;
    e = p == NULL || flags > 7 ? CUDA_ERROR_INVALID_VALUE
                               : fake_unsafe("cuMemHostAlloc");
    if (e == CUDA_SUCCESS)
        e = allocate(bytes, true, &m);
    if (e == CUDA_SUCCESS)
        *p = (void *)(uintptr_t)m->base;
    return fake_leave(e);
}

/* In a stream's order, with the lock and the call entered. */
static CUresult from_pool(CUdeviceptr *p, size_t bytes, CUmemoryPool pool,
                          CUstream s)
{
    struct memory *m;
    CUresult e = p == NULL ? CUDA_ERROR_INVALID_VALUE : fake_stream(s, &s);

    if (e == CUDA_SUCCESS && fake.no_pools)
        e = CUDA_ERROR_NOT_SUPPORTED;
    if (e == CUDA_SUCCESS && s->capture != NULL)
        e = fake_refuse(CUDA_ERROR_NOT_SUPPORTED,
                        "the stand-in has no nodes that allocate");
    if (e == CUDA_SUCCESS)
        e = fake_check(pool, POOL, "memory pool");
    if (e == CUDA_SUCCESS && pool->device != s->object.ctx->device)
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE,
                        "the pool is of another device than the stream");
    if (e != CUDA_SUCCESS)
        return e;
    pool_trim(pool, pool->kept > bytes ? pool->kept - bytes : 0);
    e = allocate(bytes, false, &m);
    if (e != CUDA_SUCCESS)
        return e;
    pool->live += bytes;
    m->pool = pool;
    m->ready = (struct point){s, s->submitted};
    *p = m->base;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *p, size_t bytes, CUstream s)
{
    CUresult e = fake_enter("cuMemAllocAsync", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    return fake_leave(
        from_pool(p, bytes, &fake.pool[fake_current()->device], s));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t bytes,
                                 CUmemoryPool pool, CUstream s)
{
    CUresult e = fake_enter("cuMemAllocFromPoolAsync", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    return fake_leave(from_pool(p, bytes, pool, s));
}

/* The memory that begins there and is not host memory (or is), and that no work
 * names. */
static CUresult idle(uint64_t p, bool host, struct memory **m)
{
    *m = fake_memory(p, 1);
    if (*m == NULL || (*m)->base != p || (*m)->host != host)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                           "%#llx: no allocation of that kind begins there",
                           (unsigned long long)p);
    if ((*m)->freeing)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "%#llx: freed already",
                           (unsigned long long)p);
    if ((*m)->users > 0)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                           "%#llx: %u works that use it are under way",
                           (unsigned long long)p, (*m)->users);
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr p)
{
    CUresult e = fake_enter("cuMemFree_v2", CURRENT);
    struct memory *m;

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_unsafe("cuMemFree");
    if (e == CUDA_SUCCESS && p != 0) {
        e = idle(p, false, &m);
        if (e == CUDA_SUCCESS)
            fake_memory_end(m);
    }
    return fake_leave(e);
}

CUresult cuMemFreeHost(void *p)
{
    CUresult e = fake_enter("cuMemFreeHost", CURRENT);
    struct memory *m;

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_unsafe("cuMemFreeHost");
    if (e == CUDA_SUCCESS && p != NULL) {
        e = idle((uintptr_t)p, true, &m);
        if (e == CUDA_SUCCESS)
            fake_memory_end(m);
    }
    return fake_leave(e);
}

CUresult cuMemFreeAsync(CUdeviceptr p, CUstream s)
{
    CUresult e = fake_enter("cuMemFreeAsync", CURRENT);
    struct memory *m;
    struct cuda_work *w;

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_stream(s, &s);
    m = fake_memory(p, 1);
    if (e == CUDA_SUCCESS && (m == NULL || m->base != p || m->pool == NULL))
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE,
                        "%#llx: no allocation of a pool begins there", p);
    if (e == CUDA_SUCCESS && m->freeing)
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE, "%#llx: freed already", p);
    if (e == CUDA_SUCCESS && s->capture != NULL)
        e = fake_refuse(CUDA_ERROR_NOT_SUPPORTED,
                        "the stand-in has no nodes that free");
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    w = fake_work(FREE);
    if (w == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    w->memory = m;
    m->freeing = true;
    return fake_leave(fake_submit(s, w));
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    CUresult e = fake_enter("cuDeviceGetDefaultMemPool", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    if (pool == NULL || device < 0 || device >= fake.devices)
        e = CUDA_ERROR_INVALID_VALUE;
    else if (fake.no_pools)
        e = CUDA_ERROR_NOT_SUPPORTED;
    else
        *pool = &fake.pool[device];
    return fake_leave(e);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    CUresult e = fake_enter("cuMemPoolCreate", INITIALIZED);
    CUmemPoolProps rest;
    static const CUmemPoolProps zeros;
    CUmemoryPool made;

    if (e != CUDA_SUCCESS)
        return e;
    if (pool == NULL || props == NULL || props->allocType != 1 ||
        props->location.type != 1 || props->location.id < 0 ||
        props->location.id >= fake.devices)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    rest = *props;
    rest.allocType = rest.location.type = rest.location.id = 0;
    if (memcmp(&rest, &zeros, sizeof(rest)) != 0)
        return fake_leave(fake_refuse(CUDA_ERROR_INVALID_VALUE,
                                      "more than a pool of a device's"));
    if (fake.no_pools)
        return fake_leave(CUDA_ERROR_NOT_SUPPORTED);
    made = fake_object(POOL, sizeof(*made));
    if (made == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    made->object.ctx = NULL; /* the device owns it */
    made->device = props->location.id;
    *pool = made;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult e = fake_enter("cuMemPoolDestroy", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(pool, POOL, "memory pool");
    for (int i = 0; i < FAKE_DEVICES && e == CUDA_SUCCESS; i++)
        if (pool == &fake.pool[i])
            e = fake_refuse(CUDA_ERROR_INVALID_VALUE, "a default pool stays");
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    pool->object.dead = true;
    pool_trim(pool, 0);
    return fake_leave(CUDA_SUCCESS);
}

/* The attributes that there are, or what is wrong. */
static CUresult attribute_of(CUmemoryPool pool, int attribute,
                             const void *value, uint64_t *is)
{
    CUresult e = fake_check(pool, POOL, "memory pool");

    if (e != CUDA_SUCCESS)
        return e;
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *is = attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
              ? pool->threshold
              : pool->live + pool->kept;
    return attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ||
                   attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
               ? CUDA_SUCCESS
               : fake_refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of a pool",
                             attribute);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value)
{
    CUresult e = fake_enter("cuMemPoolGetAttribute", INITIALIZED);
    uint64_t is;

    if (e != CUDA_SUCCESS)
        return e;
    e = attribute_of(pool, attribute, value, &is);
    if (e == CUDA_SUCCESS)
        memcpy(value, &is, sizeof(is));
    return fake_leave(e);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value)
{
    CUresult e = fake_enter("cuMemPoolSetAttribute", INITIALIZED);
    uint64_t is;

    if (e != CUDA_SUCCESS)
        return e;
    e = attribute_of(pool, attribute, value, &is);
    if (e == CUDA_SUCCESS && attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE, "reserved memory is a count");
    if (e == CUDA_SUCCESS)
        memcpy(&pool->threshold, value, sizeof(pool->threshold));
    return fake_leave(e);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    CUresult e = fake_enter("cuMemPoolTrimTo", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(pool, POOL, "memory pool");
    if (e == CUDA_SUCCESS)
        pool_trim(pool, keep > pool->live ? keep - pool->live : 0);
    return fake_leave(e);
}

CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr p)
{
    CUresult e = fake_enter("cuPointerGetAttribute", INITIALIZED);
    const struct memory *m;

    if (e != CUDA_SUCCESS)
        return e;
    m = fake_memory(p, 1);
    if (value == NULL || m == NULL) /* pageable memory: not ours */
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
        memcpy(value, &m->ctx, sizeof(m->ctx));
    else if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(unsigned *)value =
            m->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        *(int *)value = m->ctx->device;
    else if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
        *(CUdeviceptr *)value = m->base;
    else if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
        *(size_t *)value = m->bytes;
    else
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of a pointer",
                        attribute);
    return fake_leave(e);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - device memory in slabs, allocated in multiples of 256 bytes.
 *
 * A slab is one allocation of the backend, with a tree of its free ranges.
 * Allocation is first fit, and a freed range merges with its free neighbours. A
 * buffer larger than half a slab gets a dedicated slab. This suits training,
 * which requests the same large sizes again and again: a dedicated slab cannot
 * fragment, and stays for the next buffer of about its size, because a driver
 * takes long to allocate, and a system to clear pages. Backends with slab_bytes
 * 0 (guard) get one allocation per buffer.
 *
 * A buffer's memory is free again when the work that uses it has run, and the
 * host may be hundreds of ops ahead of that. So before a pool grows, the host
 * waits for the work, if it has handed out as many bytes since it last did as
 * were still in use then. */
#include "lib/core/memory/pool.h"

#include "lib/core/base/env.h"
#include "lib/core/base/fork.h"
#include "lib/core/base/interval.h"

#include <stdlib.h>

#define STEP                                                                   \
    256u /* bytes: all GPUs accept bindings that start at a multiple of it */

/* A free range of a slab; its bounds are multiples of STEP. */
struct core_pool_range {
    struct interval bytes;        /* in the slab's tree of free ranges */
    struct core_pool_range *next; /* in the slab's list of spare nodes */
};

/* One allocation of the backend, and its free ranges. */
struct slab {
    struct slab *next, *before;
    struct backend_mem *mem; /* owned */
    uint64_t bytes;          /* that buffers can use */
    uint64_t used;           /* bytes */
    struct interval *free;   /* ranges, of which no two are adjacent */
    struct core_pool_range
        *spare;     /* one per live buffer: freeing needs no memory */
    bool dedicated; /* for a single buffer at a time */
};

struct pool {
    ssq_device *device; /* not a reference: the device owns the pool */
    void (*retire)(ssq_device *device, bool wait); /* called without the lock */
    struct backend_limits limits;                  /* constant */
    pthread_mutex_t lock;                          /* guards all that follow */
    struct slab *slabs;                            /* newest first */
    /* bytes of live buffers, bytes of slabs, the highest in_use so far, and the
     * number of live buffers */
    uint64_t in_use, reserved, peak, buffers;
    /* in_use when all work had run, and the bytes handed out since: at most so
     * many are held by work alone */
    uint64_t settled, since;
};

/* Bytes handed out that are not worth a wait. */
#define SINCE_LEAST (UINT64_C(256) << 20)

/* Read the device's limits and lower them as the environment says, so that
 * tests can emulate a small device on any machine. A variable never raises a
 * limit: the device could not honour it. Devices with groups of one item are
 * processors, which have no loop limit. */
static ssq_status pool_read_limits(const ssq_device *device,
                                   struct backend_limits *l)
{
    device->backend->limits(device->impl, l);
    uint64_t bytes = l->binding_bytes, rounds = l->iterations;
    ssq_status st = env_number("SSQ_LIMIT_BINDING", 1, UINT64_MAX, &bytes);
    if (st == SSQ_OK)
        st = env_number("SSQ_LIMIT_ITERATIONS", 1, UINT32_MAX, &rounds);
    if (bytes < l->binding_bytes)
        l->binding_bytes = bytes;
    if (l->slab_bytes > l->binding_bytes)
        l->slab_bytes = l->binding_bytes;
    if (l->group > 1 && rounds != 0 &&
        (l->iterations == 0 || rounds < l->iterations))
        l->iterations = (uint32_t)rounds;
    return st;
}

ssq_status pool_create(ssq_device *device,
                       void (*retire)(ssq_device *device, bool wait),
                       struct pool **out)
{
    struct backend_limits limits = {0};
    ssq_status st = pool_read_limits(device, &limits);
    if (st != SSQ_OK)
        return st;
    struct pool *p = mem_alloc(sizeof(*p));
    if (p == NULL)
        return error_nomem("pool", sizeof(*p));
    p->device = device;
    p->retire = retire;
    p->limits = limits;
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return SSQ_OK;
}

const struct backend_limits *pool_limits(const struct pool *p)
{
    return &p->limits;
}

uint64_t pool_binding_bytes(const struct pool *p)
{
    return p->limits.binding_bytes;
}

/* The interval is a range's first member. */
static struct core_pool_range *pool_range_of(struct interval *i)
{
    return (struct core_pool_range *)i;
}

static void range_drop(struct slab *s, struct interval *i)
{
    interval_remove(&s->free, i);
    mem_free(pool_range_of(i));
}

/* Unlink a slab without live buffers, and free it. */
static void slab_free(struct pool *p, struct slab *s)
{
    *(s->before == NULL ? &p->slabs : &s->before->next) = s->next;
    if (s->next != NULL)
        s->next->before = s->before;
    while (s->free != NULL)
        range_drop(s, s->free);
    for (struct core_pool_range *r = s->spare, *next; r != NULL; r = next) {
        next = r->next;
        mem_free(r);
    }
    p->reserved -= s->bytes;
    p->device->backend->free(p->device->impl, s->mem);
    mem_free(s);
}

/* Free every slab that no buffer uses. The caller must hold the lock. */
static void pool_trim_locked(struct pool *p)
{
    for (struct slab *s = p->slabs, *next; s != NULL; s = next) {
        next = s->next;
        if (s->used == 0)
            slab_free(p, s);
    }
}

void pool_trim(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    pool_trim_locked(p);
    if (p->device->backend->trim != NULL)
        p->device->backend->trim(p->device->impl);
    pthread_mutex_unlock(&p->lock);
}

/* No buffer exists any more: each one holds the device, which owns the pool. */
void pool_destroy(struct pool *p)
{
    if (p == NULL)
        return;
    pool_trim(p);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

/* Create a slab with one free range of `bytes`, in mem_bytes of device memory,
 * and link it into the pool. The memory limit counts all slabs, used or not. */
static ssq_status slab_create(struct pool *p, uint64_t bytes,
                              uint64_t mem_bytes, struct slab **out)
{
    uint64_t limit = p->device->options.memory_limit;
    if (limit != 0 && (p->reserved > limit || bytes > limit - p->reserved))
        return error_set(SSQ_ERR_NOMEM,
                         "the limit leaves no memory for %llu bytes",
                         (unsigned long long)bytes);
    struct slab *s = mem_alloc(sizeof(*s));
    struct core_pool_range *r = mem_alloc(sizeof(*r));
    ssq_status st =
        s == NULL || r == NULL
            ? error_nomem("pool", sizeof(*s))
            : p->device->backend->alloc(p->device->impl, mem_bytes, &s->mem);
    if (st != SSQ_OK) {
        mem_free(s);
        mem_free(r);
        return st;
    }
    r->bytes.to = bytes;
    interval_add(&s->free, &r->bytes);
    s->bytes = bytes;
    s->next = p->slabs;
    if (s->next != NULL)
        s->next->before = s;
    p->slabs = s;
    p->reserved += bytes;
    *out = s;
    return SSQ_OK;
}

/* Allocate from the slab's first range that is large enough. False if there is
 * none, or no host memory for a node. Each allocation adds a spare node for the
 * range that freeing will create, so that freeing cannot fail. The node is the
 * range's own if the range is used up, otherwise a new one. */
static bool slab_alloc_range(struct slab *s, uint64_t bytes, uint64_t *offset)
{
    struct interval *i = interval_first(s->free, bytes);
    if (i == NULL)
        return false;
    struct core_pool_range *spare = pool_range_of(i);
    if (i->to - i->from > bytes) {
        spare = mem_alloc(sizeof(*spare));
        if (spare == NULL)
            return false;
    }
    *offset = i->from;
    interval_remove(&s->free, i);
    if (spare != pool_range_of(i)) {
        i->from += bytes;
        interval_add(&s->free, i);
    }
    spare->next = s->spare;
    s->spare = spare;
    s->used += bytes;
    return true;
}

/* Return a buffer's bytes to the free ranges, and merge them with the
 * neighbours on both sides. */
static void slab_free_range(struct slab *s, uint64_t offset, uint64_t bytes)
{
    struct core_pool_range *r = s->spare;
    s->spare = r->next;
    s->used -= bytes;
    r->bytes = (struct interval){.from = offset, .to = offset + bytes};
    struct interval *before = interval_before(s->free, 0, offset);
    struct interval *after = interval_after(s->free, 0, offset);
    if (before != NULL && before->to == offset) {
        r->bytes.from = before->from;
        range_drop(s, before);
    }
    if (after != NULL && after->from == r->bytes.to) {
        r->bytes.to = after->to;
        range_drop(s, after);
    }
    interval_add(&s->free, &r->bytes);
}

/* Place a buffer in an existing slab. False: no shared slab has room. */
static bool pool_alloc_shared(const struct pool *p, ssq_buffer *b,
                              uint64_t bytes)
{
    for (struct slab *s = p->slabs; s != NULL; s = s->next) {
        if (s->dedicated || !slab_alloc_range(s, bytes, &b->offset))
            continue;
        b->slab = s;
        return true;
    }
    return false;
}

/* Place a buffer in the smallest dedicated slab that is idle and large enough,
 * but not so large that a fifth of it would be lost. */
static bool pool_alloc_idle(const struct pool *p, ssq_buffer *b, uint64_t bytes)
{
    struct slab *best = NULL;
    for (struct slab *s = p->slabs; s != NULL; s = s->next)
        if (s->dedicated && s->used == 0 && s->bytes >= bytes &&
            s->bytes - bytes <= bytes / 4 &&
            (best == NULL || s->bytes < best->bytes))
            best = s;
    if (best == NULL || !slab_alloc_range(best, bytes, &b->offset))
        return false;
    b->slab = best;
    return true;
}

/* True if a dedicated slab is kept when its buffer is freed. A slab for a small
 * buffer is not: small buffers use shared slabs. All slabs together are at most
 * the peak of use, with a margin because slabs are never full. */
static bool slab_stays(const struct pool *p, const struct slab *s)
{
    uint64_t share = p->limits.slab_bytes;
    return share != 0 && s->bytes > share / 2 &&
           p->reserved <= p->peak + p->peak / 4 + share;
}

/* Create a slab for this buffer. It is a shared one, or a dedicated one if the
 * buffer is large or the device lacks memory for a whole shared slab. A backend
 * without slabs gets the buffer's exact size, so that it can detect an op that
 * runs past the buffer's end. */
static ssq_status pool_alloc_slab(struct pool *p, ssq_buffer *b, uint64_t bytes)
{
    uint64_t share = p->limits.slab_bytes;
    bool dedicated = bytes > share / 2;
    struct slab *s = NULL;
    ssq_status st = SSQ_ERR_NOMEM;
    if (!dedicated)
        st = slab_create(p, share, share, &s);
    if (st == SSQ_ERR_NOMEM) {
        dedicated = true;
        st = slab_create(p, bytes, share == 0 ? b->bytes : bytes, &s);
    }
    if (st != SSQ_OK)
        return st;
    s->dedicated = dedicated;
    if (!slab_alloc_range(s, bytes, &b->offset)) {
        slab_free(p, s);
        return error_nomem("pool", sizeof(struct core_pool_range));
    }
    b->slab = s;
    return SSQ_OK;
}

/* Make one attempt, with a new slab only if grow is set. bytes is a multiple of
 * STEP. The caller must hold the lock. */
static ssq_status pool_get_locked(struct pool *p, ssq_buffer *b, uint64_t bytes,
                                  bool grow)
{
    bool share = bytes <= p->limits.slab_bytes / 2;
    if (!(share ? pool_alloc_shared : pool_alloc_idle)(p, b, bytes)) {
        ssq_status st = grow ? pool_alloc_slab(p, b, bytes) : SSQ_ERR_NOMEM;
        if (st != SSQ_OK)
            return st;
    }
    b->mem = b->slab->mem;
    p->in_use += bytes;
    p->since += bytes;
    p->buffers++;
    if (p->in_use > p->peak)
        p->peak = p->in_use;
    return SSQ_OK;
}

void pool_hold(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
}

void pool_let_go(struct pool *p)
{
    pthread_mutex_unlock(&p->lock);
}

void pool_info(struct pool *p, ssq_memory_info *info)
{
    pthread_mutex_lock(&p->lock);
    info->in_use = p->in_use;
    info->reserved = p->reserved;
    info->peak = p->peak;
    info->buffers = p->buffers;
    pthread_mutex_unlock(&p->lock);
}

/* Report that the pool is exhausted; the thread's last error says why. */
static ssq_status pool_exhausted_error(struct pool *p, uint64_t asked)
{
    ssq_memory_info info = SSQ_MEMORY_INFO_INIT;
    uint64_t limit = p->device->options.memory_limit;
    pool_info(p, &info);
    return error_set(
        SSQ_ERR_NOMEM,
        "buffer: %llu bytes asked, %llu in use and %llu reserved of %llu on "
        "%s%s; %s",
        (unsigned long long)asked, (unsigned long long)info.in_use,
        (unsigned long long)info.reserved,
        (unsigned long long)(limit != 0 ? limit : p->limits.memory_bytes),
        p->device->props.name,
        limit == 0 && p->limits.memory_bytes == 0 ? " (size not known)" : "",
        ssq_last_error());
}

static ssq_status pool_try(struct pool *p, ssq_buffer *b, uint64_t bytes,
                           bool grow)
{
    pthread_mutex_lock(&p->lock);
    ssq_status st = pool_get_locked(p, b, bytes, grow);
    pthread_mutex_unlock(&p->lock);
    return st;
}

/* True if work that has not run may hold as much as all that is in use. Not if
 * it may wait for a semaphore: the caller may be the one that signals it. */
static bool pool_far_ahead(struct pool *p)
{
    if (atomic_load(&p->device->awaits))
        return false;
    pthread_mutex_lock(&p->lock);
    bool far = p->limits.slab_bytes != 0 && p->since > SINCE_LEAST &&
               p->since > p->settled;
    pthread_mutex_unlock(&p->lock);
    return far;
}

/* Wait for all work, and release what it held. */
static void pool_settle(struct pool *p)
{
    p->retire(p->device, true);
    pthread_mutex_lock(&p->lock);
    p->settled = p->in_use;
    p->since = 0;
    pthread_mutex_unlock(&p->lock);
}

/* retire takes queues_lock and frees buffers, which calls pool_put(), so the
 * pool's lock must not be held here. */
ssq_status pool_get(struct pool *p, ssq_buffer *b)
{
    uint64_t bytes;
    if (!size_align(b->bytes, STEP, &bytes))
        return error_set(SSQ_ERR_NOMEM, "buffer: no memory has %llu bytes",
                         (unsigned long long)b->bytes);
    /* From the slabs that there are. */
    if (pool_try(p, b, bytes, false) == SSQ_OK)
        return SSQ_OK;
    p->retire(p->device, false);
    if (pool_try(p, b, bytes, false) == SSQ_OK)
        return SSQ_OK;
    if (pool_far_ahead(p)) {
        pool_settle(p);
        if (pool_try(p, b, bytes, false) == SSQ_OK)
            return SSQ_OK;
    }
    /* From a new slab. If there is no memory for it, return idle slabs to the
     * device and try again; then wait for all work and try a last time. */
    for (int attempt = 0; attempt < 3; attempt++) {
        if (attempt == 2)
            pool_settle(p);
        if (attempt > 0)
            pool_trim(p);
        ssq_status st = pool_try(p, b, bytes, true);
        if (st != SSQ_ERR_NOMEM)
            return st;
    }
    return pool_exhausted_error(p, b->bytes);
}

/* Slabs stay for later buffers until the pool is trimmed; a dedicated one only
 * if not too many do. */
void pool_put(struct pool *p, ssq_buffer *b)
{
    uint64_t bytes = (b->bytes + STEP - 1) & ~(uint64_t)(STEP - 1);
    pthread_mutex_lock(&p->lock);
    slab_free_range(b->slab, b->offset, bytes);
    p->in_use -= bytes;
    p->buffers--;
    if (b->slab->dedicated && !slab_stays(p, b->slab))
        slab_free(p, b->slab);
    pthread_mutex_unlock(&p->lock);
}

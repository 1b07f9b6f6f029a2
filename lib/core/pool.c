/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - device memory in slabs, handed out in multiples of 256 bytes.
 *
 * A slab is one allocation of the backend, with a tree of its free
 * ranges; first fit, neighbours are merged when a range comes back. A buffer
 * larger than half a slab gets a slab of its own, given back at once when it is
 * freed: training asks for the same large sizes again and again, and one
 * dedicated slab cannot fragment. Backends with slab_bytes 0 (guard) get one
 * allocation per buffer. */
#include "lib/core/pool.h"

#include "lib/core/env.h"
#include "lib/core/fork.h"
#include "lib/core/interval.h"

#include <stdlib.h>

#define STEP                                                                   \
    256u /* bytes: the least alignment all GPUs accept for bindings            \
          */

/* A range of a slab that is free, in multiples of STEP. */
struct range {
    struct interval bytes; /* in the slab's tree of free ranges */
    struct range *next;    /* in the slab's list of spare ones */
};

/* Memory of the backend, and which ranges of it are free. */
struct slab {
    struct slab *next, *before;
    struct backend_mem *mem; /* owned */
    uint64_t bytes;          /* handed out at most */
    uint64_t used;           /* bytes */
    struct interval *free;   /* of ranges, of which none touch each other */
    struct range *spare; /* one per live buffer: giving back needs no memory */
    bool dedicated;      /* of one buffer, and no other is put into it */
};

struct pool {
    ssq_device *device; /* not a reference: the device owns the pool */
    void (*retire)(ssq_device *device, bool wait); /* never with the lock */
    struct backend_limits limits;                  /* constant */
    pthread_mutex_t lock;                          /* of all that follows */
    struct slab *slabs;                            /* the newest first */
    /* bytes of live buffers, bytes of slabs, the most that in_use has been, and
     * how many buffers live */
    uint64_t in_use, reserved, peak, buffers;
};

/* The device's limits, lowered by the environment: so tests see on any machine
 * what a small device does. A variable never raises a limit, since the device
 * could not keep what it promised. Groups of one item have no loop limit, as
 * they are processors. */
static ssq_status read_limits(const ssq_device *device,
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
    ssq_status st = read_limits(device, &limits);
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
static struct range *range_of(struct interval *i)
{
    return (struct range *)i;
}

static void range_drop(struct slab *s, struct interval *i)
{
    interval_remove(&s->free, i);
    mem_free(range_of(i));
}

/* Unlink a slab without live buffers, and give it back. */
static void slab_free(struct pool *p, struct slab *s)
{
    *(s->before == NULL ? &p->slabs : &s->before->next) = s->next;
    if (s->next != NULL)
        s->next->before = s->before;
    while (s->free != NULL)
        range_drop(s, s->free);
    for (struct range *r = s->spare, *next; r != NULL; r = next) {
        next = r->next;
        mem_free(r);
    }
    p->reserved -= s->bytes;
    p->device->backend->free(p->device->impl, s->mem);
    mem_free(s);
}

/* With the lock: give back every slab that no buffer uses. */
static void trim_locked(struct pool *p)
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
    trim_locked(p);
    if (p->device->backend->trim != NULL)
        p->device->backend->trim(p->device->impl);
    pthread_mutex_unlock(&p->lock);
}

/* All buffers are gone: each of them held the device, which owns the pool. */
void pool_destroy(struct pool *p)
{
    if (p == NULL)
        return;
    pool_trim(p);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

/* Make a new slab with one free range of bytes, in mem_bytes of device memory,
 * and link it into the pool. The limit counts bytes of slabs, used or not. */
static ssq_status slab_create(struct pool *p, uint64_t bytes,
                              uint64_t mem_bytes, struct slab **out)
{
    uint64_t limit = p->device->options.memory_limit;
    if (limit != 0 && (p->reserved > limit || bytes > limit - p->reserved))
        return error_set(SSQ_ERR_NOMEM,
                         "the limit leaves no memory for %llu bytes",
                         (unsigned long long)bytes);
    struct slab *s = mem_alloc(sizeof(*s));
    struct range *r = mem_alloc(sizeof(*r));
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

/* Cut bytes from the slab's first range that has them; false: none has, or
 * there is no host memory for a node. A node is put by for their way back, so
 * that freeing a buffer cannot fail: it is the range's own where that is used
 * up, else a new one. */
static bool slab_take(struct slab *s, uint64_t bytes, uint64_t *offset)
{
    struct interval *i = interval_first(s->free, bytes);
    if (i == NULL)
        return false;
    struct range *spare = range_of(i);
    if (i->to - i->from > bytes) {
        spare = mem_alloc(sizeof(*spare));
        if (spare == NULL)
            return false;
    }
    *offset = i->from;
    interval_remove(&s->free, i);
    if (spare != range_of(i)) {
        i->from += bytes;
        interval_add(&s->free, i);
    }
    spare->next = s->spare;
    s->spare = spare;
    s->used += bytes;
    return true;
}

/* Put a buffer's bytes back among the free ranges, where their offset belongs,
 * and join them with the neighbours on both sides. */
static void slab_give(struct slab *s, uint64_t offset, uint64_t bytes)
{
    struct range *r = s->spare;
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

/* Place a buffer in a slab that there is; false: no shared slab has room. */
static bool take_anywhere(const struct pool *p, ssq_buffer *b, uint64_t bytes)
{
    for (struct slab *s = p->slabs; s != NULL; s = s->next) {
        if (s->dedicated || !slab_take(s, bytes, &b->offset))
            continue;
        b->slab = s;
        return true;
    }
    return false;
}

/* Make a slab for this buffer: a shared one, or one of its own where the buffer
 * is large or the device has no memory for a whole shared slab. A backend
 * without slabs is asked for the exact size, so that it sees an op run over the
 * buffer's last byte. */
static ssq_status take_new(struct pool *p, ssq_buffer *b, uint64_t bytes)
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
    if (!slab_take(s, bytes, &b->offset)) {
        slab_free(p, s);
        return error_nomem("pool", sizeof(struct range));
    }
    b->slab = s;
    return SSQ_OK;
}

/* One attempt of pool_get, with the lock; bytes are rounded up to STEP. */
static ssq_status get_locked(struct pool *p, ssq_buffer *b, uint64_t bytes)
{
    bool share = bytes <= p->limits.slab_bytes / 2;
    if (!share || !take_anywhere(p, b, bytes)) {
        ssq_status st = take_new(p, b, bytes);
        if (st != SSQ_OK)
            return st;
    }
    b->mem = b->slab->mem;
    p->in_use += bytes;
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

/* The text of an exhausted pool; the last text says what failed. */
static ssq_status exhausted(struct pool *p, uint64_t asked)
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

ssq_status pool_get(struct pool *p, ssq_buffer *b)
{
    uint64_t bytes;
    if (!size_align(b->bytes, STEP, &bytes))
        return error_set(SSQ_ERR_NOMEM, "buffer: no memory has %llu bytes",
                         (unsigned long long)b->bytes);
    /* First as it is, then with finished work let go of, and in the end after
     * waiting for all work. retire takes queues_lock and releases buffers,
     * which come back here: so the pool's lock is not held. */
    for (int attempt = 0; attempt < 3; attempt++) {
        if (attempt > 0) {
            p->retire(p->device, attempt == 2);
            pool_trim(p);
        }
        pthread_mutex_lock(&p->lock);
        ssq_status st = get_locked(p, b, bytes);
        pthread_mutex_unlock(&p->lock);
        if (st != SSQ_ERR_NOMEM)
            return st;
    }
    return exhausted(p, b->bytes);
}

/* A dedicated slab goes back to the device at once; shared ones stay for the
 * next buffer, until somebody trims the pool. */
void pool_put(struct pool *p, ssq_buffer *b)
{
    uint64_t bytes = (b->bytes + STEP - 1) & ~(uint64_t)(STEP - 1);
    pthread_mutex_lock(&p->lock);
    slab_give(b->slab, b->offset, bytes);
    p->in_use -= bytes;
    p->buffers--;
    if (b->slab->dedicated)
        slab_free(p, b->slab);
    pthread_mutex_unlock(&p->lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - device memory in slabs, handed out in 256-byte steps.
 *
 * A slab is one piece of backend memory with a sorted list of free ranges;
 * first fit, neighbours are merged when a range comes back. A buffer larger
 * than half a slab gets a slab of its own, given back at once when it is
 * freed: training asks for the same large sizes again and again, and one
 * dedicated slab cannot fragment. Backends with slab_bytes 0 (guard) get one
 * allocation per buffer. */
#include "lib/pool.h"

#include <stdlib.h>
#include <string.h>

#define STEP 256u /* bytes: the least alignment all GPUs accept for bindings   \
                   */

struct range {
    struct range *next;
    uint64_t offset, bytes;
};

struct slab {
    struct slab *next;
    struct backend_mem *mem;
    struct range *free; /* by offset, never adjacent; and the spare nodes */
    uint64_t used;      /* bytes */
    bool dedicated;
};

struct pool {
    ssq_device *device; /* not a reference: the device owns the pool */
    struct backend_limits limits;
    pthread_mutex_t lock;
    struct slab *slabs;
    uint64_t in_use, reserved, peak, buffers;
};

ssq_status pool_create(ssq_device *device, struct pool **out)
{
    struct pool *p = mem_alloc(sizeof(*p));
    if (p == NULL)
        return error_nomem("pool", sizeof(*p));
    p->device = device;
    pthread_mutex_init(&p->lock, NULL);
    device->backend->limits(device->impl, &p->limits);
    const char *limit = getenv("SSQ_LIMIT_BINDING");
    uint64_t bytes = limit == NULL ? 0 : strtoull(limit, NULL, 10);
    if (bytes != 0 && bytes < p->limits.binding_bytes)
        p->limits.binding_bytes = bytes;
    if (p->limits.slab_bytes > p->limits.binding_bytes)
        p->limits.slab_bytes = p->limits.binding_bytes;
    *out = p;
    return SSQ_OK;
}

uint64_t pool_binding_bytes(const struct pool *p)
{
    return p->limits.binding_bytes;
}

static void slab_free(struct pool *p, struct slab *s)
{
    for (struct range *r = s->free, *next; r != NULL; r = next) {
        next = r->next;
        mem_free(r);
    }
    p->reserved -= s->mem->bytes;
    p->device->backend->free(p->device->impl, s->mem);
    mem_free(s);
}

static void trim_locked(struct pool *p)
{
    for (struct slab **at = &p->slabs; *at != NULL;) {
        struct slab *s = *at;
        if (s->used != 0) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        slab_free(p, s);
    }
}

void pool_trim(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    trim_locked(p);
    pthread_mutex_unlock(&p->lock);
}

void pool_destroy(struct pool *p)
{
    if (p == NULL)
        return;
    pool_trim(p);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

/* A new slab of at least bytes with one free range; linked into the pool. */
static ssq_status slab_create(struct pool *p, uint64_t bytes, struct slab **out)
{
    uint64_t limit = p->device->options.memory_limit;
    if (limit != 0 && (p->reserved > limit || bytes > limit - p->reserved))
        return error_set(SSQ_ERR_NOMEM, "pool: the limit of %llu bytes",
                         (unsigned long long)limit);
    struct slab *s = mem_alloc(sizeof(*s));
    struct range *r = mem_alloc(sizeof(*r));
    if (s == NULL || r == NULL) {
        mem_free(s);
        mem_free(r);
        return error_nomem("pool", sizeof(*s));
    }
    ssq_status st = p->device->backend->alloc(p->device->impl, bytes, &s->mem);
    if (st != SSQ_OK) {
        mem_free(s);
        mem_free(r);
        return st;
    }
    r->bytes = bytes;
    s->free = r;
    s->next = p->slabs;
    p->slabs = s;
    p->reserved += s->mem->bytes;
    *out = s;
    return SSQ_OK;
}

/* Cut bytes from the slab's first range that has them. */
static bool slab_take(struct slab *s, uint64_t bytes, uint64_t *offset)
{
    for (struct range **at = &s->free; *at != NULL; at = &(*at)->next) {
        struct range *r = *at;
        if (r->bytes < bytes)
            continue;
        *offset = r->offset;
        r->offset += bytes;
        r->bytes -= bytes;
        s->used += bytes;
        if (r->bytes == 0) {
            *at = r->next;
            mem_free(r);
        }
        return true;
    }
    return false;
}

/* Keep a spare node (an empty range) per buffer taken: giving back must not
 * need memory. */
static bool slab_reserve_node(struct slab *s)
{
    struct range *r = mem_alloc(sizeof(*r));
    if (r == NULL)
        return false;
    r->next = s->free;
    s->free = r;
    return true;
}

static struct range *take_spare(struct slab *s)
{
    for (struct range **at = &s->free; *at != NULL; at = &(*at)->next) {
        struct range *r = *at;
        if (r->bytes == 0) {
            *at = r->next;
            return r;
        }
    }
    return NULL;
}

static void slab_give(struct slab *s, uint64_t offset, uint64_t bytes)
{
    struct range *r = take_spare(s); /* reserved when it was taken */
    r->offset = offset;
    r->bytes = bytes;
    s->used -= bytes;
    /* merge with whoever touches, by at most two swaps into r */
    for (struct range **at = &s->free; *at != NULL;) {
        struct range *o = *at;
        bool below = o->bytes != 0 && o->offset + o->bytes == r->offset;
        bool above = o->bytes != 0 && r->offset + r->bytes == o->offset;
        if (!below && !above) {
            at = &o->next;
            continue;
        }
        if (below)
            r->offset = o->offset;
        r->bytes += o->bytes;
        *at = o->next;
        mem_free(o);
    }
    struct range **at = &s->free;
    while (*at != NULL && (*at)->offset < r->offset)
        at = &(*at)->next;
    r->next = *at;
    *at = r;
}

static bool take_anywhere(struct pool *p, ssq_buffer *b, uint64_t bytes)
{
    for (struct slab *s = p->slabs; s != NULL; s = s->next) {
        if (s->dedicated || !slab_reserve_node(s))
            continue;
        if (slab_take(s, bytes, &b->offset)) {
            b->slab = s;
            b->mem = s->mem;
            return true;
        }
        mem_free(take_spare(s));
    }
    return false;
}

static ssq_status get_locked(struct pool *p, ssq_buffer *b, uint64_t bytes)
{
    bool dedicated = bytes > p->limits.slab_bytes / 2;
    ssq_status st = SSQ_OK;
    if (dedicated || !take_anywhere(p, b, bytes)) {
        struct slab *s = NULL;
        st = slab_create(p, dedicated ? bytes : p->limits.slab_bytes, &s);
        if (st != SSQ_OK)
            return st;
        s->dedicated = dedicated;
        if (!slab_reserve_node(s) || !slab_take(s, bytes, &b->offset)) {
            trim_locked(p);
            return error_nomem("pool", sizeof(struct range));
        }
        b->slab = s;
        b->mem = s->mem;
    }
    p->in_use += bytes;
    p->buffers++;
    if (p->in_use > p->peak)
        p->peak = p->in_use;
    return SSQ_OK;
}

ssq_status pool_get(struct pool *p, ssq_buffer *b)
{
    uint64_t bytes;
    if (!size_align(b->bytes, STEP, &bytes))
        return error_set(SSQ_ERR_INVALID, "buffer: %llu bytes are too many",
                         (unsigned long long)b->bytes);
    ssq_status st = SSQ_OK;
    for (int attempt = 0; attempt < 4; attempt++) {
        pthread_mutex_lock(&p->lock);
        if (attempt == 3)
            trim_locked(p);
        st = get_locked(p, b, bytes);
        pthread_mutex_unlock(&p->lock);
        if (st != SSQ_ERR_NOMEM)
            return st;
        if (attempt < 2)
            device_retire(p->device, attempt == 1);
    }
    return error_set(SSQ_ERR_NOMEM,
                     "buffer: %llu bytes asked, %llu in use and %llu reserved "
                     "of %llu on %s (0: size not known); %s",
                     (unsigned long long)b->bytes,
                     (unsigned long long)p->in_use,
                     (unsigned long long)p->reserved,
                     (unsigned long long)(p->device->options.memory_limit != 0
                                              ? p->device->options.memory_limit
                                              : p->limits.memory_bytes),
                     p->device->props.name, ssq_last_error());
}

void pool_put(struct pool *p, ssq_buffer *b)
{
    uint64_t bytes = (b->bytes + STEP - 1) & ~(uint64_t)(STEP - 1);
    pthread_mutex_lock(&p->lock);
    slab_give(b->slab, b->offset, bytes);
    p->in_use -= bytes;
    p->buffers--;
    if (b->slab->dedicated)
        trim_locked(p);
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

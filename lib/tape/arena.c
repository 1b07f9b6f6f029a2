/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - allocate slabs, and extents from them. */
#include "lib/tape/arena.h"

#include <string.h>

#define ALIGN      256u
#define FIRST_SLAB (UINT64_C(1) << 20)
#define MOST_SLAB  (UINT64_C(64) << 20)
#define NO_LINK    UINT32_MAX

/* Make room for one more element of `size` bytes in an array. Returns false if
 * memory is short. */
static bool arena_grow(struct arena *a, void **array, size_t n, size_t *room,
                       size_t size)
{
    if (n < *room)
        return true;
    size_t more = *room == 0 ? 16 : 2 * *room;
    void *p = mem_alloc_array(more, size);
    if (p == NULL)
        return false;
    a->host_allocations++;
    if (*array != NULL)
        memcpy(p, *array, n * size);
    mem_free(*array);
    *array = p;
    *room = more;
    return true;
}

/* Return the table's entry for a size, or the empty entry in which it belongs.
 * The table is never full. */
static struct spare *arena_place(struct spare *table, size_t room,
                                 uint64_t bytes)
{
    size_t i = (size_t)(bytes / ALIGN * UINT64_C(0x9E3779B97F4A7C15) >> 32) &
               (room - 1);
    while (table[i].bytes != 0 && table[i].bytes != bytes)
        i = (i + 1) & (room - 1);
    return &table[i];
}

/* Make the table larger, with the same sizes in it. */
static bool rehash(struct arena *a)
{
    size_t room = a->spare_room == 0 ? 64 : 2 * a->spare_room;
    struct spare *table = mem_alloc_array(room, sizeof(*table));
    if (table == NULL)
        return false;
    a->host_allocations++;
    for (size_t i = 0; i < a->spare_room; i++)
        if (a->spares[i].bytes != 0)
            *arena_place(table, room, a->spares[i].bytes) = a->spares[i];
    mem_free(a->spares);
    a->spares = table;
    a->spare_room = room;
    return true;
}

/* Return the list of released extents of a size, or NULL if memory is short. */
static struct spare *spare_of(struct arena *a, uint64_t bytes)
{
    if (2 * (a->nspares + 1) > a->spare_room && !rehash(a))
        return NULL;
    struct spare *s = arena_place(a->spares, a->spare_room, bytes);
    if (s->bytes == 0) {
        *s = (struct spare){bytes, NO_LINK};
        a->nspares++;
    }
    return s;
}

/* Add a slab of at least `bytes` bytes. Each slab is twice as large as the one
 * before, up to MOST_SLAB. */
static ssq_status add_slab(struct arena *a, ssq_device *device, uint64_t bytes)
{
    void *slabs = a->slabs;
    bool room =
        arena_grow(a, &slabs, a->nslabs, &a->slab_room, sizeof(*a->slabs));
    a->slabs = slabs;
    if (!room)
        return error_nomem("tape", sizeof(*a->slabs));
    uint64_t size = FIRST_SLAB;
    for (size_t i = 0; i < a->nslabs && size < MOST_SLAB; i++)
        size *= 2;
    if (size < bytes)
        size = bytes;
    struct tape_slab *s = &a->slabs[a->nslabs];
    ssq_status st = buffer_create(device, size, &s->buffer);
    if (st != SSQ_OK)
        return st;
    s->bytes = size;
    a->nslabs++;
    a->taken += size;
    a->allocations++;
    return SSQ_OK;
}

/* Take the next bytes of the current slab, or of the next slab that is large
 * enough. If there is none, add a slab. */
static ssq_status carve(struct arena *a, ssq_device *device, uint64_t bytes,
                        struct extent *e)
{
    while (a->slab < a->nslabs && a->slabs[a->slab].bytes - a->at < bytes) {
        a->slab++;
        a->at = 0;
    }
    if (a->slab == a->nslabs) {
        ssq_status st = add_slab(a, device, bytes);
        if (st != SSQ_OK)
            return st;
    }
    *e = (struct extent){a->slabs[a->slab].buffer, a->at, bytes};
    a->at += bytes;
    return SSQ_OK;
}

ssq_status arena_take(struct arena *a, ssq_device *device, uint64_t bytes,
                      struct extent *e)
{
    bytes = bytes == 0 ? ALIGN : (bytes + ALIGN - 1) / ALIGN * ALIGN;
    struct spare *s = spare_of(a, bytes);
    if (s == NULL)
        return error_nomem("tape", sizeof(*s));
    if (s->first != NO_LINK) {
        struct link *l = &a->links[s->first];
        uint32_t next = l->next;
        *e = l->extent;
        l->next = a->free_link;
        a->free_link = s->first;
        s->first = next;
    } else {
        /* Reserve the link that will store this extent when it is released,
         * because arena_give() must not fail. */
        void *links = a->links;
        bool room =
            arena_grow(a, &links, a->nlinks, &a->link_room, sizeof(*a->links));
        a->links = links;
        if (!room)
            return error_nomem("tape", sizeof(*a->links));
        ssq_status st = carve(a, device, bytes, e);
        if (st != SSQ_OK)
            return st;
        a->links[a->nlinks].next = a->free_link;
        a->free_link = (uint32_t)a->nlinks++;
    }
    a->used += bytes;
    if (a->used > a->peak)
        a->peak = a->used;
    return SSQ_OK;
}

void arena_give(struct arena *a, struct extent *e)
{
    if (e->buffer == NULL)
        return;
    struct spare *s = arena_place(a->spares, a->spare_room, e->bytes);
    uint32_t i = a->free_link;
    struct link *l = &a->links[i];
    a->free_link = l->next;
    l->extent = *e;
    l->next = s->first;
    s->first = i;
    a->used -= e->bytes;
    *e = (struct extent){NULL, 0, 0};
}

void arena_reset(struct arena *a)
{
    for (size_t i = 0; i < a->spare_room; i++)
        a->spares[i] = (struct spare){0, NO_LINK};
    a->nspares = a->nlinks = 0;
    a->free_link = NO_LINK;
    a->slab = 0;
    a->at = a->used = a->peak = 0;
}

void arena_free(struct arena *a)
{
    for (size_t i = 0; i < a->nslabs; i++)
        object_put(&a->slabs[i].buffer->object);
    mem_free(a->slabs);
    mem_free(a->spares);
    mem_free(a->links);
    memset(a, 0, sizeof(*a));
}

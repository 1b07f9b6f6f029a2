/* SPDX-License-Identifier: Apache-2.0 */
/* unscaled.c - the gradients that were unscaled since a scaler's last update.
 *
 * Regions are disjoint, and sorted by their place in memory, not by buffer:
 * memory that the caller has lent twice belongs to two buffers. Strided
 * gradients may interleave, as columns of a matrix do. */
#include "lib/amp/common/unscaled.h"

#include <string.h>

struct region {
    struct view v; /* holds the buffer */
    struct byte_range at;
    bool contiguous;
};

struct unscaled {
    struct object object;
    size_t n, room;   /* number of regions, and capacity */
    uint64_t longest; /* bytes: no region's span is longer */
    struct region *region;
};

static void unscaled_free(struct object *o)
{
    struct unscaled *s = (struct unscaled *)o;
    for (size_t i = 0; i < s->n; i++)
        object_put(&s->region[i].v.buffer->object);
    mem_free(s->region);
    mem_free(s);
}

void unscaled_get(struct unscaled *set)
{
    if (set != NULL)
        object_get(&set->object);
}

void unscaled_put(struct unscaled *set)
{
    if (set != NULL)
        object_put(&set->object);
}

size_t unscaled_count(const struct unscaled *set)
{
    return set == NULL ? 0 : set->n;
}

/* The order of regions. It stays the same while the set exists, because the set
 * holds the buffers. */
static bool before(const struct byte_range *r, uintptr_t space, uint64_t from)
{
    return r->space != space ? r->space < space : r->from < from;
}

/* Return the first region that is not before a place. */
static size_t unscaled_find(const struct unscaled *s, uintptr_t space,
                            uint64_t at)
{
    size_t from = 0, to = s->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (before(&s->region[middle].at, space, at))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static uint64_t unscaled_bytes_of(const struct view *v)
{
    return (uint64_t)view_elements(v) * dtype_bytes(v->dtype);
}

/* Return how many bytes of v belong to a region. 0 if they do not overlap, or
 * if the bytes cannot be counted. Two views with gaps must be the same to
 * count. If only one has gaps, all its bytes count if it is within the other.
 * Regions are disjoint, so the numbers may be added. */
static uint64_t common(const struct region *r, const struct view *v,
                       const struct byte_range *at, bool contiguous)
{
    if (view_same_place(&r->v, v))
        return unscaled_bytes_of(v);
    bool inside = at->from >= r->at.from && at->to <= r->at.to;
    if (!contiguous)
        return r->contiguous && inside ? unscaled_bytes_of(v) : 0;
    if (!r->contiguous)
        return r->at.from >= at->from && r->at.to <= at->to
                   ? unscaled_bytes_of(&r->v)
                   : 0;
    uint64_t from = r->at.from > at->from ? r->at.from : at->from;
    uint64_t to = r->at.to < at->to ? r->at.to : at->to;
    return to - from;
}

enum coverage unscaled_covers(const struct unscaled *set, const struct view *v)
{
    if (set == NULL || view_span(v) == 0)
        return COVER_NONE;
    const struct byte_range at = view_bytes(v);
    uint64_t bytes = 0;
    /* regions that begin earlier than this end before v */
    uint64_t from = at.from < set->longest ? 0 : at.from - set->longest;
    bool contiguous = view_contiguous(v), touched = false;
    for (size_t i = unscaled_find(set, at.space, from); i < set->n; i++) {
        const struct region *r = &set->region[i];
        if (r->at.space != at.space || r->at.from >= at.to)
            break;
        if (!view_overlap(&r->v, v))
            continue;
        touched = true;
        bytes += common(r, v, &at, contiguous);
    }
    if (!touched)
        return COVER_NONE;
    return bytes == unscaled_bytes_of(v) ? COVER_ALL : COVER_PART;
}

/* Return a set with the same regions and this capacity, with one reference.
 * NULL: no memory. */
static struct unscaled *unscaled_copy(const struct unscaled *set, size_t room)
{
    struct unscaled *s = mem_alloc(sizeof(*s));
    if (s == NULL)
        return NULL;
    object_init(&s->object, unscaled_free);
    s->room = room;
    s->region = mem_alloc_array(room, sizeof(*s->region));
    if (s->region == NULL) {
        unscaled_put(s);
        return NULL;
    }
    if (set == NULL)
        return s;
    s->n = set->n;
    s->longest = set->longest;
    memcpy(s->region, set->region, set->n * sizeof(*s->region));
    for (size_t i = 0; i < s->n; i++)
        object_get(&s->region[i].v.buffer->object);
    return s;
}

ssq_status unscaled_reserve(struct unscaled **set, size_t n, const char *what)
{
    const struct unscaled *old = *set;
    /* if a snapshot is dropped meanwhile, the copy is merely unnecessary */
    bool alone = old != NULL && atomic_load(&old->object.refs) == 1;
    size_t have = old == NULL ? 0 : old->n, room = 2 * have;
    if (alone && n <= old->room - have)
        return SSQ_OK;
    struct unscaled *s = NULL;
    if (n <= SIZE_MAX / 4 / sizeof(struct region))
        s = unscaled_copy(old, room > have + n ? room : have + n);
    if (s == NULL)
        return error_nomem(what, (have + n) * sizeof(struct region));
    unscaled_put(*set);
    *set = s;
    return SSQ_OK;
}

void unscaled_add(struct unscaled *set, const struct view *v)
{
    uint64_t span = view_span(v);
    if (span == 0 || unscaled_covers(set, v) != COVER_NONE)
        return;
    const struct byte_range place = view_bytes(v);
    size_t at = unscaled_find(set, place.space, place.from);
    memmove(&set->region[at + 1], &set->region[at],
            (set->n - at) * sizeof(set->region[0]));
    set->region[at] = (struct region){*v, place, view_contiguous(v)};
    object_get(&v->buffer->object);
    set->n++;
    set->longest = span > set->longest ? span : set->longest;
}

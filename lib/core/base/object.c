/* SPDX-License-Identifier: Apache-2.0 */
/* object.c - reference counts. */
#include "lib/core/base/object.h"

void object_init(struct object *o, void (*free_fn)(struct object *))
{
    atomic_init(&o->refs, 1);
    o->free = free_fn;
}

/* Relaxed order is enough: the caller's own reference keeps the object alive.
 */
void object_get(struct object *o)
{
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
}

bool object_get_live(struct object *o)
{
    size_t refs = atomic_load(&o->refs);
    while (refs > 0)
        if (atomic_compare_exchange_weak(&o->refs, &refs, refs + 1))
            return true;
    return false;
}

/* Acquire and release: everything that other threads did with the object before
 * their put happens before the object is freed. */
void object_put(struct object *o)
{
    if (o == NULL)
        return;
    if (atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
        o->free(o);
}

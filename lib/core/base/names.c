/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - an index that maps names to numbers. */
#include "lib/core/base/names.h"

#include "lib/core/base/error.h"
#include "lib/core/base/object.h"

#include <string.h>

/* hash is stored so that growing the table need not read the names. */
struct name_slot {
    const char *name; /* NULL: the slot is empty */
    size_t number;
    uint32_t hash;
};

uint32_t name_hash(const char *name)
{
    uint32_t h = 0x811c9dc5u;
    for (const unsigned char *c = (const unsigned char *)name; *c != 0; c++)
        h = (h ^ *c) * 0x01000193u;
    return h;
}

/* Return the slot of a name, or the empty slot for it. One always exists,
 * because a table is never full. */
static struct name_slot *name_place(const struct name_index *n,
                                    const char *name, uint32_t hash)
{
    size_t i = hash & (n->room - 1);
    while (n->slot[i].name != NULL &&
           (n->slot[i].hash != hash || strcmp(n->slot[i].name, name) != 0))
        i = (i + 1) & (n->room - 1);
    return &n->slot[i];
}

size_t names_find(const struct name_index *n, const char *name)
{
    if (n->room == 0)
        return NAME_NONE;
    const struct name_slot *s = name_place(n, name, name_hash(name));
    return s->name == NULL ? NAME_NONE : s->number;
}

ssq_status names_reserve(struct name_index *n, const char *what)
{
    if (2 * (n->n + 1) <= n->room)
        return SSQ_OK;
    struct name_index more = {.n = n->n,
                              .room = n->room == 0 ? 64 : 2 * n->room};
    more.slot = mem_alloc_array(more.room, sizeof(*more.slot));
    if (more.slot == NULL)
        return error_nomem(what, more.room * sizeof(*more.slot));
    for (size_t i = 0; i < n->room; i++)
        if (n->slot[i].name != NULL)
            *name_place(&more, n->slot[i].name, n->slot[i].hash) = n->slot[i];
    mem_free(n->slot);
    *n = more;
    return SSQ_OK;
}

void names_add(struct name_index *n, const char *name, size_t number)
{
    uint32_t hash = name_hash(name);
    *name_place(n, name, hash) = (struct name_slot){name, number, hash};
    n->n++;
}

void names_clear(struct name_index *n)
{
    if (n->room > 0)
        memset(n->slot, 0, n->room * sizeof(*n->slot));
    n->n = 0;
}

void names_free(struct name_index *n)
{
    mem_free(n->slot);
    *n = (struct name_index){NULL, 0, 0};
}

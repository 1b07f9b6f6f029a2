/* SPDX-License-Identifier: Apache-2.0 */
/* view_list.c - lists of views: created once, then read only. */
#include "lib/core/core.h"

/* Views that were never set, or set as absent, hold no buffer. */
static void view_list_free(struct object *o)
{
    struct view_list *l = (struct view_list *)o;
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].buffer != NULL)
            object_put(&l->v[i].buffer->object);
    mem_free(l);
}

/* Allocate one block of memory. Its size is checked, because n may be a
 * caller's number of tensors times the pieces of each. */
struct view_list *list_create(size_t n, const char *what)
{
    size_t bytes = sizeof(struct view_list);
    struct view_list *l = NULL;
    if (n <= (SIZE_MAX - bytes) / sizeof(struct view)) {
        bytes += n * sizeof(struct view);
        l = mem_alloc(bytes);
    }
    if (l == NULL) {
        (void)error_nomem(what, bytes);
        return NULL;
    }
    object_init(&l->object, view_list_free);
    l->n = n;
    return l;
}

void list_set(struct view_list *list, size_t i, const struct view *v,
              enum access access)
{
    if (v->buffer != NULL)
        object_get(&v->buffer->object);
    list->v[i] = *v;
    list->v[i].access = access;
}

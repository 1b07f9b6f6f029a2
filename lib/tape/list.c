/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - arrays that grow as a pass needs, and keep their size. */
#include "lib/tape/tape.h"

#include <string.h>

void *list_add(struct list *l, size_t n, size_t size)
{
    if (l->room - l->n < n) {
        size_t room = l->room < 64 ? 64 : 2 * l->room;
        while (room - l->n < n)
            room *= 2;
        void *p = mem_alloc_array(room, size);
        if (p == NULL) {
            (void)error_nomem("tape", room * size);
            return NULL;
        }
        if (l->n > 0)
            memcpy(p, l->at, l->n * size);
        mem_free(l->at);
        l->at = p;
        l->room = room;
        l->grown++;
    }
    char *first = (char *)l->at + l->n * size;
    memset(first, 0, n * size);
    l->n += n;
    return first;
}

void *scratch(ssq_tape *t, size_t bytes)
{
    t->scratch.n = 0;
    return list_add(&t->scratch, bytes / sizeof(max_align_t) + 1,
                    sizeof(max_align_t));
}

void list_free(struct list *l)
{
    mem_free(l->at);
    *l = (struct list){0};
}

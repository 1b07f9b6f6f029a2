/* SPDX-License-Identifier: Apache-2.0 */
/* note.c - nodes: what a backward has to know of a call. */
#include "lib/tape/tape.h"

#include <string.h>

/* What the caller holds in his options is in the note; the values' tensors are
 * put in anew when the backward is called. */
ssq_status tape_note(ssq_tape *t, const struct node *n, const void *args,
                     size_t bytes)
{
    /* in units, so that structs stand aligned */
    size_t units = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t);
    size_t at = t->bytes.n;
    if (units > 0) {
        void *kept = list_add(&t->bytes, units, sizeof(max_align_t));
        if (kept == NULL)
            return SSQ_ERR_NOMEM;
        memcpy(kept, args, bytes);
    }
    struct node *note = list_add(&t->nodes, 1, sizeof(*note));
    if (note == NULL)
        return SSQ_ERR_NOMEM;
    *note = *n;
    note->args = (uint32_t)at;
    for (unsigned i = 0; i < TAPE_OUTS; i++)
        if (i < n->op->nouts && n->out[i] != NONE) {
            struct value *v = value_of(t, n->out[i]);
            v->node = (uint32_t)t->nodes.n - 1;
            v->wanted = true;
        }
    return SSQ_OK;
}

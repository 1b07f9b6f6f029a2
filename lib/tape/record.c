/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - nodes: the information that a backward needs about a call. */
#include "lib/tape/tape.h"

#include <string.h>

const char *node_scope(const ssq_tape *t, const struct node *n)
{
    return (const char *)t->texts.at + n->scope;
}

bool node_has_grad(const ssq_tape *t, const struct node *n)
{
    for (unsigned i = 0; i < n->op->nouts; i++)
        if (n->out[i] != NONE && is_there(&value_of(t, n->out[i])->grad))
            return true;
    return false;
}

const uint32_t *node_operands(const ssq_tape *t, const struct node *n,
                              size_t *count)
{
    const struct join *j = node_args(t, n);
    const bool joins = n->op->nvars == 0;
    *count = joins ? j->n : n->op->nvars;
    return joins ? j->id : n->var;
}

/* Get the current scope's text. Consecutive nodes in a scope share it. */
static ssq_status record_scope(ssq_tape *t, uint32_t *at)
{
    const char *texts = t->texts.at;
    if (t->texts.n == 0 || strcmp(texts + t->scope_text, t->scope) != 0) {
        size_t n = strlen(t->scope) + 1, from = t->texts.n;
        char *text = list_add(&t->texts, n, 1);
        if (text == NULL)
            return SSQ_ERR_NOMEM;
        memcpy(text, t->scope, n);
        t->scope_text = (uint32_t)from;
    }
    *at = t->scope_text;
    return SSQ_OK;
}

/* The node keeps the caller's tensors in the arguments. The tensors of values
 * are set again when the backward is called. */
ssq_status tape_record(ssq_tape *t, const struct node *n, const void *args,
                       size_t bytes)
{
    /* in units of max_align_t, so that structs are aligned */
    size_t units = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t);
    size_t at = t->bytes.n;
    if (units > 0) {
        void *kept = list_add(&t->bytes, units, sizeof(max_align_t));
        if (kept == NULL)
            return SSQ_ERR_NOMEM;
        memcpy(kept, args, bytes);
    }
    uint32_t scope = 0;
    ssq_status st = record_scope(t, &scope);
    if (st != SSQ_OK)
        return st;
    struct node *recorded = list_add(&t->nodes, 1, sizeof(*recorded));
    if (recorded == NULL)
        return SSQ_ERR_NOMEM;
    *recorded = *n;
    recorded->args = (uint32_t)at;
    recorded->scope = scope;
    for (unsigned i = 0; i < TAPE_OUTS; i++)
        if (i < n->op->nouts && n->out[i] != NONE) {
            struct value *v = value_of(t, n->out[i]);
            v->node = (uint32_t)t->nodes.n - 1;
            v->wanted = true;
        }
    return SSQ_OK;
}

ssq_status tape_record_wanted(ssq_tape *t, const struct node *n,
                              const void *args, size_t bytes)
{
    bool wanted = false;
    for (unsigned i = 0; i < n->op->nvars; i++)
        wanted =
            wanted || (n->var[i] != NONE && value_of(t, n->var[i])->wanted);
    if (!wanted || !t->training || t->quiet > 0)
        return SSQ_OK;
    return tape_record(t, n, args, bytes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ready.c - who wants to know is told of a parameter's gradient as soon as no
 * node is left that would add to it, while the walk back goes on. */
#include "lib/tape/params.h"
#include "lib/tape/tape.h"

/* What no node has added to is zeros. */
static ssq_status tell(ssq_tape *t, uint32_t i)
{
    struct param *p = param_of(t->params, i);
    ssq_status st = param_settle(t->queue, p);
    if (st == SSQ_OK)
        t->ready(t->ready_user, i);
    return st;
}

/* The parameter of an operand that gets a gradient; NONE: it is none. */
static uint32_t param_in(const ssq_tape *t, uint32_t id)
{
    const struct value *v = id == NONE ? NULL : value_of(t, id);
    return v != NULL && v->sought ? v->param : NONE;
}

/* Nodes are walked from the last to the first, so a gradient is whole behind
 * the first that its parameter is in. */
ssq_status ready_begin(ssq_tape *t)
{
    ssq_params *params = t->params;
    ssq_status st = SSQ_OK;
    if (t->ready == NULL)
        return SSQ_OK;
    for (uint32_t i = 0; i < params->n; i++)
        param_of(params, i)->whole_behind = NONE;
    for (uint32_t k = (uint32_t)t->nodes.n; k-- > 0;) {
        size_t count;
        const uint32_t *from = node_operands(t, node_of(t, k), &count);
        for (size_t i = 0; i < count; i++)
            if (param_in(t, from[i]) != NONE)
                param_of(params, param_in(t, from[i]))->whole_behind = k;
    }
    for (uint32_t i = 0; i < params->n && st == SSQ_OK; i++)
        if (param_of(params, i)->whole_behind == NONE)
            st = tell(t, i);
    return st;
}

ssq_status ready_tell(ssq_tape *t, uint32_t node, const struct node *n)
{
    ssq_status st = SSQ_OK;
    size_t count;
    if (t->ready == NULL)
        return SSQ_OK;
    const uint32_t *from = node_operands(t, n, &count);
    for (size_t i = 0; i < count && st == SSQ_OK; i++) {
        uint32_t p = param_in(t, from[i]);
        if (p == NONE || param_of(t->params, p)->whole_behind != node)
            continue;
        param_of(t->params, p)->whole_behind =
            NONE; /* an op may have it twice */
        st = tell(t, p);
    }
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ready.c - report a parameter's gradient during a backward, as soon as no
 * remaining node would add to it. */
#include "lib/tape/params.h"
#include "lib/tape/tape.h"

/* Report a parameter. If no node has added to its gradient, set it to zeros. */
static ssq_status tape_ready_tell(ssq_tape *t, uint32_t i)
{
    struct param *p = param_of(t->params, i);
    ssq_status st = param_settle(t->queue, p);
    if (st == SSQ_OK)
        t->ready(t->ready_user, i);
    return st;
}

/* Return the parameter of an operand that receives a gradient, or NONE if it is
 * not a parameter. */
static uint32_t param_in(const ssq_tape *t, uint32_t id)
{
    const struct value *v = id == NONE ? NULL : value_of(t, id);
    return v != NULL && v->sought ? v->param : NONE;
}

/* Nodes are walked from the last to the first. A gradient is therefore complete
 * after the first node that uses its parameter. */
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
            st = tape_ready_tell(t, i);
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
            NONE; /* one op may use it twice */
        st = tape_ready_tell(t, p);
    }
    return st;
}

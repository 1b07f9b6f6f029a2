/* SPDX-License-Identifier: Apache-2.0 */
/* cast.c - vars in another dtype, and what autocast makes of an operand. */
#include <sesqui/ops/data.h>

#include "lib/tape/tape.h"

/* The gradient comes back in the dtype of x. */
static ssq_status own_cast(ssq_tape *t, const struct node *n)
{
    struct into to;
    ssq_status st = into_begin(t, n->var[0], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    st = ssq_cast(t->queue, SSQ_CAST(.x = &value_of(t, n->out[0])->grad.tensor,
                                     .y = to.tensor));
    return st == SSQ_OK ? into_end(t, &to) : st;
}

static const struct tape_op cast = {
    .name = "cast", .nvars = 1, .nouts = 1, .own = own_cast};

static ssq_status make(ssq_tape *t, const char *where, uint32_t id,
                       ssq_dtype dtype, uint32_t *made)
{
    const struct view *x = &value_of(t, id)->is.tensor.view;
    ssq_status st = value_make(t, dtype, x->rank, x->shape, made);
    if (st == SSQ_OK)
        st = ssq_cast(t->queue, SSQ_CAST(.x = &value_of(t, id)->is.tensor,
                                         .y = &value_of(t, *made)->is.tensor));
    if (st != SSQ_OK || !value_of(t, id)->wanted || !t->training ||
        t->quiet > 0)
        return st;
    const struct node n = {
        .op = &cast, .where = where, .var = {id}, .out = {*made}};
    return tape_note(t, &n, NULL, 0);
}

/* A cast that was made while nothing was noted leads nowhere: it is not used
 * where something is. */
ssq_status value_cast(ssq_tape *t, const char *where, uint32_t id,
                      ssq_dtype dtype, uint32_t *made)
{
    struct value *v = value_of(t, id);
    bool notes = v->wanted && t->training && t->quiet == 0;
    *made = id;
    if (v->is.tensor.view.dtype == dtype)
        return SSQ_OK;
    bool shared = dtype == t->policy.compute;
    if (shared && v->cast != NONE && (!notes || value_of(t, v->cast)->wanted)) {
        *made = v->cast;
        return SSQ_OK;
    }
    ssq_status st = make(t, where, id, dtype, made);
    if (st == SSQ_OK && shared)
        v->cast = *made;
    return st;
}

ssq_var ssq_var_cast_at(const char *where, ssq_var x, ssq_dtype dtype)
{
    static const char op[] = "var_cast";
    ssq_tape *t = x.tape;
    uint32_t id = NONE;
    if (t == NULL || t->status != SSQ_OK ||
        var_value(t, x, where, op, "x") == NULL)
        return var_inert(t);
    ssq_status st = dtype_is_float(dtype)
                        ? value_cast(t, where, x.id, dtype, &id)
                        : error_set(SSQ_ERR_INVALID, "%s: dtype %d is no float",
                                    op, (int)dtype);
    if (st == SSQ_OK)
        return var_of(t, id);
    latch(t, st, where, op);
    return var_inert(t);
}

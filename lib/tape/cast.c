/* SPDX-License-Identifier: Apache-2.0 */
/* cast.c - vars in another dtype, and the casts that autocast makes. */
#include <sesqui/ops/data.h>

#include "lib/tape/params.h"
#include "lib/tape/tape.h"

/* The gradient is cast to the dtype of x. */
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

static ssq_status cast_again(ssq_tape *t, const struct node *n)
{
    return ssq_cast(t->queue,
                    SSQ_CAST(.x = &value_of(t, n->var[0])->is.tensor,
                             .y = &value_of(t, n->out[0])->is.tensor));
}

static const struct tape_op cast = {.name = "cast",
                                    .nvars = 1,
                                    .nouts = 1,
                                    .own = own_cast,
                                    .again = cast_again};

/* ---- parameters ---- */

/* Set *may to whether passes may share a cast of p. A captured or recorded pass
 * makes its casts itself, because parameters have other values when it is
 * launched. The shared cast also has one dtype, and stays on one queue. */
static ssq_status may_share(ssq_tape *t, const struct param *p, ssq_dtype dtype,
                            bool *may)
{
    const struct param_copy *c = p->copy;
    *may = false;
    if (queue_capturing(t->queue) ||
        (c != NULL &&
         (c->tensor->view.dtype != dtype || (c->made && c->queue != t->queue))))
        return SSQ_OK;
    ssq_status st = queue_recorded(t->queue, may);
    *may = !*may;
    return st;
}

static ssq_status cast_share(ssq_tape *t, struct param *p, ssq_dtype dtype,
                             uint32_t *made)
{
    ssq_status st = p->copy == NULL ? param_copy_make(p, dtype) : SSQ_OK;
    struct param_copy *c = p->copy;
    if (st != SSQ_OK)
        return st;
    if (!param_copy_fresh(c)) {
        c->made = false;
        uint32_t writes = atomic_load(&c->source.writes);
        st = ssq_cast(t->queue, SSQ_CAST(.x = p->tensor, .y = c->tensor));
        if (st != SSQ_OK)
            return st;
        t->casts++;
        c->made = true;
        c->queue = t->queue;
        c->source_writes = writes;
        c->self_writes = atomic_load(&c->self.writes);
    }
    /* held, because the parameter may drop its copy before the pass ends */
    return value_hold(t, NULL, c->tensor, made);
}

/* ---- any value ---- */

static ssq_status cast_make(ssq_tape *t, const char *where, uint32_t id,
                            ssq_dtype dtype, uint32_t *made)
{
    const struct value *v = value_of(t, id);
    const struct view *x = &v->is.tensor.view;
    struct param *p = v->param == NONE ? NULL : param_of(t->params, v->param);
    bool shared = false;
    /* after a removal the index may be of another parameter */
    ssq_status st = p == NULL ? SSQ_OK : check_places(t, "cast");
    if (st == SSQ_OK && p != NULL)
        st = may_share(t, p, dtype, &shared);
    struct node n = {.op = &cast, .where = where, .var = {id}};
    written_record(t, &n, NULL);
    if (st == SSQ_OK && shared) {
        st = cast_share(t, p, dtype, made);
    } else if (st == SSQ_OK) {
        st = value_make(t, dtype, x->rank, x->shape, made);
        n.out[0] = *made;
        if (st == SSQ_OK)
            st = cast_again(t, &n);
        t->casts++;
    }
    n.out[0] = *made;
    if (st != SSQ_OK || !value_of(t, id)->wanted || !t->training ||
        t->quiet > 0)
        return st;
    return tape_record(t, &n, NULL, 0);
}

/* A cast that was made while nothing was recorded has no gradient. Therefore it
 * is not reused if the pass records ops. Casts of memory that was written later
 * are dropped, and so are casts that the pass's backward has released. */
ssq_status value_cast(ssq_tape *t, const char *where, uint32_t id,
                      ssq_dtype dtype, uint32_t *made)
{
    struct value *v = value_of(t, id);
    bool records = v->wanted && t->training && t->quiet == 0;
    *made = id;
    if (v->is.tensor.view.dtype == dtype)
        return SSQ_OK;
    uint32_t writes = value_writes(t, id);
    if (writes != v->writes)
        v->cast[0] = v->cast[1] = v->cast[2] = NONE;
    uint32_t *before = &v->cast[dtype - SSQ_F32];
    const struct value *had = *before == NONE ? NULL : value_of(t, *before);
    if (had != NULL && had->state == VALUE_LIVE && (!records || had->wanted)) {
        *made = *before;
        return SSQ_OK;
    }
    ssq_status st = cast_make(t, where, id, dtype, made);
    if (st != SSQ_OK)
        return st;
    *before = *made;
    v->writes = writes;
    return SSQ_OK;
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

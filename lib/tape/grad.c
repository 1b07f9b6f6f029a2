/* SPDX-License-Identifier: Apache-2.0 */
/* grad.c - the gradients of a loss as vars, while the pass continues.
 *
 * Only nodes between the loss and the vars are visited. If only values are
 * wanted, the walk of a backward is used, but all values are kept. If gradients
 * of the gradients are wanted, rules create vars instead (second.c). */
#include <sesqui/ops/data.h>
#include <sesqui/ops/elementwise.h>

#include "lib/amp/scaler/scaler.h"
#include "lib/tape/second.h"

/* A call in progress. */
struct grad {
    ssq_tape *t;
    const char *where;
    ssq_tape_grad_args args;
    uint32_t loss;
};

static const char op[] = "tape_grad";

/* ---- the gradient of the loss ---- */

/* Create the gradient of the loss: 1, or a copy of the current scale. It is
 * a copy so that losses do not mistake it for the scaler's memory
 * (scale_bind). */
static ssq_status grad_seed(const struct grad *g, uint32_t *id)
{
    ssq_tape *t = g->t;
    const struct view like = value_of(t, g->loss)->is.tensor.view;
    ssq_status st = value_make(t, SSQ_F32, like.rank, like.shape, id);
    if (st != SSQ_OK)
        return st;
    const ssq_tensor *x = &value_of(t, *id)->is.tensor;
    st = ssq_fill(t->queue, SSQ_FILL(.x = x, .value = 1.0));
    if (st != SSQ_OK || g->args.scaler == NULL)
        return st;
    return ssq_scale(
        t->queue, SSQ_SCALE(.x = x, .y = x,
                            .scale = ssq_scaler_scale_tensor(g->args.scaler)));
}

/* ---- gradients as values ---- */

/* Copy the gradients of a node's results before the node is walked. They are
 * complete then, but the walk may reuse their memory for other gradients. */
static ssq_status grad_collect(ssq_tape *t, const struct node *n)
{
    ssq_status st = SSQ_OK;
    for (unsigned i = 0; i < n->op->nouts && st == SSQ_OK; i++) {
        struct value *v = n->out[i] == NONE ? NULL : value_of(t, n->out[i]);
        if (v == NULL || !v->asked || !is_there(&v->grad))
            continue;
        const struct view like = v->grad.tensor.view;
        st = value_make(t, like.dtype, like.rank, like.shape, &v->slope);
        if (st == SSQ_OK)
            st = ssq_copy(t->queue,
                          SSQ_COPY(.x = &v->grad.tensor,
                                   .y = &value_of(t, v->slope)->is.tensor));
    }
    return st;
}

static void grad_drop(ssq_tape *t, const struct node *n)
{
    for (unsigned i = 0; i < n->op->nouts; i++)
        if (n->out[i] != NONE)
            held_put(t, &value_of(t, n->out[i])->grad);
}

static ssq_status walk_values(ssq_tape *t, uint32_t loss, uint32_t from)
{
    value_of(t, loss)->grad = value_of(t, from)->is;
    value_of(t, loss)->grad.memory = (struct extent){NULL, 0, 0};
    size_t stretches = t->stretches.n;
    const struct stretch *open = NULL; /* the one that is computed again */
    t->asking = true;
    for (size_t i = t->nodes.n; i-- > 0 && t->status == SSQ_OK;) {
        struct node n = *node_of(t, (uint32_t)i);
        const struct stretch *s = stretch_at(t, (uint32_t)i, &stretches);
        ssq_status st = s == NULL ? SSQ_OK : stretch_remake(t, s, &n);
        open = s == NULL ? open : s;
        if (st == SSQ_OK)
            st = grad_collect(t, &n);
        if (st == SSQ_OK)
            st = node_walk(t, &n);
        if (st != SSQ_OK)
            latch_node(t, st, &n);
        grad_drop(t, &n);
        if (open != NULL && i == open->node)
            stretch_aside(t, open);
    }
    t->asking = false;
    for (size_t i = 0; i < t->stretches.n; i++)
        stretch_aside(t, (const struct stretch *)t->stretches.at + i);
    return t->status;
}

/* Take the gradients of values that no node made. */
static ssq_status take_rest(ssq_tape *t, uint32_t n, uint32_t loss,
                            uint32_t from)
{
    ssq_status st = SSQ_OK;
    for (uint32_t i = 0; i < n && st == SSQ_OK; i++) {
        struct value *v = value_of(t, i);
        if (!v->asked || v->slope != NONE || !is_there(&v->grad))
            continue;
        if (i == loss)
            v->slope = from;
        else
            st = value_take(t, &v->grad, &v->slope);
    }
    return st;
}

/* ---- requests ---- */

static ssq_status grad_ask(struct grad *g, const ssq_var *vars, size_t count)
{
    ssq_tape *t = g->t;
    for (uint32_t i = 0; i < t->nvalues; i++)
        value_of(t, i)->sought = false;
    for (size_t i = 0; i < count; i++) {
        struct value *v = var_value(t, vars[i], g->where, op, "a var");
        if (v == NULL)
            return t->status;
        if (!v->wanted)
            return error_set(SSQ_ERR_INVALID,
                             "vars[%zu] does not require a gradient: call "
                             "ssq_var_watch on it first",
                             i);
        v->asked = v->sought = true;
    }
    sought_spread(t);
    return SSQ_OK;
}

/* Create 1 / scale, of rank 0. */
static ssq_status grad_inverse(const struct grad *g, uint32_t *id)
{
    ssq_status st = value_make(g->t, SSQ_F32, 0, NULL, id);
    if (st != SSQ_OK)
        return st;
    return ssq_reciprocal(
        g->t->queue,
        SSQ_RECIPROCAL(.x = ssq_scaler_scale_tensor(g->args.scaler),
                       .y = &value_of(g->t, *id)->is.tensor));
}

static ssq_var grad_answer(const struct grad *g, uint32_t slope, uint32_t over)
{
    ssq_var x = var_of(g->t, slope);
    if (over == NONE)
        return x;
    return ssq_mul_var_at(g->where, ssq_var_cast_at(g->where, x, SSQ_F32),
                          var_of(g->t, over));
}

/* If a var is passed twice, both results are the same gradient. */
static ssq_status grad_answer_all(const struct grad *g, const ssq_var *vars,
                                  size_t count, ssq_var *grads)
{
    ssq_tape *t = g->t;
    uint32_t over = NONE;
    ssq_status st = SSQ_OK;
    if (g->args.scaler != NULL)
        st = grad_inverse(g, &over);
    ssq_tape_autocast_push_at(g->where, t, NULL);
    for (size_t i = 0; i < count && st == SSQ_OK; i++) {
        const struct value *v = value_of(t, vars[i].id);
        if (v->slope != NONE)
            grads[i] = grad_answer(g, v->slope, over);
        else if (g->args.allow_unused)
            grads[i] = (ssq_var){NULL, 0, 0};
        else
            st = error_set(SSQ_ERR_INVALID,
                           "loss does not depend on vars[%zu]: allow_unused "
                           "makes its gradient SSQ_VAR_NONE",
                           i);
    }
    ssq_tape_autocast_pop_at(g->where, t);
    return st == SSQ_OK ? t->status : st;
}

/* ---- the call ---- */

static ssq_status grad_make(struct grad *g, const ssq_var *vars, size_t count,
                            ssq_var *grads)
{
    ssq_tape *t = g->t;
    const uint32_t n = t->nvalues;
    uint32_t from = NONE;
    ssq_status st = grad_ask(g, vars, count);
    if (st == SSQ_OK)
        st = grad_seed(g, &from);
    t->quiet += !g->args.create_graph;
    if (st == SSQ_OK && g->args.create_graph)
        st = second_walk(t, g->where, g->loss, from);
    else if (st == SSQ_OK)
        st = walk_values(t, g->loss, from);
    if (st == SSQ_OK && !g->args.create_graph)
        st = take_rest(t, n, g->loss, from);
    if (st == SSQ_OK)
        st = grad_answer_all(g, vars, count, grads);
    t->quiet -= !g->args.create_graph;
    for (uint32_t i = 0; i < n; i++) {
        struct value *v = value_of(t, i);
        held_put(t, &v->grad);
        v->slope = NONE;
        v->asked = false;
    }
    return st;
}

static ssq_status check_grad(const struct grad *g, const ssq_var *vars,
                             size_t count)
{
    const ssq_scaler *scaler = g->args.scaler;
    if (count > 0 && vars == NULL)
        return error_set(SSQ_ERR_INVALID, "vars is NULL");
    if (g->args.struct_size != sizeof(g->args))
        return error_set(SSQ_ERR_INVALID,
                         "struct_size is %zu, expected %zu: begin with "
                         "SSQ_TAPE_GRAD(..)",
                         g->args.struct_size, sizeof(g->args));
    return scaler == NULL
               ? SSQ_OK
               : check_operand(g->t->queue, ssq_scaler_scale_tensor(scaler), op,
                               "scaler");
}

void ssq_tape_grad_at(const char *where, ssq_tape *tape, ssq_var loss,
                      const ssq_var *vars, size_t count,
                      const ssq_tape_grad_args *args, ssq_var *grads)
{
    struct grad g = {.t = tape, .where = where, .loss = loss.id};
    ssq_status st = SSQ_OK;
    if (tape == NULL || tape->status != SSQ_OK)
        st = SSQ_ERR_INVALID;
    else {
        g.args = args == NULL ? (ssq_tape_grad_args)SSQ_TAPE_GRAD_INIT : *args;
        st = grads == NULL && count > 0
                 ? error_set(SSQ_ERR_INVALID, "grads is NULL")
                 : check_grad(&g, vars, count);
        if (st == SSQ_OK)
            st = scalar_check(tape, loss, op);
        if (st == SSQ_OK)
            st = grad_make(&g, vars, count, grads);
        if (st != SSQ_OK)
            latch(tape, st, where, op);
    }
    for (size_t i = 0; i < count && grads != NULL; i++)
        if (tape == NULL || tape->status != SSQ_OK)
            grads[i] = var_inert(tape);
}

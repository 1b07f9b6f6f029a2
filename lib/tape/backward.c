/* SPDX-License-Identifier: Apache-2.0 */
/* backward.c - walk the nodes of a pass from the last to the first. */
#include <sesqui/ops/data.h>
#include <sesqui/ops/elementwise.h>

#include "lib/amp/scaler/scaler.h"
#include "lib/tape/params.h"
#include "lib/tape/rules.h"
#include "lib/tape/tape.h"

#include <string.h>

/* ---- selection of gradients ---- */

bool node_sought(const ssq_tape *t, const struct node *n)
{
    size_t count;
    const uint32_t *from = node_operands(t, n, &count);
    for (size_t i = 0; i < count; i++)
        if (from[i] != NONE && value_of(t, from[i])->sought)
            return true;
    return false;
}

void sought_spread(ssq_tape *t)
{
    for (size_t i = 0; i < t->nodes.n; i++) {
        const struct node *n = node_of(t, (uint32_t)i);
        const bool sought = node_sought(t, n);
        for (unsigned k = 0; k < n->op->nouts; k++)
            if (sought && n->out[k] != NONE)
                value_of(t, n->out[k])->sought = true;
    }
}

/* Mark values that depend on a parameter as sought. A value that depends only
 * on a watched var is not sought. */
static void seek_params(ssq_tape *t)
{
    for (uint32_t i = 0; i < t->nvalues; i++) {
        struct value *v = value_of(t, i);
        v->sought = v->wanted && v->param != NONE;
    }
    sought_spread(t);
}

/* ---- destinations of gradients ---- */

bool grad_lasts(const ssq_tape *t, const struct value *v)
{
    return v->param != NONE && !t->asking;
}

ssq_dtype grad_dtype(const ssq_tape *t, const struct value *v)
{
    return v->param != NONE && t->params->options.float32_gradients
               ? SSQ_F32
               : v->is.tensor.view.dtype;
}

/* Select a parameter's gradient, which is a separate tensor that outlives the
 * pass. */
static ssq_status into_param(ssq_tape *t, struct into *to,
                             const struct view *like)
{
    struct param *p = param_of(t->params, value_of(t, to->id)->param);
    ssq_status st = param_grad(t->params, p);
    if (st != SSQ_OK)
        return st;
    if (p->grad_state != GRAD_FULL) {
        param_grad_begin(p); /* one op may use the parameter twice */
        to->tensor = p->grad;
        return SSQ_OK;
    }
    param_grad_add(p);
    st = held_make(t, p->grad->view.dtype, like->rank, like->shape, &to->made);
    to->tensor = &to->made.tensor;
    return st;
}

ssq_status into_begin(ssq_tape *t, uint32_t id, struct into *to)
{
    memset(to, 0, sizeof(*to));
    to->id = id;
    if (id == NONE || !value_of(t, id)->sought)
        return SSQ_OK;
    struct value *v = value_of(t, id);
    struct view like = v->is.tensor.view;
    if (grad_lasts(t, v))
        return into_param(t, to, &like);
    struct tape_held *h = is_there(&v->grad) ? &to->made : &v->grad;
    ssq_status st = held_make(t, grad_dtype(t, v), like.rank, like.shape, h);
    to->tensor = &h->tensor;
    return st;
}

ssq_status into_end(ssq_tape *t, struct into *to)
{
    if (to->tensor == NULL)
        return SSQ_OK;
    struct value *v = value_of(t, to->id);
    const ssq_tensor *sum = &v->grad.tensor;
    if (!is_there(&to->made))
        return SSQ_OK;
    if (grad_lasts(t, v)) {
        struct param *p = param_of(t->params, v->param);
        p->touched = true;
        sum = p->grad;
    }
    ssq_status st =
        ssq_add(t->queue, SSQ_ADD(.a = sum, .b = &to->made.tensor, .y = sum));
    held_put(t, &to->made);
    return st;
}

ssq_status grad_dense(ssq_tape *t, uint32_t id)
{
    struct tape_held *g = &value_of(t, id)->grad, dense;
    const struct view *v = &g->tensor.view;
    if (view_contiguous(v))
        return SSQ_OK;
    ssq_status st = held_make(t, v->dtype, v->rank, v->shape, &dense);
    if (st == SSQ_OK)
        st = ssq_copy(t->queue, SSQ_COPY(.x = &g->tensor, .y = &dense.tensor));
    held_put(t, g);
    *g = dense;
    return st;
}

/* ---- one node ---- */

/* The arguments of a backward call, and the gradients that it writes. */
struct backward_work {
    ssq_tape *t;
    const struct node *n;
    const struct back *back;
    union {
        char bytes[TAPE_ARGS];
        max_align_t align;
    } args;
    struct into into[TAPE_VARS];
};

static void backward_put(struct backward_work *w, const struct tape_slot *s,
                         const ssq_tensor *x)
{
    memcpy(w->args.bytes + s->at, &x, sizeof(x));
}

static const ssq_tensor *tensor_at(ssq_tape *t, uint32_t id)
{
    return id == NONE ? NULL : &value_of(t, id)->is.tensor;
}

/* Set the gradient of a result. If it does not exist, it stays NULL if it is
 * optional. Otherwise it is set to zeros. */
static ssq_status put_grad(struct backward_work *w, const struct tape_slot *s)
{
    uint32_t id = w->n->out[s->index];
    struct value *v = value_of(w->t, id);
    if (!is_there(&v->grad)) {
        if (s->optional)
            return SSQ_OK;
        const struct view *like = &v->is.tensor.view;
        ssq_status st =
            held_make(w->t, like->dtype, like->rank, like->shape, &v->grad);
        if (st == SSQ_OK)
            st = ssq_fill(w->t->queue, SSQ_FILL(.x = &v->grad.tensor));
        if (st != SSQ_OK)
            return st;
    }
    backward_put(w, s, &v->grad.tensor);
    return SSQ_OK;
}

/* Set the tensor for the gradient of a var. If no gradient is wanted but the op
 * must write one, it goes to temporary memory. */
static ssq_status put_into(struct backward_work *w, const struct tape_slot *s)
{
    struct into *to = &w->into[s->index];
    uint32_t id = w->n->var[s->index];
    if (id == NONE)
        return SSQ_OK;
    ssq_status st = into_begin(w->t, id, to);
    if (st == SSQ_OK && to->tensor == NULL && !s->optional) {
        const struct view *like = &value_of(w->t, id)->is.tensor.view;
        st = held_make(w->t, like->dtype, like->rank, like->shape, &to->made);
        backward_put(w, s, &to->made.tensor);
        return st;
    }
    backward_put(w, s, to->tensor);
    return st;
}

static ssq_status put_slot(struct backward_work *w, const struct tape_slot *s)
{
    const struct node *n = w->n;
    switch (s->role) {
    case BACK_VAR:
        backward_put(w, s, tensor_at(w->t, n->var[s->index]));
        return written_check(w->t, n, s->index);
    case BACK_OUT:
        backward_put(w, s, tensor_at(w->t, n->out[s->index]));
        return SSQ_OK;
    case BACK_GRAD:
        return put_grad(w, s);
    case BACK_COPY:
        memcpy(w->args.bytes + s->at,
               (const char *)node_args(w->t, n) + s->from, s->bytes);
        return written_check_option(w->t, n, s->from);
    default:
        return SSQ_OK; /* BACK_INTO is set later */
    }
}

static bool backward_is_wanted(const struct backward_work *w)
{
    for (size_t i = 0; i < w->back->nslots; i++) {
        const struct tape_slot *s = &w->back->slots[i];
        uint32_t id = s->role == BACK_INTO ? w->n->var[s->index] : NONE;
        if (id != NONE && value_of(w->t, id)->sought)
            return true;
    }
    return false;
}

static ssq_status backward_call_back(ssq_tape *t, const struct node *n,
                                     const struct back *back)
{
    struct backward_work w = {.t = t, .n = n, .back = back};
    if (!backward_is_wanted(&w))
        return SSQ_OK;
    memcpy(w.args.bytes, back->init, back->bytes);
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < back->nslots && st == SSQ_OK; i++)
        st = put_slot(&w, &back->slots[i]);
    for (size_t i = 0; i < back->nslots && st == SSQ_OK; i++)
        if (back->slots[i].role == BACK_INTO)
            st = put_into(&w, &back->slots[i]);
    if (st == SSQ_OK)
        st = back->call(t->queue, w.args.bytes);
    for (unsigned i = 0; i < TAPE_VARS && st == SSQ_OK; i++)
        if (w.into[i].tensor != NULL)
            st = into_end(t, &w.into[i]);
        else
            held_put(t, &w.into[i].made);
    return st;
}

/* Release a node's results and their gradients: earlier nodes do not need
 * them. */
static void backward_release(ssq_tape *t, const struct node *n)
{
    for (unsigned i = 0; i < n->op->nouts; i++) {
        if (n->out[i] == NONE)
            continue;
        struct value *v = value_of(t, n->out[i]);
        held_put(t, &v->grad);
        if (v->kept)
            continue;
        held_put(t, &v->is);
        v->state = VALUE_RELEASED;
    }
}

/* True for ops whose backward refuses some strides of dy: a gradient is strided
 * if the result was used transposed. */
static bool needs_dense(const struct tape_op *op)
{
    rule_fn *const rules[] = {rule_conv,      rule_conv_transpose,
                              rule_pool,      rule_gemm_batched,
                              rule_attention, rule_steps};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (op->rule[0] == rules[i])
            return true;
    return false;
}

ssq_status node_walk(ssq_tape *t, const struct node *n)
{
    if (!node_has_grad(t, n))
        return SSQ_OK;
    ssq_status st = SSQ_OK;
    if (needs_dense(n->op))
        for (unsigned i = 0; i < n->op->nouts && st == SSQ_OK; i++)
            if (n->out[i] != NONE &&
                value_of(t, n->out[i])->grad.tensor.view.buffer != NULL)
                st = grad_dense(t, n->out[i]);
    if (st != SSQ_OK)
        return st;
    if (n->op->own != NULL)
        return n->op->own(t, n);
    for (size_t i = 0; i < n->op->nbacks && st == SSQ_OK; i++)
        st = backward_call_back(t, n, &n->op->backs[i]);
    return st;
}

/* ---- the backward ---- */

/* The gradient is the scale or 1, in the loss's shape. The tensor aliases the
 * memory of `scale`, and is never written, because it does not own memory. */
void backward_seed(struct value *loss, const ssq_tensor *scale)
{
    struct view *v = &loss->grad.tensor.view;
    loss->grad = loss->is;
    loss->grad.memory = (struct extent){NULL, 0, 0};
    for (int i = 0; i < v->rank; i++)
        v->stride[i] = 1;
    v->dtype = SSQ_F32;
    v->buffer = scale->view.buffer;
    v->offset = scale->view.offset;
}

ssq_status scalar_check(ssq_tape *t, ssq_var loss, const char *op)
{
    if (t->status != SSQ_OK)
        return ssq_tape_status(t);
    ssq_status st = check_places(t, op);
    if (st != SSQ_OK)
        return st;
    if (t->walked)
        return error_set(
            SSQ_ERR_INVALID,
            "a second backward of the pass: its values were released");
    if (t->recomputing > 0)
        return error_set(SSQ_ERR_INVALID,
                         "a region to be recomputed has no pop yet");
    if (!t->training)
        return error_set(
            SSQ_ERR_INVALID,
            "the pass was begun for evaluation: it has no backward");
    st = var_check(t, loss, "loss");
    if (st != SSQ_OK)
        return st;
    const struct value *v = value_of(t, loss.id);
    char text[128];
    if (view_elements(&v->is.tensor.view) != 1)
        return error_set(SSQ_ERR_INVALID, "loss is %s, expected one element",
                         view_text(&v->is.tensor.view, text, sizeof(text)));
    return SSQ_OK;
}

ssq_status backward_check(ssq_tape *t, ssq_var loss, const char *op)
{
    ssq_status st = scalar_check(t, loss, op);
    if (st != SSQ_OK)
        return st;
    seek_params(t);
    const struct value *v = value_of(t, loss.id);
    if (!v->sought || v->node == NONE)
        return error_set(SSQ_ERR_INVALID, "loss leads to no parameter");
    return SSQ_OK;
}

static ssq_status walk_all(ssq_tape *t)
{
    size_t stretches = t->stretches.n;
    for (size_t i = t->nodes.n; i-- > 0;) {
        struct node n = *node_of(t, (uint32_t)i);
        const struct stretch *s = stretch_at(t, (uint32_t)i, &stretches);
        ssq_status st = s == NULL ? SSQ_OK : stretch_remake(t, s, &n);
        if (st == SSQ_OK)
            st = node_walk(t, &n);
        if (st == SSQ_OK)
            st = ready_tell(t, (uint32_t)i, &n);
        if (st != SSQ_OK) {
            latch_node(t, st, &n);
            return t->status;
        }
        backward_release(t, &n);
    }
    return SSQ_OK;
}

ssq_status ssq_tape_backward(ssq_tape *tape, ssq_var loss, ssq_scaler *scaler)
{
    static const char op[] = "tape_backward";
    if (tape == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: tape is NULL", op);
    if (tape->status != SSQ_OK)
        return ssq_tape_status(tape);
    ssq_status st = backward_check(tape, loss, op);
    const ssq_tensor *scale =
        scaler == NULL ? tape->one : ssq_scaler_scale_tensor(scaler);
    if (st == SSQ_OK)
        st = check_operand(tape->queue, scale, op, "scaler");
    if (st == SSQ_OK)
        st = scale_bind(tape->queue, scale);
    if (st == SSQ_OK)
        backward_seed(value_of(tape, loss.id), scale);
    if (st != SSQ_OK) {
        latch(tape, st, "backward", op);
        return tape->status;
    }
    value_keep(tape, loss.id);
    tape->walked = true;
    params_backward_begin(tape->params);
    st = params_watch(tape->params, tape->queue);
    if (st == SSQ_OK)
        st = ready_begin(tape);
    if (st == SSQ_OK)
        st = walk_all(tape);
    if (st == SSQ_OK)
        st = params_settle(tape->params, tape->queue);
    if (st == SSQ_OK)
        scale_bound(scale);
    else
        latch(tape, st, "backward", op);
    params_backward_end(tape->params, st == SSQ_OK);
    return st;
}

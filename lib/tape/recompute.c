/* SPDX-License-Identifier: Apache-2.0 */
/* recompute.c - parts of a pass that are computed twice, so that their memory
 * is free in the meantime.
 *
 * A stretch is a run of nodes and values. At the end of its region, the results
 * of its nodes are set aside: their shapes are kept and their memory is
 * released.
 *
 * Before the backward walks the last node of a stretch, memory is allocated
 * again. The calls are then repeated in order, with the arguments in the nodes.
 *
 * Views do not own memory. While they are set aside, their offset is relative
 * to the value that owns it. */
#include "lib/tape/tape.h"

#include <string.h>

static uint32_t recompute_root_of(const ssq_tape *t, uint32_t id)
{
    while (value_of(t, id)->base != NONE)
        id = value_of(t, id)->base;
    return id;
}

/* ---- setting values aside ---- */

/* Return whether a node is a cast that other ops may share. If its operand is
 * kept, the cast is kept too. The gradients of its users are then added in the
 * same place as without a region. */
static bool is_shared(const ssq_tape *t, const struct node *n)
{
    if (n->op->nvars != 1 ||
        value_of(t, recompute_root_of(t, n->var[0]))->state != VALUE_LIVE)
        return false;
    const struct value *x = value_of(t, n->var[0]);
    for (int k = 0; k < 3; k++)
        if (x->cast[k] == n->out[0])
            return true;
    return false;
}

static bool stays(const ssq_tape *t, const struct stretch *s, uint32_t id)
{
    const struct value *v = id == NONE ? NULL : value_of(t, id);
    return v == NULL || v->is.memory.buffer == NULL || v->kept ||
           (s->result != NONE && id == recompute_root_of(t, s->result));
}

static void views_aside(ssq_tape *t, const struct stretch *s)
{
    for (uint32_t id = s->value; id < s->values_end; id++) {
        struct value *v = value_of(t, id);
        const struct value *root = value_of(t, recompute_root_of(t, id));
        if (v == root || v->state != VALUE_LIVE || root->state != VALUE_ASIDE)
            continue;
        v->state = VALUE_ASIDE;
        v->is.tensor.view.offset -= root->is.tensor.view.offset;
        v->is.tensor.view.buffer = NULL;
    }
}

void stretch_aside(ssq_tape *t, const struct stretch *s)
{
    for (uint32_t i = s->node; i < s->nodes_end; i++) {
        const struct node *n = node_of(t, i);
        for (unsigned k = 0; k < n->op->nouts && !is_shared(t, n); k++)
            if (!stays(t, s, n->out[k])) {
                held_put(t, &value_of(t, n->out[k])->is);
                value_of(t, n->out[k])->state = VALUE_ASIDE;
            }
    }
    views_aside(t, s);
}

/* ---- recomputing ---- */

const struct stretch *stretch_at(const ssq_tape *t, uint32_t i, size_t *left)
{
    const struct stretch *s = t->stretches.at;
    if (*left == 0 || s[*left - 1].nodes_end != i + 1)
        return NULL;
    return &s[--*left];
}

static bool is_reached(const ssq_tape *t, const struct stretch *s)
{
    for (uint32_t i = s->node; i < s->nodes_end; i++)
        if (node_has_grad(t, node_of(t, i)))
            return true;
    return false;
}

/* Allocate memory for all values that were set aside. A view comes after the
 * value that owns its memory. */
static ssq_status recompute_take_memory(ssq_tape *t, const struct stretch *s)
{
    for (uint32_t id = s->value; id < s->values_end; id++) {
        struct value *v = value_of(t, id);
        if (v->state != VALUE_ASIDE)
            continue;
        struct view *view = &v->is.tensor.view;
        if (v->base == NONE) {
            const struct view like = *view;
            ssq_status st =
                held_make(t, like.dtype, like.rank, like.shape, &v->is);
            if (st != SSQ_OK)
                return st;
        } else {
            const struct view *root =
                &value_of(t, recompute_root_of(t, id))->is.tensor.view;
            view->buffer = root->buffer;
            view->offset += root->offset;
        }
        v->state = VALUE_LIVE;
    }
    return SSQ_OK;
}

/* Check that the operands were not written since the first call. */
static ssq_status recompute_check_read(ssq_tape *t, const struct node *n)
{
    ssq_status st = SSQ_OK;
    for (unsigned i = 0; i < n->op->nvars && st == SSQ_OK; i++)
        st = written_check(t, n, i);
    for (size_t i = 0; i < n->op->nslots && st == SSQ_OK; i++)
        if (n->op->slots[i].role == SLOT_TENSOR)
            st = written_check_option(t, n, n->op->slots[i].at);
    return st;
}

/* Do not update running statistics or write a mask again: the first call has
 * done this. */
static void leave_written(const struct tape_op *op, char *args)
{
    const ssq_tensor *none = NULL;
    for (size_t i = 0; i < op->nslots; i++)
        if (slot_is_written(op, &op->slots[i], args))
            memcpy(args + op->slots[i].at, &none, sizeof(none));
}

static ssq_status call_again(ssq_tape *t, const struct node *n)
{
    union {
        char bytes[TAPE_ARGS];
        max_align_t align;
    } args;
    ssq_status st = recompute_check_read(t, n);
    if (st != SSQ_OK || (n->op->call == NULL && n->op->again == NULL))
        return st;
    if (n->op->call == NULL)
        return value_of(t, n->out[0])->is.memory.buffer == NULL
                   ? SSQ_OK
                   : n->op->again(t, n);
    memcpy(args.bytes, node_args(t, n), n->op->bytes);
    leave_written(n->op, args.bytes);
    return n->op->call(t->queue, args.bytes);
}

static ssq_status remake(ssq_tape *t, const struct stretch *s, struct node *at)
{
    const struct node last = *at;
    ssq_status st = recompute_take_memory(t, s);
    for (uint32_t i = s->node; i < s->nodes_end && st == SSQ_OK; i++) {
        *at = *node_of(t, i);
        st = call_again(t, at);
    }
    if (st == SSQ_OK)
        *at = last;
    return st;
}

ssq_status stretch_remake(ssq_tape *t, const struct stretch *s, struct node *at)
{
    return is_reached(t, s) ? remake(t, s, at) : SSQ_OK;
}

ssq_status stretch_keep(ssq_tape *t, size_t i, struct node *at)
{
    struct stretch *s = (struct stretch *)t->stretches.at + i;
    bool reached = false;
    for (uint32_t k = s->value; k < s->values_end && !reached; k++)
        reached = value_of(t, k)->slope != NONE;
    ssq_status st = reached ? remake(t, s, at) : SSQ_OK;
    if (reached && st == SSQ_OK) { /* make it empty: it is not recomputed
                                      again */
        s->node = s->nodes_end;
        s->value = s->values_end;
    }
    return st;
}

/* ---- regions ---- */

void ssq_tape_recompute_push(ssq_tape *tape)
{
    if (tape == NULL || tape->status != SSQ_OK || tape->recomputing++ > 0)
        return;
    tape->open = (struct stretch){.node = (uint32_t)tape->nodes.n,
                                  .value = tape->nvalues};
}

static ssq_status close_stretch(ssq_tape *t, uint32_t result)
{
    t->open.nodes_end = (uint32_t)t->nodes.n;
    t->open.values_end = t->nvalues;
    t->open.result = result;
    if (t->open.node == t->open.nodes_end)
        return SSQ_OK;
    struct stretch *s = list_add(&t->stretches, 1, sizeof(*s));
    if (s == NULL)
        return SSQ_ERR_NOMEM;
    *s = t->open;
    stretch_aside(t, s);
    return SSQ_OK;
}

ssq_var ssq_tape_recompute_pop_at(const char *where, ssq_tape *tape,
                                  ssq_var result)
{
    static const char op[] = "tape_recompute_pop";
    if (tape == NULL || tape->status != SSQ_OK)
        return var_inert(tape);
    if (!var_absent(result) &&
        var_value(tape, result, where, op, "result") == NULL)
        return var_inert(tape);
    ssq_status st = SSQ_OK;
    if (tape->recomputing == 0)
        st = error_set(SSQ_ERR_INVALID, "%s: nothing was pushed", op);
    else if (--tape->recomputing == 0)
        st = close_stretch(tape, var_absent(result) ? NONE : result.id);
    if (st == SSQ_OK)
        return result;
    latch(tape, st, where, op);
    return var_inert(tape);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - the values that vars refer to. */
#include "lib/tape/tape.h"

#include <string.h>

ssq_var var_of(ssq_tape *t, uint32_t id)
{
    return (ssq_var){t, id, t->pass};
}

/* Return the state of a value. A view has the state of the value whose memory
 * it shows, also if no node made the view. */
static enum value_state state_of(const ssq_tape *t, uint32_t id)
{
    enum value_state state = VALUE_LIVE;
    for (; state == VALUE_LIVE && id != NONE; id = value_of(t, id)->base)
        state = value_of(t, id)->state;
    return state;
}

ssq_status var_check(ssq_tape *t, ssq_var v, const char *what)
{
    ssq_status st = SSQ_OK;
    if (v.tape == NULL)
        st = error_set(SSQ_ERR_INVALID, "%s is not a var", what);
    else if (v.tape != t)
        st = error_set(SSQ_ERR_INVALID, "%s is a var of another tape", what);
    else if (v.pass != t->pass)
        st = error_set(SSQ_ERR_INVALID,
                       "%s is a var of pass %u, this is pass %u: vars end with "
                       "ssq_tape_begin",
                       what, v.pass, t->pass);
    else if (v.id >= t->nvalues)
        st = error_set(SSQ_ERR_INVALID, "%s is not a var", what);
    else if (state_of(t, v.id) == VALUE_ASIDE)
        st = error_set(SSQ_ERR_INVALID,
                       "%s is of a region to be recomputed, and not what its "
                       "pop has left",
                       what);
    else if (state_of(t, v.id) == VALUE_RELEASED)
        st = error_set(SSQ_ERR_INVALID,
                       "%s was released by the backward of this pass", what);
    return st;
}

struct value *var_value(ssq_tape *t, ssq_var v, const char *where,
                        const char *op, const char *what)
{
    ssq_status st = var_check(t, v, what);
    if (st == SSQ_OK)
        return value_of(t, v.id);
    latch(t, st, where, op);
    return NULL;
}

/* The tape owns its tensors: releasing a reference does not free them. */
static void never_freed(struct object *o)
{
    (void)o;
}

ssq_status held_make(ssq_tape *t, ssq_dtype dtype, int rank,
                     const int64_t *shape, struct tape_held *h)
{
    memset(h, 0, sizeof(*h));
    object_init(&h->tensor.object, never_freed);
    struct view *v = &h->tensor.view;
    uint64_t bytes;
    ssq_status st = tensor_layout("tensor", dtype, rank, shape, v, &bytes);
    if (st == SSQ_OK)
        st = arena_take(&t->arena, t->queue->device, bytes, &h->memory);
    if (st != SSQ_OK)
        return st;
    v->buffer = h->memory.buffer;
    v->offset = h->memory.offset;
    return SSQ_OK;
}

void held_put(ssq_tape *t, struct tape_held *h)
{
    arena_give(&t->arena, &h->memory);
    h->tensor.view.buffer = NULL;
}

static bool add_block(ssq_tape *t)
{
    struct value **at = list_add(&t->blocks, 1, sizeof(*at));
    if (at == NULL)
        return false;
    *at = mem_alloc_array(VALUE_BLOCK, sizeof(**at));
    if (*at != NULL)
        return true;
    t->blocks.n--;
    (void)error_nomem("tape", VALUE_BLOCK * sizeof(**at));
    return false;
}

/* Append a value. Its id is its number. */
static ssq_status tape_value_add(ssq_tape *t, const struct tape_held *is,
                                 uint32_t base, uint32_t *id)
{
    uint32_t n = t->nvalues;
    if (n >> VALUE_BITS == t->blocks.n && !add_block(t))
        return SSQ_ERR_NOMEM;
    t->nvalues++;
    struct value *v = value_of(t, n);
    memset(v, 0, sizeof(*v));
    v->is = *is;
    v->node = v->param = v->slope = NONE;
    for (int i = 0; i < 3; i++)
        v->cast[i] = NONE;
    v->base = base;
    *id = n;
    return SSQ_OK;
}

ssq_status value_make(ssq_tape *t, ssq_dtype dtype, int rank,
                      const int64_t *shape, uint32_t *id)
{
    struct tape_held h;
    ssq_status st = held_make(t, dtype, rank, shape, &h);
    if (st != SSQ_OK)
        return st;
    st = tape_value_add(t, &h, NONE, id);
    if (st != SSQ_OK)
        held_put(t, &h);
    return st;
}

ssq_status value_take(ssq_tape *t, struct tape_held *h, uint32_t *id)
{
    ssq_status st = tape_value_add(t, h, NONE, id);
    if (st == SSQ_OK)
        memset(h, 0, sizeof(*h));
    return st;
}

ssq_status value_view(ssq_tape *t, const struct view *view, uint32_t base,
                      uint32_t *id)
{
    struct tape_held h;
    memset(&h, 0, sizeof(h));
    object_init(&h.tensor.object, never_freed);
    h.tensor.view = *view;
    return tape_value_add(t, &h, base, id);
}

/* The caller may destroy the tensor. Its buffer is held. */
ssq_status value_hold(ssq_tape *t, const char *where, const ssq_tensor *tensor,
                      uint32_t *id)
{
    ssq_buffer **held = list_add(&t->buffers, 1, sizeof(*held));
    if (held == NULL)
        return SSQ_ERR_NOMEM;
    *held = tensor->view.buffer;
    object_get(&(*held)->object);
    ssq_status st = value_view(t, &tensor->view, NONE, id);
    if (st == SSQ_OK)
        value_of(t, *id)->where = where;
    return st;
}

ssq_var ssq_var_input_at(const char *where, ssq_tape *tape,
                         const ssq_tensor *tensor)
{
    static const char op[] = "var_input";
    if (tape == NULL || tape->status != SSQ_OK)
        return var_inert(tape);
    ssq_status st = check_operand(tape->queue, tensor, op, "tensor");
    uint32_t id = NONE;
    if (st == SSQ_OK)
        st = value_hold(tape, where, tensor, &id);
    if (st != SSQ_OK) {
        latch(tape, st, where, op);
        return var_inert(tape);
    }
    return var_of(tape, id);
}

/* Return the value of any var, or NULL. Does not set an error text. */
static struct value *var_there(ssq_var v)
{
    return v.tape == NULL || v.pass != v.tape->pass || v.id >= v.tape->nvalues
               ? NULL
               : value_of(v.tape, v.id);
}

int ssq_var_rank(ssq_var var)
{
    const struct value *v = var_there(var);
    return v == NULL ? 0 : v->is.tensor.view.rank;
}

int64_t ssq_var_size(ssq_var var, int i)
{
    const struct value *v = var_there(var);
    return v == NULL ? 0 : ssq_tensor_size(&v->is.tensor, i);
}

void value_keep(ssq_tape *t, uint32_t id)
{
    for (; id != NONE; id = value_of(t, id)->base)
        value_of(t, id)->kept = true;
}

const ssq_tensor *ssq_var_tensor(ssq_var var)
{
    struct value *v = var_there(var);
    if (v == NULL || state_of(var.tape, var.id) != VALUE_LIVE)
        return NULL;
    value_keep(var.tape, var.id);
    return &v->is.tensor;
}

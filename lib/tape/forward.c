/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c - call any op of the table on vars: operands, casts, results, the
 * call, and the node for the backward. */
#include <sesqui/ops/gemm.h>

#include "lib/tape/tape.h"

#include <string.h>

/* A call in progress. */
struct forward_call {
    ssq_tape *tape;
    const struct tape_op *op;
    const char *where;
    union {
        char bytes[TAPE_ARGS];
        max_align_t align;
    } args;
    struct node node;
    struct view view[TAPE_VARS]; /* of the vars; absent views for absent vars */
    struct casting casting;
    bool wanted;
    ssq_activation activation; /* called afterwards, as a separate op */
};

static void *forward_field(struct forward_call *c, size_t at)
{
    return c->args.bytes + at;
}

/* Copy the options. The operands that the tape sets must be NULL in them. */
static ssq_status take_options(struct forward_call *c, const void *options)
{
    const struct tape_op *op = c->op;
    memcpy(c->args.bytes, options == NULL ? op->init : options, op->bytes);
    size_t size;
    memcpy(&size, c->args.bytes, sizeof(size)); /* struct_size is the first
                                                   member */
    if (size != op->bytes)
        return error_set(
            SSQ_ERR_INVALID,
            "struct_size is %zu, expected %zu: begin with the op's "
            "macro or SSQ_.._INIT",
            size, op->bytes);
    for (size_t i = 0; i < op->nslots; i++) {
        const struct tape_slot *s = &op->slots[i];
        const ssq_tensor *given;
        memcpy(&given, forward_field(c, s->at), sizeof(given));
        if (given == NULL)
            continue;
        if (s->role != SLOT_TENSOR)
            return error_set(
                SSQ_ERR_INVALID,
                "%s is set in the options: only the tape may set it", s->name);
        uint32_t id;
        ssq_status st = value_hold(c->tape, c->where, given, &id);
        if (st != SSQ_OK)
            return st;
        given = &value_of(c->tape, id)->is.tensor;
        memcpy(forward_field(c, s->at), &given, sizeof(given));
    }
    return SSQ_OK;
}

/* Check a var that the caller passed, and record its dtype. */
static ssq_status take_var(struct forward_call *c, const struct tape_slot *s,
                           ssq_var v)
{
    ssq_tape *t = c->tape;
    c->node.var[s->index] = NONE;
    if (var_absent(v) && s->optional)
        return SSQ_OK;
    if (var_value(t, v, c->where, c->op->name, s->name) == NULL)
        return t->status;
    ssq_dtype dtype = value_of(t, v.id)->is.tensor.view.dtype;
    if (!dtype_is_float(dtype))
        return error_set(SSQ_ERR_INVALID, "%s is %s, expected a float", s->name,
                         ssq_dtype_name(dtype));
    c->node.var[s->index] = v.id;
    c->casting.present |= 1u << s->index;
    c->casting.from[s->index] = dtype;
    return SSQ_OK;
}

/* Cast a var to the dtype that autocast wants, if any, and use the result as
 * the operand. */
static ssq_status cast_var(struct forward_call *c, const struct tape_slot *s,
                           ssq_dtype dtype)
{
    ssq_tape *t = c->tape;
    uint32_t id = c->node.var[s->index];
    const uint64_t casts = t->casts;
    if (id == NONE)
        return SSQ_OK;
    if (s->cast == CAST_FLOAT32 && t->autocast->name != NULL)
        dtype = SSQ_F32;
    if (dtype != 0 && s->cast != CAST_NONE) {
        ssq_status st = value_cast(t, c->where, id, dtype, &id);
        if (st != SSQ_OK)
            return st;
    }
    const struct value *x = value_of(t, id);
    if (t->casts == casts)
        c->casting.again |= 1u << s->index;
    c->casting.to[s->index] = x->is.tensor.view.dtype;
    c->node.var[s->index] = id;
    c->view[s->index] = x->is.tensor.view;
    c->wanted = c->wanted || x->wanted;
    return SSQ_OK;
}

static ssq_status take_vars(struct forward_call *c, const ssq_var *vars)
{
    const struct tape_op *op = c->op;
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < op->nslots && st == SSQ_OK; i++)
        if (op->slots[i].role == SLOT_VAR)
            st = take_var(c, &op->slots[i], vars[op->slots[i].index]);
    if (st != SSQ_OK)
        return st;
    ssq_dtype dtype = autocast_operands(c->tape, &c->casting);
    for (size_t i = 0; i < op->nslots && st == SSQ_OK; i++)
        if (op->slots[i].role == SLOT_VAR)
            st = cast_var(c, &op->slots[i], dtype);
    return st;
}

/* Create a result with the shape that its rule returns. A result that only a
 * backward reads is created if there will be a backward. */
static ssq_status make_result(struct forward_call *c, const struct tape_slot *s)
{
    ssq_tape *t = c->tape;
    const struct rule_in in = {c->op, c->view, c->args.bytes,
                               autocast_result(t, &c->casting)};
    struct view out = {.dtype = in.dtype};
    c->node.out[s->index] = NONE;
    if (s->role == SLOT_KEPT && !c->wanted)
        return SSQ_OK;
    ssq_status st = c->op->rule[s->index](&in, &out);
    if (st == SSQ_OK)
        st = value_make(t, out.dtype, out.rank, out.shape,
                        &c->node.out[s->index]);
    return st;
}

/* Set the tensors of all operands and results in the arguments. */
static void forward_put_tensors(struct forward_call *c)
{
    for (size_t i = 0; i < c->op->nslots; i++) {
        const struct tape_slot *s = &c->op->slots[i];
        uint32_t id = s->role == SLOT_VAR ? c->node.var[s->index]
                      : s->role == SLOT_RESULT || s->role == SLOT_KEPT
                          ? c->node.out[s->index]
                          : NONE;
        if (id == NONE)
            continue;
        const ssq_tensor *x = &value_of(c->tape, id)->is.tensor;
        memcpy(forward_field(c, s->at), &x, sizeof(x));
    }
}

/* Remove a fused activation from the arguments. The backward of an op does not
 * support it, so a tape calls it as a separate op. */
static ssq_status take_activation(struct forward_call *c)
{
    const ssq_activation none = SSQ_ACTIVATION_NONE;
    if (c->op->activation == 0)
        return SSQ_OK;
    memcpy(&c->activation, forward_field(c, c->op->activation), sizeof(none));
    memcpy(forward_field(c, c->op->activation), &none, sizeof(none));
    return (unsigned)c->activation <= SSQ_ACTIVATION_TANH
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID, "%d is not an activation",
                           (int)c->activation);
}

static ssq_status perform(struct forward_call *c, const ssq_var *vars,
                          const void *options)
{
    ssq_tape *t = c->tape;
    const struct tape_op *op = c->op;
    ssq_status st = take_options(c, options);
    if (st == SSQ_OK)
        st = take_activation(c);
    if (st == SSQ_OK)
        st = take_vars(c, vars);
    c->wanted = c->wanted && t->training && t->quiet == 0;
    for (size_t i = 0; i < op->nslots && st == SSQ_OK; i++)
        if (op->slots[i].role == SLOT_RESULT || op->slots[i].role == SLOT_KEPT)
            st = make_result(c, &op->slots[i]);
    if (st != SSQ_OK)
        return st;
    if (t->telling)
        autocast_tell(t, c->where, &c->casting,
                      value_of(t, c->node.out[0])->is.tensor.view.dtype);
    forward_put_tensors(c);
    st = op->call(t->queue, c->args.bytes);
    if (st == SSQ_OK && t->labels != NULL)
        st = tape_tell_labels(t, op, c->args.bytes);
    if (st != SSQ_OK || !c->wanted)
        return st;
    written_record(t, &c->node, c->args.bytes);
    return tape_record(t, &c->node, c->args.bytes, op->bytes);
}

ssq_var tape_call(const char *where, const struct tape_op *op,
                  const ssq_var *vars, const void *options,
                  ssq_var *const *outs)
{
    ssq_tape *t = NULL;
    for (unsigned i = 0; i < op->nvars && t == NULL; i++)
        t = vars[i].tape;
    for (unsigned i = 1; outs != NULL && i < op->nouts; i++)
        if (outs[i] != NULL)
            *outs[i] = var_inert(t);
    if (t == NULL || t->status != SSQ_OK)
        return var_inert(t);
    struct forward_call c = {.tape = t, .op = op, .where = where};
    c.node.op = c.casting.op = op;
    c.node.where = where;
    ssq_status st = perform(&c, vars, options);
    if (st != SSQ_OK) {
        latch(t, st, where, op->name);
        return var_inert(t);
    }
    for (unsigned i = 1; outs != NULL && i < op->nouts; i++)
        if (outs[i] != NULL)
            *outs[i] = var_of(t, c.node.out[i]);
    ssq_var y = var_of(t, c.node.out[0]);
    return c.activation == SSQ_ACTIVATION_NONE
               ? y
               : tape_call(where, op->activations[c.activation], &y, NULL,
                           NULL);
}

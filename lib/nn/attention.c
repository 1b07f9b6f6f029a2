/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - self-attention with its four linear layers. */
#include "lib/nn/layer.h"

#include "lib/tape/tape.h"

/* A layer that is being created. */
struct attention {
    struct layer l;
    const ssq_nn_attention_args *o;
    int64_t batch, t, width, heads, kv_heads, d;
};

static ssq_status attention_check(struct attention *a, const struct view *x,
                                  int64_t heads)
{
    int64_t kv = a->o->kv_heads == 0 ? heads : a->o->kv_heads;
    if (x->rank != 3)
        return error_set(SSQ_ERR_INVALID, "x has rank %d, expected 3", x->rank);
    a->batch = x->shape[0];
    a->t = x->shape[1];
    a->width = x->shape[2];
    if (heads < 1 || a->width % heads != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%lld heads do not divide a width of %lld",
                         (long long)heads, (long long)a->width);
    if (kv < 1 || heads % kv != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%lld kv_heads do not divide %lld heads",
                         (long long)kv, (long long)heads);
    a->heads = heads;
    a->kv_heads = kv;
    a->d = a->width / heads;
    return SSQ_OK;
}

static ssq_var linear(const struct attention *a, const char *part, ssq_var x,
                      int64_t out)
{
    ssq_nn_linear_args o = SSQ_NN_LINEAR_INIT;
    o.bias = a->o->bias;
    return ssq_nn_linear_at(a->l.where, a->l.tape, part, x, out, &o);
}

/* Reshape and transpose [batch, t, heads d] to [batch, heads, t, d]. */
static ssq_var attention_split(const struct attention *a, ssq_var x,
                               int64_t heads)
{
    const int64_t shape[] = {a->batch, a->t, heads, a->d};
    x = ssq_var_reshape_at(a->l.where, x, 4, shape);
    return ssq_var_transpose_at(a->l.where, x, (const int[]){0, 2, 1, 3});
}

static ssq_var attention_turned(const struct attention *a, ssq_var x)
{
    if (!a->o->rotary)
        return x;
    return ssq_rotary_var_at(a->l.where, x, SSQ_ROTARY(.base = a->o->base));
}

/* Set the dropout arguments of attention. Dropout is off outside of
 * training. */
static ssq_status set_dropout(const struct attention *a, ssq_attention_args *o)
{
    struct drawing d;
    if (a->o->dropout == 0.0 || !a->l.tape->training)
        return SSQ_OK;
    ssq_status st = tape_draw(a->l.tape, &d);
    if (st != SSQ_OK)
        return st;
    o->dropout = a->o->dropout;
    o->seed = d.seed;
    o->id = d.id;
    o->step = d.step;
    return SSQ_OK;
}

static ssq_var nn_attention_attend(const struct attention *a, ssq_var x)
{
    ssq_tape *t = a->l.tape;
    const int64_t whole[] = {a->batch, a->t, a->width};
    ssq_attention_args o = SSQ_ATTENTION_INIT;
    o.causal = a->o->causal;
    ssq_status st = set_dropout(a, &o);
    if (st != SSQ_OK) {
        latch(t, st, a->l.where, a->l.kind);
        return var_inert(t);
    }
    tape_push(t, a->l.name, a->l.where);
    ssq_var q = linear(a, "query", x, a->width);
    ssq_var k = linear(a, "key", x, a->kv_heads * a->d);
    ssq_var v = linear(a, "value", x, a->kv_heads * a->d);
    q = attention_turned(a, attention_split(a, q, a->heads));
    k = attention_turned(a, attention_split(a, k, a->kv_heads));
    ssq_var y = ssq_attention_var_at(a->l.where, q, k,
                                     attention_split(a, v, a->kv_heads), &o);
    y = ssq_var_transpose_at(a->l.where, y, (const int[]){0, 2, 1, 3});
    y = ssq_var_reshape_at(a->l.where, y, 3, whole);
    y = linear(a, "out", y, a->width);
    ssq_tape_pop(t);
    return y;
}

ssq_var ssq_nn_attention_at(const char *where, ssq_tape *tape, const char *name,
                            ssq_var x, int64_t heads,
                            const ssq_nn_attention_args *options)
{
    static const ssq_nn_attention_args defaults = SSQ_NN_ATTENTION_INIT;
    struct attention a = {.l = {where, name, "nn_attention", tape},
                          .o = options == NULL ? &defaults : options};
    if (!layer_begin(&a.l, x, a.o, sizeof(*a.o)))
        return var_inert(tape);
    ssq_status st =
        attention_check(&a, &value_of(tape, x.id)->is.tensor.view, heads);
    if (st == SSQ_OK)
        return nn_attention_attend(&a, x);
    latch(tape, st, where, a.l.kind);
    return var_inert(tape);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - sets of operands that are used in turn. An op that is limited
 * by memory must not find its operands in a cache, because it does not
 * in training. */
#include "tools/bench/ring.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SETS 16
/** Bytes of all sets together: more than caches hold. */
#define BEYOND (512.0 * 1024.0 * 1024.0)

struct ring {
    const struct ring_op *op;
    int sets, at;
    ssq_tensor *t[MOST_SETS][RING_OPERANDS];
};

static ssq_status ring_run(struct workload *w)
{
    struct ring *r = w->state;
    ssq_tensor *const *t = r->t[r->at];
    r->at = (r->at + 1) % r->sets;
    return r->op->run(w->queue, t, &w->c);
}

static void ring_drop(struct workload *w)
{
    struct ring *r = w->state;
    for (int i = 0; i < MOST_SETS; i++)
        for (int k = 0; k < RING_OPERANDS; k++)
            ssq_tensor_destroy(&r->t[i][k]);
}

static ssq_status make_operand(const struct workload *w,
                               const struct ring_operand *o, ssq_tensor **t)
{
    if (o->kind == RING_CLASSES)
        return workload_classes(w, o->shape[0], o->shape[1], t);
    /* outputs are filled, too, so that their pages exist */
    return workload_tensor(w, o->dtype, o->rank, o->shape, 1.0, t);
}

static double ring_bytes_of(const struct ring_operand *o)
{
    double n = o->kind == RING_CLASSES ? 4.0 * (double)o->shape[0]
                                       : (double)(ssq_dtype_bits(o->dtype) / 8);
    for (int i = 0; i < o->rank && o->kind != RING_CLASSES; i++)
        n *= (double)o->shape[i];
    return n;
}

ssq_status ring_make(struct workload *w, const struct ring_op *ops)
{
    struct ring_operand o[RING_OPERANDS + 1] = {{RING_END, 0, 0, {0}}};
    while (ops->name != NULL && strcmp(ops->name, w->c.op) != 0)
        ops++;
    if (ops->name == NULL || !ops->operands(&w->c, o))
        return SSQ_ERR_NOT_FOUND;
    struct ring *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return SSQ_ERR_NOMEM;
    w->state = r;
    w->run = ring_run;
    w->drop = ring_drop;
    w->flops = ops->flops != NULL ? ops->flops(&w->c) : 0.0;
    for (int k = 0; o[k].kind != RING_END; k++)
        w->bytes += ring_bytes_of(&o[k]);
    r->op = ops;
    double sets = BEYOND / w->bytes;
    r->sets = sets < 1.0 ? 1 : sets > MOST_SETS ? MOST_SETS : (int)sets;
    ssq_status st = SSQ_OK;
    for (int i = 0; i < r->sets; i++)
        for (int k = 0; o[k].kind != RING_END && st == SSQ_OK; k++)
            st = make_operand(w, &o[k], &r->t[i][k]);
    return st;
}

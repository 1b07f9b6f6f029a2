/* SPDX-License-Identifier: Apache-2.0 */
/* param_exact.c - read and write the float32 values that a parameter is rounded
 * from.
 *
 * A 16-bit parameter is rounded from a master after the optimizer's first use.
 * Before that, it may be rounded from an origin, with which the master will
 * begin. */
#include <sesqui/ops/data.h>

#include "lib/amp/optimizer/optimizer.h"
#include "lib/amp/optimizer/split.h"
#include "lib/tape/params.h"
#include "lib/amp/optimizer/shards.h"

/* Return the optimizer's data for a parameter. NULL: the optimizer lacks it, or
 * another parameter of the optimizer has this name. */
static struct parameter *half_of(const struct param *p, const ssq_optimizer *o)
{
    struct parameter *has = o == NULL ? NULL : optimizer_find(o, p->name);
    bool same =
        has != NULL && has->param->view.buffer == p->tensor->view.buffer;
    return same ? has : NULL;
}

/* Return whether masters are distributed over several ranks. */
static bool in_shards(const struct parameter *has, const ssq_optimizer *o)
{
    return has != NULL && o->state != NULL && o->state->shards != NULL;
}

/* Return whether a distributed optimizer has a master that is more exact than
 * the parameter. */
static bool has_master(const struct parameter *has)
{
    return has->master_kind == MASTER_F32 || has->master_kind == MASTER_SPLIT;
}

static ssq_status exact_of_ranks(const struct parameter *has, ssq_queue *queue,
                                 const ssq_optimizer *o,
                                 const ssq_tensor **value, ssq_tensor **made)
{
    ssq_status st = shards_exact(queue, o, (size_t)(has - o->params), made);
    if (st == SSQ_OK)
        *value = *made;
    return st;
}

static const ssq_tensor *master_of(const struct parameter *has,
                                   const ssq_optimizer *o)
{
    return has == NULL || o->state == NULL
               ? NULL
               : o->state->slot[(size_t)(has - o->params) * SLOTS];
}

ssq_status param_exact(const struct param *p, ssq_queue *queue,
                       const ssq_optimizer *optimizer, const ssq_tensor **value,
                       ssq_tensor **made)
{
    const struct view *v = &p->tensor->view;
    const struct parameter *has = half_of(p, optimizer);
    const ssq_tensor *master = master_of(has, optimizer);
    *value = p->tensor;
    *made = NULL;
    if (v->dtype == SSQ_F32)
        return SSQ_OK;
    if (in_shards(has, optimizer))
        return has_master(has)
                   ? exact_of_ranks(has, queue, optimizer, value, made)
                   : SSQ_OK;
    if (master == NULL) {
        if ((has == NULL || optimizer->state == NULL) &&
            origin_fresh(p->origin))
            *value = p->origin->tensor;
        return SSQ_OK;
    }
    if (has->master_kind == MASTER_F32) {
        *value = master;
        return SSQ_OK;
    }
    ssq_status st =
        tensor_create(v->buffer->device, SSQ_F32, v->rank, v->shape, made);
    if (st == SSQ_OK)
        st = split_read(queue, p->tensor, master, *made);
    if (st == SSQ_OK)
        *value = *made;
    else
        ssq_tensor_destroy(made);
    return st;
}

/* ---- writing ---- */

static ssq_status begin_origin(struct param_writing *w)
{
    struct param *p = w->param;
    if (p->origin == NULL) {
        ssq_status st = origin_create(p->tensor, &p->origin);
        if (st != SSQ_OK)
            return st;
        w->params->origins++;
    }
    p->origin->rounded = false;
    w->origin = p->origin;
    w->to = p->origin->tensor;
    return SSQ_OK;
}

ssq_status param_write_begin(struct param_writing *w, ssq_params *params,
                             struct param *p, ssq_optimizer *optimizer)
{
    const struct view *v = &p->tensor->view;
    const struct parameter *has = half_of(p, optimizer);
    const ssq_tensor *master = master_of(has, optimizer);
    *w = (struct param_writing){
        .params = params, .param = p, .optimizer = optimizer};
    if (v->dtype == SSQ_F32)
        w->to = p->tensor;
    else if (master != NULL && has->master_kind == MASTER_F32 &&
             !in_shards(has, optimizer))
        w->to = master;
    else if (has == NULL || optimizer->state == NULL)
        return begin_origin(w);
    else {
        ssq_status st = tensor_create(v->buffer->device, SSQ_F32, v->rank,
                                      v->shape, &w->made);
        w->to = w->made;
        return st;
    }
    return SSQ_OK;
}

static ssq_status param_exact_cast(ssq_queue *queue, const ssq_tensor *x,
                                   const ssq_tensor *y)
{
    if (x == y || view_elements(&x->view) == 0)
        return SSQ_OK;
    return ssq_cast(queue, SSQ_CAST(.x = x, .y = y));
}

ssq_status param_write_end(struct param_writing *w, ssq_queue *queue,
                           ssq_status st)
{
    struct param *p = w->param;
    struct parameter *has = half_of(p, w->optimizer);
    const ssq_tensor *master = master_of(has, w->optimizer);
    if (st == SSQ_OK && w->origin != NULL) {
        st = origin_round(queue, w->origin, p->tensor);
        if (st == SSQ_OK && has != NULL)
            optimizer_begin_with(w->optimizer, has, w->origin);
    } else if (st == SSQ_OK && w->made != NULL && in_shards(has, w->optimizer))
        st = shards_write(queue, w->optimizer, w->optimizer->state,
                          (size_t)(has - w->optimizer->params), w->to);
    else if (st == SSQ_OK && master != NULL && has->master_kind == MASTER_SPLIT)
        st = split_write(queue, w->to, p->tensor, master);
    else if (st == SSQ_OK && w->to != p->tensor)
        st = param_exact_cast(queue, w->to, p->tensor);
    else if (st == SSQ_OK && master != NULL) /* a flat float32 master */
        st = param_exact_cast(queue, p->tensor, master);
    ssq_tensor_destroy(&w->made);
    return st;
}

void params_drop_origins(ssq_params *params)
{
    for (size_t i = 0; i < params->n && params->origins > 0; i++) {
        struct param *p = &params->at[i];
        if (p->origin == NULL || origin_fresh(p->origin))
            continue;
        origin_put(p->origin);
        p->origin = NULL;
        params->origins--;
    }
}

/* ---- copies of another set ---- */

static ssq_status param_exact_take(ssq_params *params, ssq_queue *queue,
                                   const struct param *from)
{
    const struct view *v = &from->tensor->view;
    const ssq_tensor *value;
    ssq_tensor *made = NULL, *tensor = NULL;
    struct param_writing w;
    ssq_status st = param_exact(from, queue, NULL, &value, &made);
    if (st == SSQ_OK)
        st = tensor_create(params->device,
                           from->full ? SSQ_F32 : params->policy.compute,
                           v->rank, v->shape, &tensor);
    if (st != SSQ_OK)
        return st;
    st = param_put(params, from->name, tensor, from->state, from->full);
    if (st != SSQ_OK) {
        ssq_tensor_destroy(&tensor);
        return st;
    }
    st = param_write_begin(&w, params, &params->at[params->n - 1], NULL);
    return st == SSQ_OK ? param_write_end(&w, queue,
                                          param_exact_cast(queue, value, w.to))
                        : st;
}

ssq_status params_take(ssq_params *params, ssq_queue *queue,
                       const ssq_params *from)
{
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < from->n && st == SSQ_OK; i++)
        st = param_exact_take(params, queue, &from->at[i]);
    return st;
}

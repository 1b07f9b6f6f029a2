/* SPDX-License-Identifier: Apache-2.0 */
/* params_wide.c - convert parameters to float32 when training ends, and back to
 * the dtypes of their policy when it continues. */
#include <sesqui/ops/data.h>

#include "lib/amp/optimizer/optimizer.h"
#include "lib/core/queue/queue.h"
#include "lib/tape/params.h"

static ssq_status params_wide_widen(ssq_params *params, ssq_queue *queue,
                                    const ssq_optimizer *optimizer,
                                    ssq_tensor **wide)
{
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < params->n && st == SSQ_OK; i++) {
        const struct param *p = &params->at[i];
        const struct view *v = &p->tensor->view;
        const ssq_tensor *value = NULL;
        ssq_tensor *made = NULL;
        if (v->dtype == SSQ_F32)
            continue;
        st = param_exact(p, queue, optimizer, &value, &made);
        if (st == SSQ_OK)
            st = tensor_create(params->device, SSQ_F32, v->rank, v->shape,
                               &wide[i]);
        if (st == SSQ_OK && view_elements(v) > 0)
            st = ssq_cast(queue, SSQ_CAST(.x = value, .y = wide[i]));
        ssq_tensor_destroy(&made);
    }
    return st;
}

/* Give a parameter another tensor, and return its old one. */
static ssq_tensor *params_wide_put(ssq_params *params, struct param *p,
                                   ssq_tensor *tensor, ssq_tensor *grad)
{
    ssq_tensor *was = p->tensor;
    param_copy_free(p->copy);
    p->copy = NULL;
    params->origins -= p->origin != NULL;
    origin_put(p->origin);
    p->origin = NULL;
    p->tensor = tensor;
    ssq_tensor_destroy(&p->grad);
    p->grad = grad;
    p->grad_state = grad == NULL ? GRAD_NONE : GRAD_CLEAN;
    return was;
}

/* All tensors are created before the first one is put in place. */
ssq_status ssq_params_to_float32(ssq_params *params, ssq_queue *queue,
                                 ssq_optimizer *optimizer)
{
    static const char what[] = "params_to_float32";
    ssq_status st = params_call(what, params, queue, optimizer);
    if (st != SSQ_OK)
        return st;
    ssq_tensor **wide = mem_alloc_array(params->n + 1, sizeof(ssq_tensor *));
    if (wide == NULL)
        return error_nomem(what, params->n * sizeof(ssq_tensor *));
    st = params_wide_widen(params, queue, optimizer, wide);
    for (size_t i = 0; i < params->n; i++) {
        struct param *p = &params->at[i];
        if (wide[i] == NULL)
            continue;
        if (st == SSQ_OK)
            wide[i] = params_wide_put(params, p, wide[i], NULL);
        ssq_tensor_destroy(&wide[i]);
    }
    mem_free(wide);
    return st;
}

/* ---- back ---- */

/* Get the 16-bit tensors of a parameter: the optimizer's, or new ones. */
static ssq_status narrow_of(const ssq_params *params, const struct param *p,
                            const ssq_optimizer *optimizer,
                            ssq_tensor *narrow[2])
{
    const struct view *v = &p->tensor->view;
    const struct parameter *has = optimizer_find(optimizer, p->name);
    if (has == NULL)
        return tensor_create(params->device, params->policy.compute, v->rank,
                             v->shape, &narrow[0]);
    ssq_status st =
        ssq_tensor_reshape(has->param, v->rank, v->shape, &narrow[0]);
    return st == SSQ_OK
               ? ssq_tensor_reshape(has->grad, v->rank, v->shape, &narrow[1])
               : st;
}

/* Round p from its float32 tensor, and set its master's initial value. */
static ssq_status take_value(ssq_params *params, ssq_queue *queue,
                             ssq_optimizer *optimizer, struct param *p,
                             const ssq_tensor *wide)
{
    struct param_writing w;
    ssq_status st = param_write_begin(&w, params, p, optimizer);
    if (st != SSQ_OK)
        return st;
    if (view_elements(&wide->view) > 0)
        st = ssq_cast(queue, SSQ_CAST(.x = wide, .y = w.to));
    return param_write_end(&w, queue, st);
}

ssq_status params_to_policy(ssq_params *params, ssq_queue *queue,
                            ssq_optimizer *optimizer)
{
    static const char what[] = "params_to_policy";
    ssq_status st = params_call(what, params, queue, optimizer);
    if (st != SSQ_OK)
        return st;
    ssq_tensor **wide = mem_alloc_array(params->n + 1, sizeof(ssq_tensor *));
    if (wide == NULL)
        return error_nomem(what, params->n * sizeof(ssq_tensor *));
    for (size_t i = 0; i < params->n && st == SSQ_OK; i++) {
        struct param *p = &params->at[i];
        ssq_tensor *narrow[2] = {NULL, NULL};
        if (p->full || params->policy.compute == SSQ_F32 ||
            p->tensor->view.dtype != SSQ_F32)
            continue;
        st = narrow_of(params, p, optimizer, narrow);
        if (st != SSQ_OK) {
            ssq_tensor_destroy(&narrow[0]);
            break;
        }
        wide[i] = params_wide_put(params, p, narrow[0], narrow[1]);
        st = take_value(params, queue, optimizer, p, wide[i]);
    }
    for (size_t i = 0; i < params->n; i++) {
        if (st != SSQ_OK && wide[i] != NULL)
            wide[i] = params_wide_put(params, &params->at[i], wide[i], NULL);
        ssq_tensor_destroy(&wide[i]);
    }
    mem_free(wide);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* params_wide.c - parameters given back as float32, when training is over. */
#include <sesqui/ops/data.h>

#include "lib/core/queue.h"
#include "lib/tape/params.h"

static ssq_status widen(ssq_params *params, ssq_queue *queue,
                        const ssq_optimizer *optimizer, ssq_tensor **wide)
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

/* All of them are made before the first is put in place. */
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
    st = widen(params, queue, optimizer, wide);
    for (size_t i = 0; i < params->n; i++) {
        struct param *p = &params->at[i];
        if (wide[i] == NULL)
            continue;
        if (st == SSQ_OK) {
            ssq_tensor *was = p->tensor;
            param_copy_free(p->copy);
            p->copy = NULL;
            params->origins -= p->origin != NULL;
            origin_put(p->origin);
            p->origin = NULL;
            p->tensor = wide[i];
            wide[i] = was;
            ssq_tensor_destroy(&p->grad);
            p->grad_state = GRAD_NONE;
        }
        ssq_tensor_destroy(&wide[i]);
    }
    mem_free(wide);
    return st;
}

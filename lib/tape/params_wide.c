/* SPDX-License-Identifier: Apache-2.0 */
/* params_wide.c - parameters given back as float32, when training is over. */
#include <sesqui/ops/data.h>

#include "lib/amp/optimizer.h"
#include "lib/core/queue.h"
#include "lib/tape/params.h"

/* The most exact value that there is: the master, or the parameter itself
 * where it has none. */
static ssq_status exact(const struct param *p, ssq_optimizer *optimizer,
                        const ssq_tensor **value)
{
    *value = p->tensor;
    const struct parameter *has =
        optimizer == NULL ? NULL : optimizer_find(optimizer, p->name);
    if (has == NULL || optimizer->state == NULL || has->truth == TRUTH_NONE)
        return SSQ_OK;
    if (has->truth == TRUTH_SPLIT)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "params_to_float32: %.100s has a split master: "
                         "float32 masters are needed",
                         p->name);
    return ssq_optimizer_master(optimizer, NULL, p->name, value);
}

static ssq_status widen(ssq_params *params, ssq_queue *queue,
                        ssq_optimizer *optimizer, ssq_tensor **wide)
{
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < params->n && st == SSQ_OK; i++) {
        const struct param *p = &params->at[i];
        const struct view *v = &p->tensor->view;
        const ssq_tensor *value = NULL;
        if (v->dtype == SSQ_F32)
            continue;
        st = exact(p, optimizer, &value);
        if (st == SSQ_OK)
            st = tensor_create(params->device, SSQ_F32, v->rank, v->shape,
                               &wide[i]);
        if (st == SSQ_OK && view_elements(v) > 0)
            st = ssq_cast(queue, SSQ_CAST(.x = value, .y = wide[i]));
    }
    return st;
}

/* All of them are made before the first is put in place. */
ssq_status ssq_params_to_float32(ssq_params *params, ssq_queue *queue,
                                 ssq_optimizer *optimizer)
{
    static const char what[] = "params_to_float32";
    if (params == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: params is NULL", what);
    ssq_status st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    if (params->device != queue->device)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the queue and the parameters are of different "
                         "devices",
                         what);
    if (queue_capturing(queue))
        return error_set(SSQ_ERR_INVALID, "%s: a graph is being captured",
                         what);
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

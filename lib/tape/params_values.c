/* SPDX-License-Identifier: Apache-2.0 */
/* params_values.c - copy parameters from and to host memory, and count them. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/core/queue/queue.h"
#include "lib/tape/params.h"

ssq_status ssq_params_stats_get(const ssq_params *params,
                                ssq_params_stats *stats)
{
    static const char what[] = "params_stats_get";
    if (params == NULL || stats == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         params == NULL ? "params" : "stats");
    if (stats->struct_size != sizeof(*stats))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         stats->struct_size, sizeof(*stats));
    ssq_params_stats s = SSQ_PARAMS_STATS_INIT;
    for (size_t i = 0; i < params->n; i++) {
        const struct param *p = &params->at[i];
        const uint64_t n = (uint64_t)view_elements(&p->tensor->view);
        s.params += !p->state;
        s.states += p->state;
        s.elements += n;
        s.trainable += p->state ? 0 : n;
        s.bytes += n * dtype_bytes(p->tensor->view.dtype);
        if (p->grad != NULL)
            s.gradient_bytes += n * dtype_bytes(p->grad->view.dtype);
    }
    *stats = s;
    return SSQ_OK;
}

ssq_status params_call(const char *what, const ssq_params *params,
                       ssq_queue *queue, const ssq_optimizer *optimizer)
{
    if (params == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: params is NULL", what);
    ssq_status st = optimizer == NULL ? queue_check(queue, what)
                                      : optimizer_call(queue, optimizer, what);
    if (st == SSQ_OK && params->device != queue->device)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the queue and the parameters are of different "
                         "devices",
                         what);
    return st == SSQ_OK ? queue_check_runs(queue, what) : st;
}

/* Get the parameters from..end - 1 for a name, NULL for all. Checks that they
 * have n elements. */
static ssq_status params_values_range(const char *what,
                                      const ssq_params *params,
                                      const char *name, const float *host,
                                      size_t n, size_t *from, size_t *end)
{
    uint64_t have = 0;
    if (host == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: host is NULL", what);
    *from = name == NULL ? 0 : param_find(params, name);
    *end = name == NULL ? params->n : *from + 1;
    if (name != NULL && *from == params->n)
        return params_unknown(params, what, name, "");
    for (size_t i = *from; i < *end; i++)
        have += (uint64_t)view_elements(&params->at[i].tensor->view);
    if (have == n)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: %.100s has %llu elements, n is %zu",
                     what, name == NULL ? "the set" : name,
                     (unsigned long long)have, n);
}

static ssq_status read_one(const struct param *p, ssq_queue *queue,
                           const ssq_optimizer *optimizer, float *host)
{
    const ssq_tensor *value = NULL;
    ssq_tensor *made = NULL;
    const size_t n = (size_t)view_elements(&p->tensor->view);
    ssq_status st = param_exact(p, queue, optimizer, &value, &made);
    if (st == SSQ_OK)
        st = ssq_tensor_read(queue, value, host, n * sizeof(*host), SSQ_F32);
    ssq_tensor_destroy(&made);
    return st;
}

ssq_status ssq_params_read(const ssq_params *params, ssq_queue *queue,
                           const ssq_optimizer *optimizer, const char *name,
                           float *host, size_t n)
{
    static const char what[] = "params_read";
    size_t from = 0, end = 0;
    ssq_status st = params_call(what, params, queue, optimizer);
    if (st == SSQ_OK)
        st = params_values_range(what, params, name, host, n, &from, &end);
    if (st != SSQ_OK)
        return st;
    for (size_t i = from; i < end && st == SSQ_OK; i++) {
        const struct param *p = &params->at[i];
        st = read_one(p, queue, optimizer, host);
        host += view_elements(&p->tensor->view);
    }
    ssq_status synced = queue_wait(queue);
    return st == SSQ_OK ? synced : st;
}

ssq_status ssq_params_write(ssq_params *params, ssq_queue *queue,
                            ssq_optimizer *optimizer, const char *name,
                            const float *host, size_t n)
{
    static const char what[] = "params_write";
    size_t from = 0, end = 0;
    ssq_status st = params_call(what, params, queue, optimizer);
    if (st == SSQ_OK)
        st = params_values_range(what, params, name, host, n, &from, &end);
    if (st != SSQ_OK)
        return st;
    for (size_t i = from; i < end && st == SSQ_OK; i++) {
        struct param *p = &params->at[i];
        struct param_writing w;
        const size_t k = (size_t)view_elements(&p->tensor->view);
        st = param_write_begin(&w, params, p, optimizer);
        if (st != SSQ_OK)
            break;
        st = param_write_end(
            &w, queue,
            ssq_tensor_write(queue, w.to, host, k * sizeof(*host), SSQ_F32));
        host += k;
    }
    ssq_status synced = queue_wait(queue);
    return st == SSQ_OK ? synced : st;
}

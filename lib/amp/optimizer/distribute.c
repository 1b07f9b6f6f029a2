/* SPDX-License-Identifier: Apache-2.0 */
/* distribute.c - divide an optimizer between ranks, and describe the parts. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/comm/parts.h"
#include "lib/amp/optimizer/shards.h"

ssq_status ssq_optimizer_distribute(ssq_optimizer *optimizer, ssq_comm *comm)
{
    static const char what[] = "optimizer_distribute";
    if (optimizer == NULL || comm == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         optimizer == NULL ? "optimizer" : "comm");
    if (optimizer->state != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the optimizer's state was made already, by its "
                         "first check, step or visit",
                         what);
    if (optimizer->comm != NULL)
        return error_set(SSQ_ERR_INVALID, "%s: it is distributed already",
                         what);
    if (ssq_comm_device(comm) != optimizer->device)
        return error_set(
            SSQ_ERR_INVALID,
            "%s: rank %u is on another device, %s, than the optimizer, on %s",
            what, ssq_comm_rank(comm), ssq_comm_device(comm)->props.name,
            optimizer->device->props.name);
    if (optimizer->options.flat_master)
        return error_set(SSQ_ERR_INVALID,
                         "%s: flat_master: no rank would have a whole one",
                         what);
    comm_hold(comm);
    optimizer->comm = comm;
    return SSQ_OK;
}

static uint64_t distribute_bytes_of(const ssq_tensor *t)
{
    return t == NULL
               ? 0
               : (uint64_t)view_elements(&t->view) * dtype_bytes(t->view.dtype);
}

static void add_param(const ssq_optimizer *o, size_t i, ssq_memory_report *r)
{
    const struct state *s = o->state;
    r->elements += (uint64_t)view_elements(&o->params[i].param->view);
    r->own += (uint64_t)shard_count(o, s, i);
    r->params += distribute_bytes_of(o->params[i].param);
    r->grads += distribute_bytes_of(o->params[i].grad);
    r->masters += distribute_bytes_of(s->slot[i * SLOTS + SLOT_MASTER]);
    for (size_t k = SLOT_A; k < SLOTS; k++)
        r->moments += distribute_bytes_of(s->slot[i * SLOTS + k]);
    if (s->sum != NULL)
        r->sums += distribute_bytes_of(s->sum[i]);
}

ssq_status ssq_optimizer_memory(const ssq_optimizer *optimizer,
                                ssq_memory_report *report)
{
    static const char what[] = "optimizer_memory";
    ssq_memory_report r = SSQ_MEMORY_REPORT_INIT;
    if (optimizer == NULL || report == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         optimizer == NULL ? "optimizer" : "report");
    if (report->struct_size != sizeof(*report))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         report->struct_size, sizeof(*report));
    const struct state *s = optimizer->state;
    if (s == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: there is no memory before the first step or "
                         "ssq_optimizer_model_to_master",
                         what);
    for (size_t i = 0; i < optimizer->n; i++)
        add_param(optimizer, i, &r);
    r.other = distribute_bytes_of(s->control) + distribute_bytes_of(s->table) +
              distribute_bytes_of(s->record) + distribute_bytes_of(s->stats) +
              distribute_bytes_of(s->ratio);
    if (s->shards != NULL)
        r.other += distribute_bytes_of(s->shards->parts) +
                   distribute_bytes_of(s->shards->norms);
    *report = r;
    return SSQ_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - the sum of gradients over ranks.
 *
 * The optimizer's check reads the summed gradients. Its overflow flag and norm
 * therefore cover all ranks, and no other agreement is needed: a gradient that
 * is not finite on one rank makes the sum not finite. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/train/trainer.h"

static ssq_status reduce_tensors(ssq_trainer *t,
                                 const ssq_tensor *const *tensors, size_t n,
                                 const char *tag)
{
    return ssq_comm_all_reduce(
        t->queue, t->comm,
        SSQ_COMM_ALL_REDUCE(.tensors = tensors, .n = n, .tag = tag));
}

/* Sum all gradients and the flag of the labels in one collective. */
static ssq_status reduce_all_tensors(ssq_trainer *t, const ssq_tensor *flag)
{
    const ssq_optimizer *o = t->optimizer;
    const ssq_tensor **all = mem_alloc_array(o->n + 1, sizeof(*all));
    if (all == NULL)
        return error_nomem("trainer_step", (o->n + 1) * sizeof(*all));
    for (size_t i = 0; i < o->n; i++)
        all[i] = o->state->sum[i];
    all[o->n] = flag;
    ssq_status st = reduce_tensors(t, all, o->n + 1, "gradients");
    mem_free(all);
    return st;
}

/* Sum all gradients over ranks. With shards, the sums cover runs of parameters,
 * so the flag of the labels is summed separately. */
static ssq_status reduce_all_gradients(ssq_trainer *t)
{
    const ssq_tensor *flag = labels_flag(t->labels);
    ssq_status st = labels_set_flag(t->labels, t->queue);
    if (st != SSQ_OK)
        return st;
    if (!t->shard)
        return reduce_all_tensors(t, flag);
    st = optimizer_reduce(t->queue, t->optimizer);
    return st == SSQ_OK ? reduce_tensors(t, &flag, 1, "labels") : st;
}

/* If a call fails after the sum, the step stays due. When it is repeated, the
 * gradients are not summed again. */
ssq_status trainer_reduce_gradients(ssq_trainer *t)
{
    ssq_status st;
    if (t->comm == NULL || t->reduced)
        return SSQ_OK;
    st = t->bucketed ? trainer_reduce_buckets(t) : reduce_all_gradients(t);
    t->reduced = st == SSQ_OK;
    return st;
}

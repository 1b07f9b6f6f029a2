/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - a trainer that is one of several ranks: the sum of their gradients.
 *
 * The optimizer's check reads the summed gradients. Its overflow flag and norm
 * therefore cover all ranks, and no other agreement is needed: a gradient that
 * is not finite on one rank makes the sum not finite. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/train/trainer.h"

static ssq_status sum_tensors(ssq_trainer *t, const ssq_tensor *const *tensors,
                              size_t n, const char *tag)
{
    return ssq_comm_all_reduce(
        t->queue, t->comm,
        SSQ_COMM_ALL_REDUCE(.tensors = tensors, .n = n, .tag = tag));
}

/* Sum all gradients and the flag of the labels in one collective. */
static ssq_status ranks_sum_all(ssq_trainer *t, const ssq_tensor *flag)
{
    const ssq_optimizer *o = t->optimizer;
    const ssq_tensor **all = mem_alloc_array(o->n + 1, sizeof(*all));
    if (all == NULL)
        return error_nomem("trainer_step", (o->n + 1) * sizeof(*all));
    for (size_t i = 0; i < o->n; i++)
        all[i] = o->state->sum[i];
    all[o->n] = flag;
    ssq_status st = sum_tensors(t, all, o->n + 1, "gradients");
    mem_free(all);
    return st;
}

/* Sum all gradients over ranks. With shards, the sums cover runs of parameters,
 * so the flag of the labels is summed separately. */
static ssq_status reduce_whole(ssq_trainer *t)
{
    const ssq_tensor *flag = labels_flag(t->labels);
    ssq_status st = labels_raise(t->labels, t->queue);
    if (st != SSQ_OK)
        return st;
    if (!t->shard)
        return ranks_sum_all(t, flag);
    st = optimizer_reduce(t->queue, t->optimizer);
    return st == SSQ_OK ? sum_tensors(t, &flag, 1, "labels") : st;
}

/* If a call fails after the sum, the step stays due. When it is repeated, the
 * gradients are not summed again. */
ssq_status trainer_reduce(ssq_trainer *t)
{
    ssq_status st;
    if (t->comm == NULL || t->reduced)
        return SSQ_OK;
    st = t->divided ? trainer_reduce_divided(t) : reduce_whole(t);
    t->reduced = st == SSQ_OK;
    return st;
}

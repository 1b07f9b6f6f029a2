/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - a trainer that is one of several: the sum of their gradients.
 *
 * The check reads what the sum has made of the gradients, so that its verdict
 * and its norm are those of all ranks, and nothing more has to be agreed upon:
 * what is not finite on one rank is not finite in a sum. */
#include "lib/amp/optimizer.h"
#include "lib/train/trainer.h"

static ssq_status sum_tensors(ssq_trainer *t, const ssq_tensor *const *tensors,
                              size_t n, const char *tag)
{
    return ssq_comm_all_reduce(
        t->queue, t->comm,
        SSQ_COMM_ALL_REDUCE(.tensors = tensors, .n = n, .tag = tag));
}

/* The flag of the labels goes with the gradients. */
static ssq_status sum_all(ssq_trainer *t, const ssq_tensor *flag)
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

/* Sums of shards are of runs of parameters, and the flag is none of them. */
static ssq_status reduce_whole(ssq_trainer *t)
{
    const ssq_tensor *flag = labels_flag(t->labels);
    ssq_status st = labels_raise(t->labels, t->queue);
    if (st != SSQ_OK)
        return st;
    if (!t->shard)
        return sum_all(t, flag);
    st = optimizer_reduce(t->queue, t->optimizer);
    return st == SSQ_OK ? sum_tensors(t, &flag, 1, "labels") : st;
}

/* Behind a sum that a call has failed after, the step is due with it: it is not
 * summed again. */
ssq_status trainer_reduce(ssq_trainer *t)
{
    ssq_status st;
    if (t->comm == NULL || t->reduced)
        return SSQ_OK;
    st = t->divided ? trainer_reduce_divided(t) : reduce_whole(t);
    t->reduced = st == SSQ_OK;
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - a trainer that is one of several: the sum of their gradients.
 *
 * The check reads what the sum has made of the gradients, so that its verdict
 * and its norm are those of all ranks, and nothing more has to be agreed upon:
 * what is not finite on one rank is not finite in a sum. */
#include "lib/amp/optimizer.h"
#include "lib/train/trainer.h"

/* Behind a sum that a call has failed after, the step is due with it: it is not
 * summed again. */
ssq_status trainer_reduce(ssq_trainer *t)
{
    const ssq_optimizer *o = t->optimizer;
    ssq_status st;
    if (t->comm == NULL || t->reduced)
        return SSQ_OK;
    if (t->divided)
        st = trainer_reduce_divided(t);
    else if (t->shard)
        st = optimizer_reduce(t->queue, t->optimizer);
    else
        st = ssq_comm_all_reduce(
            t->queue, t->comm,
            SSQ_COMM_ALL_REDUCE(.tensors =
                                    (const ssq_tensor *const *)o->state->sum,
                                .n = o->n, .tag = "gradients"));
    t->reduced = st == SSQ_OK;
    return st;
}

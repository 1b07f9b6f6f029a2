/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.c - the public calls of batch norm. It pools statistics over the
 * batch, which may be on several ranks. Without training it uses the running
 * statistics. */
#include <sesqui/ops/batch_norm.h>

#include "lib/comm/ranks_norm.h"

ssq_status ssq_batch_norm(ssq_queue *queue, const ssq_batch_norm_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "batch_norm");
    if (st != SSQ_OK)
        return st;
    const struct channel_norm_call call = {.name = "batch_norm",
                                           .pooled = true,
                                           .given = !args->training,
                                           .population =
                                               args->population_variance,
                                           .x = args->x,
                                           .gamma = args->gamma,
                                           .beta = args->beta,
                                           .running_mean = args->running_mean,
                                           .running_var = args->running_var,
                                           .y = args->y,
                                           .mean = args->mean,
                                           .rstd = args->rstd,
                                           .axis = args->axis,
                                           .momentum = args->momentum,
                                           .eps = args->eps,
                                           .activation = args->activation,
                                           .comm = args->comm,
                                           .ranks = &norm_over_ranks};
    return channel_norm(queue, &call);
}

ssq_status ssq_batch_norm_backward(ssq_queue *queue,
                                   const ssq_batch_norm_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "batch_norm_backward");
    if (st != SSQ_OK)
        return st;
    const struct channel_norm_call call = {.name = "batch_norm_backward",
                                           .pooled = true,
                                           .given = !args->training,
                                           .x = args->x,
                                           .gamma = args->gamma,
                                           .running_mean = args->running_mean,
                                           .running_var = args->running_var,
                                           .mean = args->mean,
                                           .rstd = args->rstd,
                                           .dy = args->dy,
                                           .dx = args->dx,
                                           .dgamma = args->dgamma,
                                           .dbeta = args->dbeta,
                                           .axis = args->axis,
                                           .eps = args->eps,
                                           .comm = args->comm,
                                           .ranks = &norm_over_ranks};
    return channel_norm_backward(queue, &call);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.c - the public calls of batch norm and group norm.
 *
 * Both become the same call; the members that one of them lacks stay NULL,
 * false or 0. Batch norm pools statistics over the batch. Without training it
 * uses the running statistics. Group norm computes statistics for each
 * example. */
#include <sesqui/ops/batch_norm.h>

#include "lib/op/norm/channel_norm.h"

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
                                           .comm = args->comm};
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
                                           .comm = args->comm};
    return channel_norm_backward(queue, &call);
}

ssq_status ssq_group_norm(ssq_queue *queue, const ssq_group_norm_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "group_norm");
    if (st != SSQ_OK)
        return st;
    const struct channel_norm_call call = {.name = "group_norm",
                                           .x = args->x,
                                           .gamma = args->gamma,
                                           .beta = args->beta,
                                           .y = args->y,
                                           .mean = args->mean,
                                           .rstd = args->rstd,
                                           .axis = args->axis,
                                           .groups = args->groups,
                                           .eps = args->eps,
                                           .activation = args->activation};
    return channel_norm(queue, &call);
}

ssq_status ssq_group_norm_backward(ssq_queue *queue,
                                   const ssq_group_norm_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "group_norm_backward");
    if (st != SSQ_OK)
        return st;
    const struct channel_norm_call call = {.name = "group_norm_backward",
                                           .x = args->x,
                                           .gamma = args->gamma,
                                           .mean = args->mean,
                                           .rstd = args->rstd,
                                           .dy = args->dy,
                                           .dx = args->dx,
                                           .dgamma = args->dgamma,
                                           .dbeta = args->dbeta,
                                           .axis = args->axis,
                                           .groups = args->groups,
                                           .eps = args->eps};
    return channel_norm_backward(queue, &call);
}

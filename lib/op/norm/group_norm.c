/* SPDX-License-Identifier: Apache-2.0 */
/* group_norm.c - the public calls of group norm, which computes statistics for
 * each example. Batch norm is in lib/comm/batch_norm.c, since its statistics
 * may be over ranks. */
#include <sesqui/ops/batch_norm.h>

#include "lib/op/norm/channel_norm.h"

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

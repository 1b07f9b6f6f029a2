/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - the checks of every call on a scaler or an optimizer.
 *
 * queue_check() comes first: on a failed queue every call returns the queue's
 * error, also if arguments are wrong. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/amp/scaler/scaler_object.h"

ssq_status scaler_call(const ssq_queue *queue, const ssq_scaler *scaler,
                       const char *what)
{
    ssq_status st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    if (scaler == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: scaler is NULL", what);
    const ssq_device *d = ssq_queue_device(queue);
    if (scaler->device != d)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the scaler is of %s, the queue of %s", what,
                         scaler->device->props.name, d->props.name);
    return SSQ_OK;
}

ssq_status scaler_call_now(const ssq_queue *queue, const ssq_scaler *scaler,
                           const char *what)
{
    ssq_status st = scaler_call(queue, scaler, what);
    if (st == SSQ_OK && queue_capturing(queue))
        return error_set(SSQ_ERR_INVALID, "%s: a graph is being captured",
                         what);
    return st;
}

/* Check the queue and the optimizer. Parameters and gradients need no check:
 * ssq_optimizer_add has checked that they are on the optimizer's device. */
ssq_status optimizer_call(const ssq_queue *queue, const ssq_optimizer *o,
                          const char *what)
{
    ssq_status st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    if (o == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: optimizer is NULL", what);
    if (ssq_queue_device(queue) != o->device)
        return error_set(
            SSQ_ERR_INVALID, "%s: the optimizer is on %s, the queue on %s",
            what, o->device->props.name, ssq_queue_device(queue)->props.name);
    return SSQ_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sticky.c - the error that a queue keeps: every later call answers it. */
#include "lib/core/queue.h"

#include <stdio.h>

/* A lost device comes before the sticky error: in a child the queue's own
 * memory may be half changed. Neither takes a lock, as every op comes here. */
ssq_status queue_check(const ssq_queue *queue, const char *op)
{
    if (queue == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: queue is NULL", op);
    ssq_status st = device_check(queue->device, op);
    if (st != SSQ_OK)
        return st;
    ssq_status sticky = (ssq_status)atomic_load(&queue->sticky);
    if (sticky != SSQ_OK)
        return error_set(sticky, "%s", queue->text);
    return SSQ_OK;
}

/* Only the first failure is kept: later ones are mostly its consequences. The
 * text is written before the status, for queue_check reads both without the
 * lock. Nor is it taken here: whoever ends what a queue waits for has to fail
 * the queue first, while somebody else waits for it under the lock. */
ssq_status queue_fail(ssq_queue *queue, ssq_status status)
{
    if (atomic_exchange(&queue->failing, 1) == 0) {
        snprintf(queue->text, sizeof(queue->text), "%s", ssq_last_error());
        atomic_store(&queue->sticky, status);
    }
    return status;
}

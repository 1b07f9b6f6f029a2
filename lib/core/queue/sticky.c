/* SPDX-License-Identifier: Apache-2.0 */
/* sticky.c - the sticky error of a queue, which every later call returns. */
#include "lib/core/queue/queue.h"

#include <stdio.h>

/* Check for a lost device first: in a child of fork, the queue's own memory may
 * be half changed. Neither check takes a lock, because every op calls this. */
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

/* Keep only the first failure: later ones are mostly its consequences. The text
 * is written before the status, because queue_check() reads both without the
 * lock. The lock is not taken here either. A thread may hold it while waiting
 * for work, and a thread that ends this work must fail the queue first. */
ssq_status queue_fail(ssq_queue *queue, ssq_status status)
{
    if (atomic_exchange(&queue->failing, 1) == 0) {
        snprintf(queue->text, sizeof(queue->text), "%s", ssq_last_error());
        atomic_store(&queue->sticky, status);
    }
    return status;
}

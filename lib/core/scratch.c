/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - temporaries of calls: held by the ops that use them. */
#include "lib/core/queue.h"

ssq_status scratch_get(ssq_queue *queue, ssq_dtype dtype, int rank,
                       const int64_t *shape, struct view *view)
{
    ssq_tensor *t;
    ssq_status st = tensor_create(queue->device, dtype, rank, shape, &t);
    if (st != SSQ_OK)
        return st;
    *view = tensor_view(t, ACCESS_WRITE);
    object_get(&view->buffer->object);
    object_put(&t->object);
    return SSQ_OK;
}

void scratch_put(struct view *view)
{
    if (view->buffer != NULL)
        object_put(&view->buffer->object);
    view->buffer = NULL;
}

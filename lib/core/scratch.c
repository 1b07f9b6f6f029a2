/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - temporaries of calls: held by the ops that use them. */
#include "lib/core/queue.h"

/* The tensor goes at once and the view keeps its buffer: one reference, which
 * scratch_put drops. */
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

/* A view without a buffer may come, as where scratch_get failed on one that the
 * caller had set to be empty. */
void scratch_put(struct view *view)
{
    if (view->buffer != NULL)
        object_put(&view->buffer->object);
    view->buffer = NULL;
}

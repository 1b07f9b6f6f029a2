/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - temporaries of calls, held by the ops that use them. */
#include "lib/core/queue/queue.h"
#include "lib/core/queue/replay.h"

/* Return the bytes of a tensor; 0 if it is invalid, which is refused later. */
static uint64_t core_scratch_bytes_of(ssq_dtype dtype, int rank,
                                      const int64_t *shape)
{
    uint64_t bytes = dtype_bytes(dtype);
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || !size_mul(bytes, (uint64_t)shape[i], &bytes))
            return 0;
    return bytes;
}

/* The tensor is released before this returns. The view keeps one reference to
 * its buffer, which scratch_put() drops. */
ssq_status scratch_get(ssq_queue *queue, ssq_dtype dtype, int rank,
                       const int64_t *shape, struct view *view)
{
    ssq_tensor *t;
    uint64_t bytes = core_scratch_bytes_of(dtype, rank, shape);
    ssq_buffer *b = replay_scratch(queue, bytes);
    ssq_status st = SSQ_OK;
    if (b == NULL && capture_dry(queue)) /* needs no memory: nothing runs */
        st = buffer_declare(queue->device, bytes, &b);
    if (st == SSQ_OK && b == NULL)
        st = tensor_create(queue->device, dtype, rank, shape, &t);
    else if (st == SSQ_OK)
        st = ssq_tensor_from_buffer(b, dtype, rank, shape, NULL, 0, &t);
    bool created = b == NULL;
    if (b != NULL)
        object_put(&b->object);
    if (st != SSQ_OK)
        return st;
    if (created)
        replay_record_scratch(queue, t->view.buffer);
    *view = tensor_view(t, ACCESS_WRITE);
    object_get(&view->buffer->object);
    object_put(&t->object);
    return SSQ_OK;
}

/* A view without a buffer is allowed, for example an empty view that a failed
 * scratch_get() has left unchanged. */
void scratch_put(struct view *view)
{
    if (view->buffer != NULL)
        object_put(&view->buffer->object);
    view->buffer = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - create the op by which another library enqueues its work. */
#include "lib/core/queue/call.h"

ssq_status queue_call(ssq_queue *queue, struct view_list *list,
                      struct object *keep, call_fn fn)
{
    const ssq_device *d = ssq_queue_device(queue);
    struct call_op op = {.op = {.id = OP_call,
                                .bytes = sizeof(op),
                                .views_at = sizeof(op),
                                .list = list,
                                .keep = keep},
                         .fn = fn};
    if (d->backend->call == NULL)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "%s: other libraries cannot enqueue on its queues",
                         d->props.name);
    return queue_enqueue(queue, &op.op);
}

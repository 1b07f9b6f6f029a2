/* SPDX-License-Identifier: Apache-2.0 */
/* enqueue.c - the path of an op to a device: windows, then a command that is
 * run, or is kept by a capture or a bundle. */
#include "lib/core/queue/enqueue.h"

#include "lib/core/memory/pool.h"
#include "lib/core/queue/call.h"
#include "lib/core/queue/dispatch.h"
#include "lib/core/queue/observer.h"
#include "lib/core/queue/plan.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/replay.h"
#include "lib/core/queue/submit.h"
#include "lib/core/queue/trace.h"
#include "lib/core/queue/window.h"

/* The queue of an op, and the function to call if the device refuses the op. */
struct enqueue_way {
    ssq_queue *queue;
    enqueue_fn otherwise;
};

/* For window_each(): return SSQ_OK if a window would run. Enqueues nothing. */
static ssq_status admit_one(void *way, struct op *op)
{
    struct choice choice;
    return dispatch(((const struct enqueue_way *)way)->queue->device, op,
                    &choice);
}

/* Run a command, or record it with separate references: the op may be on the
 * caller's stack, and the caller drops its plan. A dry capture has done all its
 * checks before this, and keeps nothing. */
static ssq_status enqueue_command(ssq_queue *queue, const struct command *c)
{
    ssq_graph *record = queue->capture.graph != NULL ? queue->capture.graph
                                                     : queue->bundle.graph;
    ssq_status st;
    if (record == NULL) {
        st = queue_submit(queue, c);
    } else {
        st = capture_check_thread(queue, op_name(c->op->id));
        if (st != SSQ_OK || capture_dry(queue))
            return st;
        st = graph_append_copy(record, c);
        if (st == SSQ_OK && queue->capture.graph != NULL)
            observers_report(queue, c->op);
    }
    if (st == SSQ_OK)
        replay_record_command(queue, c);
    return st;
}

ssq_status queue_call(ssq_queue *queue, struct view_list *list,
                      struct object *keep, call_fn fn)
{
    struct call_op op = {.op = {.id = OP_call,
                                .bytes = sizeof(op),
                                .views_at = sizeof(op),
                                .list = list,
                                .keep = keep},
                         .fn = fn};
    const struct command c = {.op = &op.op};
    if (queue->device->backend->call == NULL)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "%s: other libraries cannot enqueue on its queues",
                         queue->device->props.name);
    return enqueue_command(queue, &c);
}

/* Run or record an op by an implementation or a plan. A dry capture only tries
 * a plan, which takes no memory of the device. */
static ssq_status enqueue_by(ssq_queue *queue, struct op *op,
                             const struct choice *choice)
{
    ssq_status st = SSQ_OK;
    if (log_enabled("dispatch"))
        log_line(SSQ_LOG_DEBUG, "dispatch", "%s on %s: %s", op_name(op->id),
                 queue->device->props.name, choice->name);
    struct command c = {op, choice->index, NULL};
    if (choice->plan && capture_dry(queue))
        st = plan_try(queue->device, op, choice->index);
    else if (choice->plan)
        st = plan_create(queue->device, op, choice->index, &c.plan);
    if (st != SSQ_OK) /* unsupported: scratch exceeds a launch's limit */
        return st;
    st = enqueue_command(queue, &c);
    if (c.plan != NULL)
        object_put(plan_object(c.plan));
    return st;
}

/* Enqueue an op that fits into one launch. An implementation, such as a vendor
 * library, may find out only when it runs that it cannot do the op. It then
 * refuses the op from then on, so the next implementation is chosen. */
static ssq_status enqueue_one(void *user, struct op *op)
{
    const struct enqueue_way *way = user;
    struct choice choice;
    ssq_status st = dispatch(way->queue->device, op, &choice);
    while (st == SSQ_OK) {
        struct choice before = choice;
        st = enqueue_by(way->queue, op, &choice);
        if (st != SSQ_ERR_UNSUPPORTED)
            return st;
        bool preferred = op->prefer != 0;
        op->prefer = 0; /* it may have failed: choose by the rules now */
        st = dispatch(way->queue->device, op, &choice);
        if (st == SSQ_OK && !preferred && choice.plan == before.plan &&
            choice.index == before.index)
            st = SSQ_ERR_UNSUPPORTED; /* it would refuse again */
    }
    return st == SSQ_ERR_UNSUPPORTED ? way->otherwise(way->queue, op) : st;
}

/* Check all windows before the first one runs; they run all or none. */
static ssq_status core_enqueue(ssq_queue *queue, struct op *op,
                               enqueue_fn otherwise)
{
    struct enqueue_way way = {queue, otherwise};
    uint64_t bytes = pool_binding_bytes(queue->device->pool);
    if (window_fits(op, bytes) || window_by_plan(op))
        return enqueue_one(&way, op);
    ssq_status st = window_each(op, bytes, admit_one, &way);
    if (st == SSQ_ERR_UNSUPPORTED)
        return otherwise(queue, op);
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    st = window_each(op, bytes, enqueue_one, &way);
    return queue_bundle_end(queue, st);
}

/* True for a transfer from or to memory of the host, which may contain other
 * bytes the next time. */
static bool is_transfer(const struct op *op)
{
    return op->id == OP_download ||
           (op->id == OP_upload &&
            ((const struct upload_op *)op)->host != NULL);
}

ssq_status enqueue_reported(ssq_queue *queue, struct op *op)
{
    struct choice choice;
    ssq_status st = dispatch(queue->device, op, &choice);
    if (st != SSQ_OK)
        return st;
    const struct command c = {.op = op, .impl = choice.index};
    return queue_submit_reported(queue, &c, 1, NULL);
}

ssq_status enqueue_or(ssq_queue *queue, struct op *op, enqueue_fn otherwise)
{
    ssq_status st;
    if (is_transfer(op)) {
        st = replay_pause(queue);
        if (st != SSQ_OK)
            return st;
        st = core_enqueue(queue, op, otherwise);
        replay_resume(queue);
        return st;
    }
    if (replay_match(queue, op, &st))
        return st;
    st = core_enqueue(queue, op, otherwise);
    replay_enqueued(queue, st);
    return st;
}

/* The enqueue_fn of enqueue_only(): keep the error text of dispatch(). */
static ssq_status enqueue_refused(ssq_queue *queue, const struct op *op)
{
    (void)queue;
    (void)op;
    return SSQ_ERR_UNSUPPORTED;
}

ssq_status enqueue_only(ssq_queue *queue, struct op *op)
{
    return enqueue_or(queue, op, enqueue_refused);
}

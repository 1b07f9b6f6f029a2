/* SPDX-License-Identifier: Apache-2.0 */
/* enqueue.c - the path of an op from its call to the backend, first half: from
 * an op to a command. submit.c is the second half.
 *
 * Each function of the path calls the next one; in a file the last one comes
 * first:
 *
 *     queue_enqueue()    an op: match it with a trace that is replayed
 *                        (replay.h), or split it into windows (window.h)
 *     window_enqueue()   a window: choose an implementation (dispatch.h), and
 *                        build its plan (plan.h). If the device has none, run
 * it on the host (fallback.h) command_enqueue()  a command: record it in a
 * capture (capture.h) or a bundle (bundle.h), or submit it queue_submit()
 * commands: submit.c */
#include "lib/core/core.h"

#include "lib/core/memory/pool.h"
#include "lib/core/queue/dispatch.h"
#include "lib/core/queue/fallback.h"
#include "lib/core/queue/graph.h"
#include "lib/core/queue/observer.h"
#include "lib/core/queue/plan.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/replay.h"
#include "lib/core/queue/submit.h"
#include "lib/core/queue/window.h"

/* Submit a command, or record it with separate references: the op may be on the
 * caller's stack, and the caller drops its plan. A dry capture has done all its
 * checks before this, and keeps nothing. */
static ssq_status command_enqueue(ssq_queue *queue, const struct command *c)
{
    ssq_graph *record = queue->capture.graph != NULL ? queue->capture.graph
                                                     : queue->bundle.graph;
    ssq_status st;
    if (record == NULL) {
        st = queue_submit(queue, c, 1, NULL);
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

/* Set *c to the command of an op, with a plan if the implementation is one. A
 * dry capture only tries the plan, which takes no memory of the device.
 * SSQ_ERR_UNSUPPORTED: the plan's scratch exceeds a launch's limit. */
static ssq_status command_build(ssq_queue *queue, struct op *op,
                                const struct choice *choice, struct command *c)
{
    c->op = op;
    c->impl = choice->index;
    c->plan = NULL;
    c->segment = NULL;
    c->reported = false;
    if (log_enabled("dispatch"))
        log_line(SSQ_LOG_DEBUG, "dispatch", "%s on %s: %s", op_name(op->id),
                 queue->device->props.name, choice->name);
    if (!choice->plan)
        return SSQ_OK;
    return capture_dry(queue)
               ? plan_try(queue->device, op, choice->index)
               : plan_create(queue->device, op, choice->index, &c->plan);
}

/* Enqueue an op that fits into one launch. An implementation, such as a vendor
 * library, may find out only when it runs that it cannot do the op. It then
 * refuses the op from then on, so the next implementation is chosen. */
static ssq_status window_enqueue(void *user, struct op *op)
{
    ssq_queue *queue = user;
    struct choice choice;
    struct command c;
    ssq_status st = dispatch(queue->device, op, &choice);
    while (st == SSQ_OK) {
        const bool plan = choice.plan;
        const unsigned index = choice.index;
        st = command_build(queue, op, &choice, &c);
        if (st == SSQ_OK)
            st = command_enqueue(queue, &c);
        if (c.plan != NULL)
            object_put(plan_object(c.plan));
        if (st != SSQ_ERR_UNSUPPORTED)
            return st;
        bool preferred = op->prefer != 0;
        op->prefer = 0; /* it may have failed: choose by the rules now */
        st = dispatch(queue->device, op, &choice);
        if (st == SSQ_OK && !preferred && choice.plan == plan &&
            choice.index == index)
            st = SSQ_ERR_UNSUPPORTED; /* it would refuse again */
    }
    return st == SSQ_ERR_UNSUPPORTED ? fallback_run(queue, op) : st;
}

/* For window_each(): return SSQ_OK if a window would run. Enqueues nothing. */
static ssq_status window_admit(void *user, struct op *op)
{
    struct choice choice;
    return dispatch(((const ssq_queue *)user)->device, op, &choice);
}

/* Check all windows before the first one is enqueued; they run all or none. */
ssq_status queue_enqueue(ssq_queue *queue, struct op *op)
{
    const uint64_t bytes = pool_binding_bytes(queue->device->pool);
    ssq_status st;
    if (replay_match(queue, op, &st))
        return st;
    if (op->id == OP_call) { /* another library is its only implementation */
        const struct command c = {.op = op};
        st = command_enqueue(queue, &c);
    } else if (window_fits(op, bytes) || window_by_plan(op)) {
        st = window_enqueue(queue, op);
    } else {
        st = window_each(op, bytes, window_admit, queue);
        if (st == SSQ_ERR_UNSUPPORTED) {
            st = fallback_run(queue, op);
        } else if (st == SSQ_OK) {
            st = queue_bundle_begin(queue);
            if (st == SSQ_OK)
                st = queue_bundle_end(
                    queue, window_each(op, bytes, window_enqueue, queue));
        }
    }
    replay_enqueued(queue, op, st);
    return st;
}

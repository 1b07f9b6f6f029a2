/* SPDX-License-Identifier: Apache-2.0 */
/* submit.c - the path of an op from its call to the backend, second half: from
 * commands to the backend. enqueue.c is the first half.
 *
 * Each function of the path calls the next one; in a file the last one comes
 * first:
 *
 *     queue_submit()    commands: defer them at a closed gate (gate.h), or
 * submit them and keep their objects (pending.h) chain_submit()    commands
 * that are kept: also called by a gate that opens command_submit()  one
 * command: call the backend */
#include "lib/core/queue/submit.h"

#include "lib/core/queue/call.h"
#include "lib/core/queue/observer.h"
#include "lib/core/queue/plan.h"
#include "lib/core/queue/progress.h"
#include "lib/core/queue/queue.h"

/* ---- a command ---- */

/* Launch a segment that the backend has recorded. The host words of its plans
 * are written first, because they are not part of the recording. */
static ssq_status segment_start(ssq_queue *q, const struct segment *s)
{
    const struct backend *b = q->device->backend;
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < s->n && st == SSQ_OK; i++)
        st = plan_write(s->commands[i].plan, b, q->impl);
    return st == SSQ_OK ? b->graph_launch(q->impl, s->native) : st;
}

struct calling {
    ssq_queue *queue;
    const struct call_op *op;
};

static ssq_status call_now(void *user, void *native)
{
    const struct calling *c = user;
    return c->op->fn(c->op->op.keep, c->queue, native);
}

static ssq_status call_start(ssq_queue *q, const struct op *op)
{
    struct calling c = {q, (const struct call_op *)op};
    return q->device->backend->call(q->impl, call_now, &c);
}

/* Report the writes of a command to observers, unless this was done before. */
static void command_report(const ssq_queue *q, const struct command *c)
{
    if (c->reported || q->reported)
        return;
    if (c->segment == NULL)
        observers_report(q, c->op);
    for (size_t i = 0; c->segment != NULL && i < c->segment->n; i++)
        observers_report(q, c->segment->commands[i].op);
}

/* Submit one command to the backend. */
static ssq_status command_submit(ssq_queue *q, const struct command *c)
{
    const struct backend *b = q->device->backend;
    /* Default modes, because some drivers compute in the calling thread. */
    struct fpenv env = fpenv_enter();
    ssq_status st = c->segment != NULL     ? segment_start(q, c->segment)
                    : c->plan != NULL      ? plan_run(c->plan, b, q->impl)
                    : c->op->id == OP_call ? call_start(q, c->op)
                    : b->submit != NULL    ? b->submit(q->impl, c)
                                           : command_run(b->ops, q->impl, c);
    if (st == SSQ_OK && b->command_end != NULL)
        b->command_end(q->impl);
    fpenv_leave(env);
    if (st == SSQ_OK)
        command_report(q, c);
    return st;
}

/* ---- a chain ---- */

/* Keep a command that the backend has accepted until it is finished. A recorded
 * command may run again at any time, so it is kept as long as the queue. */
static void pending_keep(ssq_queue *q, struct pending *p, bool recorded)
{
    p->position = ++q->submitted;
    if (recorded) {
        p->next = q->kept;
        q->kept = p;
        return;
    }
    p->next = NULL;
    *q->end = p;
    q->end = &p->next;
}

/* In order. A finished download's callback is called here if the backend has no
 * completed. */
ssq_status chain_submit(ssq_queue *q, struct pending **chain, bool recorded,
                        uint64_t *submitted, struct pending **done)
{
    const bool later = q->device->backend->completed != NULL;
    while (*chain != NULL) {
        struct pending *p = *chain;
        ssq_status st = command_submit(q, &p->command);
        if (st != SSQ_OK)
            return st;
        *chain = p->next;
        if (later) {
            pending_keep(q, p, recorded);
            continue;
        }
        download_arrived(p->command.op);
        progress_set_submitted(q->progress, ++*submitted);
        p->next = *done;
        *done = p;
    }
    return SSQ_OK;
}

/* ---- commands ---- */

/* Check whether the caller records the queue through the driver. With the lock.
 */
static ssq_status queue_recorded_locked(ssq_queue *q, bool *recorded)
{
    const struct backend *b = q->device->backend;
    *recorded = false;
    return b->captured == NULL ? SSQ_OK : b->captured(q->impl, recorded);
}

ssq_status queue_recorded(ssq_queue *q, bool *recorded)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = queue_recorded_locked(q, recorded);
    pthread_mutex_unlock(&q->lock);
    return st;
}

/* Check the sticky error again, with the lock: a collective may have failed
 * since the call was checked. Work after it would use data that was never
 * written. */
static ssq_status queue_still_good(const ssq_queue *q)
{
    ssq_status st = (ssq_status)atomic_load(&q->sticky);
    return st == SSQ_OK ? SSQ_OK : error_set(st, "%s", q->text);
}

/* Reserve memory for n commands before the first one is submitted. A command
 * that is refused for lack of memory after others would end the queue. */
static ssq_status queue_reserve(ssq_queue *q, const struct command *commands,
                                size_t n)
{
    const struct backend *b = q->device->backend;
    if (n < 2 || b->reserve == NULL)
        return SSQ_OK;
    struct fpenv env = fpenv_enter();
    ssq_status st = b->reserve(q->impl, commands, n);
    fpenv_leave(env);
    return st;
}

/* Defer the chain of n commands; *chain becomes NULL. Observers compare the
 * order of calls, so writes are reported now, not when they are submitted. */
static ssq_status queue_defer(ssq_queue *q, struct pending **chain, size_t n)
{
    ssq_status st = deferred_add_commands(q, *chain, n);
    for (struct pending *p = *chain; p != NULL && st == SSQ_OK; p = p->next) {
        command_report(q, &p->command);
        p->command.reported = true;
    }
    if (st == SSQ_OK)
        *chain = NULL;
    return st;
}

/* All that must be kept is created before the first command is submitted. Lack
 * of memory therefore refuses all commands. */
ssq_status queue_submit(ssq_queue *q, const struct command *commands, size_t n,
                        struct object *graph)
{
    const bool later = q->device->backend->completed != NULL;
    struct pending *chain = NULL, *done = NULL;
    ssq_status st = SSQ_OK;
    bool recorded = false;
    pthread_mutex_lock(&q->lock);
    const bool defers = q->deferred.first != NULL;
    const uint64_t before = q->submitted;
    if (later || defers)
        st = chain_create(commands, n, graph, &chain);
    if (st == SSQ_OK && !defers)
        st = queue_still_good(q);
    if (st == SSQ_OK && defers) {
        st = queue_defer(q, &chain, n);
    } else if (st == SSQ_OK && later) {
        st = queue_reserve(q, commands, n);
        if (st == SSQ_OK)
            st = queue_recorded_locked(q, &recorded);
        if (st == SSQ_OK)
            st = chain_submit(q, &chain, recorded, &q->submitted, &done);
    } else { /* each command is finished when it was submitted */
        for (size_t i = 0; i < n && st == SSQ_OK; i++) {
            st = command_submit(q, &commands[i]);
            if (st == SSQ_OK) {
                progress_set_submitted(q->progress, ++q->submitted);
                download_arrived(commands[i].op);
            }
        }
    }
    const bool accepted = q->submitted != before;
    if (later)
        done = chain_finished(q);
    pthread_mutex_unlock(&q->lock);
    if (later || defers) { /* else nothing was kept */
        chain_release(done);
        chain_release(chain);
    }
    /* If the device failed, or only a part of a graph was submitted, no later
     * work on this queue can be trusted. Otherwise the call was refused as a
     * whole and has changed nothing. */
    if (st == SSQ_ERR_DEVICE || (st != SSQ_OK && accepted))
        return queue_fail(q, st);
    return st;
}

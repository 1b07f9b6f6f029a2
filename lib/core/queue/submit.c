/* SPDX-License-Identifier: Apache-2.0 */
/* submit.c - submit commands to the backend, and hold their objects until it
 * has finished them.
 *
 * If a backend finishes each command before run returns, nothing is kept here.
 * For other backends the queue holds each op until completed() has passed it.
 */
#include "lib/core/queue/submit.h"

#include "lib/core/queue/call.h"
#include "lib/core/queue/observer.h"
#include "lib/core/queue/plan.h"
#include "lib/core/queue/progress.h"
#include "lib/core/queue/queue.h"

void command_release(const struct command *c)
{
    op_release(c->op);
    if (c->plan != NULL)
        object_put(plan_object(c->plan));
}

/* Release the objects of a command. Never under a queue's lock: this may free
 * any object, and its free function may take locks. */
static void pending_free(struct pending *p)
{
    if (p->op != NULL)
        op_release(p->op);
    if (p->plan != NULL)
        object_put(plan_object(p->plan));
    object_put(p->holder);
    mem_free(p);
}

void chain_release(struct pending *p)
{
    while (p != NULL) {
        struct pending *next = p->next;
        pending_free(p);
        p = next;
    }
}

/* Call the callback of a finished command: of a download whose bytes must be
 * converted or checked. */
static void call_landed(const struct op *op)
{
    if (op->id != OP_download)
        return;
    const struct download_op *d = (const struct download_op *)op;
    if (d->landed != NULL)
        d->landed(op->keep);
}

/* Return the error of a command that has failed, as far as it is known. The
 * caller must hold the lock. */
static ssq_status failure(const ssq_queue *q)
{
    const struct backend *b = q->device->backend;
    ssq_status st = (ssq_status)atomic_load(&q->sticky);
    return st != SSQ_OK || b->failure == NULL ? st : b->failure(q->impl);
}

/* Unlink the finished commands, call their callbacks if none failed, and return
 * them. The caller must hold the lock, and call chain_release() without it: a
 * thread that finds the list empty may then rely on all reads. Commands finish
 * in order, so these are always the first of the list. A backend without
 * completed has none. */
struct pending *chain_finished(ssq_queue *q)
{
    if (q->first == NULL)
        return NULL;
    uint64_t done = q->device->backend->completed(q->impl);
    struct pending *head = q->first, **at = &q->first;
    while (*at != NULL && (*at)->position <= done)
        at = &(*at)->next;
    struct pending *rest = *at;
    *at = NULL;
    if (head == rest)
        head = NULL;
    q->first = rest;
    if (rest == NULL)
        q->end = &q->first;
    if (head != NULL && failure(q) == SSQ_OK)
        for (const struct pending *p = head; p != NULL; p = p->next)
            call_landed(p->command.op);
    return head;
}

/* Take the finished commands of a queue, for chain_release(). */
static struct pending *take_finished(ssq_queue *q, bool wait)
{
    struct fpenv env = fpenv_enter();
    pthread_mutex_lock(&q->lock);
    if (wait) /* a failure is sticky: a later call returns it */
        (void)q->device->backend->queue_sync(q->impl);
    struct pending *p = chain_finished(q);
    pthread_mutex_unlock(&q->lock);
    fpenv_leave(env);
    return p;
}

void queue_retire(ssq_queue *q, bool wait)
{
    chain_release(take_finished(q, wait));
}

/* Unlike queue_retire(), this returns the error of the sync, so that the caller
 * can make the queue sticky. */
ssq_status queue_finish(ssq_queue *q)
{
    pthread_mutex_lock(&q->lock);
    struct fpenv env = fpenv_enter();
    ssq_status st = q->device->backend->queue_sync(q->impl);
    fpenv_leave(env);
    struct pending *done = chain_finished(q);
    pthread_mutex_unlock(&q->lock);
    chain_release(done);
    return st;
}

/* Return the error of a command that has failed, and keep it. Does not wait. */
ssq_status queue_poll_failure(ssq_queue *q)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = failure(q);
    pthread_mutex_unlock(&q->lock);
    return st == SSQ_OK ? SSQ_OK : queue_fail(q, st);
}

/* No callback is called here: ssq_queue_destroy() has waited for all commands.
 */
void queue_release_commands(ssq_queue *q)
{
    chain_release(q->first);
    chain_release(q->kept);
    q->first = q->kept = NULL;
    q->end = &q->first;
}

/* queues_lock, then each queue's own: the order of ARCHITECTURE.md. The pool
 * calls this without its lock. Commands are released without any lock: what
 * they hold may be freed then, also a queue of this device, and a deleter of
 * the program may be called. */
void device_retire(ssq_device *device, bool wait)
{
    struct pending *done = NULL, **end = &done;
    pthread_mutex_lock(&device->queues_lock);
    for (ssq_queue *q = device->queues; q != NULL; q = q->next) {
        *end = take_finished(q, wait);
        while (*end != NULL)
            end = &(*end)->next;
    }
    pthread_mutex_unlock(&device->queues_lock);
    chain_release(done);
}

/* Create a pending command. It holds a copy of its op, or the graph that
 * contains it, until it is finished. */
static struct pending *pending_create(const struct command *c,
                                      struct object *graph)
{
    struct pending *p = mem_alloc(sizeof(*p));
    if (p == NULL) {
        (void)error_nomem(op_name(c->op->id), sizeof(*p));
        return NULL;
    }
    p->command = *c;
    if (graph != NULL) {
        object_get(graph);
        p->holder = graph;
        return p;
    }
    p->op = op_hold(c->op);
    if (p->op == NULL) {
        mem_free(p);
        return NULL;
    }
    p->command.op = p->op;
    p->plan = c->plan;
    if (c->plan != NULL)
        object_get(plan_object(c->plan));
    return p;
}

/* Launch a segment that the backend has recorded. The host words of its plans
 * are written first, because they are not part of the recording. */
static ssq_status start_segment(ssq_queue *q, const struct segment *s)
{
    const struct backend *b = q->device->backend;
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < s->n && st == SSQ_OK; i++)
        st = plan_write(s->commands[i].plan, b, q->impl);
    return st == SSQ_OK ? b->graph_launch(q->impl, s->native) : st;
}

/* Report the writes of a command to observers. */
static void command_report(const ssq_queue *q, const struct command *c)
{
    if (c->segment == NULL)
        observers_report(q, c->op);
    for (size_t i = 0; c->segment != NULL && i < c->segment->n; i++)
        observers_report(q, c->segment->commands[i].op);
}

void chain_report(const ssq_queue *q, const struct pending *chain)
{
    for (; chain != NULL; chain = chain->next)
        command_report(q, &chain->command);
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

static ssq_status call(ssq_queue *q, const struct op *op)
{
    struct calling c = {q, (const struct call_op *)op};
    return q->device->backend->call(q->impl, call_now, &c);
}

/* Submit one command to the backend. reported: its writes were already reported
 * to observers. */
static ssq_status submit_start(ssq_queue *q, const struct command *c,
                               bool reported)
{
    const struct backend *b = q->device->backend;
    /* Default modes, because some drivers compute in the calling thread. */
    struct fpenv env = fpenv_enter();
    ssq_status st = c->segment != NULL     ? start_segment(q, c->segment)
                    : c->plan != NULL      ? plan_run(c->plan, b, q->impl)
                    : c->op->id == OP_call ? call(q, c->op)
                    : b->submit != NULL    ? b->submit(q->impl, c)
                                           : command_run(b->ops, q->impl, c);
    if (st == SSQ_OK && b->command_end != NULL)
        b->command_end(q->impl);
    fpenv_leave(env);
    if (st == SSQ_OK && !reported)
        command_report(q, c);
    return st;
}

/* Reserve memory for n commands before the first one is submitted. A command
 * that is refused for lack of memory after others would end the queue. */
static ssq_status submit_reserve(ssq_queue *q, const struct command *commands,
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

/* Check whether the caller records the queue through the driver. The caller
 * must hold the lock. */
static ssq_status ask_recorded(ssq_queue *q, bool *recorded)
{
    const struct backend *b = q->device->backend;
    *recorded = false;
    return b->captured == NULL ? SSQ_OK : b->captured(q->impl, recorded);
}

ssq_status queue_recorded(ssq_queue *q, bool *recorded)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = ask_recorded(q, recorded);
    pthread_mutex_unlock(&q->lock);
    return st;
}

/* Keep a command that the backend has accepted until it is finished. A recorded
 * command may run again at any time, so it is kept as long as the queue. The
 * caller must hold the lock. */
static void submit_keep(ssq_queue *q, struct pending *p, bool recorded)
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

/* Submit the commands of *chain in order. The caller must hold the lock, or
 * be the only thread that may call the backend. A backend without completed has
 * finished each command that it accepted. Such a command is counted in
 * *submitted and prepended to *done, which reverses the order; its callback is
 * called here. */
static ssq_status submit_chain_locked(ssq_queue *q, struct pending **chain,
                                      bool reported, bool recorded,
                                      uint64_t *submitted,
                                      struct pending **done)
{
    bool later = q->device->backend->completed != NULL;
    while (*chain != NULL) {
        struct pending *p = *chain;
        ssq_status st = submit_start(q, &p->command, reported);
        if (st != SSQ_OK)
            return st;
        *chain = p->next;
        if (later) {
            submit_keep(q, p, recorded);
            continue;
        }
        call_landed(p->command.op);
        progress_set_submitted(q->progress, ++*submitted);
        p->next = *done;
        *done = p;
    }
    return SSQ_OK;
}

ssq_status chain_submit(ssq_queue *q, struct pending **chain,
                        uint64_t *submitted, struct pending **done)
{
    return submit_chain_locked(q, chain, true, false, submitted, done);
}

/* Check the sticky error again, with the lock: a collective may have failed
 * since the call was checked. Work after it would use data that was never
 * written. */
static ssq_status still_good(const ssq_queue *q)
{
    ssq_status st = (ssq_status)atomic_load(&q->sticky);
    return st == SSQ_OK ? SSQ_OK : error_set(st, "%s", q->text);
}

/* Enqueue the n commands of a chain in order. Sets *taken if the backend
 * accepted at least one. Takes over the chain: commands that are finished, or
 * were not accepted, are released. */
static ssq_status submit_chain(ssq_queue *q, const struct command *commands,
                               size_t n, struct pending *chain, bool reported,
                               bool *taken)
{
    bool recorded = false;
    struct pending *first = chain, *now = NULL, *done = NULL;
    pthread_mutex_lock(&q->lock);
    if (q->deferred.first != NULL) {
        ssq_status st = deferred_add_commands(q, chain, n);
        /* Observers compare the order of calls: report a write now, not when it
         * is submitted. */
        if (st == SSQ_OK && !reported)
            chain_report(q, chain);
        pthread_mutex_unlock(&q->lock);
        if (st != SSQ_OK)
            chain_release(chain);
        return st;
    }
    ssq_status st = still_good(q);
    if (st == SSQ_OK)
        st = submit_reserve(q, commands, n);
    if (st == SSQ_OK)
        st = ask_recorded(q, &recorded);
    if (st == SSQ_OK)
        st = submit_chain_locked(q, &chain, reported, recorded, &q->submitted,
                                 &now);
    *taken = chain != first;
    done = chain_finished(q);
    pthread_mutex_unlock(&q->lock);
    chain_release(done);
    chain_release(now);
    chain_release(chain);
    return st;
}

/* Submit to a backend that finishes later, or to a queue at a gate. Everything
 * that must be held is created before the first command is submitted. Lack of
 * memory therefore refuses all commands. */
static ssq_status submit_held(ssq_queue *q, const struct command *commands,
                              size_t n, struct object *graph, bool reported,
                              bool *taken)
{
    struct pending *chain = NULL, **end = &chain;
    for (size_t i = 0; i < n; i++) {
        *end = pending_create(&commands[i], graph);
        if (*end == NULL) {
            chain_release(chain);
            return SSQ_ERR_NOMEM;
        }
        end = &(*end)->next;
    }
    return submit_chain(q, commands, n, chain, reported, taken);
}

/* Submit to a backend that has finished a command when it returns: nothing is
 * held. False if the queue is at a gate; nothing was done then. */
static bool run_now(ssq_queue *q, const struct command *commands, size_t n,
                    bool reported, bool *taken, ssq_status *st)
{
    pthread_mutex_lock(&q->lock);
    bool open = q->deferred.first == NULL;
    *st = still_good(q);
    for (size_t i = 0; i < n && open && *st == SSQ_OK; i++) {
        *st = submit_start(q, &commands[i], reported);
        if (*st != SSQ_OK)
            break;
        *taken = true;
        progress_set_submitted(q->progress, ++q->submitted);
        call_landed(commands[i].op);
    }
    pthread_mutex_unlock(&q->lock);
    return open;
}

static ssq_status submit_all(ssq_queue *q, const struct command *commands,
                             size_t n, struct object *graph, bool reported)
{
    bool taken = false;
    ssq_status st;
    if (q->device->backend->completed != NULL ||
        !run_now(q, commands, n, reported, &taken, &st))
        st = submit_held(q, commands, n, graph, reported, &taken);
    /* If the device failed, or only a part of a graph was submitted, no later
     * work on this queue can be trusted. Otherwise the call was refused as a
     * whole and has changed nothing. */
    bool torn = st == SSQ_ERR_DEVICE || (st != SSQ_OK && taken);
    return torn ? queue_fail(q, st) : st;
}

ssq_status queue_submit_all(ssq_queue *q, const struct command *commands,
                            size_t n, struct object *graph)
{
    return submit_all(q, commands, n, graph, false);
}

ssq_status queue_submit_reported(ssq_queue *q, const struct command *commands,
                                 size_t n, struct object *graph)
{
    return submit_all(q, commands, n, graph, true);
}

ssq_status queue_submit(ssq_queue *q, const struct command *c)
{
    return queue_submit_all(q, c, 1, NULL);
}

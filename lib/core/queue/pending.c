/* SPDX-License-Identifier: Apache-2.0 */
/* pending.c - hold the objects of commands until the backend has finished them.
 *
 * If a backend finishes each command before it returns, nothing is kept here.
 * For other backends the queue holds each op until completed() has passed it.
 */
#include "lib/core/queue/pending.h"

#include "lib/core/queue/plan.h"
#include "lib/core/queue/queue.h"

/* ---- chains ---- */

/* Create a pending command. NULL without memory; the error text is set. */
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

ssq_status chain_create(const struct command *commands, size_t n,
                        struct object *graph, struct pending **chain)
{
    for (size_t i = 0; i < n; i++) {
        *chain = pending_create(&commands[i], graph);
        if (*chain == NULL)
            return SSQ_ERR_NOMEM;
        chain = &(*chain)->next;
    }
    return SSQ_OK;
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

/* A download has a callback if its bytes must be converted or checked. */
void download_arrived(const struct op *op)
{
    if (op->id != OP_download)
        return;
    const struct download_op *d = (const struct download_op *)op;
    if (d->arrived != NULL)
        d->arrived(op->keep);
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
            download_arrived(p->command.op);
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

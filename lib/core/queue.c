/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - the in-order stream of commands on a device.
 *
 * A backend that finishes a command before run returns keeps nothing here.
 * For the others the queue holds each op until completed() has passed it. */
#include "lib/core/queue.h"

#include "lib/core/fork.h"
#include "lib/core/native.h"
#include "lib/op/data/data.h"
#include "lib/plan/plan.h"

#include <stdio.h>
#include <string.h>

struct op *op_hold(const struct op *op)
{
    struct op *copy = mem_alloc(op->bytes);
    if (copy == NULL) {
        (void)error_nomem(op_name(op->id), op->bytes);
        return NULL;
    }
    memcpy(copy, op, op->bytes);
    struct view *v = op_views(copy);
    for (uint32_t i = 0; i < copy->nviews; i++)
        if (v[i].buffer != NULL)
            object_get(&v[i].buffer->object);
    if (copy->list != NULL)
        object_get(&copy->list->object);
    if (copy->keep != NULL)
        object_get(copy->keep);
    return copy;
}

void op_release(struct op *op)
{
    struct view *v = op_views(op);
    for (uint32_t i = 0; i < op->nviews; i++)
        if (v[i].buffer != NULL)
            object_put(&v[i].buffer->object);
    if (op->list != NULL)
        object_put(&op->list->object);
    object_put(op->keep);
    mem_free(op);
}

void command_release(const struct command *c)
{
    op_release(c->op);
    if (c->plan != NULL)
        object_put(plan_object(c->plan));
}

static void pending_free(struct pending *p)
{
    if (p->op != NULL)
        op_release(p->op);
    if (p->plan != NULL)
        object_put(plan_object(p->plan));
    object_put(p->holder);
    mem_free(p);
}

static void release_all(struct pending *p)
{
    while (p != NULL) {
        struct pending *next = p->next;
        pending_free(p);
        p = next;
    }
}

/* What was read has arrived: hand it on. */
static void land(const struct op *op)
{
    if (op->id != OP_download)
        return;
    const struct download_op *d = (const struct download_op *)op;
    if (d->landed != NULL)
        d->landed(op->keep);
}

/* Of finished commands; good: none of them failed. */
static void finish_all(struct pending *p, bool good)
{
    for (const struct pending *at = p; at != NULL && good; at = at->next)
        land(at->command.op);
    release_all(p);
}

/* Unlink what is finished; the caller finishes it outside the lock. */
static struct pending *detach_finished(ssq_queue *q)
{
    if (q->first == NULL)
        return NULL;
    uint64_t done = q->device->backend->completed(q->impl);
    struct pending *head = q->first, **at = &q->first;
    while (*at != NULL && (*at)->sequence <= done)
        at = &(*at)->next;
    struct pending *rest = *at;
    *at = NULL;
    if (head == rest)
        head = NULL;
    q->first = rest;
    if (rest == NULL)
        q->end = &q->first;
    return head;
}

static void retire(ssq_queue *q, bool wait)
{
    struct fpenv env = fpenv_enter();
    pthread_mutex_lock(&q->lock);
    ssq_status st = SSQ_OK; /* a failure is sticky: seen later */
    if (wait)
        st = q->device->backend->queue_sync(q->impl);
    struct pending *p = detach_finished(q);
    pthread_mutex_unlock(&q->lock);
    fpenv_leave(env);
    finish_all(p, st == SSQ_OK && atomic_load(&q->sticky) == SSQ_OK);
}

void queue_collect(ssq_queue *queue)
{
    retire(queue, false);
}

void device_retire(ssq_device *device, bool wait)
{
    pthread_mutex_lock(&device->queues_lock);
    for (ssq_queue *q = device->queues; q != NULL; q = q->next)
        retire(q, wait);
    pthread_mutex_unlock(&device->queues_lock);
}

/* Asked while the queue is closing, it knows nothing: impl is on its way. */
struct progress {
    struct object object;
    pthread_mutex_t lock;
    const struct backend *backend;
    unsigned forks;             /* fork_count() when it was made */
    struct backend_queue *impl; /* NULL: closing, or closed */
    bool closed;                /* everything is finished */
};

static void progress_free(struct object *o)
{
    struct progress *p = (struct progress *)o;
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

static struct progress *progress_create(const struct backend *backend,
                                        struct backend_queue *impl)
{
    struct progress *p = mem_alloc(sizeof(*p));
    if (p == NULL)
        return NULL;
    object_init(&p->object, progress_free);
    pthread_mutex_init(&p->lock, NULL);
    p->backend = backend;
    p->forks = fork_count();
    p->impl = impl;
    return p;
}

static void progress_close(struct progress *p, bool closed)
{
    pthread_mutex_lock(&p->lock);
    p->impl = NULL;
    p->closed = closed;
    pthread_mutex_unlock(&p->lock);
}

struct progress *queue_progress(ssq_queue *queue)
{
    object_get(&queue->progress->object);
    return queue->progress;
}

uint64_t queue_position(ssq_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    uint64_t position = queue->submitted;
    pthread_mutex_unlock(&queue->lock);
    return position;
}

bool progress_reached(struct progress *p, uint64_t position)
{
    if (p->backend->completed == NULL)
        return true;
    if (p->backend->fork_hold == NULL && p->forks != fork_count())
        return false; /* as a device that is lost */
    pthread_mutex_lock(&p->lock);
    bool reached = p->closed || (p->impl != NULL &&
                                 p->backend->completed(p->impl) >= position);
    pthread_mutex_unlock(&p->lock);
    return reached;
}

void progress_put(struct progress *p)
{
    if (p != NULL)
        object_put(&p->object);
}

static void queue_free(struct object *o)
{
    ssq_queue *q = (ssq_queue *)o;
    ssq_device *d = q->device;
    if (device_lost(d)) { /* what it has may be in the middle of anything */
        mem_free(q);
        object_put(&d->object);
        return;
    }
    capture_drop(q);
    pthread_mutex_lock(&d->queues_lock);
    for (ssq_queue **at = &d->queues; *at != NULL; at = &(*at)->next)
        if (*at == q) {
            *at = q->next;
            break;
        }
    pthread_mutex_unlock(&d->queues_lock);
    progress_close(q->progress, false);
    d->backend->queue_close(q->impl);
    progress_close(q->progress, true);
    progress_put(q->progress);
    release_all(q->first);
    pthread_mutex_destroy(&q->lock);
    mem_free(q);
    object_put(&d->object);
}

ssq_status queue_create(ssq_device *device, struct backend_queue *impl,
                        ssq_queue **queue)
{
    struct progress *progress = progress_create(device->backend, impl);
    ssq_queue *q = progress == NULL ? NULL : mem_alloc(sizeof(*q));
    if (q == NULL) {
        progress_put(progress);
        device->backend->queue_close(impl);
        return error_nomem("queue_create", sizeof(*q));
    }
    q->impl = impl;
    q->progress = progress;
    object_init(&q->object, queue_free);
    pthread_mutex_init(&q->lock, NULL);
    q->end = &q->first;
    q->device = device;
    object_get(&device->object);
    pthread_mutex_lock(&device->queues_lock);
    q->next = device->queues;
    device->queues = q;
    pthread_mutex_unlock(&device->queues_lock);
    *queue = q;
    return SSQ_OK;
}

void queues_hold(ssq_device *device)
{
    pthread_mutex_lock(&device->queues_lock);
    for (ssq_queue *q = device->queues; q != NULL; q = q->next) {
        pthread_mutex_lock(&q->lock);
        pthread_mutex_lock(&q->progress->lock);
    }
}

void queues_let_go(ssq_device *device)
{
    for (ssq_queue *q = device->queues; q != NULL; q = q->next) {
        pthread_mutex_unlock(&q->progress->lock);
        pthread_mutex_unlock(&q->lock);
    }
    pthread_mutex_unlock(&device->queues_lock);
}

ssq_status ssq_queue_create(ssq_device *device,
                            const ssq_queue_options *options, ssq_queue **queue)
{
    if (device == NULL || queue == NULL)
        return error_set(SSQ_ERR_INVALID, "queue_create: %s is NULL",
                         device == NULL ? "device" : "queue");
    if (options != NULL && options->struct_size != sizeof(*options))
        return error_set(SSQ_ERR_INVALID,
                         "queue_create: struct_size is %zu, expected %zu",
                         options->struct_size, sizeof(*options));
    ssq_status st = device_check(device, "queue_create");
    if (st != SSQ_OK)
        return st;
    struct backend_queue *impl = NULL;
    struct fpenv env = fpenv_enter();
    st = device->backend->queue_open(device->impl, &impl);
    fpenv_leave(env);
    return st == SSQ_OK ? queue_create(device, impl, queue) : st;
}

/* An event may hold the queue still; the caller's host memory is free to go
 * all the same. */
void ssq_queue_destroy(ssq_queue **queue)
{
    if (queue == NULL || *queue == NULL)
        return;
    if (!device_lost((*queue)->device)) {
        capture_drop(*queue);
        retire(*queue, true);
    }
    object_put(&(*queue)->object);
    *queue = NULL;
}

ssq_device *ssq_queue_device(const ssq_queue *queue)
{
    return queue == NULL ? NULL : queue->device;
}

bool queue_capturing(const ssq_queue *queue)
{
    return queue->capture != NULL;
}

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

ssq_status queue_fail(ssq_queue *queue, ssq_status status)
{
    pthread_mutex_lock(&queue->lock);
    if (atomic_load(&queue->sticky) == SSQ_OK) {
        snprintf(queue->text, sizeof(queue->text), "%s", ssq_last_error());
        atomic_store(&queue->sticky, status);
    }
    pthread_mutex_unlock(&queue->lock);
    return status;
}

/* A command that is kept until it is finished: by a copy of its op, or by the
 * graph that it is of. */
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

static ssq_status start_segment(ssq_queue *q, const struct segment *s)
{
    const struct backend *b = q->device->backend;
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < s->n && st == SSQ_OK; i++)
        st = plan_write(s->commands[i].plan, b, q->impl);
    return st == SSQ_OK ? b->graph_launch(q->impl, s->native) : st;
}

/* Hand one command to the backend. */
static ssq_status start(ssq_queue *q, const struct command *c)
{
    const struct backend *b = q->device->backend;
    /* some drivers work in the thread that asks */
    struct fpenv env = fpenv_enter();
    ssq_status st = c->segment != NULL  ? start_segment(q, c->segment)
                    : c->plan != NULL   ? plan_run(c->plan, b, q->impl)
                    : b->submit != NULL ? b->submit(q->impl, c)
                                        : command_run(b->ops, q->impl, c);
    if (st == SSQ_OK && b->command_end != NULL)
        b->command_end(q->impl);
    fpenv_leave(env);
    return st;
}

/* Enqueue a chain in order; *n counts what the backend took. What it did not
 * take, and what is finished, is released. */
static ssq_status submit_chain(ssq_queue *q, struct pending *chain, size_t *n)
{
    ssq_status st = SSQ_OK;
    pthread_mutex_lock(&q->lock);
    while (chain != NULL) {
        struct pending *p = chain;
        st = start(q, &p->command);
        if (st != SSQ_OK)
            break;
        chain = p->next;
        p->next = NULL;
        p->sequence = ++q->submitted;
        *q->end = p;
        q->end = &p->next;
        ++*n;
    }
    struct pending *done = detach_finished(q);
    pthread_mutex_unlock(&q->lock);
    finish_all(done, st == SSQ_OK);
    release_all(chain);
    return st;
}

static ssq_status submit_held(ssq_queue *q, const struct command *commands,
                              size_t n, struct object *graph, size_t *taken)
{
    struct pending *chain = NULL, **end = &chain;
    for (size_t i = 0; i < n; i++) {
        *end = pending_create(&commands[i], graph);
        if (*end == NULL) {
            release_all(chain);
            return SSQ_ERR_NOMEM;
        }
        end = &(*end)->next;
    }
    return submit_chain(q, chain, taken);
}

static ssq_status run_now(ssq_queue *q, const struct command *commands,
                          size_t n, size_t *taken)
{
    ssq_status st = SSQ_OK;
    pthread_mutex_lock(&q->lock);
    while (*taken < n && st == SSQ_OK) {
        st = start(q, &commands[*taken]);
        if (st == SSQ_OK)
            land(commands[(*taken)++].op);
    }
    pthread_mutex_unlock(&q->lock);
    return st;
}

ssq_status queue_submit_all(ssq_queue *q, const struct command *commands,
                            size_t n, struct object *graph)
{
    size_t taken = 0;
    ssq_status st = q->device->backend->completed != NULL
                        ? submit_held(q, commands, n, graph, &taken)
                        : run_now(q, commands, n, &taken);
    /* the device failed, or half of a graph is under way: nothing later on
     * this queue can be trusted */
    bool torn = st == SSQ_ERR_DEVICE || (st != SSQ_OK && taken > 0);
    return torn ? queue_fail(q, st) : st;
}

ssq_status queue_submit(ssq_queue *q, const struct command *c)
{
    return queue_submit_all(q, c, 1, NULL);
}

ssq_status ssq_queue_sync(ssq_queue *queue)
{
    ssq_status st = queue_check(queue, "queue_sync");
    if (st != SSQ_OK)
        return st;
    if (queue->capture != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "queue_sync: a graph is being captured");
    pthread_mutex_lock(&queue->lock);
    struct fpenv env = fpenv_enter();
    st = queue->device->backend->queue_sync(queue->impl);
    fpenv_leave(env);
    struct pending *done = detach_finished(queue);
    pthread_mutex_unlock(&queue->lock);
    finish_all(done, st == SSQ_OK);
    return st == SSQ_OK ? SSQ_OK : queue_fail(queue, st);
}

ssq_status ssq_queue_status(const ssq_queue *queue)
{
    ssq_status st = queue_check(queue, "queue_status");
    const struct backend *b = queue == NULL ? NULL : queue->device->backend;
    if (st == SSQ_OK && b->completed != NULL &&
        b->completed(queue->impl) < queue->submitted)
        return error_set(
            SSQ_ERR_NOT_READY, "queue_status: %llu commands left",
            (unsigned long long)(queue->submitted - b->completed(queue->impl)));
    if (st == SSQ_OK)
        device_retire(queue->device, false); /* what was read has landed */
    return st;
}

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

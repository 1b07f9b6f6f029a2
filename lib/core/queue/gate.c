/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c - gates, and the submission of work that is deferred until they open.
 */
#include "lib/core/queue/gate.h"

#include "lib/core/queue/event.h"
#include "lib/core/queue/submit.h"

#include <stdio.h>

struct gate {
    struct object object;
    atomic_int state;  /* enum gate_state; the next three are set before it */
    ssq_status status; /* of a failure, with its text */
    char text[ERROR_TEXT];
    ssq_event *after; /* a reference; NULL: none */
    ssq_queue *queue; /* a reference until its work is submitted; NULL: none */
    atomic_bool arrived; /* gate_enqueue() or gate_drain() has been called */
    unsigned forks;      /* fork_count() at creation */
};

enum gate_state { GATE_CLOSED = 0, GATE_OPEN, GATE_FAILED };

/** A queue with a deferred wait for a record of another queue. */
struct waiter {
    struct waiter *next;
    ssq_queue *queue; /* a reference */
    uint64_t record;
};

/* ---- gates ---- */

static void gate_free(struct object *o)
{
    struct gate *g = (struct gate *)o;
    if (g->after != NULL)
        object_put(event_object(g->after));
    mem_free(g);
}

struct gate *gate_create(void)
{
    struct gate *g = mem_alloc(sizeof(*g));
    if (g == NULL) {
        (void)error_nomem("gate", sizeof(*g));
        return NULL;
    }
    object_init(&g->object, gate_free);
    atomic_init(&g->state, GATE_CLOSED);
    atomic_init(&g->arrived, false);
    g->forks = fork_count();
    return g;
}

void gate_get(struct gate *gate)
{
    object_get(&gate->object);
}

void gate_put(struct gate *gate)
{
    object_put(&gate->object);
}

void gate_open(struct gate *gate, ssq_event *after)
{
    if (after != NULL)
        object_get(event_object(after));
    gate->after = after;
    atomic_store(&gate->state, GATE_OPEN);
}

void gate_fail(struct gate *gate, ssq_status status, const char *text)
{
    gate->status = status;
    (void)snprintf(gate->text, sizeof(gate->text), "%s", text);
    atomic_store(&gate->state, GATE_FAILED);
}

/* Call this without a queue's lock: it may drop the last reference to an
 * object. */
static void deferred_free(struct deferred *item)
{
    chain_release(item->chain);
    if (item->gate != NULL)
        object_put(&item->gate->object);
    if (item->event != NULL)
        object_put(event_object(item->event));
    if (item->other != NULL)
        object_put(&item->other->object);
    mem_free(item);
}

static void deferred_free_all(struct deferred *item)
{
    while (item != NULL) {
        struct deferred *next = item->next;
        deferred_free(item);
        item = next;
    }
}

/* ---- submitting ---- */

/* Submit deferred commands. If the device computes during the call, release the
 * lock meanwhile, so that other threads can use the queue. They cannot
 * overtake: their work is appended to the list, and only the thread that is
 * draining it calls the backend. The commands count as submitted before they
 * run. */
static ssq_status deferred_submit(ssq_queue *q, struct deferred *item,
                                  struct pending **done)
{
    uint64_t submitted = q->submitted;
    if (q->device->backend->completed != NULL)
        return chain_submit(q, &item->chain, false, &q->submitted, done);
    q->submitted += item->n;
    q->deferred.commands -= item->n;
    item->n = 0;
    pthread_mutex_unlock(&q->lock);
    ssq_status st = chain_submit(q, &item->chain, false, &submitted, done);
    pthread_mutex_lock(&q->lock);
    return st;
}

/* With the lock: submit one item. Returns SSQ_ERR_NOT_READY if it is a closed
 * gate, or waits for a record that is still deferred. */
static ssq_status deferred_drain_item(ssq_queue *q, struct deferred *item,
                                      struct pending **done)
{
    struct gate *g = item->gate;
    switch (item->kind) {
    case DEFERRED_COMMANDS:
        return deferred_submit(q, item, done);
    case DEFERRED_GATE:
        if (atomic_load(&g->state) == GATE_CLOSED)
            return SSQ_ERR_NOT_READY;
        if (atomic_load(&g->state) == GATE_FAILED)
            return error_set(g->status, "%s", g->text);
        return g->after == NULL ? SSQ_OK : event_wait_now(g->after, q);
    case DEFERRED_RECORD:
        return event_record_now(item->event, q);
    case DEFERRED_WAIT:
        if (item->other != NULL && atomic_load(&item->other->sticky) != SSQ_OK)
            return error_set((ssq_status)atomic_load(&item->other->sticky),
                             "%s", item->other->text);
        if (item->other != NULL &&
            atomic_load(&item->other->deferred.records_submitted) <
                item->record)
            return SSQ_ERR_NOT_READY;
        return event_wait_now(item->event, q);
    }
    return SSQ_OK;
}

/* With the lock: remove the first item, and prepend it to *removed. */
static void deferred_unlink_first(ssq_queue *q, struct deferred **removed)
{
    struct deferred *item = q->deferred.first;
    if (item->kind == DEFERRED_RECORD) {
        atomic_fetch_add(&q->deferred.records_submitted, 1);
        pthread_cond_broadcast(&q->deferred.changed);
    }
    if (item->kind == DEFERRED_WAIT)
        atomic_fetch_sub(&item->event->waits, 1);
    q->deferred.commands -= item->n;
    q->deferred.first = item->next;
    if (q->deferred.first == NULL)
        q->deferred.end = &q->deferred.first;
    item->next = *removed;
    *removed = item;
}

/* With the lock: submit items in order until one is not ready, and prepend them
 * to *removed. If the queue has failed, only remove all items. Stops after a
 * record that other queues wait for, because the next item may take long.
 * Returns true then: call it again. */
static bool deferred_drain_items(ssq_queue *q, struct deferred **removed,
                                 struct pending **done)
{
    while (q->deferred.first != NULL) {
        struct deferred *item = q->deferred.first;
        ssq_status st = (ssq_status)atomic_load(&q->sticky);
        if (st == SSQ_OK) {
            st = deferred_drain_item(q, item, done);
            if (st == SSQ_ERR_NOT_READY)
                return false;
            if (st != SSQ_OK)
                (void)queue_fail(q, st);
        }
        deferred_unlink_first(q, removed);
        if (item->kind == DEFERRED_RECORD && q->deferred.waiters != NULL)
            return true;
    }
    return false;
}

/* With the lock: unlink and return the waiters for records that were submitted
 * or never will be. */
static struct waiter *waiters_take_ready(ssq_queue *q)
{
    struct waiter *list = NULL, **at = &q->deferred.waiters;
    bool all = atomic_load(&q->sticky) != SSQ_OK;
    while (*at != NULL) {
        struct waiter *w = *at;
        if (!all && w->record > atomic_load(&q->deferred.records_submitted)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->next = list;
        list = w;
    }
    return list;
}

/* Submit the items of one queue. Returns the queues that waited for its
 * records: drain these next, but never with two queues locked. *more: call this
 * again for the same queue. If another thread is draining the queue, that
 * thread also submits items added meanwhile. */
static struct waiter *deferred_drain_queue(ssq_queue *q, bool *more)
{
    struct deferred *removed = NULL;
    struct pending *now = NULL;
    struct fpenv env = fpenv_enter();
    pthread_mutex_lock(&q->lock);
    *more = false;
    if (!q->deferred.draining) {
        q->deferred.draining = true;
        q->deferred.draining_forks = fork_count();
        *more = deferred_drain_items(q, &removed, &now);
        q->deferred.draining = false;
    }
    struct waiter *list = waiters_take_ready(q);
    struct pending *done = chain_finished(q);
    pthread_cond_broadcast(&q->deferred.changed);
    pthread_mutex_unlock(&q->lock);
    fpenv_leave(env);
    chain_release(done);
    chain_release(now);
    deferred_free_all(removed);
    return list;
}

static void waiters_append(struct waiter **list, struct waiter *more)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = more;
}

/* Submit the items of a queue, then of the queues that waited for it, and so
 * on, then the remaining items of the first. */
static void deferred_drain_queues(ssq_queue *queue)
{
    struct waiter first = {NULL, queue, 0}, *list = &first;
    while (list != NULL) {
        struct waiter *w = list;
        bool more;
        list = w->next;
        w->next = NULL;
        waiters_append(&list, deferred_drain_queue(w->queue, &more));
        if (more) {
            waiters_append(&list, w);
        } else if (w != &first) {
            object_put(&w->queue->object);
            mem_free(w);
        }
    }
}

/* ---- putting a gate on a queue, and draining it ---- */

/* Called once by gate_enqueue() and once by gate_drain(), in either order. The
 * second call submits the deferred work. */
static void gate_arrive(struct gate *gate)
{
    if (!atomic_exchange(&gate->arrived, true))
        return;
    deferred_drain_queues(gate->queue);
    object_put(&gate->queue->object);
}

ssq_status gate_enqueue(ssq_queue *queue, struct gate *gate)
{
    struct deferred *item = deferred_create(DEFERRED_GATE);
    if (item == NULL)
        return SSQ_ERR_NOMEM;
    item->gate = gate;
    item->forks = gate->forks;
    object_get(&gate->object);
    gate->queue = queue;
    object_get(&queue->object);
    pthread_mutex_lock(&queue->lock);
    deferred_append(queue, item);
    pthread_mutex_unlock(&queue->lock);
    gate_arrive(gate);
    return SSQ_OK;
}

void gate_drain(struct gate *gate)
{
    gate_arrive(gate);
    object_put(&gate->object);
}

/* Register for a record. False if it was already submitted, or never will be.
 */
static bool waiter_register(ssq_queue *other, struct waiter *w)
{
    pthread_mutex_lock(&other->lock);
    bool waits = atomic_load(&other->sticky) == SSQ_OK &&
                 atomic_load(&other->deferred.records_submitted) < w->record;
    if (waits) {
        w->next = other->deferred.waiters;
        other->deferred.waiters = w;
    }
    pthread_mutex_unlock(&other->lock);
    return waits;
}

/* Create a wait for record number `record` of `other`, which is deferred there.
 * If other is NULL, the record was submitted, and the wait only follows other
 * deferred items. */
static struct deferred *deferred_wait_create(ssq_event *event, ssq_queue *other,
                                             uint64_t record)
{
    struct deferred *item = deferred_create(DEFERRED_WAIT);
    if (item == NULL)
        return NULL;
    item->event = event;
    object_get(event_object(event));
    item->other = other;
    item->record = record;
    if (other != NULL)
        object_get(&other->object);
    return item;
}

ssq_status deferred_add_wait(ssq_queue *queue, ssq_event *event,
                             ssq_queue *other, uint64_t record)
{
    struct deferred *item = deferred_wait_create(event, other, record);
    struct waiter *w = mem_alloc(sizeof(*w));
    if (item == NULL || w == NULL) {
        if (item != NULL)
            deferred_free(item);
        mem_free(w);
        return error_nomem("queue_wait", sizeof(*w));
    }
    w->queue = queue;
    w->record = record;
    object_get(&queue->object);
    pthread_mutex_lock(&queue->lock);
    deferred_append(queue, item);
    atomic_fetch_add(&event->waits, 1);
    pthread_mutex_unlock(&queue->lock);
    if (other != NULL && waiter_register(other, w))
        return SSQ_OK;
    mem_free(w);
    deferred_drain_queues(queue);
    object_put(&queue->object);
    return SSQ_OK;
}

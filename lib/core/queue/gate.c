/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c - gates, and the handover of work that is held at them. */
#include "lib/core/queue/gate.h"

#include <stdio.h>

struct gate {
    struct object object;
    atomic_int state;  /* enum gate_state; the next three are set before it */
    ssq_status status; /* of a failure, with its text */
    char text[ERROR_TEXT];
    ssq_event *after; /* a reference; NULL: none */
    ssq_queue *queue; /* a reference until the handover; NULL: none yet */
    atomic_bool met;  /* queue_gate() or gate_pass() has been called */
    unsigned forks;   /* fork_count() at creation */
};

enum gate_state { GATE_CLOSED = 0, GATE_OPEN, GATE_FAILED };

/** A queue that holds a wait for a record of another queue. */
struct waiter {
    struct waiter *next;
    ssq_queue *queue; /* a reference */
    uint64_t mark;
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
    atomic_init(&g->met, false);
    g->forks = fork_count();
    return g;
}

void gate_hold(struct gate *gate)
{
    object_get(&gate->object);
}

void gate_drop(struct gate *gate)
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
static void held_free(struct held *h)
{
    chain_release(h->chain);
    if (h->gate != NULL)
        object_put(&h->gate->object);
    if (h->event != NULL)
        object_put(event_object(h->event));
    if (h->other != NULL)
        object_put(&h->other->object);
    mem_free(h);
}

static void held_free_all(struct held *h)
{
    while (h != NULL) {
        struct held *next = h->next;
        held_free(h);
        h = next;
    }
}

/* ---- handing over ---- */

/* If the device computes during the call, release the lock meanwhile, so that
 * other threads can use the queue. They cannot overtake: their work is appended
 * to the held work, and only the thread that is passing calls the backend. The
 * commands count as handed over before they run. */
static ssq_status compute(ssq_queue *q, struct held *h, struct pending **done)
{
    uint64_t handed = q->submitted;
    if (q->device->backend->completed != NULL)
        return chain_hand_over(q, &h->chain, &q->submitted, done);
    q->submitted += h->n;
    q->held_commands -= h->n;
    h->n = 0;
    pthread_mutex_unlock(&q->lock);
    ssq_status st = chain_hand_over(q, &h->chain, &handed, done);
    pthread_mutex_lock(&q->lock);
    return st;
}

/* With the lock: pass one held item. Returns SSQ_ERR_NOT_READY if it is a
 * closed gate, or waits for a record that is still held. */
static ssq_status gate_pass_work(ssq_queue *q, struct held *h,
                                 struct pending **done)
{
    struct gate *g = h->gate;
    switch (h->kind) {
    case HELD_COMMANDS:
        return compute(q, h, done);
    case HELD_GATE:
        if (atomic_load(&g->state) == GATE_CLOSED)
            return SSQ_ERR_NOT_READY;
        if (atomic_load(&g->state) == GATE_FAILED)
            return error_set(g->status, "%s", g->text);
        return g->after == NULL ? SSQ_OK : event_wait_now(g->after, q);
    case HELD_RECORD:
        return event_record_now(h->event, q);
    case HELD_WAIT:
        if (h->other != NULL && atomic_load(&h->other->sticky) != SSQ_OK)
            return error_set((ssq_status)atomic_load(&h->other->sticky), "%s",
                             h->other->text);
        if (h->other != NULL && atomic_load(&h->other->marked) < h->mark)
            return SSQ_ERR_NOT_READY;
        return event_wait_now(h->event, q);
    }
    return SSQ_OK;
}

/* With the lock: remove the first held item, and prepend it to *gone. */
static void unlink_first(ssq_queue *q, struct held **gone)
{
    struct held *h = q->held;
    if (h->kind == HELD_RECORD) {
        atomic_fetch_add(&q->marked, 1);
        pthread_cond_broadcast(&q->moved);
    }
    if (h->kind == HELD_WAIT)
        atomic_fetch_sub(&h->event->waits, 1);
    q->held_commands -= h->n;
    q->held = h->next;
    if (q->held == NULL)
        q->held_end = &q->held;
    h->next = *gone;
    *gone = h;
}

/* With the lock: pass all items that can pass, in order, and prepend them to
 * *gone. If the queue has failed, remove all items instead. Stops after a
 * record that other queues wait for, because the next item may take long.
 * Returns true then: call it again. */
static bool gate_pass_all(ssq_queue *q, struct held **gone,
                          struct pending **done)
{
    while (q->held != NULL) {
        struct held *h = q->held;
        ssq_status st = (ssq_status)atomic_load(&q->sticky);
        if (st == SSQ_OK) {
            st = gate_pass_work(q, h, done);
            if (st == SSQ_ERR_NOT_READY)
                return false;
            if (st != SSQ_OK)
                (void)queue_fail(q, st);
        }
        unlink_first(q, gone);
        if (h->kind == HELD_RECORD && q->waiters != NULL)
            return true;
    }
    return false;
}

/* With the lock: unlink and return the waiters for records that were made or
 * never will be. */
static struct waiter *woken(ssq_queue *q)
{
    struct waiter *list = NULL, **at = &q->waiters;
    bool all = atomic_load(&q->sticky) != SSQ_OK;
    while (*at != NULL) {
        struct waiter *w = *at;
        if (!all && w->mark > atomic_load(&q->marked)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->next = list;
        list = w;
    }
    return list;
}

/* Pass the held items of one queue. Returns the queues that waited for its
 * records: they can be passed next, but never with two queues locked. *more:
 * call this again for the same queue. If another thread is passing, that thread
 * also passes items added meanwhile. */
static struct waiter *pump(ssq_queue *q, bool *more)
{
    struct held *gone = NULL;
    struct pending *now = NULL;
    struct fpenv env = fpenv_enter();
    pthread_mutex_lock(&q->lock);
    *more = false;
    if (!q->passing) {
        q->passing = true;
        q->passing_forks = fork_count();
        *more = gate_pass_all(q, &gone, &now);
        q->passing = false;
    }
    struct waiter *list = woken(q);
    struct pending *done = chain_finished(q);
    pthread_cond_broadcast(&q->moved);
    pthread_mutex_unlock(&q->lock);
    fpenv_leave(env);
    chain_release(done);
    chain_release(now);
    held_free_all(gone);
    return list;
}

static void gate_append(struct waiter **list, struct waiter *more)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = more;
}

/* Pass the held items of a queue, then of the queues that waited for it, and so
 * on, then the remaining items of the first. */
static void pump_all(ssq_queue *queue)
{
    struct waiter first = {NULL, queue, 0}, *list = &first;
    while (list != NULL) {
        struct waiter *w = list;
        bool more;
        list = w->next;
        w->next = NULL;
        gate_append(&list, pump(w->queue, &more));
        if (more) {
            gate_append(&list, w);
        } else if (w != &first) {
            object_put(&w->queue->object);
            mem_free(w);
        }
    }
}

/* ---- putting a gate on a queue, and passing it ---- */

/* Called once by queue_gate() and once by gate_pass(), in either order. The
 * second call hands over. */
static void gate_meet(struct gate *gate)
{
    if (!atomic_exchange(&gate->met, true))
        return;
    pump_all(gate->queue);
    object_put(&gate->queue->object);
}

ssq_status queue_gate(ssq_queue *queue, struct gate *gate)
{
    struct held *h = held_create(HELD_GATE);
    if (h == NULL)
        return SSQ_ERR_NOMEM;
    h->gate = gate;
    h->forks = gate->forks;
    object_get(&gate->object);
    gate->queue = queue;
    object_get(&queue->object);
    pthread_mutex_lock(&queue->lock);
    held_append(queue, h);
    pthread_mutex_unlock(&queue->lock);
    gate_meet(gate);
    return SSQ_OK;
}

void gate_pass(struct gate *gate)
{
    gate_meet(gate);
    object_put(&gate->object);
}

/* Register for a record. False if it was already made, or never will be. */
static bool gate_wait_for(ssq_queue *other, struct waiter *w)
{
    pthread_mutex_lock(&other->lock);
    bool waits = atomic_load(&other->sticky) == SSQ_OK &&
                 atomic_load(&other->marked) < w->mark;
    if (waits) {
        w->next = other->waiters;
        other->waiters = w;
    }
    pthread_mutex_unlock(&other->lock);
    return waits;
}

/* Create a wait for record `mark` of `other`, which is held there. If other is
 * NULL, the record was made, and the wait only follows other held items. */
static struct held *wait_create(ssq_event *event, ssq_queue *other,
                                uint64_t mark)
{
    struct held *h = held_create(HELD_WAIT);
    if (h == NULL)
        return NULL;
    h->event = event;
    object_get(event_object(event));
    h->other = other;
    h->mark = mark;
    if (other != NULL)
        object_get(&other->object);
    return h;
}

ssq_status held_event_wait(ssq_queue *queue, ssq_event *event, ssq_queue *other,
                           uint64_t mark)
{
    struct held *h = wait_create(event, other, mark);
    struct waiter *w = mem_alloc(sizeof(*w));
    if (h == NULL || w == NULL) {
        if (h != NULL)
            held_free(h);
        mem_free(w);
        return error_nomem("queue_wait", sizeof(*w));
    }
    w->queue = queue;
    w->mark = mark;
    object_get(&queue->object);
    pthread_mutex_lock(&queue->lock);
    held_append(queue, h);
    atomic_fetch_add(&event->waits, 1);
    pthread_mutex_unlock(&queue->lock);
    if (other != NULL && gate_wait_for(other, w))
        return SSQ_OK;
    mem_free(w);
    pump_all(queue);
    object_put(&queue->object);
    return SSQ_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c - gates, and how what is held behind one is handed over. */
#include "lib/core/gate.h"

#include <stdio.h>

struct gate {
    struct object object;
    atomic_int state;  /* enum gate_state; what follows is written before it */
    ssq_status status; /* of a failure, with its text */
    char text[ERROR_TEXT];
    ssq_event *after; /* a reference; NULL: none */
    ssq_queue *queue; /* a reference of whoever hands over; NULL: none yet */
    atomic_bool met;  /* it stands on its queue, or may be passed */
    unsigned forks;   /* fork_count() when it was made */
};

enum gate_state { GATE_CLOSED = 0, GATE_OPEN, GATE_FAILED };

/** A queue that holds a wait for a record of another one. */
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

/* Without a lock of a queue's: what it has may be the last reference. */
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

/* Where a device computes at the call, others may look at the queue meanwhile,
 * and enqueue: as long as this is held, they go behind it, and nobody but who
 * is passing calls the backend. The commands count as handed over before. */
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

/* With the lock: SSQ_ERR_NOT_READY where a closed gate or a record that is
 * still held is in the way. */
static ssq_status pass(ssq_queue *q, struct held *h, struct pending **done)
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

/* With the lock: the first that is held is done with. */
static void unlink_first(ssq_queue *q, struct held **gone)
{
    struct held *h = q->held;
    if (h->kind == HELD_RECORD) {
        atomic_fetch_add(&q->marked, 1);
        pthread_cond_broadcast(&q->moved);
    }
    q->held_commands -= h->n;
    q->held = h->next;
    if (q->held == NULL)
        q->held_end = &q->held;
    h->next = *gone;
    *gone = h;
}

/* With the lock: all that may go, in order; it is put before *gone. When the
 * queue has failed it holds nothing any more. True: behind a record that others
 * wait for it stopped, since what comes next may take its time, and is to be
 * called again. */
static bool pass_all(ssq_queue *q, struct held **gone, struct pending **done)
{
    while (q->held != NULL) {
        struct held *h = q->held;
        ssq_status st = (ssq_status)atomic_load(&q->sticky);
        if (st == SSQ_OK) {
            st = pass(q, h, done);
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

/* With the lock: unlink those that wait for a record which was made, or that
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

/* One queue. Those that waited for its records are returned: they may go on,
 * too, but no two queues are locked at once. *more: then this one may again.
 * Where another thread is passing, it looks again before it ends. */
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
        *more = pass_all(q, &gone, &now);
        q->passing = false;
    }
    struct waiter *list = woken(q);
    struct pending *done = chain_finished(q);
    bool good = atomic_load(&q->sticky) == SSQ_OK;
    pthread_cond_broadcast(&q->moved);
    pthread_mutex_unlock(&q->lock);
    fpenv_leave(env);
    chain_finish(done, good);
    chain_release(now);
    held_free_all(gone);
    return list;
}

static void append(struct waiter **list, struct waiter *more)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = more;
}

/* A queue, then all that waited for it, then what waited for those, and what is
 * left of the first. */
static void pump_all(ssq_queue *queue)
{
    struct waiter first = {NULL, queue, 0}, *list = &first;
    while (list != NULL) {
        struct waiter *w = list;
        bool more;
        list = w->next;
        w->next = NULL;
        append(&list, pump(w->queue, &more));
        if (more) {
            append(&list, w);
        } else if (w != &first) {
            object_put(&w->queue->object);
            mem_free(w);
        }
    }
}

/* ---- where a gate stands, and when it is passed ---- */

/* In either order, each once: whoever comes second hands over. */
static void meet(struct gate *gate)
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
    meet(gate);
    return SSQ_OK;
}

void gate_pass(struct gate *gate)
{
    meet(gate);
    object_put(&gate->object);
}

/* Be told of the record; false: it was made by now, or never will be. */
static bool wait_for(ssq_queue *other, struct waiter *w)
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

/* A wait for record `mark` of `other`, which is held there; other NULL: for one
 * that was made, behind what the queue holds. */
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
    pthread_mutex_unlock(&queue->lock);
    if (other != NULL && wait_for(other, w))
        return SSQ_OK;
    mem_free(w);
    pump_all(queue);
    object_put(&queue->object);
    return SSQ_OK;
}

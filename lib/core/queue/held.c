/* SPDX-License-Identifier: Apache-2.0 */
/* held.c - the list of work that a queue holds, and waiting until it is empty.
 */
#include "lib/core/queue/held.h"

struct held *held_create(enum held_kind kind)
{
    struct held *h = mem_alloc(sizeof(*h));
    if (h == NULL) {
        (void)error_nomem("queue", sizeof(*h));
        return NULL;
    }
    h->kind = kind;
    h->forks = fork_count();
    return h;
}

void held_append(ssq_queue *q, struct held *h)
{
    *q->held_end = h;
    q->held_end = &h->next;
}

ssq_status held_commands(ssq_queue *queue, struct pending *chain, size_t n)
{
    struct held *h = held_create(HELD_COMMANDS);
    if (h == NULL)
        return SSQ_ERR_NOMEM;
    h->chain = chain;
    h->n = n;
    queue->held_commands += n;
    held_append(queue, h);
    return SSQ_OK;
}

ssq_status held_record(ssq_queue *queue, ssq_event *event, uint64_t *mark)
{
    struct held *h = held_create(HELD_RECORD);
    if (h == NULL)
        return SSQ_ERR_NOMEM;
    h->event = event;
    object_get(event_object(event));
    *mark = ++queue->marks;
    held_append(queue, h);
    return SSQ_OK;
}

bool held_any(const ssq_queue *queue)
{
    ssq_queue *q = (ssq_queue *)(uintptr_t)queue;
    pthread_mutex_lock(&q->lock);
    bool any = q->held != NULL;
    pthread_mutex_unlock(&q->lock);
    return any;
}

/* ---- waiting ---- */

/* With the lock: true in a child of fork, if work of the parent is held. The
 * child has no thread that would open a gate, hand over the work held at it, or
 * make a record that another queue waits for. */
static bool held_forked(const ssq_queue *q)
{
    if (q->passing && q->passing_forks != fork_count())
        return true;
    for (const struct held *h = q->held; h != NULL; h = h->next)
        if (h->forks != fork_count())
            return true;
    return false;
}

static ssq_status fork_error(const char *what)
{
    return error_set(SSQ_ERR_DEVICE,
                     "%s: a collective was under way when this process was "
                     "forked: it ends in the parent",
                     what);
}

ssq_status held_reachable(const ssq_queue *queue, const char *what)
{
    ssq_queue *q = (ssq_queue *)(uintptr_t)queue;
    pthread_mutex_lock(&q->lock);
    bool lost = held_forked(q);
    pthread_mutex_unlock(&q->lock);
    return lost ? fork_error(what) : SSQ_OK;
}

ssq_status held_wait(ssq_queue *queue, uint64_t mark, const char *what)
{
    ssq_status st = SSQ_OK;
    pthread_mutex_lock(&queue->lock);
    while (st == SSQ_OK && queue->held != NULL &&
           (mark == HELD_ALL || atomic_load(&queue->marked) < mark)) {
        if (held_forked(queue))
            st = fork_error(what);
        else
            pthread_cond_wait(&queue->moved, &queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    return st == SSQ_OK ? queue_check(queue, what) : st;
}

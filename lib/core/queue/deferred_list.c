/* SPDX-License-Identifier: Apache-2.0 */
/* deferred_list.c - the list of deferred work, and waiting until it is empty.
 */
#include "lib/core/queue/deferred.h"

#include "lib/core/queue/event.h"

struct deferred *deferred_create(enum deferred_kind kind)
{
    struct deferred *item = mem_alloc(sizeof(*item));
    if (item == NULL) {
        (void)error_nomem("queue", sizeof(*item));
        return NULL;
    }
    item->kind = kind;
    item->forks = fork_count();
    return item;
}

void deferred_append(ssq_queue *q, struct deferred *item)
{
    *q->deferred.end = item;
    q->deferred.end = &item->next;
}

ssq_status deferred_add_commands(ssq_queue *queue, struct pending *chain,
                                 size_t n)
{
    struct deferred *item = deferred_create(DEFERRED_COMMANDS);
    if (item == NULL)
        return SSQ_ERR_NOMEM;
    item->chain = chain;
    item->n = n;
    queue->deferred.commands += n;
    deferred_append(queue, item);
    return SSQ_OK;
}

ssq_status deferred_add_record(ssq_queue *queue, ssq_event *event,
                               uint64_t *record)
{
    struct deferred *item = deferred_create(DEFERRED_RECORD);
    if (item == NULL)
        return SSQ_ERR_NOMEM;
    item->event = event;
    object_get(event_object(event));
    *record = ++queue->deferred.records;
    deferred_append(queue, item);
    return SSQ_OK;
}

bool deferred_any(const ssq_queue *queue)
{
    ssq_queue *q = (ssq_queue *)(uintptr_t)queue;
    pthread_mutex_lock(&q->lock);
    bool any = q->deferred.first != NULL;
    pthread_mutex_unlock(&q->lock);
    return any;
}

/* ---- waiting ---- */

/* With the lock: true in a child of fork, if work of the parent is deferred.
 * The child has no thread that would open a gate, submit the deferred work, or
 * submit a record that another queue waits for. */
static bool deferred_forked(const ssq_queue *q)
{
    if (q->deferred.draining && q->deferred.draining_forks != fork_count())
        return true;
    for (const struct deferred *item = q->deferred.first; item != NULL;
         item = item->next)
        if (item->forks != fork_count())
            return true;
    return false;
}

static ssq_status deferred_fork_error(const char *what)
{
    return error_set(SSQ_ERR_DEVICE,
                     "%s: a collective was under way when this process was "
                     "forked: it ends in the parent",
                     what);
}

ssq_status deferred_check_fork(const ssq_queue *queue, const char *what)
{
    ssq_queue *q = (ssq_queue *)(uintptr_t)queue;
    pthread_mutex_lock(&q->lock);
    bool lost = deferred_forked(q);
    pthread_mutex_unlock(&q->lock);
    return lost ? deferred_fork_error(what) : SSQ_OK;
}

ssq_status deferred_wait(ssq_queue *queue, uint64_t record, const char *what)
{
    ssq_status st = SSQ_OK;
    pthread_mutex_lock(&queue->lock);
    while (st == SSQ_OK && queue->deferred.first != NULL &&
           (record == DEFERRED_ALL ||
            atomic_load(&queue->deferred.records_submitted) < record)) {
        if (deferred_forked(queue))
            st = deferred_fork_error(what);
        else
            pthread_cond_wait(&queue->deferred.changed, &queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    return st == SSQ_OK ? queue_check(queue, what) : st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - how far a queue has run, also after the queue is freed. */
#include "lib/core/queue/progress.h"

#include "lib/core/base/fork.h"
#include "lib/core/queue/queue.h"

/* The part that outlives a queue. Objects that check how far the queue has run,
 * such as readbacks, hold this and not the queue. While the queue is closing,
 * no work counts as finished, because impl must not be used then. */
struct progress {
    struct object object;
    pthread_mutex_t lock;
    const struct backend *backend;
    unsigned forks;                 /* fork_count() at creation */
    struct backend_queue *impl;     /* NULL: closing, or closed */
    ssq_queue *queue;               /* not a reference; NULL if impl is NULL */
    bool closed;                    /* all work is finished */
    atomic_uint_fast64_t submitted; /* for backends without completed */
};

static void progress_free(struct object *o)
{
    struct progress *p = (struct progress *)o;
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

/* Create a progress with one reference, for the queue. impl is borrowed. NULL
 * without memory. */
struct progress *progress_create(const struct backend *backend,
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

void progress_bind(struct progress *p, ssq_queue *queue)
{
    p->queue = queue;
}

/* Does not take the queue's lock: a thread may hold it while waiting for the
 * work that this call ends. */
void progress_fail(struct progress *p, ssq_status status)
{
    pthread_mutex_lock(&p->lock);
    if (p->queue != NULL)
        (void)queue_fail(p->queue, status);
    pthread_mutex_unlock(&p->lock);
}

/* The queue's memory is valid here: before it is freed, progress_close() must
 * get the lock. */
ssq_queue *progress_queue(struct progress *p)
{
    pthread_mutex_lock(&p->lock);
    ssq_queue *q = p->queue;
    if (q != NULL && !object_get_live(&q->object))
        q = NULL;
    pthread_mutex_unlock(&p->lock);
    return q;
}

/* Stop using impl. closed: all work is finished. A thread that checks the
 * progress holds the lock, so impl is not closed during the check. */
void progress_close(struct progress *p, bool closed)
{
    pthread_mutex_lock(&p->lock);
    p->impl = NULL;
    p->queue = NULL;
    p->closed = closed;
    pthread_mutex_unlock(&p->lock);
}

struct progress *progress_get(struct progress *p)
{
    object_get(&p->object);
    return p;
}

/* Takes the progress's own lock, not the queue's, so this never waits for a
 * thread that enqueues or syncs. */
bool progress_reached(struct progress *p, uint64_t position)
{
    if (p->backend->completed == NULL)
        return atomic_load(&p->submitted) >= position;
    if (p->backend->fork_hold == NULL && p->forks != fork_count())
        return false; /* as for a lost device */
    pthread_mutex_lock(&p->lock);
    bool reached = p->closed || (p->impl != NULL &&
                                 p->backend->completed(p->impl) >= position);
    pthread_mutex_unlock(&p->lock);
    return reached;
}

void progress_set_submitted(struct progress *p, uint64_t submitted)
{
    atomic_store(&p->submitted, submitted);
}

void progress_put(struct progress *p)
{
    if (p != NULL)
        object_put(&p->object);
}

void progress_hold(struct progress *p)
{
    pthread_mutex_lock(&p->lock);
}

void progress_let_go(struct progress *p)
{
    pthread_mutex_unlock(&p->lock);
}

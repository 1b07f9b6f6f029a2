/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - how far a queue has come, also when it is gone. */
#include "lib/core/queue.h"

#include "lib/core/fork.h"

/* What outlives a queue, for those who ask how far it has come: mailboxes and
 * the like hold this and not the queue. While the queue is closing nothing is
 * known: impl may not be asked any more, and its work is not finished yet. */
struct progress {
    struct object object;
    pthread_mutex_t lock;
    const struct backend *backend;
    unsigned forks;              /* fork_count() when it was made */
    struct backend_queue *impl;  /* NULL: closing, or closed */
    ssq_queue *queue;            /* NULL: the same; no reference */
    bool closed;                 /* everything is finished */
    atomic_uint_fast64_t handed; /* commands, where they are finished then */
};

static void progress_free(struct object *o)
{
    struct progress *p = (struct progress *)o;
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

/* One reference, for the queue; impl is not owned. NULL: no memory. */
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

/* Without the queue's lock, which a thread may have that waits for what is to
 * be ended. */
void progress_fail(struct progress *p, ssq_status status)
{
    pthread_mutex_lock(&p->lock);
    if (p->queue != NULL)
        (void)queue_fail(p->queue, status);
    pthread_mutex_unlock(&p->lock);
}

/* Its memory stays until it has passed progress_close, which wants the lock. */
ssq_queue *progress_queue(struct progress *p)
{
    pthread_mutex_lock(&p->lock);
    ssq_queue *q = p->queue;
    if (q != NULL && !object_get_live(&q->object))
        q = NULL;
    pthread_mutex_unlock(&p->lock);
    return q;
}

/* From now on impl is not asked; closed: and everything is finished. Whoever is
 * asking at this moment has the lock, so impl is not closed under his hands. */
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

/* The lock is the progress's own, not the queue's: asking never waits for a
 * thread that enqueues or syncs. */
bool progress_reached(struct progress *p, uint64_t position)
{
    if (p->backend->completed == NULL)
        return atomic_load(&p->handed) >= position;
    if (p->backend->fork_hold == NULL && p->forks != fork_count())
        return false; /* as a device that is lost */
    pthread_mutex_lock(&p->lock);
    bool reached = p->closed || (p->impl != NULL &&
                                 p->backend->completed(p->impl) >= position);
    pthread_mutex_unlock(&p->lock);
    return reached;
}

void progress_count(struct progress *p, uint64_t handed)
{
    atomic_store(&p->handed, handed);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* witness.c - report writes to views of buffers to their witnesses.
 *
 * Only inputs and parameters of tapes have witnesses. For any other buffer, an
 * op only loads one pointer. */
#include "lib/core/queue/witness.h"

/* Guards the lists of all buffers. No other lock is taken under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void witness_begin(struct witness *w, const struct view *view)
{
    w->buffer = view->buffer;
    w->view = *view;
    atomic_store(&w->writes, 0);
    pthread_mutex_lock(&lock);
    w->before = NULL;
    w->next = atomic_load(&w->buffer->witnesses);
    if (w->next != NULL)
        w->next->before = w;
    atomic_store(&w->buffer->witnesses, w);
    pthread_mutex_unlock(&lock);
}

void witness_end(struct witness *w)
{
    if (w->buffer == NULL)
        return;
    pthread_mutex_lock(&lock);
    if (w->next != NULL)
        w->next->before = w->before;
    if (w->before != NULL)
        w->before->next = w->next;
    else
        atomic_store(&w->buffer->witnesses, w->next);
    pthread_mutex_unlock(&lock);
    w->buffer = NULL;
}

void witness_ask(const struct witness *w, struct witness *copy)
{
    pthread_mutex_lock(&lock);
    copy->by = w->by;
    copy->queue = w->queue;
    atomic_store(&copy->writes, atomic_load(&w->writes));
    pthread_mutex_unlock(&lock);
}

static void core_witness_tell(const ssq_queue *queue, enum op_id by,
                              const struct view *v)
{
    pthread_mutex_lock(&lock);
    for (struct witness *w = atomic_load(&v->buffer->witnesses); w != NULL;
         w = w->next) {
        if (!view_overlap(&w->view, v))
            continue;
        w->by = by;
        w->queue = queue;
        atomic_fetch_add(&w->writes, 1);
    }
    pthread_mutex_unlock(&lock);
}

static void tell_all(const ssq_queue *queue, enum op_id by,
                     const struct view *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].buffer != NULL && (v[i].access & ACCESS_WRITE) != 0 &&
            atomic_load_explicit(&v[i].buffer->witnesses,
                                 memory_order_acquire) != NULL)
            core_witness_tell(queue, by, &v[i]);
}

void witness_tell(const ssq_queue *queue, const struct op *op)
{
    tell_all(queue, op->id, op_views_const(op), op->nviews);
    if (op->list != NULL)
        tell_all(queue, op->id, op->list->v, op->list->n);
}

void witness_hold(void)
{
    pthread_mutex_lock(&lock);
}

void witness_let_go(void)
{
    pthread_mutex_unlock(&lock);
}

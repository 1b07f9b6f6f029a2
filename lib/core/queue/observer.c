/* SPDX-License-Identifier: Apache-2.0 */
/* observer.c - report writes to views of buffers to their observers.
 *
 * Only inputs and parameters of tapes have observers. For any other buffer, an
 * op only loads one pointer. */
#include "lib/core/queue/observer.h"

/* Guards the lists of all buffers. No other lock is taken under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void observer_start(struct observer *o, const struct view *view)
{
    o->buffer = view->buffer;
    o->view = *view;
    atomic_store(&o->writes, 0);
    pthread_mutex_lock(&lock);
    o->before = NULL;
    o->next = atomic_load(&o->buffer->observers);
    if (o->next != NULL)
        o->next->before = o;
    atomic_store(&o->buffer->observers, o);
    pthread_mutex_unlock(&lock);
}

void observer_stop(struct observer *o)
{
    if (o->buffer == NULL)
        return;
    pthread_mutex_lock(&lock);
    if (o->next != NULL)
        o->next->before = o->before;
    if (o->before != NULL)
        o->before->next = o->next;
    else
        atomic_store(&o->buffer->observers, o->next);
    pthread_mutex_unlock(&lock);
    o->buffer = NULL;
}

void observer_read(const struct observer *o, struct observer *copy)
{
    pthread_mutex_lock(&lock);
    copy->by = o->by;
    copy->queue = o->queue;
    atomic_store(&copy->writes, atomic_load(&o->writes));
    pthread_mutex_unlock(&lock);
}

static void observers_report_view(const ssq_queue *queue, enum op_id by,
                                  const struct view *v)
{
    pthread_mutex_lock(&lock);
    for (struct observer *o = atomic_load(&v->buffer->observers); o != NULL;
         o = o->next) {
        if (!view_overlap(&o->view, v))
            continue;
        o->by = by;
        o->queue = queue;
        atomic_fetch_add(&o->writes, 1);
    }
    pthread_mutex_unlock(&lock);
}

static void observers_report_views(const ssq_queue *queue, enum op_id by,
                                   const struct view *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].buffer != NULL && (v[i].access & ACCESS_WRITE) != 0 &&
            atomic_load_explicit(&v[i].buffer->observers,
                                 memory_order_acquire) != NULL)
            observers_report_view(queue, by, &v[i]);
}

void observers_report(const ssq_queue *queue, const struct op *op)
{
    observers_report_views(queue, op->id, op_views_const(op), op->nviews);
    if (op->list != NULL)
        observers_report_views(queue, op->id, op->list->v, op->list->n);
}

void observers_hold(void)
{
    pthread_mutex_lock(&lock);
}

void observers_let_go(void)
{
    pthread_mutex_unlock(&lock);
}

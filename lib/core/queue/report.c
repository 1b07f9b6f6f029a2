/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - errors of objects that ssq_queue_sync returns. */
#include "lib/core/queue/report.h"

#include "lib/core/queue/queue.h"

void report_add(ssq_queue *queue, struct report *report)
{
    object_get(&report->object);
    pthread_mutex_lock(&queue->lock);
    report->next = queue->reports;
    queue->reports = report;
    pthread_mutex_unlock(&queue->lock);
}

/* The `next` of a removed report becomes NULL, so that a walk which has reached
 * it ends there. */
void report_remove(ssq_queue *queue, struct report *report)
{
    bool found = false;
    pthread_mutex_lock(&queue->lock);
    for (struct report **at = &queue->reports; *at != NULL && !found;) {
        found = *at == report;
        if (found)
            *at = report->next;
        else
            at = &(*at)->next;
    }
    report->next = NULL;
    pthread_mutex_unlock(&queue->lock);
    if (found)
        object_put(&report->object);
}

/* Return the report after r, with a reference, and drop the reference to r. If
 * r is NULL, return the first report. */
static struct report *next_of(ssq_queue *queue, struct report *r)
{
    pthread_mutex_lock(&queue->lock);
    struct report *next = r == NULL ? queue->reports : r->next;
    if (next != NULL)
        object_get(&next->object);
    pthread_mutex_unlock(&queue->lock);
    if (r != NULL)
        object_put(&r->object);
    return next;
}

ssq_status reports_send(ssq_queue *queue)
{
    ssq_status st = SSQ_OK;
    for (struct report *r = next_of(queue, NULL); r != NULL;
         r = next_of(queue, r)) {
        ssq_status sent = r->send(r, queue);
        st = st == SSQ_OK ? sent : st;
    }
    return st;
}

/* After the first error the other reports wait for the next sync. */
ssq_status reports_get_error(ssq_queue *queue)
{
    ssq_status st = SSQ_OK;
    for (struct report *r = next_of(queue, NULL); r != NULL;
         r = next_of(queue, r))
        if (st == SSQ_OK)
            st = r->get_error(r);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - a thread that watches a library's collectives in flight.
 *
 * The library's kernels wait for kernels of other ranks, possibly forever. A
 * caller that waits for the queue waits with them. So the thread polls every
 * few milliseconds. It ends the group if a collective that has begun is not
 * done within the timeout, or if the library has found an error. The queues
 * fail first, and then the library ends its kernels. So a caller that waits for
 * a queue never takes incomplete data for a result. */
#include "lib/comm/direct.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Seconds between polls, with and without a collective in flight. */
#define BUSY 0.005
#define IDLE 0.25

static double watch_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- marks ---- */

static void mark_free(ssq_comm *comm, struct mark *m)
{
    const struct backend *b = comm->device->backend;
    if (m->before != NULL)
        b->event_close(m->before);
    if (m->after != NULL)
        b->event_close(m->after);
    mem_free(m);
}

static ssq_status mark_create(ssq_comm *comm, struct mark **mark)
{
    const struct ssq_device *d = comm->device;
    struct mark *m = mem_alloc(sizeof(*m));
    if (m == NULL)
        return error_nomem("comm", sizeof(*m));
    ssq_status st = d->backend->event_open(d->impl, &m->before);
    if (st == SSQ_OK)
        st = d->backend->event_open(d->impl, &m->after);
    if (st == SSQ_OK)
        *mark = m;
    else
        mark_free(comm, m);
    return st;
}

static void spare(struct direct *d, struct mark *m)
{
    m->next = d->spare;
    d->spare = m;
}

ssq_status watch_begin(ssq_comm *comm, ssq_queue *queue, const char *words,
                       struct mark **mark)
{
    struct direct *d = comm->direct;
    pthread_mutex_lock(&d->watch);
    struct mark *m = d->spare;
    if (m != NULL)
        d->spare = m->next;
    pthread_mutex_unlock(&d->watch);
    ssq_status st = m != NULL ? SSQ_OK : mark_create(comm, &m);
    if (st != SSQ_OK)
        return st;
    m->next = NULL;
    m->due = false;
    (void)snprintf(m->words, sizeof(m->words), "%s", words);
    st = queue->device->backend->event_record(m->before, queue->impl);
    if (st != SSQ_OK) {
        mark_free(comm, m);
        return st;
    }
    m->queue = progress_get(queue->progress);
    *mark = m;
    return SSQ_OK;
}

void watch_drop(ssq_comm *comm, struct mark *m)
{
    progress_put(m->queue);
    mark_free(comm, m);
}

/* Fails also if the group has ended; then the queue fails. A mark is never
 * missed: the thread that ends the group sets the status and then looks at the
 * marks. This function adds its mark and then looks at the status. */
ssq_status watch_end(ssq_comm *comm, const ssq_queue *queue, struct mark *m)
{
    struct direct *d = comm->direct;
    ssq_status st = queue->device->backend->event_record(m->after, queue->impl);
    if (st != SSQ_OK) {
        watch_drop(comm, m);
        return st;
    }
    pthread_mutex_lock(&d->watch);
    *d->marks_end = m;
    d->marks_end = &m->next;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->watch);
    return comm_check(comm, "comm");
}

/* ---- looking ---- */

static bool reached(const ssq_comm *comm, struct backend_event *event)
{
    /* a device error counts as reached: callers that wait see it */
    return comm->device->backend->event_query(event) != SSQ_ERR_NOT_READY;
}

/* Remove the marks that are done from the list, and return them. Needs the
 * watch lock. */
static struct mark *take_done(const ssq_comm *comm, struct direct *d)
{
    struct mark *done = NULL, **at = &d->marks;
    while (*at != NULL) {
        struct mark *m = *at;
        if (!reached(comm, m->after)) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        m->next = done;
        done = m;
    }
    d->marks_end = at;
    return done;
}

/* Return the first mark that is late, or NULL. Needs the watch lock. */
static const struct mark *late(const ssq_comm *comm, struct direct *d)
{
    double t = watch_now();
    for (struct mark *m = d->marks; m != NULL; m = m->next) {
        if (!m->due && reached(comm, m->before)) {
            m->due = true;
            m->since = t;
        }
        if (m->due && t - m->since > comm->options.timeout)
            return m;
    }
    return NULL;
}

static void watch_let_go(struct direct *d, struct mark *done)
{
    while (done != NULL) {
        struct mark *m = done;
        done = m->next;
        progress_put(m->queue);
        pthread_mutex_lock(&d->watch);
        spare(d, m);
        pthread_mutex_unlock(&d->watch);
    }
}

bool watch_fail(ssq_comm *comm, ssq_status status)
{
    char text[ERROR_TEXT];
    struct direct *d = comm->direct;
    (void)snprintf(text, sizeof(text), "%s", ssq_last_error());
    pthread_mutex_lock(&d->watch);
    struct mark *done = take_done(comm, d);
    bool any = d->marks != NULL;
    (void)error_set(status, "%s", text); /* event queries may have changed it */
    for (struct mark *m = d->marks; m != NULL; m = m->next)
        progress_fail(m->queue, status);
    pthread_mutex_unlock(&d->watch);
    watch_let_go(d, done);
    return any;
}

/* Poll once. Returns true if the group must end; text is the reason. */
static bool watch_look(ssq_comm *comm, struct direct *d, char *text)
{
    pthread_mutex_lock(&d->watch);
    struct mark *done = take_done(comm, d);
    const struct mark *m = late(comm, d);
    bool ends = m != NULL;
    if (ends)
        (void)snprintf(text, ERROR_TEXT,
                       "%s: not done %g seconds after rank %u of %u had come: "
                       "another rank is late, is gone or calls something else",
                       m->words, comm->options.timeout, comm->rank, comm->size);
    char under_way[DIRECT_WORDS];
    (void)snprintf(under_way, sizeof(under_way), "%s",
                   d->marks == NULL ? "nothing under way" : d->marks->words);
    pthread_mutex_unlock(&d->watch);
    watch_let_go(d, done);
    if (ends || comm->transport->direct->look(comm->link) == SSQ_OK)
        return ends;
    (void)snprintf(text, ERROR_TEXT, "%s, rank %u of %u: %.700s", under_way,
                   comm->rank, comm->size, ssq_last_error());
    return true;
}

/* Wait until the marks change or the next poll is due. Returns false if the
 * watch must stop. */
static bool wait(struct direct *d)
{
    struct timespec until;
    pthread_mutex_lock(&d->watch);
    double t = watch_now() + (d->marks == NULL ? IDLE : BUSY);
    until.tv_sec = (time_t)t;
    until.tv_nsec = (long)((t - (double)until.tv_sec) * 1e9);
    if (!d->closing)
        (void)pthread_cond_timedwait(&d->changed, &d->watch, &until);
    bool goes_on = !d->closing;
    pthread_mutex_unlock(&d->watch);
    return goes_on;
}

/* Poll until watch_stop(). The end of the group does not stop the thread: it
 * still removes the marks of collectives that end. */
static void *watch_thread(void *arg)
{
    struct direct *d = arg;
    ssq_comm *comm = d->comm; /* valid: watch_stop() joins this thread first */
    struct fpenv env = fpenv_enter();
    char text[ERROR_TEXT];
    while (wait(d))
        if (watch_look(comm, d, text))
            comm_end(comm, SSQ_ERR_COMM, text);
    fpenv_leave(env);
    return NULL;
}

/* ---- starting and stopping ---- */

ssq_status watch_start(struct direct *d)
{
    pthread_condattr_t attr;
    d->marks_end = &d->marks;
    pthread_mutex_init(&d->watch, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&d->changed, &attr);
    pthread_condattr_destroy(&attr);
    return comm_thread_start(&d->thread, watch_thread, d);
}

void watch_stop(struct direct *d)
{
    pthread_mutex_lock(&d->watch);
    d->closing = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->watch);
    pthread_join(d->thread, NULL);
    while (d->marks != NULL) {
        struct mark *m = d->marks;
        d->marks = m->next;
        progress_put(m->queue);
        spare(d, m);
    }
    while (d->spare != NULL) {
        struct mark *m = d->spare;
        d->spare = m->next;
        mark_free(d->comm, m);
    }
}

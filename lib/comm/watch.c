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

#include "lib/core/queue/progress.h"

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

/* ---- calls ---- */

static void watched_call_free(ssq_comm *comm, struct watched_call *c)
{
    const struct backend *b = comm->device->backend;
    if (c->before != NULL)
        b->event_close(c->before);
    if (c->after != NULL)
        b->event_close(c->after);
    mem_free(c);
}

static ssq_status watched_call_create(ssq_comm *comm,
                                      struct watched_call **call)
{
    const struct ssq_device *d = comm->device;
    struct watched_call *c = mem_alloc(sizeof(*c));
    if (c == NULL)
        return error_nomem("comm", sizeof(*c));
    ssq_status st = d->backend->event_open(d->impl, &c->before);
    if (st == SSQ_OK)
        st = d->backend->event_open(d->impl, &c->after);
    if (st == SSQ_OK)
        *call = c;
    else
        watched_call_free(comm, c);
    return st;
}

static void spare(struct direct *d, struct watched_call *c)
{
    c->next = d->spare;
    d->spare = c;
}

ssq_status watch_begin(ssq_comm *comm, ssq_queue *queue, const char *words,
                       struct watched_call **call)
{
    struct direct *d = comm->direct;
    pthread_mutex_lock(&d->watch);
    struct watched_call *c = d->spare;
    if (c != NULL)
        d->spare = c->next;
    pthread_mutex_unlock(&d->watch);
    ssq_status st = c != NULL ? SSQ_OK : watched_call_create(comm, &c);
    if (st != SSQ_OK)
        return st;
    c->next = NULL;
    c->due = false;
    (void)snprintf(c->words, sizeof(c->words), "%s", words);
    st = queue->device->backend->event_record(c->before, queue->impl);
    if (st != SSQ_OK) {
        watched_call_free(comm, c);
        return st;
    }
    c->queue = progress_get(queue->progress);
    *call = c;
    return SSQ_OK;
}

void watch_drop(ssq_comm *comm, struct watched_call *c)
{
    progress_put(c->queue);
    watched_call_free(comm, c);
}

/* Fails also if the group has ended; then the queue fails. A call is never
 * missed: the thread that ends the group sets the status and then looks at the
 * calls. This function adds its call and then looks at the status. */
ssq_status watch_end(ssq_comm *comm, const ssq_queue *queue,
                     struct watched_call *c)
{
    struct direct *d = comm->direct;
    ssq_status st = queue->device->backend->event_record(c->after, queue->impl);
    if (st != SSQ_OK) {
        watch_drop(comm, c);
        return st;
    }
    pthread_mutex_lock(&d->watch);
    *d->in_flight_end = c;
    d->in_flight_end = &c->next;
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

/* Remove the calls that are done from the list, and return them. Needs the
 * watch lock. */
static struct watched_call *take_done(const ssq_comm *comm, struct direct *d)
{
    struct watched_call *done = NULL, **at = &d->in_flight;
    while (*at != NULL) {
        struct watched_call *c = *at;
        if (!reached(comm, c->after)) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        c->next = done;
        done = c;
    }
    d->in_flight_end = at;
    return done;
}

/* Return the first call that is late, or NULL. Needs the watch lock. */
static const struct watched_call *late(const ssq_comm *comm, struct direct *d)
{
    double t = watch_now();
    for (struct watched_call *c = d->in_flight; c != NULL; c = c->next) {
        if (!c->due && reached(comm, c->before)) {
            c->due = true;
            c->since = t;
        }
        if (c->due && t - c->since > comm->options.timeout)
            return c;
    }
    return NULL;
}

static void watch_let_go(struct direct *d, struct watched_call *done)
{
    while (done != NULL) {
        struct watched_call *c = done;
        done = c->next;
        progress_put(c->queue);
        pthread_mutex_lock(&d->watch);
        spare(d, c);
        pthread_mutex_unlock(&d->watch);
    }
}

bool watch_fail(ssq_comm *comm, ssq_status status)
{
    char text[ERROR_TEXT];
    struct direct *d = comm->direct;
    (void)snprintf(text, sizeof(text), "%s", ssq_last_error());
    pthread_mutex_lock(&d->watch);
    struct watched_call *done = take_done(comm, d);
    bool any = d->in_flight != NULL;
    (void)error_set(status, "%s", text); /* event queries may have changed it */
    for (struct watched_call *c = d->in_flight; c != NULL; c = c->next)
        progress_fail(c->queue, status);
    pthread_mutex_unlock(&d->watch);
    watch_let_go(d, done);
    return any;
}

/* Poll once. Returns true if the group must end; text is the reason. */
static bool watch_look(ssq_comm *comm, struct direct *d, char *text)
{
    pthread_mutex_lock(&d->watch);
    struct watched_call *done = take_done(comm, d);
    const struct watched_call *c = late(comm, d);
    bool ends = c != NULL;
    if (ends)
        (void)snprintf(text, ERROR_TEXT,
                       "%s: not done %g seconds after rank %u of %u had come: "
                       "another rank is late, is gone or calls something else",
                       c->words, comm->options.timeout, comm->rank, comm->size);
    char under_way[DIRECT_WORDS];
    (void)snprintf(under_way, sizeof(under_way), "%s",
                   d->in_flight == NULL ? "nothing under way"
                                        : d->in_flight->words);
    pthread_mutex_unlock(&d->watch);
    watch_let_go(d, done);
    if (ends || comm->transport->direct->look(comm->link) == SSQ_OK)
        return ends;
    (void)snprintf(text, ERROR_TEXT, "%s, rank %u of %u: %.700s", under_way,
                   comm->rank, comm->size, ssq_last_error());
    return true;
}

/* Wait until the calls change or the next poll is due. Returns false if the
 * watch must stop. */
static bool wait(struct direct *d)
{
    struct timespec until;
    pthread_mutex_lock(&d->watch);
    double t = watch_now() + (d->in_flight == NULL ? IDLE : BUSY);
    until.tv_sec = (time_t)t;
    until.tv_nsec = (long)((t - (double)until.tv_sec) * 1e9);
    if (!d->closing)
        (void)pthread_cond_timedwait(&d->changed, &d->watch, &until);
    bool goes_on = !d->closing;
    pthread_mutex_unlock(&d->watch);
    return goes_on;
}

/* Poll until watch_stop(). The end of the group does not stop the thread: it
 * still removes the calls of collectives that end. */
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
    d->in_flight_end = &d->in_flight;
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
    while (d->in_flight != NULL) {
        struct watched_call *c = d->in_flight;
        d->in_flight = c->next;
        progress_put(c->queue);
        spare(d, c);
    }
    while (d->spare != NULL) {
        struct watched_call *c = d->spare;
        d->spare = c->next;
        watched_call_free(d->comm, c);
    }
}

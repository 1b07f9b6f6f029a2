/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c - a case on a device: its operands, its runs and their times. */
#include "tools/bench/bench.h"

#include <stdlib.h>

/** Seconds of a timed run at least. A shorter run is repeated, so that the
 *  share of the clock and the sync is small. */
#define SHORTEST 0.002
/** Seconds. A longer first run is not repeated before the timed runs. */
#define LONGEST 10.0
/** Number of runs that keep the device busy while waits of the host
 *  are detected. */
#define BEFORE 6
/** Maximum bytes of a copy that is timed in turn. If a case moves more bytes,
 *  the copy's time is scaled. */
#define COPY_MOST (256.0 * 1024.0 * 1024.0)

/** The copy to compare with. workload_drop() frees its tensors. */
static struct copier copier;

ssq_status workload_make(struct workload *w, const struct bench_family **family)
{
    for (size_t i = 0; bench_families[i] != NULL; i++) {
        *family = bench_families[i];
        ssq_status st = (*family)->make(w);
        if (st != SSQ_ERR_NOT_FOUND)
            return st;
    }
    return SSQ_ERR_NOT_FOUND;
}

void workload_drop(struct workload *w)
{
    if (w->drop != NULL)
        w->drop(w);
    w->drop = NULL;
    free(w->state);
    w->state = NULL;
    copier_drop(&copier);
    (void)ssq_device_trim(w->device);
}

ssq_status workload_tensor(const struct workload *w, ssq_dtype dtype, int rank,
                           const int64_t *shape, double std, ssq_tensor **t)
{
    static uint32_t stream;
    ssq_status st = ssq_tensor_create(w->device, dtype, rank, shape, t);
    return st != SSQ_OK
               ? st
               : ssq_random_normal(
                     w->queue, SSQ_RANDOM_NORMAL(.x = *t, .seed = 1,
                                                 .id = ++stream, .std = std));
}

ssq_status workload_classes(const struct workload *w, int64_t n,
                            int64_t classes, ssq_tensor **t)
{
    /* created first, because this refuses an n that the memory cannot hold */
    ssq_status st = ssq_tensor_create(w->device, SSQ_I32, 1, &n, t);
    if (st != SSQ_OK)
        return st;
    int32_t *host = malloc((size_t)n * sizeof(*host));
    if (host == NULL)
        return SSQ_ERR_NOMEM;
    for (int64_t i = 0; i < n; i++)
        host[i] = (int32_t)(i * 7919 % classes);
    st = ssq_tensor_write(w->queue, *t, host, (size_t)n * sizeof(*host),
                          SSQ_I32);
    if (st == SSQ_OK)
        st = ssq_queue_sync(w->queue); /* until then host is read */
    free(host);
    return st;
}

/* Return the seconds of a run, as the mean of successive runs;
 * negative: failed. */
static double workload_seconds_of(struct workload *w, long times)
{
    if (ssq_queue_sync(w->queue) != SSQ_OK)
        return -1.0;
    double began = now();
    for (long i = 0; i < times; i++)
        if (w->run(w) != SSQ_OK)
            return -1.0;
    if (ssq_queue_sync(w->queue) != SSQ_OK)
        return -1.0;
    return (now() - began) / (double)times;
}

/* Return the seconds of a copy of as many bytes. */
static double workload_copy_of(const struct workload *w)
{
    double bytes = w->bytes < COPY_MOST ? w->bytes : COPY_MOST;
    double seconds = copier_run(w->queue, &copier, bytes);
    return seconds * w->bytes / bytes;
}

/* The times of a case and of its rival. copy: a copy's time divided by
 * the case's. */
struct times {
    size_t n;
    double ours[CASE_RUNS], rival[CASE_RUNS], copy[CASE_RUNS];
};

/* Run a case before it is timed. The first run allocates memory and compiles,
 * which may take much longer than a run. The second run determines how many
 * are timed. */
static bool warm_up(struct workload *w, double *seconds)
{
    *seconds = workload_seconds_of(w, 1);
    if (*seconds >= 0.0 && *seconds < LONGEST)
        *seconds = workload_seconds_of(w, 1);
    return *seconds >= 0.0;
}

static bool workload_take(struct workload *w, struct workload *rival,
                          bool memory, double budget, struct times *t)
{
    double one, other = 0.0;
    if (!warm_up(w, &one) || (rival != NULL && !warm_up(rival, &other)))
        return false;
    const double most = budget / (one + other + 1e-9);
    const size_t runs = most < 3.0         ? 1
                        : most > CASE_RUNS ? CASE_RUNS
                                           : (size_t)most;
    const long times = one < SHORTEST ? (long)(SHORTEST / (one + 1e-7)) + 1 : 1;
    for (t->n = 0; t->n < runs; t->n++) {
        t->ours[t->n] = workload_seconds_of(w, times);
        if (rival != NULL)
            t->rival[t->n] = workload_seconds_of(rival, times);
        if (memory)
            t->copy[t->n] = workload_copy_of(w) / t->ours[t->n];
        if (t->ours[t->n] < 0.0 || t->rival[t->n] < 0.0)
            return false;
    }
    return true;
}

/* Find out if the host waits in a run. Several runs keep the device busy; then
 * come an event and one more run. If the host waited in that run, the event is
 * complete when the call returns. */
static ssq_status wait_in(struct workload *w, ssq_event *event, int *waits)
{
    ssq_status st = ssq_queue_sync(w->queue);
    for (int i = 0; i < BEFORE && st == SSQ_OK; i++)
        st = w->run(w);
    if (st == SSQ_OK)
        st = ssq_event_record(event, w->queue);
    if (st == SSQ_OK)
        st = w->run(w);
    if (st != SSQ_OK)
        return st;
    st = ssq_event_query(event);
    *waits = st == SSQ_ERR_NOT_READY ? 0 : 1;
    return ssq_queue_sync(w->queue);
}

/* Count the submissions of one run. All runs after the first have the
 * same number. */
static ssq_status count_submissions(struct workload *w, int64_t *n)
{
    ssq_queue_stats before = SSQ_QUEUE_STATS_INIT, after = before;
    ssq_status st = ssq_queue_stats_get(w->queue, &before);
    if (st == SSQ_OK)
        st = w->run(w);
    if (st == SSQ_OK)
        st = ssq_queue_stats_get(w->queue, &after);
    *n = (int64_t)(after.submissions - before.submissions);
    return st;
}

/* Find out if the host waits. On a synchronous device every call does, so
 * *waits is not set. */
static bool look_for_waits(struct workload *w, int *waits)
{
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    ssq_event *event = NULL;
    ssq_status st = ssq_device_props_get(w->device, &props);
    if (st != SSQ_OK || !props.asynchronous)
        return st == SSQ_OK;
    st = ssq_event_create(w->device, &event);
    if (st == SSQ_OK)
        st = wait_in(w, event, waits);
    ssq_event_destroy(&event);
    return st == SSQ_OK;
}

bool workload_time(struct workload *w, struct workload *rival,
                   const struct bench_family *f, double budget,
                   struct bench_rows *all)
{
    struct times t = {.n = 0};
    if (!workload_take(w, rival, f->memory, budget, &t))
        return false;
    struct bench_row *row =
        rows_add(all, f->suite, w->c.op, w->impl, t.ours, t.n);
    if (row == NULL)
        return false;
    snprintf(row->text, sizeof(row->text), "%s", w->c.text);
    row->flops = w->flops;
    row->bytes = w->bytes;
    row->copy = f->memory ? rows_median(t.copy, t.n) : 0.0;
    row->rival = rival != NULL ? rows_median(t.rival, t.n) : 0.0;
    row->of_bound = w->of_bound != NULL ? w->of_bound(w) : -1.0;
    return !f->step || (count_submissions(w, &row->submissions) == SSQ_OK &&
                        look_for_waits(w, &row->waits));
}

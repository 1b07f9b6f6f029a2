/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c - a case on a device: its operands, its runs and their times. */
#include "tools/bench/bench.h"

#include <stdlib.h>

/** A timed run repeats what is shorter, so that the clock's and the end's share
 *  is small. */
#define SHORTEST 0.002
/** A first run that took longer has no second one. */
#define LONGEST 10.0
/** Runs that a device is busy with while the host is looked at. */
#define BEFORE 6
/** Bytes of a copy that runs are timed in turn with, at most: what moves more
 *  is compared with its rate. */
#define COPY_MOST (256.0 * 1024.0 * 1024.0)

/** A copy to compare with; it outlives the case. */
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
    int32_t *host = malloc((size_t)n * sizeof(*host));
    ssq_status st = ssq_tensor_create(w->device, SSQ_I32, 1, &n, t);
    if (host == NULL)
        return SSQ_ERR_NOMEM;
    for (int64_t i = 0; i < n; i++)
        host[i] = (int32_t)(i * 7919 % classes);
    if (st == SSQ_OK)
        st = ssq_tensor_write(w->queue, *t, host, (size_t)n * sizeof(*host),
                              SSQ_I32);
    if (st == SSQ_OK)
        st = ssq_queue_sync(w->queue); /* until then the host's are read */
    free(host);
    return st;
}

/* Seconds of a run, the mean of so many behind each other; negative: failed. */
static double seconds_of(struct workload *w, long times)
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

/* Seconds of a copy of as many bytes. */
static double copy_of(const struct workload *w)
{
    double bytes = w->bytes < COPY_MOST ? w->bytes : COPY_MOST;
    double seconds = copier_run(w->queue, &copier, bytes);
    return seconds * w->bytes / bytes;
}

/* The times of a case and of what it is timed in turn with. */
struct times {
    size_t n;
    double ours[CASE_RUNS], rival[CASE_RUNS], copy[CASE_RUNS];
};

/* The first run makes memory and compiles, which may take many times as long
 * as a run; the second tells how many are timed. */
static bool warm_up(struct workload *w, double *seconds)
{
    *seconds = seconds_of(w, 1);
    if (*seconds >= 0.0 && *seconds < LONGEST)
        *seconds = seconds_of(w, 1);
    return *seconds >= 0.0;
}

static bool take(struct workload *w, struct workload *rival, bool memory,
                 double budget, struct times *t)
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
        t->ours[t->n] = seconds_of(w, times);
        if (rival != NULL)
            t->rival[t->n] = seconds_of(rival, times);
        if (memory)
            t->copy[t->n] = copy_of(w) / t->ours[t->n];
        if (t->ours[t->n] < 0.0 || t->rival[t->n] < 0.0)
            return false;
    }
    return true;
}

/* Does the host wait in a run? Behind so many that they keep the device busy
 * for a good while comes an event, and one more run: a host that has waited
 * comes to the end of it after the event. */
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

/* Of one run, like all behind the first. */
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

/* Where calls return when all is done there is nothing to look at. */
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
    if (!take(w, rival, f->memory, budget, &t))
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

/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c - a wrong program passes on reference and fails on guard. Public
 * functions only. */

#include <math.h>

#include <sesqui/graph.h>
#include <sesqui/ops.h>

#include "tests/tap.h"

static void need(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        tap_bail("%s: %s: %s", what, ssq_status_name(st), ssq_last_error());
}
#define NEED(CALL) need(CALL, #CALL)

struct manners_bench {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *x, *y;
};

#define N 1000

static struct manners_bench open_bench(const char *name)
{
    struct manners_bench b = {NULL, NULL, NULL, NULL};
    const int64_t n = N;

    NEED(ssq_device_open(name, NULL, &b.dev));
    NEED(ssq_queue_create(b.dev, NULL, &b.q));
    NEED(ssq_tensor_create(b.dev, SSQ_F32, 1, &n, &b.x));
    NEED(ssq_tensor_create(b.dev, SSQ_F16, 1, &n, &b.y));
    return b;
}

static void close_bench(struct manners_bench *b)
{
    ssq_tensor_destroy(&b->x);
    ssq_tensor_destroy(&b->y);
    ssq_queue_destroy(&b->q);
    ssq_device_close(&b->dev);
}

static void fill(struct manners_bench *b, const ssq_tensor *t, double value)
{
    ssq_fill_args args = SSQ_FILL_INIT;

    args.x = t;
    args.value = value;
    NEED(ssq_fill(b->q, &args));
}

static void cast(struct manners_bench *b, const ssq_tensor *x,
                 const ssq_tensor *y)
{
    ssq_cast_args args = SSQ_CAST_INIT;

    args.x = x;
    args.y = y;
    NEED(ssq_cast(b->q, &args));
}

/* The program reads its result before it waits. */
static float forgets_sync(const char *name)
{
    struct manners_bench b = open_bench(name);
    static float out[N];
    float seen;

    memset(out, 0, sizeof(out));
    fill(&b, b.x, 3);
    NEED(ssq_tensor_read(b.q, b.x, out, sizeof(out), SSQ_F32));
    seen = out[N - 1];
    NEED(ssq_queue_sync(b.q));
    if (out[N - 1] != 3)
        tap_diag("%s: even after the sync %g", name, (double)out[N - 1]);
    close_bench(&b);
    return seen;
}

/* The program reuses its host memory before it waits. */
static float reuses_host(const char *name)
{
    struct manners_bench b = open_bench(name);
    static float host[N];
    float out[N];

    for (int i = 0; i < N; i++)
        host[i] = 1;
    NEED(ssq_tensor_write(b.q, b.x, host, sizeof(host), SSQ_F32));
    for (int i = 0; i < N; i++)
        host[i] = 2; /* the next batch, too early */
    NEED(ssq_tensor_read(b.q, b.x, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(b.q));
    close_bench(&b);
    return out[0];
}

/* The program reads what it never wrote, through a cast. */
static bool reads_fresh(const char *name)
{
    struct manners_bench b = open_bench(name);
    float out[N];
    bool all = true;

    cast(&b, b.x, b.y);
    NEED(ssq_tensor_read(b.q, b.y, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(b.q));
    for (int i = 0; i < N; i++)
        all = all && isnan(out[i]);
    close_bench(&b);
    return all;
}

/* The program reads on one queue what another has to make first. */
static bool forgets_wait(const char *name)
{
    struct manners_bench b = open_bench(name);
    ssq_queue *other = NULL;
    float out[N];
    bool poison = true;

    NEED(ssq_queue_create(b.dev, NULL, &other));
    fill(&b, b.x, 4);
    NEED(ssq_tensor_read(other, b.x, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(other));
    for (int i = 0; i < N; i++)
        poison = poison && isnan(out[i]);
    NEED(ssq_queue_sync(b.q));
    ssq_queue_destroy(&other);
    close_bench(&b);
    return poison;
}

/* The program that does all of it right. */
static float right(const char *name)
{
    struct manners_bench b = open_bench(name);
    ssq_queue *other = NULL;
    ssq_event *made = NULL;
    float host[N], out[N];

    NEED(ssq_queue_create(b.dev, NULL, &other));
    NEED(ssq_event_create(b.dev, &made));
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    NEED(ssq_tensor_write(b.q, b.x, host, sizeof(host), SSQ_F32));
    cast(&b, b.x, b.y);
    NEED(ssq_event_record(made, b.q));
    NEED(ssq_queue_wait(other, made));
    NEED(ssq_tensor_read(other, b.y, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(other));
    ssq_event_destroy(&made);
    ssq_queue_destroy(&other);
    close_bench(&b);
    return out[N - 1];
}

int main(void)
{
    float r = forgets_sync("reference"), g = forgets_sync("guard");

    tap_ok(r == 3 && g == 0,
           "a forgotten sync: reference has %g, guard has nothing yet: %g",
           (double)r, (double)g);
    r = reuses_host("reference");
    g = reuses_host("guard");
    tap_ok(r == 1 && g == 2,
           "host memory reused too early: reference %g, guard sees it: %g",
           (double)r, (double)g);
    tap_ok(reads_fresh("guard"),
           "fresh memory, cast to f16, is NaN on guard, all %d", N);
    tap_ok(!forgets_wait("reference") && forgets_wait("guard"),
           "a forgotten wait: reference has the values, guard NaN");
    r = right("reference");
    g = right("guard");
    tap_ok(r == 999 && g == 999, "the right program: %g on both", (double)g);
    return tap_done(5);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - tests of events, and of two queues that wait for each other. */

#include "tests/core/core.h"

static ssq_device *dev;
static ssq_queue *one, *two;
static bool lazy; /* work runs only when someone waits */

static ssq_event *event(void)
{
    ssq_event *e = NULL;

    NEED(ssq_event_create(dev, &e));
    return e;
}

static void copy(ssq_queue *q, const ssq_tensor *x, const ssq_tensor *y)
{
    ssq_copy_args args = SSQ_COPY_INIT;

    args.x = x;
    args.y = y;
    NEED(ssq_copy(q, &args));
}

static void fill(ssq_queue *q, const ssq_tensor *x, double value)
{
    ssq_fill_args args = SSQ_FILL_INIT;

    args.x = x;
    args.value = value;
    NEED(ssq_fill(q, &args));
}

static void test_misuse(void)
{
    ssq_event *e = event(), *foreign = NULL;
    ssq_device *other = core_open("reference");
    double s = 0;

    core_status(ssq_event_query(e), SSQ_ERR_INVALID, "never recorded",
                "query of an event that was never recorded");
    core_status(ssq_event_sync(e), SSQ_ERR_INVALID, "never recorded",
                "sync of it");
    core_status(ssq_queue_wait(one, e), SSQ_ERR_INVALID, "never recorded",
                "wait for it");
    core_status(ssq_event_elapsed(e, e, &s), SSQ_ERR_INVALID, "never recorded",
                "elapsed of it");
    core_status(ssq_event_query(NULL), SSQ_ERR_INVALID, "NULL",
                "query of NULL");
    core_status(ssq_event_sync(NULL), SSQ_ERR_INVALID, "NULL", "sync of NULL");
    core_status(ssq_event_record(NULL, one), SSQ_ERR_INVALID, "NULL",
                "record of NULL");
    core_status(ssq_event_record(e, NULL), SSQ_ERR_INVALID, "NULL",
                "record on NULL");
    core_status(ssq_queue_wait(one, NULL), SSQ_ERR_INVALID, "NULL",
                "wait for NULL");
    core_status(ssq_queue_wait(NULL, e), SSQ_ERR_INVALID, "NULL",
                "wait on NULL");
    core_status(ssq_event_create(NULL, &e), SSQ_ERR_INVALID, "NULL",
                "create on NULL");
    core_status(ssq_event_create(dev, NULL), SSQ_ERR_INVALID, "NULL",
                "create into NULL");
    NEED(ssq_event_create(other, &foreign));
    core_status(ssq_event_record(foreign, one), SSQ_ERR_INVALID, "reference",
                "record of another device's event");
    core_status(ssq_queue_wait(one, foreign), SSQ_ERR_INVALID, "reference",
                "wait for another device's event");
    NEED(ssq_event_record(e, one));
    core_status(ssq_event_elapsed(e, e, NULL), SSQ_ERR_INVALID, "NULL",
                "elapsed into NULL");
    ssq_queue *far = core_queue(other);
    NEED(ssq_event_record(foreign, far));
    NEED(ssq_queue_sync(far));
    NEED(ssq_queue_sync(one));
    core_status(ssq_event_elapsed(e, foreign, &s), SSQ_ERR_INVALID,
                "two devices", "elapsed between two devices");
    ssq_queue_destroy(&far);
    ssq_event_destroy(&e);
    ssq_event_destroy(&e);
    ssq_event_destroy(NULL);
    ssq_event_destroy(&foreign);
    ssq_device_close(&other);
}

static void test_query(void)
{
    ssq_event *e = event(), *f = event();
    ssq_tensor *t = core_vector(dev, SSQ_F32, 4);
    float out[4] = {0};
    double s = -1;

    NEED(ssq_event_record(e, one));
    fill(one, t, 2);
    NEED(ssq_tensor_read(one, t, out, sizeof(out), SSQ_F32));
    NEED(ssq_event_record(f, one));
    if (lazy) {
        core_status(ssq_event_query(f), SSQ_ERR_NOT_READY, NULL,
                    "a mark behind work that was not synced is not ready");
        core_status(ssq_event_elapsed(e, f, &s), SSQ_ERR_NOT_READY, NULL,
                    "nor is the time to it");
        tap_ok(out[0] == 0, "asking runs nothing");
    }
    NEED(ssq_event_sync(f));
    tap_ok(out[3] == 2, "after the event's sync the result is there");
    core_status(ssq_event_query(f), SSQ_OK, NULL, "the event is done");
    core_status(ssq_event_elapsed(e, f, &s), SSQ_OK, NULL,
                "the time between the marks is known");
    tap_ok(s >= 0 && s < 60, "it is %g seconds", s);
    ssq_event_destroy(&e);
    ssq_event_destroy(&f);
    ssq_tensor_destroy(&t);
}

/* An event's sync runs its queue up to the mark, and not further. */
static void test_stops_at_mark(void)
{
    ssq_event *e = event();
    float before = 0, after = 0;
    ssq_tensor *t = core_vector(dev, SSQ_F32, 1);

    fill(one, t, 5);
    NEED(ssq_tensor_read(one, t, &before, sizeof(before), SSQ_F32));
    NEED(ssq_event_record(e, one));
    NEED(ssq_tensor_read(one, t, &after, sizeof(after), SSQ_F32));
    NEED(ssq_event_sync(e));
    tap_ok(before == 5 && after == 0, "work before the mark ran, later not");
    NEED(ssq_event_record(e, one));
    core_status(ssq_event_query(e), SSQ_ERR_NOT_READY, NULL,
                "a second record moves the mark");
    NEED(ssq_queue_sync(one));
    tap_ok(after == 5, "the queue's sync ran the rest");
    ssq_event_destroy(&e);
    ssq_tensor_destroy(&t);
}

static void test_two_queues(void)
{
    ssq_tensor *a = core_vector(dev, SSQ_F32, 4), *b = NULL, *c = NULL;
    ssq_event *e = event(), *f = event();
    float in[4] = {1, 2, 3, 4}, out[4] = {0};

    b = core_vector(dev, SSQ_F32, 4);
    c = core_vector(dev, SSQ_F32, 4);
    NEED(ssq_tensor_write(one, a, in, sizeof(in), SSQ_F32));
    NEED(ssq_event_record(e, one));
    NEED(ssq_queue_wait(two, e));
    copy(two, a, b);
    NEED(ssq_event_record(f, two));
    NEED(ssq_queue_wait(one, f));
    copy(one, b, c);
    NEED(ssq_tensor_read(one, c, out, sizeof(out), SSQ_F32));
    ssq_event_destroy(&e); /* the wait for it is not disturbed */
    ssq_event_destroy(&f);
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&b);
    ssq_tensor_destroy(&c);
    NEED(ssq_queue_sync(one));
    tap_ok(out[0] == 1 && out[3] == 4,
           "queue 1 writes, 2 copies, 1 copies and reads: %g %g",
           (double)out[0], (double)out[3]);
    NEED(ssq_queue_sync(two));
}

/* Without an event the other queue does not run: the result is poison. */
static void test_no_order(void)
{
    ssq_tensor *t = core_vector(dev, SSQ_F32, 4);
    float out[4] = {0};

    fill(one, t, 1);
    NEED(ssq_tensor_read(two, t, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(two));
    tap_ok(out[0] != out[0],
           "a read on queue 2 without a wait for queue 1 sees NaN");
    NEED(ssq_queue_sync(one));
    ssq_tensor_destroy(&t);
}

/* A value goes to and fro n times; only the last queue is synced. The events
 * are recorded again in every round: a wait means the record before it. */
static void test_ping_pong(int n)
{
    ssq_tensor *a = core_vector(dev, SSQ_I32, 1), *b = NULL;
    ssq_event *e = event(), *f = event();
    int32_t *in = calloc((size_t)n, sizeof(*in));
    int32_t *out = calloc((size_t)n, sizeof(*out));
    int wrong = 0;

    b = core_vector(dev, SSQ_I32, 1);
    for (int i = 0; i < n; i++) {
        in[i] = i;
        NEED(ssq_tensor_write(one, a, &in[i], sizeof(in[i]), SSQ_I32));
        NEED(ssq_event_record(e, one));
        NEED(ssq_queue_wait(two, e));
        copy(two, a, b);
        NEED(ssq_tensor_read(two, b, &out[i], sizeof(out[i]), SSQ_I32));
        NEED(ssq_event_record(f, two));
        NEED(ssq_queue_wait(one, f));
    }
    NEED(ssq_queue_sync(one));
    for (int i = 0; i < n; i++)
        wrong += out[i] != i;
    tap_ok(wrong == 0, "%d rounds between two queues: %d wrong values", n,
           wrong);
    free(in);
    free(out);
    ssq_event_destroy(&e);
    ssq_event_destroy(&f);
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&b);
}

/* Several copies are in flight. A staging ring of 1 MiB has enough free bytes
 * for the sixth, but not in one piece: it must not overwrite the second. */
static void test_copies_in_flight(void)
{
    static const int64_t kib[] = {200, 200, 200, 200, 200, 220, 4};
    enum { COPIES = sizeof(kib) / sizeof(kib[0]), MOST = 220 * 256 };
    static int32_t in[COPIES][MOST], out[MOST];
    ssq_tensor *slow = core_vector(dev, SSQ_I32, 1 << 18), *t[COPIES];
    ssq_event *e = event();
    int wrong = 0;

    for (int32_t i = 0; i < COPIES; i++) {
        t[i] = core_vector(dev, SSQ_I32, kib[i] * 256);
        if (i == 1) { /* the first is done, and the others wait */
            NEED(ssq_queue_sync(two));
            fill(one, slow, 1);
            NEED(ssq_event_record(e, one));
            NEED(ssq_queue_wait(two, e));
        }
        for (int32_t k = 0; k < kib[i] * 256; k++)
            in[i][k] = k * COPIES + i;
        NEED(ssq_tensor_write(two, t[i], in[i], sizeof(in[i]), SSQ_I32));
    }
    for (int32_t i = 0; i < COPIES; i++) {
        NEED(ssq_tensor_read(two, t[i], out, sizeof(out), SSQ_I32));
        NEED(ssq_queue_sync(two));
        for (int32_t k = 0; k < kib[i] * 256; k++)
            wrong += out[k] != k * COPIES + i;
        ssq_tensor_destroy(&t[i]);
    }
    tap_ok(wrong == 0, "%d copies in flight: %d wrong values", COPIES, wrong);
    ssq_event_destroy(&e);
    ssq_tensor_destroy(&slow);
}

/* A destroyed queue's work is done, even if an event remembers the queue. */
static void test_destroyed_queue(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *t = core_vector(dev, SSQ_F32, 1);
    ssq_event *e = event();
    float out = 0;

    fill(q, t, 9);
    NEED(ssq_tensor_read(q, t, &out, sizeof(out), SSQ_F32));
    NEED(ssq_event_record(e, q));
    ssq_queue_destroy(&q);
    tap_ok(out == 9, "destroying a queue waits for its work: %g", (double)out);
    core_status(ssq_event_query(e), SSQ_OK, NULL,
                "an event of a destroyed queue is done");
    core_status(ssq_queue_wait(one, e), SSQ_OK, NULL, "and may be waited for");
    NEED(ssq_queue_sync(one));
    ssq_event_destroy(&e);
    ssq_tensor_destroy(&t);
}

int main(void)
{
    for (size_t i = 0; i < core_device_count(); i++) {
        tap_diag("%s", core_device(i));
        dev = core_open(core_device(i));
        lazy = strcmp(core_device(i), "guard") == 0;
        one = core_queue(dev);
        two = core_queue(dev);
        test_misuse();
        test_query();
        if (lazy) {
            test_stops_at_mark();
            test_no_order();
        }
        test_two_queues();
        test_ping_pong(500);
        test_copies_in_flight();
        test_destroyed_queue();
        ssq_queue_destroy(&one);
        ssq_queue_destroy(&two);
        ssq_device_close(&dev);
    }
    return tap_done(57);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c - tests that every trap of the guard backend fires.
 *
 * A test that must crash does so in a child. Ops that break their contract are
 * made by hand and enqueued behind the checks of the public functions. */

#include "lib/core/queue/queue.h"
#include "lib/core/core.h"

#include "tests/core/core.h"

static ssq_device *dev;
static ssq_queue *queue;

/* Where the device keeps a tensor's first byte. */
static unsigned char *device_pointer(const ssq_tensor *t)
{
    return view_host(&t->view);
}

static int read_byte(void *arg)
{
    return *(volatile unsigned char *)arg & 0;
}

static int write_byte(void *arg)
{
    *(volatile unsigned char *)arg = 1;
    return 0;
}

/* Fill a view of t as it says; sync. 0: that went well. */
static int run_fill(const struct view *y)
{
    struct fill_op op = {.op = OP_HEADER(fill, y), .bits = 0, .y = *y};

    if (queue_enqueue(queue, &op.op) != SSQ_OK)
        return 2;
    return ssq_queue_sync(queue) == SSQ_OK ? 0 : 1;
}

static int run_fill_child(void *arg)
{
    return run_fill(arg);
}

static void fill(ssq_tensor *t, double value)
{
    ssq_fill_args args = SSQ_FILL_INIT;

    args.x = t;
    args.value = value;
    NEED(ssq_fill(queue, &args));
}

static void test_host_access(void)
{
    ssq_tensor *t = core_vector(dev, SSQ_F32, 5);
    unsigned char *p = device_pointer(t);
    int st = tap_fork(read_byte, p, 10);

    tap_ok(tap_killed(st, SIGSEGV), "the host reads fresh device memory: %s",
           tap_status(st));
    st = tap_fork(write_byte, p, 10);
    tap_ok(tap_killed(st, SIGSEGV), "the host writes it: %s", tap_status(st));
    fill(t, 1);
    NEED(ssq_queue_sync(queue));
    st = tap_fork(read_byte, p, 10);
    tap_ok(tap_killed(st, SIGSEGV), "the host reads it after a sync: %s",
           tap_status(st));
    st = tap_fork(write_byte, p + 19, 10);
    tap_ok(tap_killed(st, SIGSEGV), "the host writes its last byte then: %s",
           tap_status(st));
    ssq_tensor_destroy(&t);
    st = tap_fork(read_byte, p, 10);
    tap_ok(tap_killed(st, SIGSEGV), "the host reads freed device memory: %s",
           tap_status(st));
}

static void test_missing_sync(void)
{
    ssq_tensor *t = core_vector(dev, SSQ_F32, 3);
    float host[3] = {-1, -1, -1};

    fill(t, 7);
    NEED(ssq_tensor_read(queue, t, host, sizeof(host), SSQ_F32));
    tap_ok(host[0] == -1 && host[2] == -1,
           "without a sync the result of a read is not there: %g",
           (double)host[0]);
    core_status(ssq_queue_status(queue), SSQ_ERR_NOT_READY, "2",
                "the queue says that 2 commands are left");
    tap_ok(host[0] == -1, "asking does not run them");
    NEED(ssq_queue_sync(queue));
    tap_ok(host[0] == 7 && host[2] == 7, "after the sync it is: %g",
           (double)host[0]);
    core_status(ssq_queue_status(queue), SSQ_OK, NULL, "the queue is idle");
    ssq_tensor_destroy(&t);
}

static uint64_t submissions(void)
{
    ssq_queue_stats stats = SSQ_QUEUE_STATS_INIT;
    NEED(ssq_queue_stats_get(queue, &stats));
    return stats.submissions;
}

static void test_stats(void)
{
    ssq_tensor *t = core_vector(dev, SSQ_F32, 3);
    ssq_queue_stats stats = SSQ_QUEUE_STATS_INIT;
    ssq_graph *graph = NULL;
    uint64_t before = submissions();
    fill(t, 1);
    fill(t, 2);
    tap_ok(submissions() == before + 2, "two ops are two submissions");
    NEED(ssq_graph_begin(queue));
    fill(t, 3);
    tap_ok(submissions() == before + 2, "what is captured is none");
    NEED(ssq_graph_end(queue, &graph));
    NEED(ssq_graph_launch(queue, graph));
    tap_ok(submissions() == before + 3, "a graph of one op is one");
    NEED(ssq_queue_sync(queue));
    tap_ok(submissions() == before + 3, "a sync is none");
    core_status(ssq_queue_stats_get(NULL, &stats), SSQ_ERR_INVALID, "NULL",
                "the stats of no queue");
    core_status(ssq_queue_stats_get(queue, NULL), SSQ_ERR_INVALID,
                "stats is NULL", "stats into nothing");
    stats.struct_size = 3;
    core_status(ssq_queue_stats_get(queue, &stats), SSQ_ERR_INVALID,
                "3|expected 16", "stats of another size");
    ssq_graph_destroy(&graph);
    ssq_tensor_destroy(&t);
}

static void test_late_host(void)
{
    ssq_tensor *t = core_vector(dev, SSQ_F32, 300), *h = NULL;
    float in[300], out[300] = {0};

    h = core_vector(dev, SSQ_F16, 300);
    for (int i = 0; i < 300; i++)
        in[i] = 1;
    NEED(ssq_tensor_write(queue, t, in, sizeof(in), SSQ_F32));
    NEED(ssq_tensor_write(queue, h, in, sizeof(in), SSQ_F32));
    in[299] = 5;
    NEED(ssq_tensor_read(queue, t, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    tap_ok(out[0] == 1 && out[299] == 5,
           "host memory changed before the sync is seen: %g", (double)out[299]);
    NEED(ssq_tensor_read(queue, h, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    tap_ok(out[0] == 1 && out[299] == 5, "also through a conversion to f16: %g",
           (double)out[299]);
    ssq_tensor_destroy(&t);
    ssq_tensor_destroy(&h);
}

static bool all_nan(ssq_dtype dtype, int64_t n)
{
    ssq_tensor *t = core_vector(dev, dtype, n);
    float out[100];
    bool all = true;

    NEED(ssq_tensor_read(queue, t, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    for (int i = 0; i < n; i++)
        all = all && out[i] != out[i];
    ssq_tensor_destroy(&t);
    return all;
}

static void test_fresh(void)
{
    tap_ok(all_nan(SSQ_F32, 99), "99 fresh f32 are NaN");
    tap_ok(all_nan(SSQ_F16, 99), "99 fresh f16 are NaN");
    tap_ok(all_nan(SSQ_BF16, 99), "99 fresh bf16 are NaN");
}

/* Its own queue, for it will be sticky. Fill elements [first, first + n)
 * of a vector of `have`. */
static ssq_status fill_range(ssq_dtype dtype, int64_t have, int64_t first,
                             int64_t n)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *t = core_vector(dev, dtype, have);
    struct view v = tensor_view(t, ACCESS_WRITE);
    ssq_status st;

    v.offset += (uint64_t)first * dtype_bytes(dtype);
    v.shape[0] = n;
    struct fill_op op = {.op = OP_HEADER(fill, y), .bits = 0, .y = v};
    NEED(queue_enqueue(q, &op.op));
    st = ssq_queue_sync(q);
    ssq_tensor_destroy(&t);
    if (st != SSQ_OK) {
        char text[1100];

        snprintf(text, sizeof(text), "%s", ssq_last_error());
        if (ssq_queue_sync(q) != st || strcmp(text, ssq_last_error()) != 0 ||
            ssq_queue_status(q) != st || strcmp(text, ssq_last_error()) != 0)
            st = SSQ_OK; /* not sticky: no case expects that */
    }
    ssq_queue_destroy(&q);
    return st;
}

static void test_overrun(void)
{
    core_status(fill_range(SSQ_F32, 16, 0, 16), SSQ_OK, NULL,
                "a fill of 16 of 16 f32");
    core_status(fill_range(SSQ_F32, 16, 0, 17), SSQ_ERR_DEVICE,
                "guard: fill|past the end|64 bytes",
                "a fill of 17 of 16 f32 is found, sticky");
    core_status(fill_range(SSQ_F32, 16, -1, 17), SSQ_ERR_DEVICE,
                "guard: fill|before the start|64 bytes",
                "a fill from element -1 is found, sticky");
    core_status(fill_range(SSQ_U8, 101, 100, 2), SSQ_ERR_DEVICE,
                "guard: fill wrote 0 bytes past|101 bytes",
                "a fill of byte 101 of 101 is found: no padding hides it");
    core_status(fill_range(SSQ_F32, 1000, 1063, 1), SSQ_ERR_DEVICE,
                "252 bytes past the end",
                "a fill of element 1063 of 1000 is found");
    core_status(fill_range(SSQ_F32, 1000, -64, 1), SSQ_ERR_DEVICE,
                "256 bytes before the start", "a fill of element -64 is found");
}

static void test_far_overrun(void)
{
    ssq_tensor *t = core_vector(dev, SSQ_F32, 16);
    struct view v = tensor_view(t, ACCESS_WRITE);
    int st;

    v.shape[0] = 1 << 20;
    st = tap_fork(run_fill_child, &v, 10);
    tap_ok(tap_killed(st, SIGSEGV), "a fill of 2^20 of 16 f32: %s",
           tap_status(st));
    v.shape[0] = 1;
    v.offset -= 4096;
    st = tap_fork(run_fill_child, &v, 10);
    tap_ok(tap_killed(st, SIGSEGV), "a fill 4096 bytes before a buffer: %s",
           tap_status(st));
    ssq_tensor_destroy(&t);
}

/* Memory outside of a buffer reads as NaN, too. */
static void test_read_overrun(void)
{
    static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};

    for (int k = 0; k < 3; k++) {
        ssq_tensor *t = core_vector(dev, dtypes[k], 64);
        ssq_tensor *y = core_vector(dev, dtypes[k], 3);
        struct copy_op op = {.op = OP_HEADER(copy, x)};
        float out[3];

        fill(t, 1);
        op.x = tensor_view(t, ACCESS_READ);
        op.y = tensor_view(y, ACCESS_WRITE);
        op.x.offset = 63 * dtype_bytes(dtypes[k]);
        op.x.shape[0] = 3;
        NEED(queue_enqueue(queue, &op.op));
        NEED(ssq_tensor_read(queue, y, out, sizeof(out), SSQ_F32));
        NEED(ssq_queue_sync(queue));
        tap_ok(out[0] == 1 && out[1] != out[1] && out[2] != out[2],
               "elements 64 and 65 of 64 %s read as NaN",
               ssq_dtype_name(dtypes[k]));
        ssq_tensor_destroy(&t);
        ssq_tensor_destroy(&y);
    }
}

static void test_writes_input(void)
{
    ssq_tensor *t = core_vector(dev, SSQ_F32, 16);
    struct view v = tensor_view(t, ACCESS_READ);
    int st = tap_fork(run_fill_child, &v, 10);

    tap_ok(tap_killed(st, SIGSEGV), "an op that writes what it only reads: %s",
           tap_status(st));
    v.access = ACCESS_UPDATE;
    st = tap_fork(run_fill_child, &v, 10);
    tap_ok(tap_exited(st, 0), "an op that updates it: %s", tap_status(st));
    ssq_tensor_destroy(&t);
}

/* The buffer of the command before is closed when the next one runs. */
static int touch_other(void *arg)
{
    ssq_tensor **t = arg;
    struct view v = tensor_view(t[0], ACCESS_WRITE);

    fill(t[1], 1);
    v.offset =
        (uint64_t)(device_pointer(t[1]) - device_pointer(t[0])); /* wraps */
    return run_fill(&v);
}

static int touch_own(void *arg)
{
    ssq_tensor **t = arg;
    struct view v = tensor_view(t[0], ACCESS_WRITE);

    fill(t[1], 1);
    return run_fill(&v);
}

static void test_other_buffer(void)
{
    ssq_tensor *t[2] = {core_vector(dev, SSQ_F32, 16),
                        core_vector(dev, SSQ_F32, 16)};
    int st = tap_fork(touch_other, t, 10);

    tap_ok(tap_killed(st, SIGSEGV),
           "an op that writes the buffer of the command before it: %s",
           tap_status(st));
    st = tap_fork(touch_own, t, 10);
    tap_ok(tap_exited(st, 0), "the same op on its own buffer: %s",
           tap_status(st));
    ssq_tensor_destroy(&t[0]);
    ssq_tensor_destroy(&t[1]);
}

/* Commands after a failure do not run, on this queue or on one that waits
 * for it; no one waits for ever. */
static void test_failure_spreads(void)
{
    ssq_queue *bad = core_queue(dev), *next = core_queue(dev);
    ssq_tensor *t = core_vector(dev, SSQ_F32, 4);
    ssq_event *e = NULL;
    float out[4] = {-1, -1, -1, -1};
    struct view v = tensor_view(t, ACCESS_WRITE);
    char text[1100];

    NEED(ssq_event_create(dev, &e));
    v.shape[0] = 5;
    struct fill_op op = {.op = OP_HEADER(fill, y), .bits = 0, .y = v};
    NEED(queue_enqueue(bad, &op.op));
    NEED(ssq_tensor_read(bad, t, out, sizeof(out), SSQ_F32));
    NEED(ssq_event_record(e, bad));
    NEED(ssq_queue_wait(next, e));
    NEED(ssq_tensor_read(next, t, out, sizeof(out), SSQ_F32));
    core_status(ssq_queue_sync(next), SSQ_ERR_DEVICE, "fill|past the end",
                "a queue that waits for a failed one fails with its text");
    tap_ok(out[0] == -1, "and what it had to do is not done");
    core_status(ssq_queue_status(bad), SSQ_ERR_DEVICE, "fill|past the end",
                "the failed queue is not done without an error");
    core_status(ssq_event_sync(e), SSQ_ERR_DEVICE, "fill|past the end",
                "the event's sync answers the same");
    snprintf(text, sizeof(text), "%s", ssq_last_error());
    core_status(ssq_queue_sync(bad), SSQ_ERR_DEVICE, text,
                "the failed queue, too");
    core_status(ssq_tensor_read(bad, t, out, sizeof(out), SSQ_F32),
                SSQ_ERR_DEVICE, text, "and every later call on it");
    ssq_event_destroy(&e);
    ssq_queue_destroy(&bad);
    ssq_queue_destroy(&next);
    ssq_tensor_destroy(&t);
}

/* The error that a query of an event has returned stays with the queue. */
static void test_query_fails(void)
{
    ssq_queue *bad = core_queue(dev), *next = core_queue(dev);
    ssq_tensor *t = core_vector(dev, SSQ_F32, 4);
    ssq_event *e = NULL;
    struct view v = tensor_view(t, ACCESS_WRITE);
    v.shape[0] = 5;
    struct fill_op op = {.op = OP_HEADER(fill, y), .bits = 0, .y = v};
    NEED(ssq_event_create(dev, &e));
    NEED(queue_enqueue(bad, &op.op));
    NEED(ssq_event_record(e, bad));
    NEED(ssq_queue_wait(next, e));
    (void)!ssq_queue_sync(next); /* runs the work of both */
    core_status(ssq_event_query(e), SSQ_ERR_DEVICE, "fill|past the end",
                "a query finds the failure");
    core_status(queue_check(bad, "test"), SSQ_ERR_DEVICE, "fill|past the end",
                "and the queue keeps it");
    ssq_event_destroy(&e);
    ssq_queue_destroy(&bad);
    ssq_queue_destroy(&next);
    ssq_tensor_destroy(&t);
}

/* Mixed rights: many buffers, read here and written there, in one sync. */
static void test_many_buffers(void)
{
    enum { N = 200 };
    ssq_tensor *t[N];
    float out[4];

    for (int i = 0; i < N; i++)
        t[i] = core_vector(dev, SSQ_F32, 4);
    fill(t[0], 3);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < N; i++) {
            ssq_copy_args args = SSQ_COPY_INIT;

            args.x = t[i];
            args.y = t[(i + 1) % N];
            NEED(ssq_copy(queue, &args));
        }
    NEED(ssq_tensor_read(queue, t[N / 2], out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    tap_ok(out[0] == 3 && out[3] == 3, "600 copies round 200 buffers: %g",
           (double)out[3]);
    for (int i = 0; i < N; i++)
        ssq_tensor_destroy(&t[i]);
}

int main(void)
{
    dev = core_open("guard");
    queue = core_queue(dev);
    test_host_access();
    test_missing_sync();
    test_stats();
    test_late_host();
    test_fresh();
    test_overrun();
    test_far_overrun();
    test_read_overrun();
    test_writes_input();
    test_other_buffer();
    test_failure_spreads();
    test_query_fails();
    test_many_buffers();
    ssq_queue_destroy(&queue);
    ssq_device_close(&dev);
    return tap_done(36);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - tests of captured sequences: replay, illegal calls inside,
 * stages. */

#include <pthread.h>

#include "lib/core/core.h"

#include "tests/core/core.h"

static ssq_device *dev;
static ssq_queue *q;

static ssq_status copy(const ssq_tensor *x, const ssq_tensor *y)
{
    ssq_copy_args args = SSQ_COPY_INIT;

    args.x = x;
    args.y = y;
    return ssq_copy(q, &args);
}

/* x and y change places, through t. */
static ssq_graph *capture_swap(const ssq_tensor *x, const ssq_tensor *y,
                               const ssq_tensor *t)
{
    ssq_graph *g = NULL;

    NEED(ssq_graph_begin(q));
    NEED(copy(x, t));
    NEED(copy(y, x));
    NEED(copy(t, y));
    NEED(ssq_graph_end(q, &g));
    return g;
}

static float first(const ssq_tensor *t)
{
    float out[4] = {0};

    NEED(ssq_tensor_read(q, t, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(q));
    return out[0];
}

static ssq_tensor *filled(double value)
{
    ssq_fill_args args = SSQ_FILL_INIT;
    ssq_tensor *t = core_vector(dev, SSQ_F32, 4);

    args.x = t;
    args.value = value;
    NEED(ssq_fill(q, &args));
    return t;
}

static void test_replay(void)
{
    ssq_tensor *x = filled(1), *y = filled(2), *t = filled(0);
    ssq_graph *g = capture_swap(x, y, t);
    ssq_queue *other = core_queue(dev);

    tap_ok(ssq_graph_ops(g) == 3 && ssq_graph_ops(NULL) == 0,
           "a graph of %zu ops; NULL has 0", ssq_graph_ops(g));
    tap_ok(first(x) == 1 && first(y) == 2, "capturing runs nothing");
    for (int i = 1; i <= 3; i++) {
        NEED(ssq_graph_launch(q, g));
        float a = first(x), b = first(y);
        tap_ok(a == (i % 2 == 1 ? 2 : 1) && a + b == 3,
               "launch %d swaps 1 and 2: %g %g", i, (double)a, (double)b);
    }
    NEED(ssq_graph_launch(q, g));
    NEED(ssq_graph_launch(q, g));
    NEED(ssq_graph_launch(q, g));
    tap_ok(first(x) == 1, "three launches in a row");
    NEED(ssq_queue_sync(q));
    NEED(ssq_graph_launch(other, g));
    NEED(ssq_queue_sync(other));
    tap_ok(first(x) == 2, "a launch on another queue of the device");
    ssq_tensor_destroy(&t);
    NEED(ssq_graph_launch(q, g));
    ssq_graph_destroy(&g);
    tap_ok(first(x) == 1,
           "the graph holds its buffers, a launch outlives the graph");
    ssq_graph_destroy(&g);
    ssq_graph_destroy(NULL);
    ssq_queue_destroy(&other);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
}

static void test_misuse(void)
{
    ssq_device *far = core_open("reference");
    ssq_queue *far_queue = core_queue(far);
    ssq_tensor *x = filled(1), *y = filled(2), *t = filled(0);
    ssq_graph *g = capture_swap(x, y, t), *none = NULL;

    core_status(ssq_graph_begin(NULL), SSQ_ERR_INVALID, "NULL",
                "begin on NULL");
    core_status(ssq_graph_end(NULL, &none), SSQ_ERR_INVALID, "NULL",
                "end on NULL");
    core_status(ssq_graph_end(q, &none), SSQ_ERR_INVALID,
                "no graph is being captured", "end without a begin");
    core_status(ssq_graph_launch(q, NULL), SSQ_ERR_INVALID, "NULL",
                "launch of NULL");
    core_status(ssq_graph_launch(NULL, g), SSQ_ERR_INVALID, "NULL",
                "launch on NULL");
    core_status(ssq_graph_launch(far_queue, g), SSQ_ERR_INVALID,
                "another device", "launch on another device");
    tap_ok(none == NULL, "no result was written");
    ssq_graph_destroy(&g);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_tensor_destroy(&t);
    ssq_queue_destroy(&far_queue);
    ssq_device_close(&far);
}

/* Everything that is illegal in a capture is refused, and the capture goes
 * on: its graph holds the three copies round the refusals. */
static void test_inside(void)
{
    ssq_tensor *x = filled(1), *y = filled(2), *t = filled(0), *fresh = NULL;
    ssq_graph *g = NULL, *other = capture_swap(x, y, t);
    ssq_buffer *b = NULL;
    ssq_event *e = NULL;
    ssq_copy_args bad = SSQ_COPY_INIT;
    float host[4] = {0};
    double s;

    NEED(ssq_event_create(dev, &e));
    NEED(ssq_event_record(e, q));
    NEED(ssq_queue_sync(q));
    NEED(ssq_graph_begin(q));
    NEED(copy(x, t));
    core_status(ssq_queue_sync(q), SSQ_ERR_INVALID, "captured", "inside: sync");
    core_status(ssq_tensor_write(q, x, host, sizeof(host), SSQ_F32),
                SSQ_ERR_INVALID, "captured", "inside: write");
    core_status(ssq_tensor_read(q, x, host, sizeof(host), SSQ_F16),
                SSQ_ERR_INVALID, "captured", "inside: read");
    core_status(ssq_event_record(e, q), SSQ_ERR_INVALID, "captured",
                "inside: record");
    core_status(ssq_queue_wait(q, e), SSQ_ERR_INVALID, "captured",
                "inside: wait");
    core_status(ssq_event_sync(e), SSQ_ERR_INVALID, "captured",
                "inside: sync of the queue's event");
    core_status(ssq_event_query(e), SSQ_ERR_INVALID, "captured",
                "inside: query of the queue's event");
    core_status(ssq_event_elapsed(e, e, &s), SSQ_ERR_INVALID, "captured",
                "inside: time of the queue's event");
    NEED(copy(y, x));
    core_status(ssq_buffer_create(dev, 4, &b), SSQ_ERR_INVALID, "captured",
                "inside: a buffer");
    core_status(ssq_tensor_create(dev, SSQ_F32, 0, NULL, &fresh),
                SSQ_ERR_INVALID, "captured", "inside: a tensor");
    core_status(ssq_graph_begin(q), SSQ_ERR_INVALID, "captured",
                "inside: another begin");
    core_status(ssq_graph_launch(q, other), SSQ_ERR_INVALID, "captured",
                "inside: a launch");
    core_status(ssq_graph_end(q, NULL), SSQ_ERR_INVALID, "NULL",
                "inside: end into NULL");
    core_status(ssq_copy(q, &bad), SSQ_ERR_INVALID, "NULL",
                "inside: an op with bad arguments");
    NEED(copy(t, y));
    core_status(ssq_graph_end(q, &g), SSQ_OK, NULL, "the capture still ends");
    tap_ok(ssq_graph_ops(g) == 3, "with %zu ops", ssq_graph_ops(g));
    NEED(ssq_graph_launch(q, g));
    tap_ok(first(x) == 2 && first(y) == 1, "that swap 1 and 2");
    core_status(ssq_buffer_create(dev, 4, &b), SSQ_OK, NULL,
                "buffers can be made again");
    ssq_buffer_destroy(&b);
    ssq_graph_destroy(&g);
    ssq_graph_destroy(&other);
    ssq_event_destroy(&e);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_tensor_destroy(&t);
}

/* The calls of another thread while this one captures on q. */
struct graph_other {
    int bad; /* on its own queue and tensors */
    ssq_status op, end;
    char op_text[256], end_text[256];
    const ssq_tensor *x, *t; /* of the thread that captures */
    ssq_graph *mine;
};

static void *work_beside(void *arg)
{
    struct graph_other *o = arg;
    ssq_queue *own = core_queue(dev), *keep = q;
    ssq_graph *g = NULL;

    o->op = copy(o->x, o->t);
    snprintf(o->op_text, sizeof(o->op_text), "%s", ssq_last_error());
    o->end = ssq_graph_end(keep, &g);
    snprintf(o->end_text, sizeof(o->end_text), "%s", ssq_last_error());
    for (int i = 0; i < 20; i++) {
        ssq_tensor *t = NULL;
        ssq_buffer *b = NULL;
        ssq_fill_args fill = SSQ_FILL_INIT;
        int64_t n = 4;
        float out[4] = {0};

        o->bad += ssq_tensor_create(dev, SSQ_F32, 1, &n, &t) != SSQ_OK;
        o->bad += ssq_buffer_create(dev, 4, &b) != SSQ_OK;
        fill.x = t;
        fill.value = i;
        o->bad += ssq_fill(own, &fill) != SSQ_OK;
        o->bad += ssq_tensor_read(own, t, out, sizeof(out), SSQ_F32) != SSQ_OK;
        o->bad += ssq_queue_sync(own) != SSQ_OK || out[3] != (float)i;
        ssq_buffer_destroy(&b);
        ssq_tensor_destroy(&t);
    }
    /* its own capture, of which the other one knows nothing */
    o->bad += ssq_graph_begin(own) != SSQ_OK;
    o->bad += ssq_graph_end(own, &o->mine) != SSQ_OK;
    ssq_queue_destroy(&own);
    return NULL;
}

static void test_beside(void)
{
    ssq_tensor *x = filled(1), *t = filled(0);
    struct graph_other o = {.x = x, .t = t};
    ssq_graph *g = NULL;
    ssq_buffer *b = NULL;
    pthread_t thread;

    NEED(ssq_graph_begin(q));
    NEED(copy(x, t));
    if (pthread_create(&thread, NULL, work_beside, &o) != 0)
        tap_bail("no thread");
    core_status(ssq_buffer_create(dev, 4, &b), SSQ_ERR_INVALID, "captured",
                "this thread captures, and makes no buffers");
    pthread_join(thread, NULL);
    tap_ok(o.bad == 0, "another makes tensors and runs ops: %d calls fail",
           o.bad);
    tap_ok(o.op == SSQ_ERR_INVALID && core_has(o.op_text, "another thread"),
           "but not on the queue of the capture: %s", o.op_text);
    tap_ok(o.end == SSQ_ERR_INVALID && core_has(o.end_text, "another thread"),
           "nor does it end that: %s", o.end_text);
    core_status(ssq_graph_end(q, &g), SSQ_OK, NULL, "who began it does");
    tap_ok(ssq_graph_ops(g) == 1, "the graph has its own op alone: %zu",
           ssq_graph_ops(g));
    ssq_graph_destroy(&g);
    ssq_graph_destroy(&o.mine);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&t);
}

static void test_dropped(void)
{
    ssq_queue *lost = core_queue(dev);
    ssq_buffer *b = NULL;

    NEED(ssq_graph_begin(lost));
    ssq_queue_destroy(&lost);
    core_status(ssq_buffer_create(dev, 4, &b), SSQ_OK, NULL,
                "destroying a queue ends its capture");
    ssq_buffer_destroy(&b);
}

/* Ops that need scratch may be captured; the graph keeps the scratch. */
static void test_empty(void)
{
    ssq_graph *g = NULL;

    NEED(ssq_graph_begin(q));
    NEED(ssq_graph_end(q, &g));
    tap_ok(ssq_graph_ops(g) == 0, "an empty graph");
    core_status(ssq_graph_launch(q, g), SSQ_OK, NULL, "is launched");
    ssq_graph_destroy(&g);
}

/* A dry capture refuses what a capture refuses, lets make what a capture does
 * not, and leaves nothing behind. */
static void test_dry(void)
{
    ssq_tensor *x = filled(1), *y = filled(2), *made = NULL;
    ssq_graph *g = NULL;
    ssq_copy_args bad = SSQ_COPY_INIT;
    ssq_sum_args sum = SSQ_SUM_INIT;
    int64_t one = 1;

    NEED(ssq_queue_sync(q));
    core_status(ssq_graph_begin_dry(NULL), SSQ_ERR_INVALID, "NULL",
                "a dry capture on NULL");
    NEED(ssq_graph_begin_dry(q));
    core_status(copy(x, y), SSQ_OK, NULL, "dry: an op that would run");
    core_status(ssq_tensor_create(dev, SSQ_F32, 1, &one, &made), SSQ_OK, NULL,
                "dry: a tensor");
    sum.x = x;
    sum.y = made;
    core_status(ssq_sum(q, &sum), SSQ_OK, NULL, "dry: an op with scratch");
    core_status(ssq_copy(q, &bad), SSQ_ERR_INVALID, "NULL",
                "dry: an op with bad arguments");
    core_status(ssq_queue_sync(q), SSQ_ERR_INVALID, "captured", "dry: a sync");
    core_status(ssq_graph_begin(q), SSQ_ERR_INVALID, "captured",
                "dry: a capture");
    core_status(ssq_graph_end(q, &g), SSQ_OK, NULL, "dry: the end");
    tap_ok(g == NULL, "gives no graph");
    tap_ok(first(x) == 1 && first(y) == 2, "and nothing has run");
    core_status(ssq_graph_begin(q), SSQ_OK, NULL, "the next capture keeps");
    NEED(copy(x, y));
    NEED(ssq_graph_end(q, &g));
    tap_ok(ssq_graph_ops(g) == 1, "what it is given");
    ssq_graph_destroy(&g);
    ssq_tensor_destroy(&made);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
}

/* A dry capture allocates no memory for the temporary data of a call: 4 MiB of
 * reserve for each LSTM here. */
static void test_dry_memory(void)
{
    ssq_memory_info before = SSQ_MEMORY_INFO_INIT, after = before;
    ssq_tensor *x = NULL, *w = NULL, *y = NULL;
    ssq_graph *none = NULL;
    const int64_t steps[] = {512, 8, 64}, weight[] = {256, 64};

    NEED(ssq_tensor_create(dev, SSQ_F32, 3, steps, &x));
    NEED(ssq_tensor_create(dev, SSQ_F32, 3, steps, &y));
    NEED(ssq_tensor_create(dev, SSQ_F32, 2, weight, &w));
    NEED(ssq_device_memory(dev, &before));
    NEED(ssq_graph_begin_dry(q));
    core_status(ssq_lstm(q, SSQ_LSTM(.x = x, .w_ih = w, .w_hh = w, .y = y)),
                SSQ_OK, NULL, "dry: an LSTM that would run");
    NEED(ssq_device_memory(dev, &after));
    NEED(ssq_graph_end(q, &none));
    tap_ok(after.in_use == before.in_use && after.peak == before.peak,
           "and takes no memory: %llu bytes, then %llu",
           (unsigned long long)before.in_use, (unsigned long long)after.in_use);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&w);
    ssq_tensor_destroy(&y);
}

/* Something with a stage: a number. */
struct staged {
    struct object object;
    int stage, launches;
};

static int freed, snapshots;

static void count_free(struct object *o)
{
    (void)o;
    freed++;
}

static ssq_status save(struct object *owner, void *snapshot)
{
    *(int *)snapshot = ((struct staged *)owner)->stage;
    snapshots++;
    return SSQ_OK;
}

static void restore(struct object *owner, const void *snapshot)
{
    ((struct staged *)owner)->stage = *(const int *)snapshot;
}

static void drop(void *snapshot)
{
    snapshots -= *(int *)snapshot != 0;
}

/* Modulo 10: the rest may differ. */
static int number(const void *snapshot)
{
    return *(const int *)snapshot % 10;
}

static void launched(ssq_queue *queue, struct object *owner, const void *begin,
                     const void *end)
{
    struct staged *s = (struct staged *)owner;
    (void)queue;
    s->launches += *(const int *)end - *(const int *)begin;
}

static ssq_status ready(struct object *owner, const void *begin,
                        const void *end)
{
    const int *from = begin, *to = end;
    const int stage = ((struct staged *)owner)->stage;
    return stage == *from || *to == *from
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID, "stage %d", stage);
}

static const struct stages counted = {.what = "scaler",
                                      .bytes = sizeof(int),
                                      .save = save,
                                      .restore = restore,
                                      .drop = drop,
                                      .number = number,
                                      .ready = ready,
                                      .launched = launched};
static const struct stages quiet = {.what = "optimizer",
                                    .bytes = sizeof(int),
                                    .save = save,
                                    .restore = restore,
                                    .drop = drop,
                                    .number = number};

/* An object with stages must be at the end what it was at the begin, and is
 * after the capture what it was before, however it ends. */
static void test_stages(void)
{
    struct staged s = {.stage = 3}, t = {.stage = 7};
    ssq_queue *other = core_queue(dev);
    ssq_graph *g = NULL;

    object_init(&s.object, count_free);
    object_init(&t.object, count_free);
    core_status(capture_watch(q, &s.object, &counted), SSQ_OK, NULL,
                "outside of a capture nothing is watched");
    tap_ok(atomic_load(&s.object.refs) == 1 && snapshots == 0, "nor held");
    for (int end = 2; end <= 4; end += 2) {
        char text[32];
        snprintf(text, sizeof(text), "scaler|is %d|was 3", end);
        NEED(ssq_graph_begin(q));
        NEED(capture_watch(q, &s.object, &counted));
        s.stage = end;
        NEED(capture_watch(q, &s.object, &counted));
        core_status(ssq_graph_end(q, &g), SSQ_ERR_INVALID, text,
                    "a stage of %d that was 3 at the begin", end);
        tap_ok(s.stage == 3, "is 3 again when the end is refused");
    }
    core_status(ssq_graph_end(q, &g), SSQ_ERR_INVALID, "no graph",
                "the capture was dropped");
    NEED(ssq_graph_begin(other));
    NEED(capture_watch(other, &s.object, &counted));
    s.stage = 4;
    ssq_queue_destroy(&other);
    tap_ok(s.stage == 3, "and when the queue is destroyed");
    NEED(ssq_graph_begin(q));
    NEED(capture_watch(q, &s.object, &counted));
    NEED(capture_watch(q, &t.object, &quiet));
    s.stage = 23;
    core_status(ssq_graph_end(q, &g), SSQ_OK, NULL,
                "a stage of 3 that was 3 at the begin");
    tap_ok(s.stage == 3, "a capture that succeeds has run nothing either");
    tap_ok(atomic_load(&t.object.refs) == 1 && g != NULL,
           "who does not hear of launches is let go of");
    NEED(ssq_graph_launch(q, g));
    NEED(ssq_graph_launch(q, g));
    tap_ok(s.launches == 40, "who does is told how far the capture went");
    s.stage = 4;
    core_status(ssq_graph_launch(q, g), SSQ_ERR_INVALID, "stage 4",
                "an owner at another stage refuses a launch");
    tap_ok(s.launches == 40, "which is then not told");
    s.stage = 3;
    ssq_graph_destroy(&g);
    tap_ok(atomic_load(&s.object.refs) == 1 && freed == 0 && snapshots == 0,
           "until the graph goes; no snapshot is left");
    object_put(&s.object);
    object_put(&t.object);
}

int main(void)
{
    for (size_t i = 0; i < core_device_count(); i++) {
        tap_diag("%s", core_device(i));
        dev = core_open(core_device(i));
        q = core_queue(dev);
        freed = 0;
        test_replay();
        test_misuse();
        test_inside();
        test_beside();
        test_dropped();
        test_empty();
        test_dry();
        test_dry_memory();
        test_stages();
        ssq_queue_destroy(&q);
        ssq_device_close(&dev);
    }
    return tap_done(124);
}

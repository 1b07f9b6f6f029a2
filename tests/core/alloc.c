/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - tests of the allocation callbacks, and of the library when the
 * Nth allocation fails: once, and from then on.
 *
 * Every N over one small program with a device, queues, tensors, views, an
 * event, a graph and copies. Nothing may crash or leak, and what failed says
 * NOMEM. */

#include "tests/core/core.h"

static struct {
    long allocs, frees; /* calls that returned memory, and frees */
    long calls;         /* calls of alloc */
    long fail_at;       /* which of them fails; 0 none */
    bool for_ever;      /* and all after it */
    long refused;
} counts;

static void *count_alloc(void *user, size_t bytes)
{
    long i = ++counts.calls;

    if (user != &counts || bytes == 0)
        abort();
    if (counts.fail_at != 0 &&
        (i == counts.fail_at || (counts.for_ever && i > counts.fail_at))) {
        counts.refused++;
        return NULL;
    }
    counts.allocs++;
    return malloc(bytes);
}

static void count_free(void *user, void *p)
{
    if (user != &counts || p == NULL)
        abort();
    counts.frees++;
    free(p);
}

static const ssq_allocator allocator = {sizeof(allocator), count_alloc,
                                        count_free, &counts};

/* All that the program holds. */
struct things {
    ssq_device *dev;
    ssq_queue *q, *r;
    ssq_tensor *x, *y, *h, *view;
    ssq_buffer *buffer;
    ssq_event *event;
    ssq_graph *graph;
};

static void drop(struct things *t)
{
    ssq_tensor_destroy(&t->view);
    ssq_tensor_destroy(&t->x);
    ssq_tensor_destroy(&t->y);
    ssq_tensor_destroy(&t->h);
    ssq_buffer_destroy(&t->buffer);
    ssq_event_destroy(&t->event);
    ssq_graph_destroy(&t->graph);
    ssq_queue_destroy(&t->q);
    ssq_queue_destroy(&t->r);
    ssq_device_close(&t->dev);
}

static ssq_status copy(ssq_queue *q, const ssq_tensor *x, const ssq_tensor *y)
{
    ssq_copy_args args = SSQ_COPY_INIT;

    args.x = x;
    args.y = y;
    return ssq_copy(q, &args);
}

static ssq_status make(const char *name, struct things *t)
{
    static const int64_t shape[2] = {4, 8}, turned[2] = {8, 4};
    ssq_status st = ssq_device_open(name, NULL, &t->dev);

    if (st == SSQ_OK)
        st = ssq_queue_create(t->dev, NULL, &t->q);
    if (st == SSQ_OK)
        st = ssq_queue_create(t->dev, NULL, &t->r);
    if (st == SSQ_OK)
        st = ssq_tensor_create(t->dev, SSQ_F32, 2, shape, &t->x);
    if (st == SSQ_OK)
        st = ssq_tensor_create(t->dev, SSQ_F32, 2, turned, &t->y);
    if (st == SSQ_OK)
        st = ssq_buffer_create(t->dev, 64, &t->buffer);
    if (st == SSQ_OK)
        st = ssq_tensor_from_buffer(t->buffer, SSQ_F16, 2, shape, NULL, 0,
                                    &t->h);
    if (st == SSQ_OK)
        st = ssq_tensor_transpose(t->x, NULL, &t->view);
    if (st == SSQ_OK)
        st = ssq_event_create(t->dev, &t->event);
    return st;
}

static ssq_status capture(struct things *t)
{
    ssq_status st = ssq_graph_begin(t->q);

    for (int i = 0; i < 70 && st == SSQ_OK; i++) /* more than it begins with */
        st = copy(t->q, t->view, t->y);
    if (st == SSQ_OK)
        st = ssq_graph_end(t->q, &t->graph);
    return st;
}

/* The small program; in and out are 32 floats. */
static ssq_status work(struct things *t, const float *in, float *out)
{
    ssq_status st = ssq_tensor_write(t->q, t->h, in, 32 * sizeof(*in), SSQ_F32);

    if (st == SSQ_OK)
        st = ssq_tensor_write(t->q, t->view, in, 32 * sizeof(*in), SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_event_record(t->event, t->q);
    if (st == SSQ_OK)
        st = ssq_queue_wait(t->r, t->event);
    if (st == SSQ_OK)
        st = capture(t);
    if (st == SSQ_OK)
        st = ssq_graph_launch(t->r, t->graph);
    if (st == SSQ_OK)
        st = ssq_tensor_read(t->r, t->y, out, 32 * sizeof(*out), SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_queue_sync(t->r);
    return st == SSQ_OK ? ssq_queue_sync(t->q) : st;
}

static ssq_status program(const char *name, bool *right)
{
    struct things t = {NULL};
    float in[32], out[32] = {0};
    ssq_status st;

    for (int i = 0; i < 32; i++)
        in[i] = (float)i;
    st = make(name, &t);
    if (st == SSQ_OK)
        st = work(&t, in, out);
    *right = memcmp(in, out, sizeof(in)) == 0;
    drop(&t);
    return st;
}

static void test_nth(const char *name, bool for_ever)
{
    int wrong_status = 0, leaks = 0, wrong = 0, no_text = 0;
    /* a driver takes its time to open: one in 29, unless time is given */
    bool all = strchr(name, ':') == NULL || tap_full();
    long n = 1, step = all ? 1 : 29;
    bool right = false;

    for (;; n += step) {
        memset(&counts, 0, sizeof(counts));
        counts.fail_at = n;
        counts.for_ever = for_ever;
        ssq_status st = program(name, &right);
        counts.fail_at = 0;
        leaks += counts.allocs != counts.frees;
        if (counts.refused == 0) { /* fewer than n allocations */
            wrong += st != SSQ_OK || !right;
            break;
        }
        /* a failure that is got over is fine when the result is right */
        wrong_status += st != SSQ_ERR_NOMEM && !(st == SSQ_OK && right);
        no_text += st != SSQ_OK && !core_has(ssq_last_error(), "memory");
        if (st != SSQ_ERR_NOMEM && !(st == SSQ_OK && right))
            tap_diag("%s: allocation %ld: %s: %s", name, n, ssq_status_name(st),
                     ssq_last_error());
        if (counts.allocs != counts.frees)
            tap_diag("%s: allocation %ld: %ld blocks are left", name, n,
                     counts.allocs - counts.frees);
    }
    tap_ok(n > 40, "%s: one in %ld of %ld allocations is made to fail %s", name,
           step, n - 1, for_ever ? "with all after them" : "one by one");
    tap_ok(wrong_status == 0, "%s: each gives NOMEM, %d do not", name,
           wrong_status);
    tap_ok(no_text == 0, "%s: with a text, %d have none", name, no_text);
    tap_ok(leaks == 0, "%s: nothing leaks, %d times it does", name, leaks);
    tap_ok(wrong == 0, "%s: with none failing the result is right", name);
}

/* Creation on a device that continues to exist: a failed call changes nothing.
 */
static void test_device_survives(const char *name)
{
    int bad = 0;
    long tried = 0;
    ssq_device *dev = core_open(name);
    struct things t = {NULL};
    bool done = false;

    for (long n = 1; !done; n++) {
        ssq_memory_info before = SSQ_MEMORY_INFO_INIT, after = before;
        ssq_tensor *x = NULL;
        int64_t shape = 100;

        NEED(ssq_device_memory(dev, &before));
        counts.calls = counts.refused = 0;
        counts.fail_at = n;
        counts.for_ever = true;
        ssq_status st = ssq_tensor_create(dev, SSQ_F32, 1, &shape, &x);
        counts.fail_at = 0;
        done = counts.refused == 0;
        tried++;
        ssq_device_trim(dev);
        NEED(ssq_device_memory(dev, &after));
        bad += !done && (st != SSQ_ERR_NOMEM || x != NULL ||
                         before.in_use != after.in_use ||
                         before.buffers != after.buffers ||
                         after.reserved != before.reserved);
        bad += done && st != SSQ_OK;
        ssq_tensor_destroy(&x);
        ssq_device_trim(dev);
    }
    tap_ok(bad == 0 && tried > 3,
           "%s: %ld failed tensors leave the pool as it was, %d do not", name,
           tried - 1, bad);
    drop(&t);
    ssq_device_close(&dev);
}

/* An op that finds no memory leaves queue and capture usable. */
static void test_queue_survives(const char *name)
{
    struct things t = {NULL};
    float in[32], out[32] = {0};
    int bad = 0;
    /* a driver's backend may do without what it wanted to write down */
    bool absorbs = strchr(name, ':') != NULL;

    for (int i = 0; i < 32; i++)
        in[i] = (float)(i + 1);
    NEED(make(name, &t));
    for (int inside = 0; inside < 2; inside++) {
        if (inside == 1)
            NEED(ssq_graph_begin(t.q));
        counts.refused = 1;
        for (long n = 1; counts.refused != 0; n++) {
            counts.calls = counts.refused = 0;
            counts.fail_at = n;
            counts.for_ever = false;
            ssq_status st = copy(t.q, t.view, t.y);
            counts.fail_at = 0;
            if (absorbs && st == SSQ_OK)
                continue;
            bad += counts.refused != 0 ? st != SSQ_ERR_NOMEM : st != SSQ_OK;
        }
        if (inside == 1)
            NEED(ssq_graph_end(t.q, &t.graph));
    }
    NEED(ssq_tensor_write(t.q, t.view, in, sizeof(in), SSQ_F32));
    /* a launch is enqueued whole, or not at all */
    for (long n = 1;; n++) {
        uint64_t left;

        NEED(ssq_queue_sync(t.q));
        counts.calls = counts.refused = 0;
        counts.fail_at = n;
        ssq_status st = ssq_graph_launch(t.q, t.graph);
        counts.fail_at = 0;
        left = ssq_queue_status(t.q) == SSQ_OK ? 0 : 1;
        if (counts.refused == 0)
            break;
        if (absorbs && st == SSQ_OK)
            continue;
        bad += st != SSQ_ERR_NOMEM || left != 0;
    }
    NEED(ssq_tensor_read(t.q, t.y, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(t.q));
    tap_ok(bad == 0 && memcmp(in, out, sizeof(in)) == 0,
           "%s: after failures the queue works on, %d were wrong", name, bad);
    drop(&t);
}

static void test_callbacks(void)
{
    ssq_allocator bad = allocator;
    ssq_device *dev = NULL;

    bad.alloc = NULL;
    core_status(ssq_allocator_set(&bad), SSQ_ERR_INVALID, "NULL",
                "callbacks without alloc");
    bad = allocator;
    bad.free = NULL;
    core_status(ssq_allocator_set(&bad), SSQ_ERR_INVALID, "NULL",
                "callbacks without free");
    bad = allocator;
    bad.struct_size = 3;
    core_status(ssq_allocator_set(&bad), SSQ_ERR_INVALID, "struct_size|3",
                "callbacks with struct_size 3");
    dev = core_open("reference");
    core_status(ssq_allocator_set(&allocator), SSQ_ERR_INVALID, "in use",
                "callbacks while a device is open");
    core_status(ssq_allocator_set(NULL), SSQ_ERR_INVALID, "in use",
                "no callbacks while a device is open");
    ssq_device_close(&dev);
    core_status(ssq_allocator_set(&allocator), SSQ_OK, NULL,
                "callbacks when nothing is alive");
    dev = core_open("reference");
    tap_ok(counts.allocs > 0, "opening a device calls alloc %ld times",
           counts.allocs);
    core_status(ssq_allocator_set(NULL), SSQ_ERR_INVALID, "in use",
                "they stay while a device is open");
    ssq_device_close(&dev);
    tap_ok(counts.allocs == counts.frees, "%ld blocks allocated, %ld freed",
           counts.allocs, counts.frees);
}

int main(void)
{
    setenv("SSQ_CACHE", "0", 1); /* certificates, too, allocate */
    test_callbacks();
    for (size_t i = 0; i < core_device_count(); i++) {
        test_nth(core_device(i), false);
        test_nth(core_device(i), true);
        test_device_survives(core_device(i));
        test_queue_survives(core_device(i));
    }
    memset(&counts, 0, sizeof(counts));
    core_status(ssq_allocator_set(NULL), SSQ_OK, NULL,
                "back to malloc and free");
    bool right;
    tap_ok(program("guard", &right) == SSQ_OK && right && counts.calls == 0,
           "which then serve the program");
    return tap_done(35);
}

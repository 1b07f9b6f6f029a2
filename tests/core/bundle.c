/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.c - tests of calls that are made of several ops: all or nothing. */

#include "lib/core/queue/queue.h"
#include "lib/core/core.h"

#include "tests/core/core.h"

static ssq_device *dev;
static ssq_queue *q;
static ssq_tensor *x, *y;

static long calls, fail_at; /* which allocation fails; 0 none */

static void *fail_alloc(void *user, size_t bytes)
{
    (void)user;
    return ++calls == fail_at ? NULL : malloc(bytes);
}

static void fail_free(void *user, void *p)
{
    (void)user;
    free(p);
}

static ssq_status fill(const ssq_tensor *t, float value)
{
    ssq_fill_args args = SSQ_FILL_INIT;

    args.x = t;
    args.value = (double)value;
    return ssq_fill(q, &args);
}

/* A call of two ops, the second of which may find something wrong. */
static ssq_status fill_both(float value, ssq_status found)
{
    ssq_status st = queue_bundle_begin(q);

    if (st != SSQ_OK)
        return st;
    st = fill(x, value);
    if (st == SSQ_OK && found != SSQ_OK)
        st = error_set(found, "found");
    if (st == SSQ_OK)
        st = fill(y, value);
    return queue_bundle_end(q, st);
}

static float value_of(const ssq_tensor *t)
{
    float out[4] = {0};

    NEED(ssq_tensor_read(q, t, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(q));
    return out[3];
}

static bool values(float a, float b)
{
    return value_of(x) == a && value_of(y) == b;
}

static void test_plain(void)
{
    NEED(fill_both(1, SSQ_OK));
    tap_ok(values(1, 1), "a bundle of two fills does both");
    core_status(fill_both(2, SSQ_ERR_UNSUPPORTED), SSQ_ERR_UNSUPPORTED, "found",
                "a bundle whose caller found something answers that");
    tap_ok(values(1, 1), "and does neither");
    NEED(queue_bundle_begin(q));
    NEED(fill_both(3, SSQ_OK));
    NEED(queue_bundle_end(q, SSQ_OK));
    tap_ok(values(3, 3), "a bundle in a bundle does both");
    NEED(queue_bundle_begin(q));
    NEED(fill(x, 9));
    ssq_status st = fill_both(4, SSQ_ERR_INVALID);
    core_status(queue_bundle_end(q, st), SSQ_ERR_INVALID, "found",
                "a failure in the inner one is the outer one's");
    tap_ok(values(3, 3), "and nothing is done");
    NEED(queue_bundle_begin(q));
    NEED(queue_bundle_end(q, SSQ_OK));
    tap_ok(values(3, 3), "an empty bundle does nothing");
}

static void test_capture(void)
{
    ssq_graph *g = NULL;

    NEED(ssq_graph_begin(q));
    NEED(fill(x, 5));
    core_status(fill_both(6, SSQ_ERR_INVALID), SSQ_ERR_INVALID, "found",
                "in a capture, too, a bundle may fail");
    NEED(fill_both(7, SSQ_OK));
    NEED(ssq_graph_end(q, &g));
    tap_ok(ssq_graph_ops(g) == 3,
           "the graph has the fill before and the good bundle: %zu ops",
           ssq_graph_ops(g));
    NEED(fill(y, 0));
    NEED(ssq_graph_launch(q, g));
    tap_ok(values(7, 7), "its launch does what was recorded");
    ssq_graph_destroy(&g);
}

/* Each allocation fails once: both, or neither. */
static void test_memory(void)
{
    int bad = 0;
    long n = 0;
    bool failed = true;

    while (failed) {
        float before = value_of(x);

        NEED(fill_both(before, SSQ_OK));
        NEED(ssq_queue_sync(q));
        calls = 0;
        fail_at = ++n;
        ssq_status st = fill_both(before + 1, SSQ_OK);
        failed = calls >= n;
        fail_at = 0;
        bad += st != (failed ? SSQ_ERR_NOMEM : SSQ_OK);
        before += st == SSQ_OK;
        bad += !values(before, before);
    }
    tap_ok(bad == 0 && n > 4,
           "each of %ld allocations fails once: both fills or none, %d wrong",
           n - 1, bad);
}

int main(void)
{
    static const ssq_allocator allocator = {sizeof(allocator), fail_alloc,
                                            fail_free, NULL};

    NEED(ssq_allocator_set(&allocator));
    for (size_t i = 0; i < core_device_count(); i++) {
        tap_diag("%s", core_device(i));
        dev = core_open(core_device(i));
        q = core_queue(dev);
        x = core_vector(dev, SSQ_F32, 4);
        y = core_vector(dev, SSQ_F32, 4);
        test_plain();
        test_capture();
        test_memory();
        ssq_tensor_destroy(&x);
        ssq_tensor_destroy(&y);
        ssq_queue_destroy(&q);
        ssq_device_close(&dev);
    }
    core_status(ssq_allocator_set(NULL), SSQ_OK, NULL, "nothing is alive");
    return tap_done(23);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* metric.c - weighted means and accuracies on every device. */
#include <sesqui/data.h>

#include <math.h>

#include "tests/core/core.h"

static void test_mean(ssq_device *d, ssq_queue *q, const char *name)
{
    ssq_metric *m = NULL;
    ssq_tensor *v = core_vector(d, SSQ_F32, 1);
    ssq_tensor *h = core_vector(d, SSQ_F16, 1);
    double mean = 0, weight = -1, polled = 0;
    NEED(ssq_metric_create(d, &m));
    NEED(ssq_metric_read(q, m, &mean, &weight));
    NEED(ssq_metric_poll(m, &polled, NULL));
    tap_ok(isnan(mean) && weight == 0 && isnan(polled), "%s: NaN at first",
           name);
    /* 2 of 3 rows, 5 of 1, and 100 of none: (6 + 5) / 4 */
    NEED(ssq_fill(q, SSQ_FILL(.x = v, .value = 2)));
    NEED(ssq_metric_add(q, m, v, 3));
    NEED(ssq_fill(q, SSQ_FILL(.x = h, .value = 5)));
    NEED(ssq_metric_add(q, m, h, 1));
    NEED(ssq_fill(q, SSQ_FILL(.x = v, .value = 100)));
    NEED(ssq_metric_add(q, m, v, 0));
    NEED(ssq_metric_read(q, m, &mean, &weight));
    NEED(ssq_metric_poll(m, &polled, NULL));
    tap_ok(mean == 2.75 && weight == 4 && polled == 2.75,
           "%s: a weighted mean is %g, of a poll %g", name, mean, polled);
    NEED(ssq_metric_reset(q, m));
    NEED(ssq_metric_poll(m, &polled, &weight));
    tap_ok(isnan(polled) && weight == 0, "%s: a reset counts at once", name);
    NEED(ssq_fill(q, SSQ_FILL(.x = v, .value = -7)));
    NEED(ssq_metric_add(q, m, v, 2));
    NEED(ssq_queue_sync(q));
    NEED(ssq_metric_poll(m, &polled, &weight));
    tap_ok(polled == -7 && weight == 2, "%s: after a reset %g", name, polled);
    NEED(ssq_fill(q, SSQ_FILL(.x = v, .value = (double)INFINITY)));
    NEED(ssq_metric_add(q, m, v, 1));
    NEED(ssq_metric_read(q, m, &mean, NULL));
    tap_ok(isinf(mean), "%s: Inf stays", name);
    ssq_metric_destroy(&m);
    ssq_metric_destroy(&m);
    ssq_metric_destroy(NULL);
    ssq_tensor_destroy(&v);
    ssq_tensor_destroy(&h);
}

static void test_accuracy(ssq_device *d, ssq_queue *q, const char *name)
{
    const float x[3][4] = {{1, 2, 3, 4}, {4, 3, 2, 1}, {1, 9, 2, 3}};
    const int32_t y[3] = {3, 1, 2};
    ssq_metric *m = NULL;
    ssq_tensor *logits = NULL, *target = core_vector(d, SSQ_I32, 3);
    ssq_tensor *short_target = core_vector(d, SSQ_I32, 2);
    double mean, weight;
    NEED(ssq_tensor_create(d, SSQ_F32, 2, (int64_t[]){3, 4}, &logits));
    NEED(ssq_tensor_write(q, logits, x, sizeof(x), SSQ_F32));
    NEED(ssq_tensor_write(q, target, y, sizeof(y), SSQ_I32));
    NEED(ssq_metric_create(d, &m));
    NEED(ssq_metric_add_accuracy(q, m, logits, target, 1));
    NEED(ssq_metric_read(q, m, &mean, &weight));
    tap_ok(weight == 3 && mean == 1.0 / 3, "%s: top 1 is %g of %g rows", name,
           mean, weight);
    NEED(ssq_metric_add_accuracy(q, m, logits, target, 2));
    NEED(ssq_metric_read(q, m, &mean, &weight));
    tap_ok(weight == 6 && mean == 3.0 / 6, "%s: with top 2 added %g", name,
           mean);
    core_status(ssq_metric_add_accuracy(q, m, logits, target, 0),
                SSQ_ERR_INVALID, "metric_add_accuracy: k is 0", "%s: k is 0",
                name);
    core_status(ssq_metric_add_accuracy(q, m, target, logits, 1),
                SSQ_ERR_INVALID, "metric_add_accuracy: logits is i32",
                "%s: operands swapped", name);
    core_status(ssq_metric_add_accuracy(q, m, logits, logits, 1),
                SSQ_ERR_INVALID, "metric_add_accuracy: target is f32",
                "%s: targets that are floats", name);
    core_status(ssq_metric_add_accuracy(q, m, logits, short_target, 1),
                SSQ_ERR_INVALID, "metric_add_accuracy: target is ",
                "%s: another number of targets", name);
    core_status(ssq_metric_add_accuracy(q, m, logits, NULL, 1), SSQ_ERR_INVALID,
                "metric_add_accuracy: target", "%s: no target", name);
    NEED(ssq_metric_read(q, m, &mean, &weight));
    tap_ok(weight == 6 && mean == 3.0 / 6, "%s: refusals add nothing", name);
    ssq_metric_destroy(&m);
    ssq_tensor_destroy(&logits);
    ssq_tensor_destroy(&target);
    ssq_tensor_destroy(&short_target);
}

/* A poll never waits, and what it returns only moves forward. */
static void test_polls(ssq_device *d, ssq_queue *q, const char *name)
{
    ssq_metric *m = NULL;
    ssq_tensor *v = core_vector(d, SSQ_F32, 1);
    double mean, weight = 0, last = 0;
    bool good = true;
    NEED(ssq_metric_create(d, &m));
    NEED(ssq_fill(q, SSQ_FILL(.x = v, .value = 3)));
    for (int i = 0; i < 100; i++) {
        NEED(ssq_metric_add(q, m, v, 1));
        NEED(ssq_metric_poll(m, &mean, &weight));
        good = good && weight >= last && weight <= i + 1 &&
               (weight == 0 ? isnan(mean) : mean == 3);
        last = weight;
    }
    NEED(ssq_queue_sync(q));
    NEED(ssq_metric_poll(m, &mean, &weight));
    tap_ok(good && weight == 100 && mean == 3, "%s: 100 polls", name);
    ssq_metric_destroy(&m);
    ssq_tensor_destroy(&v);
}

static void test_misuse(ssq_device *d, ssq_queue *q, const char *name)
{
    ssq_metric *m = NULL;
    ssq_tensor *v = core_vector(d, SSQ_F32, 1),
               *two = core_vector(d, SSQ_F32, 2),
               *whole = core_vector(d, SSQ_I32, 1);
    double mean;
    core_status(ssq_metric_create(NULL, &m), SSQ_ERR_INVALID, "device",
                "%s: no device", name);
    NEED(ssq_metric_create(d, &m));
    core_status(ssq_metric_add(q, m, two, 1), SSQ_ERR_INVALID, "2 elements",
                "%s: two elements", name);
    core_status(ssq_metric_add(q, m, whole, 1), SSQ_ERR_INVALID, "i32",
                "%s: an i32", name);
    core_status(ssq_metric_add(q, m, v, -1), SSQ_ERR_INVALID, "weight is -1",
                "%s: weight -1", name);
    core_status(ssq_metric_add(q, m, v, 1e39), SSQ_ERR_INVALID,
                "weight is 1e+39|finite in float32", "%s: weight 1e39", name);
    core_status(ssq_metric_add(q, m, v, (double)NAN), SSQ_ERR_INVALID, "weight",
                "%s: weight NaN", name);
    core_status(ssq_metric_add(q, NULL, v, 1), SSQ_ERR_INVALID, "metric",
                "%s: no metric", name);
    core_status(ssq_metric_add(NULL, m, v, 1), SSQ_ERR_INVALID, "queue",
                "%s: no queue", name);
    core_status(ssq_metric_poll(m, NULL, NULL), SSQ_ERR_INVALID, "mean",
                "%s: poll to NULL", name);
    core_status(ssq_metric_read(q, m, NULL, NULL), SSQ_ERR_INVALID, "mean",
                "%s: read to NULL", name);
    NEED(ssq_graph_begin(q));
    core_status(ssq_metric_add(q, m, v, 1), SSQ_ERR_INVALID, "captured",
                "%s: add in a capture", name);
    core_status(ssq_metric_reset(q, m), SSQ_ERR_INVALID, "captured",
                "%s: reset in a capture", name);
    core_status(ssq_metric_read(q, m, &mean, NULL), SSQ_ERR_INVALID, "captured",
                "%s: read in a capture", name);
    ssq_graph *g = NULL;
    NEED(ssq_graph_end(q, &g));
    tap_ok(ssq_graph_ops(g) == 0, "%s: the graph has nothing of it", name);
    ssq_graph_destroy(&g);
    ssq_metric_destroy(&m);
    ssq_tensor_destroy(&v);
    ssq_tensor_destroy(&two);
    ssq_tensor_destroy(&whole);
}

int main(void)
{
    for (size_t i = 0; i < core_device_count(); i++) {
        const char *name = core_device(i);
        ssq_device *device = core_open(name);
        ssq_queue *q = core_queue(device);
        test_mean(device, q, name);
        test_accuracy(device, q, name);
        test_polls(device, q, name);
        test_misuse(device, q, name);
        ssq_memory_info after = SSQ_MEMORY_INFO_INIT;
        NEED(ssq_queue_sync(q));
        NEED(ssq_device_memory(device, &after));
        tap_ok(after.buffers == 0, "%s: no memory is left: %llu buffers", name,
               (unsigned long long)after.buffers);
        ssq_queue_destroy(&q);
        ssq_device_close(&device);
    }
    return tap_done(60);
}

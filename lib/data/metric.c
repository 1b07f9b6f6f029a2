/* SPDX-License-Identifier: Apache-2.0 */
/* metric.c - a weighted mean, as two sums on the device.
 *
 * The block has four words: one that is never 0, the sum of weight times value,
 * the sum of weights, and 1.0. The last three are float32. */
#include <sesqui/data.h>
#include <sesqui/ops.h>

#include <math.h>
#include <string.h>

#include "lib/amp/common/readback.h"
#include "lib/core/queue/queue.h"
#include "lib/op/metrics/metrics.h"

enum { WORD_MAGIC, WORD_SUM, WORD_WEIGHT, WORD_ONE, WORDS };
#define MAGIC 0x6d657472u

struct ssq_metric {
    ssq_device *device; /* held */
    ssq_tensor *block, *sum, *weight, *one;
    struct readback *readback;
    uint64_t since; /* copies up to this number precede a reset */
};

static ssq_status make_tensors(struct ssq_metric *m)
{
    static const int64_t words = WORDS;
    ssq_buffer *buffer = NULL;
    ssq_tensor **const scalar[] = {&m->sum, &m->weight, &m->one};
    ssq_status st = ssq_buffer_create(m->device, WORDS * 4, &buffer);
    if (st == SSQ_OK)
        st = ssq_tensor_from_buffer(buffer, SSQ_I32, 1, &words, NULL, 0,
                                    &m->block);
    for (unsigned i = 0; i < 3 && st == SSQ_OK; i++)
        st = ssq_tensor_from_buffer(buffer, SSQ_F32, 0, NULL, NULL,
                                    4 * (i + WORD_SUM), scalar[i]);
    ssq_buffer_destroy(&buffer);
    return st;
}

/* Upload the first words, and wait: on a queue that is made for this. */
static ssq_status metric_upload(const struct ssq_metric *m,
                                const uint32_t *words)
{
    ssq_queue *queue = NULL;
    ssq_status st = ssq_queue_create(m->device, NULL, &queue);
    if (st == SSQ_OK)
        st = ssq_tensor_write(queue, m->block, words, WORDS * 4, SSQ_I32);
    if (st == SSQ_OK)
        st = queue_wait(queue);
    ssq_queue_destroy(&queue);
    return st;
}

static void metric_release(struct ssq_metric *m)
{
    readback_put(m->readback);
    ssq_tensor_destroy(&m->one);
    ssq_tensor_destroy(&m->weight);
    ssq_tensor_destroy(&m->sum);
    ssq_tensor_destroy(&m->block);
    object_put(&m->device->object);
    mem_free(m);
}

ssq_status ssq_metric_create(ssq_device *device, ssq_metric **metric)
{
    const float one = 1.0f;
    uint32_t words[WORDS] = {[WORD_MAGIC] = MAGIC};
    if (device == NULL || metric == NULL)
        return error_set(SSQ_ERR_INVALID, "metric_create: %s is NULL",
                         device == NULL ? "device" : "metric");
    ssq_status st = device_check(device, "metric_create");
    if (st == SSQ_OK)
        st = capture_check(device, "metric_create");
    if (st != SSQ_OK)
        return st;
    struct ssq_metric *m = mem_alloc(sizeof(*m));
    if (m == NULL)
        return error_nomem("metric_create", sizeof(*m));
    memcpy(&words[WORD_ONE], &one, sizeof(one));
    m->device = device;
    object_get(&device->object);
    m->readback = readback_create(words, WORDS, WORD_MAGIC);
    st = m->readback == NULL ? SSQ_ERR_NOMEM : make_tensors(m);
    if (st == SSQ_OK)
        st = metric_upload(m, words);
    if (st == SSQ_OK)
        *metric = m;
    else
        metric_release(m);
    return st;
}

void ssq_metric_destroy(ssq_metric **metric)
{
    if (metric == NULL || *metric == NULL)
        return;
    metric_release(*metric);
    *metric = NULL;
}

/* ---- adding ---- */

static ssq_status metric_check(const ssq_queue *queue, const ssq_metric *m,
                               const char *what)
{
    ssq_status st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    if (m == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: metric is NULL", what);
    if (m->device != queue->device)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the metric is on another device than the queue",
                         what);
    return queue_capturing(queue)
               ? error_set(SSQ_ERR_INVALID,
                           "%s: a graph is being captured on the queue", what)
               : SSQ_OK;
}

/* Enqueue sum += factor value and weight += rows. */
static ssq_status data_metric_add(ssq_queue *queue, ssq_metric *m,
                                  const ssq_tensor *value, double factor,
                                  double rows)
{
    ssq_status st = ssq_axpby(queue, SSQ_AXPBY(.a = value, .b = m->sum,
                                               .y = m->sum, .alpha = factor));
    if (st == SSQ_OK)
        st = ssq_axpby(queue, SSQ_AXPBY(.a = m->one, .b = m->weight,
                                        .y = m->weight, .alpha = rows));
    return st;
}

/* End a bundle, and send the sums to the host. */
static ssq_status metric_end(ssq_queue *queue, ssq_metric *m, ssq_status st)
{
    st = queue_bundle_end(queue, st);
    /* the value is added: without the copy a poll only lags */
    ssq_status enqueued =
        st == SSQ_OK ? readback_enqueue(m->readback, queue, NULL, m->block)
                     : st;
    (void)enqueued;
    return st;
}

ssq_status ssq_metric_add(ssq_queue *queue, ssq_metric *metric,
                          const ssq_tensor *value, double weight)
{
    ssq_status st = metric_check(queue, metric, "metric_add");
    if (st == SSQ_OK)
        st = check_operand(queue, value, "metric_add", "value");
    if (st == SSQ_OK)
        st = check_dtype(value, DTYPES_FLOAT, "metric_add", "value");
    if (st != SSQ_OK)
        return st;
    if (ssq_tensor_elements(value) != 1)
        return error_set(SSQ_ERR_INVALID,
                         "metric_add: value has %lld elements, expected 1",
                         (long long)ssq_tensor_elements(value));
    if (!(weight >= 0.0) || !isfinite((float)weight))
        return error_set(SSQ_ERR_INVALID,
                         "metric_add: weight is %g, expected 0 or more, finite "
                         "in float32",
                         weight);
    ssq_tensor *scalar = NULL;
    st = ssq_tensor_reshape(value, 0, NULL, &scalar);
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st == SSQ_OK)
        st = metric_end(queue, metric,
                        data_metric_add(queue, metric, scalar, weight, weight));
    ssq_tensor_destroy(&scalar);
    return st;
}

ssq_status ssq_metric_add_accuracy(ssq_queue *queue, ssq_metric *metric,
                                   const ssq_tensor *logits,
                                   const ssq_tensor *target, int64_t k)
{
    struct ssq_tensor hits = {0}, count = {0};
    ssq_status st = metric_check(queue, metric, "metric_add_accuracy");
    if (st == SSQ_OK)
        st = check_operand(queue, target, "metric_add_accuracy", "target");
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    st = scratch_get(queue, SSQ_I32, 0, NULL, &hits.view);
    if (st == SSQ_OK)
        st = scratch_get(queue, SSQ_F32, 0, NULL, &count.view);
    /* no class is below INT32_MIN: nothing is ignored */
    if (st == SSQ_OK)
        st = op_top_k_accuracy(
            queue,
            SSQ_TOP_K_ACCURACY(.logits = logits, .target = target,
                               .hits = &hits, .k = k,
                               .ignore_index = (int64_t)INT32_MIN - 1),
            "metric_add_accuracy");
    if (st == SSQ_OK)
        st = ssq_cast(queue, SSQ_CAST(.x = &hits, .y = &count));
    if (st == SSQ_OK)
        st = data_metric_add(queue, metric, &count, 1.0,
                             (double)ssq_tensor_elements(target));
    st = metric_end(queue, metric, st);
    scratch_put(&count.view);
    scratch_put(&hits.view);
    return st;
}

ssq_status ssq_metric_reset(ssq_queue *queue, ssq_metric *metric)
{
    ssq_status st = metric_check(queue, metric, "metric_reset");
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    st = ssq_fill(queue, SSQ_FILL(.x = metric->sum));
    if (st == SSQ_OK)
        st = ssq_fill(queue, SSQ_FILL(.x = metric->weight));
    st = queue_bundle_end(queue, st);
    if (st == SSQ_OK)
        metric->since = readback_enqueued(metric->readback);
    return st;
}

/* ---- reading ---- */

static void metric_take(const uint32_t *words, double *mean, double *weight)
{
    float sum, of;
    memcpy(&sum, &words[WORD_SUM], sizeof(sum));
    memcpy(&of, &words[WORD_WEIGHT], sizeof(of));
    *mean = of == 0.0f ? (double)NAN : (double)sum / (double)of;
    if (weight != NULL)
        *weight = (double)of;
}

ssq_status ssq_metric_poll(ssq_metric *metric, double *mean, double *weight)
{
    uint32_t words[WORDS] = {0};
    if (metric == NULL || mean == NULL)
        return error_set(SSQ_ERR_INVALID, "metric_poll: %s is NULL",
                         metric == NULL ? "metric" : "mean");
    ssq_status st = device_check(metric->device, "metric_poll");
    if (st != SSQ_OK)
        return st;
    if (readback_read(metric->readback, words) <= metric->since)
        memset(words, 0, sizeof(words));
    metric_take(words, mean, weight);
    return SSQ_OK;
}

ssq_status ssq_metric_read(ssq_queue *queue, ssq_metric *metric, double *mean,
                           double *weight)
{
    uint32_t words[WORDS];
    ssq_status st = metric_check(queue, metric, "metric_read");
    if (st == SSQ_OK && mean == NULL)
        st = error_set(SSQ_ERR_INVALID, "metric_read: mean is NULL");
    if (st == SSQ_OK)
        st = ssq_tensor_read(queue, metric->block, words, sizeof(words),
                             SSQ_I32);
    if (st == SSQ_OK)
        st = queue_wait(queue);
    if (st == SSQ_OK)
        metric_take(words, mean, weight);
    return st;
}

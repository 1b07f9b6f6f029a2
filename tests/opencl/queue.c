/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - tests of opencl's memory, queues and events. */

#include "tests/core/queues.h"

#define N 100000

static ssq_device *dev;
static float in[N], out[N];

static bool same(const float *x, const float *y)
{
    return memcmp(x, y, sizeof(in)) == 0;
}

static void test_memory(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
    ssq_buffer *b = NULL;

    NEED(ssq_device_props_get(dev, &p));
    NEED(ssq_tensor_write(q, x, in, sizeof(in), SSQ_F32));
    NEED(ssq_tensor_read(q, x, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(q));
    tap_ok(same(in, out), "%d float32s come back as they went", N);
    core_status(ssq_buffer_create(dev, p.binding_bytes + 1, &b), SSQ_ERR_NOMEM,
                "opencl", "a buffer of %llu bytes, one too many",
                (unsigned long long)p.binding_bytes + 1);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
}

/* More commands than the queue's first ring holds, none waited for; the
 * tensors are gone before their work is done. */
static void test_many(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *last = core_vector(dev, SSQ_F32, N);

    driver_fill(q, last, 0);
    for (int i = 1; i <= 1000; i++) {
        ssq_tensor *x = core_vector(dev, SSQ_F32, N);

        driver_fill(q, x, i);
        driver_copy(q, x, last);
        ssq_tensor_destroy(&x);
    }
    NEED(ssq_tensor_read(q, last, out, sizeof(out), SSQ_F32));
    while (ssq_queue_status(q) == SSQ_ERR_NOT_READY)
        continue;
    core_status(ssq_queue_status(q), SSQ_OK, NULL,
                "2002 commands finish, by asking alone");
    tap_ok(out[0] == 1000 && out[N - 1] == 1000,
           "in order: the last of 1000 fills is seen, not %g", out[0]);
    ssq_tensor_destroy(&last);
    ssq_queue_destroy(&q);
}

int main(void)
{
    if (driver_missing("opencl"))
        return tap_done(0);
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    queues_of_threads("opencl", "opencl:0", NULL);
    dev = core_open("opencl:0");
    queues_of_threads("opencl", NULL, dev);
    test_memory();
    test_many();
    queues_hand_over(dev, "opencl", 100);
    ssq_device_close(&dev);
    return tap_done(10);
}

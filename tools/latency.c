/* SPDX-License-Identifier: Apache-2.0 */
/* latency.c - measures the costs before an op's own work: to start,
 * to launch. */
#include "tools/tool.h"

#include <time.h>

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ssq_status latency_make_one(ssq_queue *q, ssq_tensor **x)
{
    const int64_t one = 1;
    return ssq_tensor_create(ssq_queue_device(q), SSQ_F32, 1, &one, x);
}

/* Run one op and check its result on the host: a device that returns a wrong
 * value has not started. */
static ssq_status first_result(ssq_queue *q)
{
    ssq_fill_args fill = SSQ_FILL_INIT;
    ssq_tensor *x = NULL;
    float value = 0.0f;
    ssq_status st = latency_make_one(q, &x);
    fill.x = x;
    fill.value = 1.0;
    if (st == SSQ_OK)
        st = ssq_fill(q, &fill);
    if (st == SSQ_OK)
        st = ssq_tensor_read(q, x, &value, sizeof(value), SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_queue_sync(q);
    ssq_tensor_destroy(&x);
    return st == SSQ_OK && value != 1.0f ? SSQ_ERR_DEVICE : st;
}

ssq_status start_device(const char *name, ssq_device **device,
                        ssq_queue **queue, double *seconds)
{
    double began = now();
    ssq_status st = ssq_device_open(name, NULL, device);
    if (st == SSQ_OK)
        st = ssq_queue_create(*device, NULL, queue);
    if (st == SSQ_OK)
        st = first_result(*queue);
    *seconds = now() - began;
    return st;
}

bool launch_measure(ssq_queue *queue, int runs, double *call, double *both)
{
    ssq_fill_args fill = SSQ_FILL_INIT;
    ssq_tensor *x = NULL;
    bool ok = latency_make_one(queue, &x) == SSQ_OK;
    fill.x = x;
    for (int i = -1; ok && i < runs; i++) { /* the first one warms up */
        /* an empty queue: the call does not wait for a place in it */
        ok = ssq_queue_sync(queue) == SSQ_OK;
        double began = now();
        ok = ok && ssq_fill(queue, &fill) == SSQ_OK;
        double called = now();
        ok = ok && ssq_queue_sync(queue) == SSQ_OK;
        if (i < 0)
            continue;
        call[i] = called - began;
        both[i] = now() - began;
    }
    ssq_tensor_destroy(&x);
    return ok;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* life.c - tests of lifetimes: an enqueued op holds its operands. */

#include "tests/core/core.h"

static ssq_device *dev;
static bool lazy;

static ssq_memory_info memory(void)
{
    ssq_memory_info info = SSQ_MEMORY_INFO_INIT;

    NEED(ssq_device_memory(dev, &info));
    return info;
}

static void copy(ssq_queue *q, const ssq_tensor *x, const ssq_tensor *y)
{
    ssq_copy_args args = SSQ_COPY_INIT;

    args.x = x;
    args.y = y;
    NEED(ssq_copy(q, &args));
}

/* A chain of temporaries, each destroyed as soon as its copy is enqueued. */
static void test_chain(void)
{
    enum { N = 1000 };
    ssq_queue *q = core_queue(dev);
    float in[N], out[N] = {0};
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    int wrong = 0;

    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    NEED(ssq_tensor_write(q, x, in, sizeof(in), SSQ_F32));
    for (int i = 0; i < 50; i++) {
        ssq_tensor *y = core_vector(dev, SSQ_F32, N);

        copy(q, x, y);
        ssq_tensor_destroy(&x);
        x = y;
    }
    NEED(ssq_tensor_read(q, x, out, sizeof(out), SSQ_F32));
    ssq_tensor_destroy(&x);
    tap_ok(!lazy || memory().buffers == 51,
           "the queue holds %llu buffers that nobody else has",
           (unsigned long long)memory().buffers);
    NEED(ssq_queue_sync(q));
    for (int i = 0; i < N; i++)
        wrong += out[i] != in[i];
    tap_ok(wrong == 0, "50 copies through tensors destroyed at once: %d wrong",
           wrong);
    tap_ok(memory().buffers == 0 && memory().in_use == 0,
           "after the sync none is left, 0 bytes in use");
    ssq_queue_destroy(&q);
}

static void test_queue_destroy(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, 2);
    float in[2] = {4, 5}, out[2] = {0};

    NEED(ssq_tensor_write(q, x, in, sizeof(in), SSQ_F32));
    NEED(ssq_tensor_read(q, x, out, sizeof(out), SSQ_F32));
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    tap_ok(out[0] == 4 && out[1] == 5 && q == NULL,
           "destroying a queue waits for its work");
    tap_ok(memory().buffers == 0, "and lets go of its buffers");
    ssq_queue_destroy(&q);
    ssq_queue_destroy(NULL);
}

/* Everything outlives the device's handle. */
static void test_device_close(const char *name)
{
    ssq_device *d = core_open(name), *kept = d;
    ssq_queue *q = core_queue(d);
    ssq_event *e = NULL;
    ssq_tensor *x = core_vector(d, SSQ_F32, 2);
    ssq_graph *g = NULL;
    float in[2] = {6, 7}, out[2] = {0};
    ssq_fill_args fill = SSQ_FILL_INIT;

    NEED(ssq_event_create(d, &e));
    ssq_device_close(&d);
    tap_ok(d == NULL && ssq_queue_device(q) == kept &&
               ssq_tensor_device(x) == kept,
           "a closed device is still the queue's and the tensor's");
    NEED(ssq_tensor_write(q, x, in, sizeof(in), SSQ_F32));
    NEED(ssq_event_record(e, q));
    NEED(ssq_tensor_read(q, x, out, sizeof(out), SSQ_F32));
    NEED(ssq_graph_begin(q));
    fill.x = x;
    NEED(ssq_fill(q, &fill));
    NEED(ssq_graph_end(q, &g));
    NEED(ssq_graph_launch(q, g));
    ssq_tensor_destroy(&x);
    NEED(ssq_queue_sync(q));
    tap_ok(out[0] == 6 && out[1] == 7, "and works");
    ssq_queue_destroy(&q);
    ssq_event_destroy(&e);
    ssq_graph_destroy(&g); /* the last to know the device */
    ssq_device_close(&d);
    ssq_device_close(NULL);
    tap_ok(true, "the last object closes it");
}

/* A buffer lives as long as any view of it. */
static void test_views(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_buffer *b = NULL;
    ssq_tensor *t = NULL, *v = NULL;
    float in[8] = {0, 1, 2, 3, 4, 5, 6, 7}, out[2] = {0};

    NEED(ssq_buffer_create(dev, 32, &b));
    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 1, (const int64_t[]){8}, NULL, 0,
                                &t));
    ssq_buffer_destroy(&b);
    NEED(ssq_tensor_slice(t, 0, 6, 8, 1, &v));
    NEED(ssq_tensor_write(q, t, in, sizeof(in), SSQ_F32));
    ssq_tensor_destroy(&t);
    NEED(ssq_queue_sync(q));
    tap_ok(memory().buffers == 1, "a slice keeps its buffer");
    NEED(ssq_tensor_read(q, v, out, sizeof(out), SSQ_F32));
    ssq_tensor_destroy(&v);
    NEED(ssq_queue_sync(q));
    tap_ok(out[0] == 6 && out[1] == 7 && memory().buffers == 0,
           "read through it, then the buffer is gone");
    ssq_queue_destroy(&q);
}

/* Finished work is released when the next is enqueued: a loop without
 * syncs but with an event does not pile up. */
static void test_no_pile(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_event *e = NULL;
    uint64_t most = 0;

    NEED(ssq_event_create(dev, &e));
    for (int i = 0; i < 100; i++) {
        ssq_tensor *x = core_vector(dev, SSQ_F32, 64);
        ssq_tensor *y = core_vector(dev, SSQ_F32, 64);

        copy(q, x, y);
        ssq_tensor_destroy(&x);
        ssq_tensor_destroy(&y);
        NEED(ssq_event_record(e, q));
        NEED(ssq_event_sync(e));
        if (memory().buffers > most)
            most = memory().buffers;
    }
    tap_ok(most <= 4, "100 steps with an event each hold at most %llu buffers",
           (unsigned long long)most);
    ssq_event_destroy(&e);
    ssq_queue_destroy(&q);
}

static void test_info_errors(void)
{
    ssq_memory_info info = {.struct_size = 3};
    ssq_queue_options options = {3};
    ssq_queue *q = NULL;

    core_status(ssq_device_memory(dev, &info), SSQ_ERR_INVALID, NULL,
                "memory with struct_size 3");
    core_status(ssq_device_memory(NULL, &info), SSQ_ERR_INVALID, NULL,
                "memory of NULL");
    core_status(ssq_queue_create(dev, &options, &q), SSQ_ERR_INVALID,
                "struct_size", "a queue with struct_size 3");
    core_status(ssq_queue_create(NULL, NULL, &q), SSQ_ERR_INVALID, "NULL",
                "a queue on NULL");
    core_status(ssq_queue_create(dev, NULL, NULL), SSQ_ERR_INVALID, "NULL",
                "a queue into NULL");
    core_status(ssq_queue_sync(NULL), SSQ_ERR_INVALID, "NULL", "sync of NULL");
    core_status(ssq_queue_status(NULL), SSQ_ERR_INVALID, "NULL",
                "status of NULL");
    tap_ok(q == NULL && ssq_queue_device(NULL) == NULL,
           "no result was written; the device of NULL is NULL");
}

int main(void)
{
    for (size_t i = 0; i < core_device_count(); i++) {
        tap_diag("%s", core_device(i));
        dev = core_open(core_device(i));
        lazy = strcmp(core_device(i), "guard") == 0;
        test_chain();
        test_queue_destroy();
        test_device_close(core_device(i));
        test_views();
        test_no_pile();
        test_info_errors();
        ssq_device_close(&dev);
    }
    return tap_done(38);
}

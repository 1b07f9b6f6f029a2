/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - parameters in constant memory: launches with the same words share
 * a buffer, and what a launch reads lives as long as the launch. */

#include "backends/opencl/calls.h"
#include "tests/core/queues.h"

/* More than the table has places. */
#define MANY 3000

static struct {
    struct opencl_calls real;
    long params; /* buffers of parameters that were made */
    long live;   /* references to buffers of any kind */
} cl;

static cl_mem create(cl_context c, cl_mem_flags flags, size_t bytes, void *host,
                     cl_int *e)
{
    cl_mem m = cl.real.CreateBuffer(c, flags, bytes, host, e);
    if (m != NULL) {
        cl.live++;
        cl.params += (flags & CL_MEM_COPY_HOST_PTR) != 0;
    }
    return m;
}

static cl_int retain(cl_mem m)
{
    cl.live++;
    return cl.real.RetainMemObject(m);
}

static cl_int release(cl_mem m)
{
    cl.live--;
    return cl.real.ReleaseMemObject(m);
}

/* Fill a tensor with 1 .. n, and return what it has in the end. */
static float fill_up(ssq_queue *q, ssq_tensor *x, int n)
{
    float last = 0;
    for (int i = 1; i <= n; i++)
        driver_fill(q, x, i);
    NEED(ssq_tensor_read(q, x, &last, sizeof(last), SSQ_F32));
    NEED(ssq_queue_sync(q));
    return last;
}

/* Under SSQ_OPENCL_CONSTANT=text: buffers of parameters for 100 fills of three
 * values, and for MANY of as many values. */
static void test_params(const char *text, long few, long many)
{
    ssq_device *dev = NULL;

    setenv("SSQ_OPENCL_CONSTANT", text, 1);
    NEED(ssq_device_open("opencl:0", NULL, &dev));
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, 1);
    cl.params = 0;
    for (int i = 0; i < 100; i++)
        if (fill_up(q, x, 3) != 3)
            tap_bail("constant %s: fill is wrong", text);
    tap_ok(cl.params == few, "constant %s: 300 launches make %ld buffers", text,
           cl.params);
    tap_ok(fill_up(q, x, MANY) == MANY, "constant %s: the last of %d is seen",
           text, MANY);
    tap_ok(cl.params == many, "constant %s: %ld buffers in the end", text,
           cl.params);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    tap_ok(cl.live == 0, "constant %s: all buffers are released, but %ld", text,
           cl.live);
}

int main(void)
{
    ssq_device *dev = NULL;

    if (driver_missing("opencl"))
        return tap_done(0);
    struct opencl_calls *table = driver_symbol("opencl", "ssq_opencl_calls");
    cl.real = *table;
    table->CreateBuffer = create;
    table->RetainMemObject = retain;
    table->ReleaseMemObject = release;
    test_params("0", 0, 0);
    test_params("1", 3, MANY);
    setenv("SSQ_OPENCL_CONSTANT", "2", 1);
    core_status(ssq_device_open("opencl:0", NULL, &dev), SSQ_ERR_INVALID,
                "SSQ_OPENCL_CONSTANT", "a value that is not 0 or 1");
    return tap_done(9);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* native.c - tests of <sesqui/opencl.h>, by a plain OpenCL program: its
 * context, queue and buffers, its kernels before and after ours, no copy.
 *
 * n values: own kernel x = i - 500, ours y = relu(x), own kernel z = 2 y. */

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <sesqui/opencl.h>

#include "tests/core/driver.h"

#define N 1003

static const char *text =
    "kernel void begin(global float *x)"
    "{ x[get_global_id(0)] = (float)get_global_id(0) - 500.0f; }"
    "kernel void end(global const float *y, global float *z)"
    "{ z[get_global_id(0)] = 2.0f * y[get_global_id(0)]; }";

static struct {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel begin, end;
    cl_mem x, y, z;
} own;

static void own_need(cl_int e, const char *what)
{
    if (e != CL_SUCCESS)
        tap_bail("%s: %d", what, (int)e);
}

/* The device that our opencl:0 is. */
static void find_device(void)
{
    cl_platform_id platforms[16];
    cl_uint n = 0, devices;

    own_need(clGetPlatformIDs(16, platforms, &n), "clGetPlatformIDs");
    for (cl_uint i = 0; i < n && own.id == NULL; i++)
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &own.id,
                           &devices) != CL_SUCCESS)
            own.id = NULL;
}

static cl_mem own_buffer(cl_mem_flags flags, size_t bytes)
{
    cl_int e;
    cl_mem mem = clCreateBuffer(own.context, flags, bytes, NULL, &e);

    own_need(e, "clCreateBuffer");
    return mem;
}

static void own_open(void)
{
    cl_int e;

    find_device();
    own.context = clCreateContext(NULL, 1, &own.id, NULL, NULL, &e);
    own_need(e, "clCreateContext");
    own.queue = clCreateCommandQueue(own.context, own.id, 0, &e);
    own_need(e, "clCreateCommandQueue");
    own.program = clCreateProgramWithSource(own.context, 1, &text, NULL, &e);
    own_need(e, "clCreateProgramWithSource");
    own_need(clBuildProgram(own.program, 1, &own.id, "", NULL, NULL),
             "clBuildProgram");
    own.begin = clCreateKernel(own.program, "begin", &e);
    own_need(e, "clCreateKernel");
    own.end = clCreateKernel(own.program, "end", &e);
    own_need(e, "clCreateKernel");
    own.x = own_buffer(CL_MEM_READ_WRITE, N * sizeof(float));
    own.y = own_buffer(CL_MEM_READ_WRITE, N * sizeof(float));
    own.z = own_buffer(CL_MEM_READ_WRITE, N * sizeof(float));
}

static void own_close(void)
{
    clReleaseMemObject(own.x);
    clReleaseMemObject(own.y);
    clReleaseMemObject(own.z);
    clReleaseKernel(own.begin);
    clReleaseKernel(own.end);
    clReleaseProgram(own.program);
    clReleaseCommandQueue(own.queue);
    clReleaseContext(own.context);
}

static void run_own(cl_kernel kernel, cl_mem a, cl_mem b)
{
    const size_t n = N;

    own_need(clSetKernelArg(kernel, 0, sizeof(a), &a), "clSetKernelArg");
    if (b != NULL)
        own_need(clSetKernelArg(kernel, 1, sizeof(b), &b), "clSetKernelArg");
    own_need(clEnqueueNDRangeKernel(own.queue, kernel, 1, NULL, &n, NULL, 0,
                                    NULL, NULL),
             "clEnqueueNDRangeKernel");
}

static ssq_tensor *tensor_of(ssq_buffer *b)
{
    const int64_t n = N;
    ssq_tensor *t = NULL;

    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 1, &n, NULL, 0, &t));
    return t;
}

struct native_count {
    cl_uint memory, context;
};

/* Not of the queue: a driver's own events hold it, as many as it likes. */
static struct native_count references(void)
{
    struct native_count n = {0, 0};

    own_need(clFinish(own.queue), "clFinish");
    clGetMemObjectInfo(own.x, CL_MEM_REFERENCE_COUNT, sizeof(n.memory),
                       &n.memory, NULL);
    clGetContextInfo(own.context, CL_CONTEXT_REFERENCE_COUNT, sizeof(n.context),
                     &n.context, NULL);
    return n;
}

static void test_pipeline(void)
{
    ssq_device *dev = NULL;
    ssq_queue *q = NULL;
    ssq_buffer *x = NULL, *y = NULL;
    ssq_unary_args relu = SSQ_UNARY_INIT;
    float out[N];
    struct native_count before = references();
    int wrong = 0;

    core_status(ssq_opencl_device_open(own.context, own.id, NULL, &dev), SSQ_OK,
                NULL, "a device over the caller's context");
    core_status(ssq_opencl_queue_create(dev, own.queue, &q), SSQ_OK, NULL,
                "a queue over the caller's");
    core_status(ssq_opencl_buffer_import(dev, own.x, &x), SSQ_OK, NULL,
                "a buffer over the caller's");
    NEED(ssq_opencl_buffer_import(dev, own.y, &y));
    tap_ok(ssq_buffer_bytes(x) == N * sizeof(float), "it has %llu bytes",
           (unsigned long long)ssq_buffer_bytes(x));
    ssq_tensor *tx = tensor_of(x), *ty = tensor_of(y);
    relu.x = tx;
    relu.y = ty;
    run_own(own.begin, own.x, NULL);
    NEED(ssq_relu(q, &relu));
    run_own(own.end, own.y, own.z);
    own_need(clEnqueueReadBuffer(own.queue, own.z, CL_TRUE, 0, sizeof(out), out,
                                 0, NULL, NULL),
             "clEnqueueReadBuffer");
    for (int i = 0; i < N; i++)
        wrong += out[i] != (i < 500 ? 0.0f : 2.0f * (float)(i - 500));
    tap_ok(wrong == 0, "own kernel, relu, own kernel in order: %d wrong",
           wrong);
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&tx);
    ssq_tensor_destroy(&ty);
    ssq_buffer_destroy(&x);
    ssq_buffer_destroy(&y);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    struct native_count after = references();
    tap_ok(after.memory == before.memory && after.context == before.context,
           "every reference is given back: buffer %u of %u, context %u of %u",
           after.memory, before.memory, after.context, before.context);
}

/* A tensor of ours under a kernel of the caller's. */
static void test_export(ssq_device *dev)
{
    ssq_queue *q = NULL;
    ssq_buffer *b = NULL, *empty = NULL;
    struct _cl_mem *mem = NULL;
    uint64_t offset = 1;
    float out = 0;

    NEED(ssq_opencl_queue_create(dev, own.queue, &q));
    NEED(ssq_buffer_create(dev, N * sizeof(float), &b));
    NEED(ssq_buffer_create(dev, 0, &empty));
    ssq_tensor *t = tensor_of(b);
    NEED(ssq_opencl_buffer_mem(b, &mem, &offset));
    driver_fill(q, t, 21);
    own_need(clEnqueueReadBuffer(own.queue, mem, CL_TRUE,
                                 (size_t)offset + 1002 * sizeof(out),
                                 sizeof(out), &out, 0, NULL, NULL),
             "clEnqueueReadBuffer");
    tap_ok(out == 21, "the caller reads a tensor of ours: %g", (double)out);
    core_status(ssq_opencl_buffer_mem(empty, &mem, &offset), SSQ_ERR_INVALID,
                "0 bytes", "the memory of a buffer of 0 bytes");
    ssq_tensor_destroy(&t);
    ssq_buffer_destroy(&b);
    ssq_buffer_destroy(&empty);
    ssq_queue_destroy(&q);
}

static void test_misuse(ssq_device *dev)
{
    ssq_device *reference = core_open("reference"), *d = NULL, *plain = NULL;
    ssq_queue *q = NULL;
    ssq_buffer *b = NULL;
    struct _cl_mem *mem = NULL;
    uint64_t offset;
    cl_int e;

    core_status(ssq_opencl_device_open(NULL, own.id, NULL, &d), SSQ_ERR_INVALID,
                "context is NULL", "a context of NULL");
    core_status(ssq_opencl_device_open(own.context, NULL, NULL, &d),
                SSQ_ERR_INVALID, "id is NULL", "an id of NULL");
    core_status(ssq_opencl_queue_create(reference, own.queue, &q),
                SSQ_ERR_INVALID, "reference|opencl", "a queue on reference");
    core_status(ssq_opencl_buffer_import(reference, own.x, &b), SSQ_ERR_INVALID,
                "reference|opencl", "a buffer on reference");
    core_status(ssq_opencl_queue_create(dev, NULL, &q), SSQ_ERR_INVALID, "NULL",
                "a queue of NULL");
    core_status(ssq_opencl_buffer_import(dev, NULL, &b), SSQ_ERR_INVALID,
                "NULL", "a buffer of NULL");
    NEED(ssq_buffer_create(reference, 64, &b));
    core_status(ssq_opencl_buffer_mem(b, &mem, &offset), SSQ_ERR_INVALID,
                "reference", "the cl_mem of reference's buffer");
    ssq_buffer_destroy(&b);

    cl_mem read_only = own_buffer(CL_MEM_READ_ONLY, 64);
    core_status(ssq_opencl_buffer_import(dev, read_only, &b), SSQ_ERR_INVALID,
                "read and write", "a buffer that kernels only read");
    clReleaseMemObject(read_only);
    cl_command_queue any_order = clCreateCommandQueue(
        own.context, own.id, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &e);
    if (e == CL_SUCCESS) {
        core_status(ssq_opencl_queue_create(dev, any_order, &q),
                    SSQ_ERR_INVALID, "out of order", "a queue out of order");
        clReleaseCommandQueue(any_order);
    }
    NEED(ssq_device_open("opencl:0", NULL, &plain));
    core_status(ssq_opencl_queue_create(plain, own.queue, &q), SSQ_ERR_INVALID,
                "another context", "a queue of another context");
    core_status(ssq_opencl_buffer_import(plain, own.x, &b), SSQ_ERR_INVALID,
                "another context", "a buffer of another context");
    tap_ok(d == NULL && q == NULL && b == NULL, "nothing was written");
    ssq_device_close(&plain);
    ssq_device_close(&reference);
}

/* The caller's queue was made without profiling. */
static void test_elapsed(ssq_device *dev)
{
    ssq_queue *q = NULL;
    ssq_event *a = NULL, *b = NULL;
    double seconds;

    NEED(ssq_opencl_queue_create(dev, own.queue, &q));
    NEED(ssq_event_create(dev, &a));
    NEED(ssq_event_create(dev, &b));
    NEED(ssq_event_record(a, q));
    NEED(ssq_event_record(b, q));
    NEED(ssq_queue_sync(q));
    core_status(ssq_event_elapsed(a, b, &seconds), SSQ_ERR_UNSUPPORTED,
                "profiling", "the time between events without profiling");
    ssq_event_destroy(&a);
    ssq_event_destroy(&b);
    ssq_queue_destroy(&q);
}

int main(void)
{
    ssq_device *dev = NULL;

    if (driver_missing("opencl"))
        return tap_done(0);
    own_open();
    test_pipeline();
    NEED(ssq_opencl_device_open(own.context, own.id, NULL, &dev));
    test_export(dev);
    test_misuse(dev);
    test_elapsed(dev);
    ssq_device_close(&dev);
    own_close();
    return tap_done(20);
}

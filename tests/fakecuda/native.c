/* SPDX-License-Identifier: Apache-2.0 */
/* native.c - tests of <sesqui/cuda.h>, by a plain program of the driver's API:
 * its context, stream and memory, its copies before and after ours, no copy
 * between the two. The driver is the stand-in, which this program links: the
 * module then finds it under libcuda's name.
 *
 * n values: the program writes x, ours y = relu(x), the program reads y. */

#include <sesqui/cuda.h>
#include <sesqui/dlpack.h>

#include <sched.h>
#include <stdatomic.h>

#include "tests/core/driver.h"
#include "tests/fakecuda/driver/fakecuda.h"

#define N 1003

static struct {
    CUcontext context, other;
    CUstream stream;
    CUdeviceptr x, y;
} own;

static void own_need(CUresult e, const char *what)
{
    if (e != 0)
        tap_bail("%s: %d", what, (int)e);
}

static void own_open(void)
{
    CUdevice device;
    own_need(cuInit(0), "cuInit");
    own_need(cuDeviceGet(&device, 0), "cuDeviceGet");
    own_need(cuDevicePrimaryCtxRetain(&own.context, device),
             "cuDevicePrimaryCtxRetain");
    own_need(cuCtxPushCurrent_v2(own.context), "cuCtxPushCurrent");
    own_need(cuStreamCreate(&own.stream, 1), "cuStreamCreate");
    own_need(cuMemAlloc_v2(&own.x, 4 * N), "cuMemAlloc");
    own_need(cuMemAlloc_v2(&own.y, 4 * N), "cuMemAlloc");
}

static void own_close(void)
{
    CUcontext popped;
    own_need(cuMemFree_v2(own.x), "cuMemFree");
    own_need(cuMemFree_v2(own.y), "cuMemFree");
    own_need(cuStreamDestroy_v2(own.stream), "cuStreamDestroy");
    own_need(cuCtxPopCurrent_v2(&popped), "cuCtxPopCurrent");
    own_need(cuDevicePrimaryCtxRelease_v2(0), "cuDevicePrimaryCtxRelease");
}

static atomic_bool open_gate;

static void wait_at_gate(void *unused)
{
    (void)unused;
    while (!atomic_load(&open_gate))
        sched_yield();
}

/* Record an event after more commands than the backend has marks for. If the
 * event is reached, reads before it must be in host memory, both a read of the
 * same dtype and one that the host converts. */
static void event_after_many(ssq_device *dev)
{
    const int64_t n = 4;
    const float in[4] = {-1.0f, 2.0f, -3.0f, 4.0f};
    float same[4] = {0};
    double converted[4] = {0};
    ssq_tensor *x, *y;
    ssq_queue *q;
    ssq_event *e;

    NEED(ssq_cuda_queue_create(dev, own.stream, &q));
    NEED(ssq_tensor_create(dev, SSQ_F32, 1, &n, &x));
    NEED(ssq_tensor_create(dev, SSQ_F32, 1, &n, &y));
    NEED(ssq_event_create(dev, &e));
    NEED(ssq_tensor_write(q, x, in, sizeof(in), SSQ_F32));
    atomic_store(&open_gate, false);
    own_need(fakecuda_compute(own.stream, NULL, 0, wait_at_gate, "", 1),
             "fakecuda_compute");
    for (int i = 0; i < 1000; i++)
        NEED(ssq_relu(q, SSQ_RELU(.x = x, .y = y)));
    NEED(ssq_tensor_read(q, y, same, sizeof(same), SSQ_F32));
    NEED(ssq_tensor_read(q, y, converted, sizeof(converted), SSQ_F64));
    NEED(ssq_event_record(e, q));
    atomic_store(&open_gate, true);
    while (ssq_event_query(e) == SSQ_ERR_NOT_READY)
        continue;
    tap_ok(same[1] == 2.0f && same[3] == 4.0f && converted[1] == 2.0 &&
               converted[3] == 4.0,
           "reads before an event after 1000 commands: %g %g, %g %g",
           (double)same[1], (double)same[3], converted[1], converted[3]);
    ssq_event_destroy(&e);
    ssq_tensor_destroy(&y);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
}

/* The program's memory by DLPack, from the second element on; a struct of
 * another GPU, and of memory that CUDA does not know. */
static void by_dlpack(ssq_device *dev)
{
    float in[4] = {1.0f, -2.0f, 3.0f, -4.0f}, out[3] = {0};
    int64_t shape = 3;
    DLManagedTensor lent = {.dl_tensor = {.data = (void *)(uintptr_t)own.x,
                                          .device = {kDLCUDA, 0},
                                          .ndim = 1,
                                          .dtype = {kDLFloat, 32, 1},
                                          .shape = &shape,
                                          .byte_offset = 4}};
    DLManagedTensorVersioned *dl;
    ssq_tensor *x = NULL;
    ssq_queue *q;

    NEED(ssq_cuda_queue_create(dev, own.stream, &q));
    own_need(cuMemcpyHtoDAsync_v2(own.x, in, sizeof(in), own.stream), "write");
    NEED(ssq_tensor_from_dlpack_unversioned(q, &lent, NULL, &x));
    NEED(ssq_relu(q, SSQ_RELU(.x = x, .y = x)));
    NEED(ssq_tensor_to_dlpack(x, SSQ_TO_DLPACK(.producer = q, .consumer = q),
                              &dl));
    own_need(cuMemcpyDtoHAsync_v2(out,
                                  (CUdeviceptr)(uintptr_t)dl->dl_tensor.data,
                                  sizeof(out), own.stream),
             "read");
    own_need(cuStreamSynchronize(own.stream), "cuStreamSynchronize");
    tap_ok(out[0] == 0.0f && out[1] == 3.0f && out[2] == 0.0f &&
               dl->dl_tensor.device.device_type == kDLCUDA &&
               dl->dl_tensor.device.device_id == 0 &&
               (CUdeviceptr)(uintptr_t)dl->dl_tensor.data == own.x + 4,
           "relu of memory that came and went by DLPack: %g %g %g",
           (double)out[0], (double)out[1], (double)out[2]);
    dl->deleter(dl);
    ssq_tensor_destroy(&x);
    lent.dl_tensor.device.device_id = 1;
    core_status(ssq_tensor_from_dlpack_unversioned(q, &lent, NULL, &x),
                SSQ_ERR_INVALID, "kDLCUDA 1|kDLCUDA 0", "another GPU");
    lent.dl_tensor.device.device_id = 0;
    lent.dl_tensor.data = in;
    core_status(ssq_tensor_from_dlpack_unversioned(q, &lent, NULL, &x),
                SSQ_ERR_INVALID, "cuda:", "the host's memory as a GPU's");
    ssq_queue_destroy(&q);
}

/* Tensors over the program's memory, and relu between them on its stream. */
static void between(ssq_device *dev)
{
    static float x[N], y[N];
    const int64_t n = N;
    ssq_buffer *bx, *by;
    ssq_tensor *tx, *ty;
    ssq_queue *q;
    int wrong = 0;

    for (int i = 0; i < N; i++)
        x[i] = (float)i - 500.0f;
    NEED(ssq_cuda_queue_create(dev, own.stream, &q));
    NEED(ssq_cuda_buffer_import(dev, own.x, sizeof(x), &bx));
    NEED(ssq_cuda_buffer_import(dev, own.y, sizeof(y), &by));
    NEED(ssq_tensor_from_buffer(bx, SSQ_F32, 1, &n, NULL, 0, &tx));
    NEED(ssq_tensor_from_buffer(by, SSQ_F32, 1, &n, NULL, 0, &ty));
    own_need(cuMemcpyHtoDAsync_v2(own.x, x, sizeof(x), own.stream), "write");
    NEED(ssq_relu(q, SSQ_RELU(.x = tx, .y = ty)));
    own_need(cuMemcpyDtoHAsync_v2(y, own.y, sizeof(y), own.stream), "read");
    own_need(cuStreamSynchronize(own.stream), "cuStreamSynchronize");
    for (int i = 0; i < N; i++)
        wrong += y[i] != (x[i] > 0.0f ? x[i] : 0.0f);
    tap_ok(wrong == 0, "relu between the program's copies: %d wrong", wrong);
    ssq_tensor_destroy(&tx);
    ssq_tensor_destroy(&ty);
    ssq_buffer_destroy(&bx);
    ssq_buffer_destroy(&by);
    ssq_queue_destroy(&q);
}

/* The address of a buffer of ours is memory that the program may use. */
static void address(ssq_device *dev)
{
    const float three = 3.0f;
    float got = 0.0f;
    ssq_buffer *b;
    uint64_t at = 0;

    NEED(ssq_buffer_create(dev, 4, &b));
    NEED(ssq_cuda_buffer_address(b, &at));
    own_need(cuMemcpyHtoDAsync_v2(at, &three, 4, own.stream), "write");
    own_need(cuMemcpyDtoHAsync_v2(&got, at, 4, own.stream), "read");
    own_need(cuStreamSynchronize(own.stream), "cuStreamSynchronize");
    tap_ok(got == 3.0f, "a buffer's address holds what is written: %g",
           (double)got);
    ssq_buffer_destroy(&b);
}

/* Work of the program on a queue's stream runs in the order of the calls. */
static void streams(ssq_device *dev)
{
    const float in = -3.0f, five = 5.0f;
    const int64_t one = 1;
    float out = 0.0f;
    ssq_buffer *b;
    ssq_tensor *x;
    ssq_queue *ours = core_queue(dev), *over, *plain;
    CUstream stream, theirs, legacy;
    uint64_t at;

    NEED(ssq_cuda_queue_create(dev, own.stream, &over));
    NEED(ssq_cuda_queue_create(dev, NULL, &plain));
    NEED(ssq_cuda_queue_stream(ours, &stream));
    NEED(ssq_cuda_queue_stream(over, &theirs));
    NEED(ssq_cuda_queue_stream(plain, &legacy));
    tap_ok(theirs == own.stream && legacy == CU_STREAM_LEGACY,
           "a stream of the program, and the default stream, are returned");
    NEED(ssq_buffer_create(dev, 4, &b));
    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 1, &one, NULL, 0, &x));
    NEED(ssq_cuda_buffer_address(b, &at));
    NEED(ssq_tensor_write(ours, x, &in, 4, SSQ_F32));
    own_need(cuMemcpyHtoDAsync_v2(at, &five, 4, stream), "write");
    NEED(ssq_neg(ours, SSQ_NEG(.x = x, .y = x)));
    own_need(cuMemcpyDtoHAsync_v2(&out, at, 4, stream), "read");
    NEED(ssq_queue_sync(ours));
    tap_ok(out == -5.0f, "copies of the program on a queue's stream: %g",
           (double)out);
    ssq_tensor_destroy(&x);
    ssq_buffer_destroy(&b);
    ssq_queue_destroy(&plain);
    ssq_queue_destroy(&over);
    ssq_queue_destroy(&ours);
}

/* ---- the program's allocator ---- */

static struct {
    int live, calls;
    bool empty;
} counts;

static uint64_t own_alloc(void *user, uint64_t bytes)
{
    CUdeviceptr at = 0;

    (void)user;
    counts.calls++;
    if (counts.empty || cuMemAlloc_v2(&at, (size_t)bytes) != 0)
        return 0;
    counts.live++;
    return at;
}

static void own_free(void *user, uint64_t address, uint64_t bytes)
{
    (void)user;
    (void)bytes;
    own_need(cuMemFree_v2(address), "cuMemFree");
    counts.live--;
}

static void allocator(ssq_device *dev)
{
    ssq_cuda_allocator a = {sizeof(a), NULL, own_alloc, own_free};
    const int64_t n = 20 << 20;
    ssq_tensor *small, *large = NULL;

    NEED(ssq_cuda_allocator_set(dev, &a));
    small = core_vector(dev, SSQ_F32, 100);
    large = core_vector(dev, SSQ_F32, n);
    tap_ok(counts.live == 2, "memory is the program's: %d", counts.live);
    ssq_tensor_destroy(&large);
    tap_ok(counts.live == 2, "memory that is free stays for the next buffer");
    ssq_device_trim(dev);
    tap_ok(counts.live == 1, "a trim gives large memory back");
    counts.empty = true;
    core_status(ssq_tensor_create(dev, SSQ_F32, 1, &n, &large), SSQ_ERR_NOMEM,
                "the caller's allocator", "where it has none");
    counts.calls = 0;
    NEED(ssq_cuda_allocator_set(dev, NULL));
    large = core_vector(dev, SSQ_F32, n);
    tap_ok(counts.calls == 0 && large != NULL, "the driver's again");
    ssq_tensor_destroy(&small);
    ssq_tensor_destroy(&large);
    ssq_device_trim(dev);
    tap_ok(counts.live == 0, "what was the program's went back there: %d",
           counts.live);
    a.free = NULL;
    core_status(ssq_cuda_allocator_set(dev, &a), SSQ_ERR_INVALID, "free",
                "an allocator without a free");
    a.struct_size = 0;
    core_status(ssq_cuda_allocator_set(dev, &a), SSQ_ERR_INVALID, "struct_size",
                "of another size");
}

static void refusals(ssq_device *dev)
{
    ssq_buffer *b = NULL;
    ssq_device *none = NULL;
    ssq_queue *q;
    static float host[4];

    core_status(ssq_cuda_device_open(NULL, NULL, &none), SSQ_ERR_INVALID,
                "context", "no context");
    core_status(ssq_cuda_buffer_import(dev, own.x, 4 * N + 4, &b),
                SSQ_ERR_INVALID, "ends", "more bytes than there are");
    core_status(ssq_cuda_buffer_import(dev, own.x + 4, 4, &b), SSQ_ERR_INVALID,
                "16", "an address that is not aligned");
    core_status(ssq_cuda_buffer_import(dev, (uint64_t)(uintptr_t)host, 16, &b),
                SSQ_ERR_INVALID, "address", "the host's memory");
    core_status(ssq_cuda_buffer_import(dev, 0, 16, &b), SSQ_ERR_INVALID, "0",
                "address 0");
    NEED(ssq_cuda_queue_create(dev, NULL, &q));
    NEED(ssq_queue_sync(q));
    ssq_queue_destroy(&q);
    tap_ok(b == NULL && none == NULL, "NULL is the default stream");
}

int main(void)
{
    ssq_device *dev = NULL;
    CUcontext now = NULL;

    own_open();
    NEED(ssq_cuda_device_open(own.context, NULL, &dev));
    between(dev);
    event_after_many(dev);
    by_dlpack(dev);
    address(dev);
    streams(dev);
    allocator(dev);
    refusals(dev);
    ssq_device_close(&dev);
    own_need(cuCtxGetCurrent(&now), "cuCtxGetCurrent");
    tap_ok(now == own.context, "the program's context is current as before");
    own_close();
    return tap_done(20);
}

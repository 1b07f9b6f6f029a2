/* SPDX-License-Identifier: Apache-2.0 */
/* misuse.c - <sesqui/cuda.h> in a wrong program: two GPUs are mixed up, streams
 * and contexts are destroyed, memory has another size or device than the
 * program says. The call is refused or the queue fails. No call may return
 * SSQ_OK if its work did not run. */
#include <sesqui/cuda.h>

#include "tests/core/driver.h"
#include "tests/fakecuda/driver/fakecuda.h"

#include <pthread.h>

#define N 4096 /* bytes of the program's memory */

static void own_need(CUresult e, const char *what)
{
    if (e != 0)
        tap_bail("%s: %d", what, (int)e);
}
#define OWN(CALL) own_need(CALL, #CALL)

/* One device and what the program has there. */
struct own {
    CUcontext context;
    CUstream stream;
    CUdeviceptr memory;
    ssq_device *dev;
};

static void own_open(struct own *o, int device)
{
    OWN(cuCtxCreate_v2(&o->context, 0, device));
    OWN(cuStreamCreate(&o->stream, CU_STREAM_NON_BLOCKING));
    OWN(cuMemAlloc_v2(&o->memory, N));
    OWN(cuCtxPopCurrent_v2(NULL));
    NEED(ssq_cuda_device_open(o->context, NULL, &o->dev));
}

static void own_close(struct own *o)
{
    ssq_device_close(&o->dev);
    OWN(cuCtxDestroy_v2(o->context));
}

static ssq_status relu(ssq_queue *q, const ssq_tensor *x, const ssq_tensor *y)
{
    return ssq_relu(q, SSQ_RELU(.x = x, .y = y));
}

static ssq_tensor *over(ssq_device *dev, CUdeviceptr at, int64_t n)
{
    ssq_buffer *b;
    ssq_tensor *t;

    NEED(ssq_cuda_buffer_import(dev, at, (uint64_t)n * 4, &b));
    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 1, &n, NULL, 0, &t));
    ssq_buffer_destroy(&b);
    return t;
}

static void arguments(const struct own *o)
{
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    ssq_device *dev = NULL, *other = core_open("reference");
    ssq_queue *q = NULL, *plain = core_queue(other);
    ssq_buffer *b = NULL;
    CUstream stream = NULL;
    uint64_t at = 7;

    options.struct_size = 1;
    core_status(ssq_cuda_device_open(o->context, &options, &dev),
                SSQ_ERR_INVALID, "struct_size", "options of another size");
    core_status(ssq_cuda_device_open(o->context, NULL, NULL), SSQ_ERR_INVALID,
                "NULL", "a device to nowhere");
    core_status(ssq_cuda_queue_create(NULL, o->stream, &q), SSQ_ERR_INVALID,
                "NULL", "a queue without a device");
    core_status(ssq_cuda_queue_create(other, o->stream, &q), SSQ_ERR_INVALID,
                "reference", "a queue of another backend's device");
    core_status(ssq_cuda_queue_create(o->dev, o->stream, NULL), SSQ_ERR_INVALID,
                "NULL", "a queue to nowhere");
    core_status(ssq_cuda_queue_create(o->dev, CU_STREAM_PER_THREAD, &q),
                SSQ_ERR_INVALID, "per-thread", "each thread's own stream");
    core_status(ssq_cuda_queue_stream(NULL, &stream), SSQ_ERR_INVALID,
                "queue is NULL", "a stream of no queue");
    core_status(ssq_cuda_queue_stream(plain, NULL), SSQ_ERR_INVALID,
                "stream is NULL", "a stream to nowhere");
    core_status(ssq_cuda_queue_stream(plain, &stream), SSQ_ERR_INVALID,
                "reference", "a stream of another backend's queue");
    core_status(ssq_cuda_buffer_import(other, o->memory, 16, &b),
                SSQ_ERR_INVALID, "reference", "memory for another backend");
    core_status(ssq_cuda_buffer_import(o->dev, o->memory, 16, NULL),
                SSQ_ERR_INVALID, "NULL", "a buffer to nowhere");
    core_status(ssq_cuda_buffer_address(NULL, &at), SSQ_ERR_INVALID, "NULL",
                "no buffer");
    NEED(ssq_buffer_create(other, 16, &b));
    core_status(ssq_cuda_buffer_address(b, &at), SSQ_ERR_INVALID, "reference",
                "another backend's buffer");
    ssq_buffer_destroy(&b);
    NEED(ssq_buffer_create(o->dev, 0, &b));
    core_status(ssq_cuda_buffer_address(b, &at), SSQ_ERR_INVALID, "0 bytes",
                "a buffer of nothing");
    ssq_buffer_destroy(&b);
    tap_ok(dev == NULL && q == NULL && stream == NULL && at == 7,
           "nothing was written");
    ssq_queue_destroy(&plain);
    ssq_device_close(&other);
}

static void memory(const struct own *o)
{
    ssq_buffer *b = NULL;
    CUdeviceptr gone;
    void *pinned;

    OWN(cuCtxPushCurrent_v2(o->context));
    OWN(cuMemHostAlloc(&pinned, N, 0));
    OWN(cuMemAlloc_v2(&gone, N));
    OWN(cuMemFree_v2(gone));
    core_status(ssq_cuda_buffer_import(o->dev, (uintptr_t)pinned, N, &b),
                SSQ_ERR_INVALID, "not a device's", "pinned host memory");
    core_status(ssq_cuda_buffer_import(o->dev, gone, N, &b), SSQ_ERR_INVALID,
                "not of memory that CUDA knows", "memory that was freed");
    core_status(ssq_cuda_buffer_import(o->dev, o->memory, UINT64_MAX, &b),
                SSQ_ERR_INVALID, "ends", "all the bytes there are");
    core_status(ssq_cuda_buffer_import(o->dev, o->memory + N, 16, &b),
                SSQ_ERR_INVALID, "", "memory behind the end");
    core_status(ssq_cuda_buffer_import(o->dev, o->memory + 16, N, &b),
                SSQ_ERR_INVALID, "ends", "from within it too many");
    core_status(ssq_cuda_buffer_import(o->dev, o->memory + 16, N - 16, &b),
                SSQ_OK, "", "up to its end");
    ssq_buffer_destroy(&b);
    OWN(cuMemFreeHost(pinned));
    OWN(cuCtxPopCurrent_v2(NULL));
}

/* Buffers over the same bytes are known to be so, also of our own memory. */
static void aliases(const struct own *o)
{
    ssq_tensor *x = over(o->dev, o->memory, 256);
    ssq_tensor *same = over(o->dev, o->memory, 256);
    ssq_tensor *off = over(o->dev, o->memory + 64, 256);
    ssq_tensor *behind = over(o->dev, o->memory + 1024, 256);
    const int64_t n = 256;
    ssq_buffer *ours;
    ssq_tensor *t;
    ssq_queue *q;
    uint64_t at;

    NEED(ssq_cuda_queue_create(o->dev, o->stream, &q));
    core_status(ssq_copy(q, SSQ_COPY(.x = x, .y = off)), SSQ_ERR_INVALID,
                "overlaps", "a copy onto a part of itself");
    core_status(relu(q, x, off), SSQ_ERR_INVALID, "overlaps",
                "an op onto a part of its operand");
    core_status(relu(q, x, same), SSQ_OK, "", "exactly onto it: in place");
    core_status(ssq_copy(q, SSQ_COPY(.x = x, .y = behind)), SSQ_OK, "",
                "a copy to what lies behind");
    NEED(ssq_buffer_create(o->dev, 4096, &ours));
    NEED(ssq_tensor_from_buffer(ours, SSQ_F32, 1, &n, NULL, 0, &t));
    NEED(ssq_cuda_buffer_address(ours, &at));
    ssq_tensor_destroy(&off);
    off = over(o->dev, at + 64, 256);
    core_status(ssq_copy(q, SSQ_COPY(.x = t, .y = off)), SSQ_ERR_INVALID,
                "overlaps", "memory of ours, lent back");
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&t);
    ssq_buffer_destroy(&ours);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&same);
    ssq_tensor_destroy(&off);
    ssq_tensor_destroy(&behind);
    ssq_queue_destroy(&q);
}

static void two_devices(const struct own *a, const struct own *b)
{
    ssq_queue *q = NULL;
    ssq_buffer *buffer = NULL;

    core_status(ssq_cuda_queue_create(a->dev, b->stream, &q), SSQ_ERR_INVALID,
                "another context", "a stream of the other device");
    core_status(ssq_cuda_buffer_import(a->dev, b->memory, N, &buffer),
                SSQ_ERR_INVALID, "another device", "memory of the other");
    NEED(ssq_cuda_queue_create(a->dev, a->stream, &q));
    ssq_tensor *x = over(a->dev, a->memory, 64);
    ssq_tensor *y = over(b->dev, b->memory, 64);
    core_status(relu(q, x, y), SSQ_ERR_INVALID, "", "an op between them");
    core_status(relu(q, x, x), SSQ_OK, "", "the queue goes on");
    core_status(ssq_queue_sync(q), SSQ_OK, "", "and ends");
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&q);
}

/* Everything is closed in the wrong order, and used in between. */
static void lifetimes(void)
{
    struct own o;
    ssq_queue *q;

    own_open(&o, 0);
    NEED(ssq_cuda_queue_create(o.dev, o.stream, &q));
    ssq_tensor *x = over(o.dev, o.memory, 64);
    ssq_tensor *y = core_vector(o.dev, SSQ_F32, 64);
    ssq_device_close(&o.dev);
    core_status(relu(q, x, y), SSQ_OK, "", "a queue outlives its device");
    ssq_queue_destroy(&q);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    OWN(cuCtxDestroy_v2(o.context));
}

static void dead_stream(void)
{
    struct own o;
    ssq_queue *q, *late = NULL;

    own_open(&o, 0);
    ssq_tensor *x = over(o.dev, o.memory, 64);
    NEED(ssq_cuda_queue_create(o.dev, o.stream, &q));
    NEED(relu(q, x, x));
    OWN(cuCtxPushCurrent_v2(o.context));
    OWN(cuStreamDestroy_v2(o.stream));
    OWN(cuCtxPopCurrent_v2(NULL));
    core_status(relu(q, x, x), SSQ_ERR_DEVICE,
                "cuda: ", "a stream destroyed behind us");
    core_status(ssq_queue_sync(q), SSQ_ERR_DEVICE, "cuda: ", "and it stays");
    core_status(ssq_cuda_queue_create(o.dev, o.stream, &late), SSQ_ERR_INVALID,
                "no CUstream", "a queue over it");
    ssq_queue_destroy(&q);
    ssq_tensor_destroy(&x);
    own_close(&o);
}

/* The objects that exist when a context goes or a device breaks: queues of two
 * kinds, an event, work in progress. */
struct victim {
    struct own o;
    ssq_queue *his, *ours;
    ssq_event *event;
    ssq_graph *graph;
    ssq_tensor *x, *y;
};

static void victim_open(struct victim *v)
{
    own_open(&v->o, 0);
    NEED(ssq_cuda_queue_create(v->o.dev, v->o.stream, &v->his));
    NEED(ssq_queue_create(v->o.dev, NULL, &v->ours));
    NEED(ssq_event_create(v->o.dev, &v->event));
    v->x = over(v->o.dev, v->o.memory, 64);
    v->y = core_vector(v->o.dev, SSQ_F32, 64);
    NEED(ssq_graph_begin(v->ours));
    NEED(relu(v->ours, v->y, v->y));
    NEED(relu(v->ours, v->y, v->y));
    NEED(ssq_graph_end(v->ours, &v->graph));
    NEED(relu(v->his, v->x, v->x));
    NEED(ssq_fill(v->ours, SSQ_FILL(.x = v->y)));
    NEED(ssq_event_record(v->event, v->ours));
}

/* Every call says so, none hangs, and all is closed. */
static void victim_close(struct victim *v, const char *text, const char *what)
{
    float host[64];
    const int64_t n = 1 << 20;
    ssq_tensor *late = NULL;
    ssq_queue *q = NULL;
    ssq_buffer *b = NULL;

    core_status(ssq_event_sync(v->event), SSQ_ERR_DEVICE, text, "%s: an event",
                what);
    core_status(relu(v->his, v->x, v->y), SSQ_ERR_DEVICE, text, "%s: an op",
                what);
    core_status(ssq_graph_launch(v->ours, v->graph), SSQ_ERR_DEVICE, text,
                "%s: a graph", what);
    core_status(ssq_tensor_read(v->ours, v->y, host, sizeof(host), SSQ_F32),
                SSQ_ERR_DEVICE, text, "%s: a read", what);
    core_status(ssq_queue_sync(v->his), SSQ_ERR_DEVICE, text, "%s: a sync",
                what);
    core_status(ssq_queue_status(v->his), SSQ_ERR_DEVICE, text,
                "%s: a question", what);
    core_status(ssq_queue_create(v->o.dev, NULL, &q), SSQ_ERR_DEVICE, text,
                "%s: a queue", what);
    core_status(ssq_tensor_create(v->o.dev, SSQ_F32, 1,
                                  (const int64_t[]){64 * n}, &late),
                SSQ_ERR_DEVICE, text, "%s: memory", what);
    /* no work: it may succeed where the driver still knows the memory */
    (void)!ssq_cuda_buffer_import(v->o.dev, v->o.memory, N, &b);
    ssq_buffer_destroy(&b);
    ssq_device_trim(v->o.dev);
    ssq_graph_destroy(&v->graph);
    ssq_event_destroy(&v->event);
    ssq_queue_destroy(&v->his);
    ssq_queue_destroy(&v->ours);
    ssq_tensor_destroy(&v->x);
    ssq_tensor_destroy(&v->y);
    ssq_device_close(&v->o.dev);
}

static void dead_context(void)
{
    struct victim v;
    struct own again;

    victim_open(&v);
    OWN(cuCtxDestroy_v2(v.o.context));
    victim_close(&v, "cuda: ", "a context destroyed behind us");
    own_open(&again, 0);
    tap_ok(true, "another context of the device opens");
    own_close(&again);
}

static void broken_device(CUresult how, const char *name)
{
    struct victim v;

    victim_open(&v);
    fakecuda_break_context(v.o.context, how);
    victim_close(&v, name, name);
    OWN(cuCtxDestroy_v2(v.o.context));
}

/* ---- threads ---- */

#define ROUNDS 40

struct shared {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *x;
    bool good;
};

static void *use(void *arg)
{
    struct shared *s = arg;
    float host[64];

    for (int i = 0; i < ROUNDS; i++) {
        ssq_tensor *t = NULL;
        const int64_t n = 64;

        s->good =
            s->good &&
            ssq_tensor_create(s->dev, SSQ_F32, 1, &n, &t) == SSQ_OK &&
            ssq_fill(s->q, SSQ_FILL(.x = t, .value = i)) == SSQ_OK &&
            relu(s->q, t, s->x) == SSQ_OK &&
            ssq_tensor_read(s->q, t, host, sizeof(host), SSQ_F32) == SSQ_OK &&
            ssq_queue_sync(s->q) == SSQ_OK && host[63] == (float)i;
        ssq_tensor_destroy(&t);
    }
    return NULL;
}

/* One stream, two queues over it, three threads. */
static void threads(const struct own *o)
{
    pthread_t thread[3];
    ssq_queue *q[2];
    struct shared s[3];
    bool good = true;

    for (int i = 0; i < 2; i++)
        NEED(ssq_cuda_queue_create(o->dev, o->stream, &q[i]));
    for (int i = 0; i < 3; i++) {
        s[i] = (struct shared){o->dev, q[i / 2],
                               core_vector(o->dev, SSQ_F32, 64), true};
        if (pthread_create(&thread[i], NULL, use, &s[i]) != 0)
            tap_bail("no thread");
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(thread[i], NULL);
        good = good && s[i].good;
        ssq_tensor_destroy(&s[i].x);
    }
    tap_ok(good, "three threads on two queues over one stream");
    ssq_queue_destroy(&q[0]);
    ssq_queue_destroy(&q[1]);
}

/* ---- a child of fork ---- */

static int child(void *arg)
{
    const struct own *o = arg;
    ssq_queue *q;
    ssq_buffer *b;
    ssq_device *dev;

    return ssq_cuda_queue_create(o->dev, o->stream, &q) == SSQ_ERR_DEVICE &&
                   ssq_cuda_buffer_import(o->dev, o->memory, N, &b) ==
                       SSQ_ERR_DEVICE &&
                   ssq_cuda_device_open(o->context, NULL, &dev) ==
                       SSQ_ERR_DEVICE
               ? 0
               : 1;
}

int main(void)
{
    struct own a, b;

    if (driver_missing("cuda"))
        return tap_done(0);
    setenv("FAKECUDA_DEVICES", "2", 1);
    setenv("FAKECUDA_QUIET", "1", 1);
    OWN(cuInit(0));
    own_open(&a, 0);
    own_open(&b, 1);
    arguments(&a);
    memory(&a);
    aliases(&a);
    two_devices(&a, &b);
    threads(&a);
    tap_ok(tap_exited(tap_fork(child, &a, 60), 0), "a child has no device");
    own_close(&b);
    own_close(&a);
    lifetimes();
    dead_stream();
    dead_context();
    broken_device(CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS");
    broken_device(CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE");
    tap_ok(fakecuda_live() == 0, "no object is left in the end, but %lu",
           fakecuda_live());
    return tap_done(60);
}

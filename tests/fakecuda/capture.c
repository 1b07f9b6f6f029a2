/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c - a program captures its stream by CUDA's own calls and enqueues
 * work on a queue over the stream. The resulting graph must train as the same
 * calls do without a capture. The captures have the mode "global", in which no
 * thread may make calls that could wait or allocate. */
#include <sesqui/checkpoint.h>
#include <sesqui/cuda.h>
#include <sesqui/dlpack.h>

#include "tests/api/training.h"
#include "tests/core/driver.h"
#include "tests/fakecuda/driver/fakecuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define REPLAYS 4

static CUcontext context;
static CUstream stream;

static void own_need(CUresult e, const char *what)
{
    if (e != 0)
        tap_bail("%s: %d", what, (int)e);
}
#define OWN(CALL) own_need(CALL, #CALL)

/* The program on the caller's stream, up to its first step. */
static void begin(struct training *p)
{
    *p = (struct training){.name = "cuda:0"};
    NEED(training_open(p));
    NEED(ssq_cuda_queue_create(p->dev, stream, &p->q));
    NEED(training_make(p));
    NEED(training_write(p));
    NEED(training_optimizer(p));
    NEED(training_add(p));
    NEED(training_scaler(p));
    NEED(training_event(p));
}

static ssq_status step(struct training *p)
{
    ssq_status st = training_hidden(p);
    ssq_status (*const rest[])(struct training *) = {
        training_logits, training_loss, training_dw2,
        training_dh,     training_relu, training_dw1,
        training_db1,    training_step, training_update};

    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]) && st == SSQ_OK; i++)
        st = rest[i](p);
    return st;
}

static void steps(struct training *p, int n)
{
    for (int i = 0; i < n; i++)
        NEED(step(p));
}

/* The results of a training: a parameter's values, and the loss. */
struct learned {
    float w1[9 * 16];
    float loss;
};

static void read_back(struct training *p, struct learned *l)
{
    NEED(ssq_tensor_read(p->q, p->t[T_W1], l->w1, sizeof(l->w1), SSQ_F32));
    NEED(ssq_tensor_read(p->q, p->t[T_LOSS], &l->loss, sizeof(l->loss),
                         SSQ_F32));
    NEED(ssq_queue_sync(p->q));
}

static bool same(const struct learned *a, const struct learned *b)
{
    return memcmp(a->w1, b->w1, sizeof(a->w1)) == 0 && a->loss == b->loss;
}

/* ---- what is refused in a capture, and leaves it whole ---- */

static void refusals(struct training *p)
{
    float x = 0.0f;
    ssq_queue *other;

    core_status(ssq_queue_sync(p->q), SSQ_ERR_INVALID, "captured",
                "waiting for a stream that is captured");
    core_status(ssq_tensor_read(p->q, p->t[T_LOSS], &x, sizeof(x), SSQ_F32),
                SSQ_ERR_INVALID, "captured", "reading");
    core_status(ssq_tensor_write(p->q, p->t[T_LOSS], &x, sizeof(x), SSQ_F32),
                SSQ_ERR_INVALID, "captured", "writing");
    core_status(ssq_event_record(p->event, p->q), SSQ_ERR_INVALID, "captured",
                "an event of ours");
    NEED(ssq_queue_create(p->dev, NULL, &other));
    NEED(ssq_event_record(p->event, other));
    core_status(ssq_queue_wait(p->q, p->event), SSQ_ERR_INVALID, "captured",
                "waiting for one");
    NEED(ssq_event_sync(p->event));
    ssq_queue_destroy(&other);
}

static void replay(CUgraphExec exec, int n)
{
    for (int i = 0; i < n; i++)
        OWN(cuGraphLaunch(exec, stream));
    OWN(cuStreamSynchronize(stream));
}

/* ---- what others may do meanwhile ---- */

/* Allocates, compiles, computes, reads and waits, on its own queue. */
static void *bystander(void *arg)
{
    ssq_device *dev = arg;
    ssq_queue *q;
    const int64_t n = 1 << 20;
    ssq_tensor *x;
    static float host[1 << 20];
    static bool good;

    OWN(cuCtxPushCurrent_v2(context));
    good = ssq_queue_create(dev, NULL, &q) == SSQ_OK &&
           ssq_tensor_create(dev, SSQ_F32, 1, &n, &x) == SSQ_OK &&
           ssq_fill(q, SSQ_FILL(.x = x, .value = 2.0)) == SSQ_OK &&
           ssq_sqrt(q, SSQ_SQRT(.x = x, .y = x)) == SSQ_OK &&
           ssq_tensor_read(q, x, host, sizeof(host), SSQ_F32) == SSQ_OK &&
           ssq_queue_sync(q) == SSQ_OK;
    good = good && host[n - 1] > 1.41f && host[n - 1] < 1.42f;
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    ssq_device_trim(dev);
    OWN(cuCtxPopCurrent_v2(NULL));
    return &good;
}

static void others(ssq_device *dev)
{
    pthread_t thread;
    void *good;

    if (pthread_create(&thread, NULL, bystander, dev) != 0)
        tap_bail("no thread");
    pthread_join(thread, &good);
    tap_ok(*(bool *)good, "another thread computes meanwhile");
}

/* Takes all free memory, in pieces of this many bytes, for a launch of
 * the graph: its workspace is not among it. */
#define TENANTS 400

static void launch_among_tenants(struct training *p, CUgraphExec exec)
{
    static ssq_tensor *t[TENANTS];
    static float host[TENANTS][64];
    int wrong = 0;

    for (int i = 0; i < TENANTS; i++) {
        t[i] = core_vector(p->dev, SSQ_F32, 64);
        NEED(ssq_fill(p->q, SSQ_FILL(.x = t[i], .value = 1e30)));
    }
    replay(exec, 1);
    for (int i = 0; i < TENANTS; i++)
        NEED(ssq_tensor_read(p->q, t[i], host[i], sizeof(host[i]), SSQ_F32));
    NEED(ssq_queue_sync(p->q));
    for (int i = 0; i < TENANTS * 64; i++)
        wrong += host[i / 64][i % 64] != 1e30f;
    tap_ok(wrong == 0, "a launch writes nobody else's memory: %d wrong", wrong);
    for (int i = 0; i < TENANTS; i++)
        ssq_tensor_destroy(&t[i]);
}

/* ---- captures ---- */

static CUgraphExec instantiate(void)
{
    CUgraph graph;
    CUgraphExec exec;

    OWN(cuStreamEndCapture(stream, &graph));
    OWN(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OWN(cuGraphDestroy(graph));
    return exec;
}

/* Whole steps, whose calls are captured one by one. */
static void captured_step(const struct learned *expected)
{
    struct training p;
    struct learned l;
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;

    begin(&p);
    steps(&p, 2);
    OWN(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ssq_status st = step(&p);
    core_status(st, SSQ_OK, "", "a step is captured: %s", ssq_last_error());
    refusals(&p);
    others(p.dev);
    CUgraphExec exec = instantiate();
    replay(exec, REPLAYS);
    read_back(&p, &l);
    tap_ok(same(&l, expected), "%d launches: loss %a, expected %a", REPLAYS,
           (double)l.loss, (double)expected->loss);
    NEED(ssq_scaler_state_get(p.q, p.scaler, &s));
    tap_ok(s.updates == 2 + REPLAYS, "the scaler counts %llu updates",
           (unsigned long long)s.updates);
    /* calls after the capture run immediately, and end */
    steps(&p, 1);
    NEED(ssq_queue_sync(p.q));
    core_status(ssq_queue_status(p.q), SSQ_OK, "", "and calls run again");
    launch_among_tenants(&p, exec);
    read_back(&p, &l);
    tap_ok(same(&l, &expected[1]),
           "and so does the graph: loss %a, expected %a", (double)l.loss,
           (double)expected[1].loss);
    NEED(ssq_optimizer_set(p.q, p.o, NULL, SSQ_HYPER_LR, 0.0));
    replay(exec, 1);
    read_back(&p, &l);
    tap_ok(memcmp(l.w1, expected[1].w1, sizeof(l.w1)) == 0,
           "whose launches take another lr, 0");
    OWN(cuGraphExecDestroy(exec));
    training_close(&p);
}

/* An op with a table that the host makes for it. */
static void table(void)
{
    static float x[4 * 64], eager[4 * 64], y[4 * 64];
    const int64_t shape[] = {4, 64};
    struct training p = {.name = "cuda:0"};
    ssq_tensor *tx, *ty;

    for (int i = 0; i < 4 * 64; i++)
        x[i] = (float)i;
    NEED(training_open(&p));
    NEED(ssq_cuda_queue_create(p.dev, stream, &p.q));
    NEED(ssq_tensor_create(p.dev, SSQ_F32, 2, shape, &tx));
    NEED(ssq_tensor_create(p.dev, SSQ_F32, 2, shape, &ty));
    NEED(ssq_tensor_write(p.q, tx, x, sizeof(x), SSQ_F32));
    NEED(ssq_rotary(p.q, SSQ_ROTARY(.x = tx, .y = ty)));
    NEED(ssq_tensor_read(p.q, ty, eager, sizeof(eager), SSQ_F32));
    NEED(ssq_queue_sync(p.q));
    OWN(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    core_status(ssq_rotary(p.q, SSQ_ROTARY(.x = tx, .y = ty)), SSQ_OK, "",
                "an op that makes a table: %s", ssq_last_error());
    CUgraphExec exec = instantiate();
    NEED(ssq_fill(p.q, SSQ_FILL(.x = ty)));
    replay(exec, 1);
    NEED(ssq_tensor_read(p.q, ty, y, sizeof(y), SSQ_F32));
    NEED(ssq_queue_sync(p.q));
    tap_ok(memcmp(y, eager, sizeof(y)) == 0, "and finds it at its launch");
    OWN(cuGraphExecDestroy(exec));
    ssq_tensor_destroy(&tx);
    ssq_tensor_destroy(&ty);
    training_close(&p);
}

/* Launch a graph of the library in a capture of the program. */
static void captured_graph(const struct learned *expected)
{
    struct training p;
    struct learned l;

    begin(&p);
    steps(&p, 2);
    NEED(training_begin(&p));
    NEED(step(&p));
    NEED(training_end(&p));
    NEED(ssq_queue_sync(p.q));
    OWN(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    core_status(training_launch(&p), SSQ_OK, "", "a graph of ours is captured");
    ssq_graph_destroy(&p.graph); /* the captured work still needs it */
    CUgraphExec exec = instantiate();
    others(p.dev);
    replay(exec, REPLAYS);
    read_back(&p, &l);
    tap_ok(same(&l, expected), "%d launches: loss %a, expected %a", REPLAYS,
           (double)l.loss, (double)expected->loss);
    OWN(cuGraphExecDestroy(exec));
    training_close(&p);
}

/* A trainer counts steps on the host, and cannot count the launches of a graph.
 * Its calls are therefore refused in a capture, and no pass is lost. */
static void refused_trainer(void)
{
    ssq_device *dev = NULL;
    ssq_queue *q;
    ssq_trainer *t = NULL, *other = NULL;
    ssq_trainer_progress seen = SSQ_TRAINER_PROGRESS_INIT;
    double loss = 0.0;
    NEED(ssq_device_open("cuda:0", NULL, &dev));
    NEED(ssq_cuda_queue_create(dev, stream, &q));
    NEED(ssq_trainer_create(q, NULL, &t));
    ssq_tensor *x = core_vector(dev, SSQ_F32, 4);
    NEED(ssq_fill(q, SSQ_FILL(.x = x, .value = 3.0)));
    ssq_tape *tape = ssq_trainer_begin(t);
    ssq_var w =
        ssq_var_param(tape, "w",
                      SSQ_PARAM(.rank = 1, .shape = {4},
                                .init = SSQ_INIT_CONSTANT, .value = 2.0));
    ssq_var y = ssq_mul_var(ssq_var_input(tape, x), w);
    NEED(ssq_trainer_step(t, ssq_mean_var(y, NULL)));
    OWN(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    core_status(ssq_trainer_poll(t, &seen), SSQ_ERR_INVALID, "captures",
                "a poll of losses");
    core_status(ssq_tape_status(ssq_trainer_begin(t)), SSQ_ERR_INVALID,
                "captures", "a pass of a trainer");
    core_status(ssq_trainer_create(q, NULL, &other), SSQ_ERR_INVALID,
                "trainer_create: the program captures", "a trainer's creation");
    core_status(ssq_params_to_float32(ssq_trainer_params(t), q, NULL),
                SSQ_ERR_INVALID, "captures", "a conversion of parameters");
    CUgraphExec exec = instantiate();
    replay(exec, 1);
    OWN(cuGraphExecDestroy(exec));
    NEED(ssq_trainer_loss(t, &loss));
    tap_ok(loss == 6.0 && ssq_trainer_steps(t) == 1,
           "the trainer's pass before it is not lost: loss %g", loss);
    ssq_trainer_destroy(&t);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

static ssq_var squares(ssq_tape *tape, void *name)
{
    return ssq_square_var(
        ssq_var_param(tape, name,
                      SSQ_PARAM(.rank = 1, .shape = {4},
                                .init = SSQ_INIT_CONSTANT, .value = 2.0)));
}

/* A tape and a parameter are written when they are created. In a capture of the
 * program they would have no values before its first launch. */
static void refused_tape(void)
{
    char old[] = "old", new[] = "new";
    ssq_device *dev = NULL;
    ssq_queue *q;
    ssq_params *p = NULL;
    ssq_tape *tape = NULL, *other = NULL;
    NEED(ssq_device_open("cuda:0", NULL, &dev));
    NEED(ssq_cuda_queue_create(dev, stream, &q));
    NEED(ssq_params_create(dev, NULL, NULL, &p));
    NEED(ssq_tape_create(q, p, &tape));
    ssq_tape_begin(tape, true);
    (void)squares(tape, old);
    NEED(ssq_tape_status(tape));
    OWN(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    core_status(ssq_tape_create(q, p, &other), SSQ_ERR_INVALID, "captures",
                "a tape");
    core_status(ssq_gradcheck(tape, squares, old, NULL, NULL), SSQ_ERR_INVALID,
                "captures", "a check of gradients");
    ssq_tape_begin(tape, true);
    (void)squares(tape, new);
    core_status(ssq_tape_status(tape), SSQ_ERR_INVALID, "captured",
                "a parameter");
    CUgraphExec exec = instantiate();
    OWN(cuGraphExecDestroy(exec));
    tap_ok(other == NULL && ssq_params_count(p) == 1,
           "no tape and no parameter are created in a program's capture");
    ssq_tape_destroy(&tape);
    ssq_params_destroy(&p);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

/* A file that is read or written in a capture is refused before anything is
 * enqueued: a launch of the graph changes nothing. */
static void refused_files(void)
{
    static const char *const names[] = {"x"};
    ssq_device *dev = NULL;
    ssq_queue *q;
    ssq_safetensors *file;
    ssq_scaler *scaler = NULL;
    float host[100];
    char path[] = "/tmp/sesqui-capture-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        tap_bail("mkstemp: %s", path);
    (void)close(fd);
    NEED(ssq_device_open("cuda:0", NULL, &dev));
    NEED(ssq_cuda_queue_create(dev, stream, &q));
    ssq_tensor *x = core_vector(dev, SSQ_F32, 100);
    const ssq_tensor *const tensors[] = {x};
    NEED(ssq_fill(q, SSQ_FILL(.x = x, .value = 1.0)));
    NEED(ssq_safetensors_write(q, path, 1, names, tensors));
    NEED(ssq_safetensors_open(path, &file));
    NEED(ssq_scaler_create(dev, "pytorch", NULL, &scaler));
    NEED(ssq_fill(q, SSQ_FILL(.x = x, .value = 2.0)));
    OWN(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    core_status(ssq_safetensors_read(q, file, "x", NULL, x), SSQ_ERR_INVALID,
                "program captures", "a tensor of a file");
    core_status(ssq_safetensors_write(q, path, 0, NULL, NULL), SSQ_ERR_INVALID,
                "program captures", "a file without tensors");
    core_status(ssq_checkpoint_save(q, path, SSQ_CHECKPOINT(.scaler = scaler)),
                SSQ_ERR_INVALID, "program captures", "a checkpoint");
    CUgraphExec exec = instantiate();
    replay(exec, 1);
    OWN(cuGraphExecDestroy(exec));
    NEED(ssq_tensor_read(q, x, host, sizeof(host), SSQ_F32));
    NEED(ssq_queue_sync(q));
    tap_ok(host[0] == 2.0f && host[99] == 2.0f,
           "the tensor keeps its values: %g, %g", (double)host[0],
           (double)host[99]);
    ssq_scaler_destroy(&scaler);
    ssq_safetensors_close(&file);
    (void)unlink(path);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

/* A read that is refused leaves nothing in the capture, also one that would
 * convert first. */
static void refused_read(void)
{
    ssq_device *dev = NULL;
    ssq_queue *q;
    float host[100];
    uint64_t before, after, retired;
    NEED(ssq_device_open("cuda:0", NULL, &dev));
    NEED(ssq_cuda_queue_create(dev, stream, &q));
    ssq_tensor *x = core_vector(dev, SSQ_F16, 100);
    NEED(ssq_fill(q, SSQ_FILL(.x = x, .value = 1.0)));
    NEED(ssq_tensor_read(q, x, host, sizeof(host), SSQ_F32));
    struct DLManagedTensorVersioned *dl = NULL, *lent = NULL;
    ssq_tensor *made = NULL;
    NEED(ssq_tensor_to_dlpack(x, SSQ_TO_DLPACK(.producer = q), &lent));
    OWN(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    core_status(ssq_tensor_read(q, x, host, sizeof(host), SSQ_F32),
                SSQ_ERR_INVALID, "captur", "a read that converts");
    core_status(
        ssq_tensor_from_dlpack(
            q, lent, SSQ_FROM_DLPACK(.copy = SSQ_DLPACK_COPY_ALWAYS), &made),
        SSQ_ERR_INVALID, "captur", "a copy from another library");
    core_status(ssq_tensor_to_dlpack(
                    x, SSQ_TO_DLPACK(.producer = q, .copy = true), &dl),
                SSQ_ERR_INVALID, "captur", "a copy for another library");
    CUgraphExec exec = instantiate();
    fakecuda_counts(&before, &retired);
    replay(exec, 1);
    fakecuda_counts(&after, &retired);
    tap_ok(after == before, "its graph launches %llu kernels",
           (unsigned long long)(after - before));
    OWN(cuGraphExecDestroy(exec));
    lent->deleter(lent);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

/* The default stream, while a stream that waits for it is captured. */
static void default_stream(void)
{
    ssq_device *dev = NULL;
    ssq_queue *q;
    CUstream blocking;
    CUgraph graph = NULL;

    NEED(ssq_device_open("cuda:0", NULL, &dev));
    NEED(ssq_cuda_queue_create(dev, NULL, &q));
    ssq_tensor *x = core_vector(dev, SSQ_F32, 100);
    OWN(cuStreamCreate(&blocking, 0));
    OWN(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    core_status(ssq_fill(q, SSQ_FILL(.x = x, .value = 1.0)), SSQ_ERR_INVALID,
                "default stream", "work for the default stream");
    core_status(ssq_queue_sync(q), SSQ_ERR_INVALID, "captured",
                "waiting for it");
    tap_ok(cuStreamEndCapture(blocking, &graph) == 0, "the capture is whole");
    OWN(cuGraphDestroy(graph));
    OWN(cuStreamDestroy_v2(blocking));
    core_status(ssq_fill(q, SSQ_FILL(.x = x, .value = 1.0)), SSQ_OK, "",
                "then it takes work again");
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

/* The device's own pool is its owner's; ours is trimmed when that is asked. */
static void pools(void)
{
    CUmemoryPool pool;
    uint64_t threshold = 1;
    ssq_device *dev = NULL;
    CUdeviceptr most;

    NEED(ssq_device_open("cuda:0", NULL, &dev));
    OWN(cuDeviceGetDefaultMemPool(&pool, 0));
    OWN(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                              &threshold));
    tap_ok(threshold == 0, "the device's default pool is as it was");
    ssq_tensor *x = core_vector(dev, SSQ_F32, (int64_t)300 << 20);
    ssq_tensor_destroy(&x);
    tap_ok(cuMemAlloc_v2(&most, (size_t)1 << 30) == CUDA_ERROR_OUT_OF_MEMORY,
           "what is freed stays with our pool");
    ssq_device_trim(dev);
    tap_ok(cuMemAlloc_v2(&most, (size_t)1 << 30) == CUDA_SUCCESS,
           "until the device is trimmed");
    OWN(cuMemFree_v2(most));
    ssq_device_close(&dev);
}

int main(void)
{
    struct training p;
    struct learned expected[2]; /* after the first launches, and two steps */
    char text[512];

    if (driver_missing("cuda"))
        return tap_done(0);
    OWN(cuInit(0));
    OWN(cuDevicePrimaryCtxRetain(&context, 0));
    OWN(cuCtxPushCurrent_v2(context));
    OWN(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    begin(&p);
    steps(&p, 2 + REPLAYS);
    read_back(&p, &expected[0]);
    steps(&p, 2);
    read_back(&p, &expected[1]);
    training_close(&p);
    captured_step(expected);
    captured_graph(expected);
    table();
    default_stream();
    refused_files();
    refused_read();
    refused_trainer();
    refused_tape();
    pools();
    OWN(cuStreamDestroy_v2(stream));
    OWN(cuCtxPopCurrent_v2(NULL));
    OWN(cuDevicePrimaryCtxRelease_v2(0));
    tap_ok(fakecuda_live() == 0, "no object is left in the end, but %lu",
           fakecuda_live());
    tap_ok(fakecuda_refused(text, sizeof(text)) == 0,
           "nothing was against the documentation: %s", text);
    return tap_done(39);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* blas_test.c - products by cuBLASLt on the stand-ins: what they are, that the
 * self-test at open finds libraries at fault, and what is left without one.
 *
 * Operands are small integers and halves, so that a result is rounded once at
 * most and has to be the reference's, bit for bit. */
#include <sesqui/cuda.h>

#include "tests/core/driver.h"
#include "tests/fakecuda/fakeblas.h"

#define M    24
#define N    40
#define K    72
#define MOST (3 * K * N)

static const char *const names[] = {"none", "f32", "f16", "bf16"};
static const ssq_dtype dtypes[] = {(ssq_dtype)0, SSQ_F32, SSQ_F16, SSQ_BF16};

/* A product; dtypes by their place in the list, 0: there is none. */
struct form {
    int factor, d, c, bias;
    bool turn_a, turn_b;
    int64_t batch;
    ssq_activation activation;
    int64_t m, n, k; /* 0: M, N and K */
};

struct work {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *a, *b, *c, *bias, *d;
    ssq_gemm_args args;
    size_t elements;
};

/* cuda:0 and a queue of it, which are kept: to open it is most of the work. */
static struct {
    ssq_device *dev;
    ssq_queue *q;
} kept;

static void forget(void)
{
    ssq_queue_destroy(&kept.q);
    ssq_device_close(&kept.dev);
}

/* The next device is opened with this in the environment; NULL: without. */
static void set(const char *name, const char *value)
{
    forget();
    if (value == NULL)
        unsetenv(name);
    else
        setenv(name, value, 1);
}

static void open_device(struct work *w, const char *device)
{
    bool keep = strcmp(device, "cuda:0") == 0;

    if (!keep || kept.dev == NULL) {
        NEED(ssq_device_open(device, NULL, &w->dev));
        NEED(ssq_queue_create(w->dev, NULL, &w->q));
    }
    if (keep && kept.dev == NULL) {
        kept.dev = w->dev;
        kept.q = w->q;
    }
    if (keep) {
        w->dev = kept.dev;
        w->q = kept.q;
    }
}

static ssq_tensor *tensor(struct work *w, int dtype, int64_t batch,
                          int64_t rows, int64_t columns, unsigned seed)
{
    static float x[MOST];
    const int64_t shape[] = {batch, rows, columns};
    int64_t n = batch * rows * columns;
    ssq_tensor *t = NULL;

    if (dtype == 0)
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)((int)(seed >> 24) % 7 - 3);
    }
    NEED(ssq_tensor_create(w->dev, dtypes[dtype], rows == 0 ? 1 : 3,
                           rows == 0 ? &columns : shape, &t));
    if (rows == 0)
        n = columns;
    NEED(ssq_tensor_write(w->q, t, x, (size_t)n * 4, SSQ_F32));
    return t;
}

static void begin(struct work *w, const char *device, const struct form *f)
{
    int64_t m = f->m == 0 ? M : f->m, n = f->n == 0 ? N : f->n,
            k = f->k == 0 ? K : f->k;

    memset(w, 0, sizeof(*w));
    open_device(w, device);
    w->a =
        tensor(w, f->factor, f->batch, f->turn_a ? k : m, f->turn_a ? m : k, 1);
    w->b =
        tensor(w, f->factor, f->batch, f->turn_b ? n : k, f->turn_b ? k : n, 2);
    w->c = tensor(w, f->c, f->batch, m, n, 3);
    w->bias = tensor(w, f->bias, 1, 0, n, 4);
    w->d = tensor(w, f->d, f->batch, m, n, 5);
    w->elements = (size_t)(f->batch * m * n);
    w->args = (ssq_gemm_args)SSQ_GEMM_INIT;
    w->args.a = w->a;
    w->args.b = w->b;
    w->args.c = w->c;
    w->args.bias = w->bias;
    w->args.d = w->d;
    w->args.trans_a = f->turn_a;
    w->args.trans_b = f->turn_b;
    w->args.alpha = 0.5;
    w->args.beta = f->c == 0 ? 0.0 : 2.0;
    w->args.activation = f->activation;
}

static void end(struct work *w)
{
    ssq_tensor_destroy(&w->a);
    ssq_tensor_destroy(&w->b);
    ssq_tensor_destroy(&w->c);
    ssq_tensor_destroy(&w->bias);
    ssq_tensor_destroy(&w->d);
    if (w->dev == kept.dev)
        return;
    ssq_queue_destroy(&w->q);
    ssq_device_close(&w->dev);
}

static void read_d(struct work *w, float *x)
{
    NEED(ssq_tensor_read(w->q, w->d, x, w->elements * 4, SSQ_F32));
    NEED(ssq_queue_sync(w->q));
}

/* The reference's d. */
static void expect(const struct form *f, float *x)
{
    struct work w;

    begin(&w, "reference", f);
    NEED(ssq_gemm_batched(w.q, &w.args));
    read_d(&w, x);
    end(&w);
}

static bool same(struct work *w, const float *want)
{
    static float got[MOST];

    read_d(w, got);
    return memcmp(got, want, w->elements * 4) == 0;
}

static unsigned long products(void)
{
    unsigned long n, refused, heuristics;

    fakeblas_counts(&n, &refused, &heuristics);
    return n;
}

/* The product on cuda:0 by the library, and the bits. */
static void compare(const struct form *f, unsigned *wrong, unsigned *missed)
{
    static float want[MOST];
    struct work w;

    expect(f, want);
    begin(&w, "cuda:0", f);
    unsigned long before = products();
    NEED(ssq_gemm_batched(w.q, &w.args));
    *wrong += !same(&w, want);
    *missed += products() != before + 1;
    end(&w);
}

/* All that may be added to a product of these dtypes. */
static void test_forms(int factor, int d)
{
    static const ssq_activation activations[] = {SSQ_ACTIVATION_NONE,
                                                 SSQ_ACTIVATION_RELU};
    unsigned wrong = 0, missed = 0, n = 0;
    struct form f = {.factor = factor, .d = d};

    for (f.c = 0; f.c < 4; f.c++)
        for (f.bias = 0; f.bias < 4; f.bias++, n++) {
            f.turn_a = n % 2 != 0;
            f.turn_b = n / 2 % 2 != 0;
            f.batch = 1 + n % 3;
            f.activation = activations[n / 3 % 2];
            compare(&f, &wrong, &missed);
        }
    tap_ok(wrong == 0 && missed == 0,
           "%u products of %s to %s: %u wrong, %u by others", n, names[factor],
           names[d], wrong, missed);
}

static void explain(const struct form *f, ssq_gemm_explanation *x)
{
    struct work w;

    begin(&w, "cuda:0", f);
    *x = (ssq_gemm_explanation)SSQ_GEMM_EXPLANATION_INIT;
    NEED(ssq_gemm_explain(w.q, &w.args, x));
    end(&w);
}

/* A product that goes to our own kernels, for a reason; and is right there. */
static void test_refused(const struct form *f, const char *reason)
{
    static float want[MOST];
    ssq_gemm_explanation x;
    struct work w;
    bool told;

    explain(f, &x);
    expect(f, want);
    begin(&w, "cuda:0", f);
    NEED(ssq_implementation_pin(w.dev, "gemm", "cublaslt"));
    told = ssq_gemm_batched(w.q, &w.args) == SSQ_ERR_UNSUPPORTED &&
           core_has(ssq_last_error(), reason);
    NEED(ssq_implementation_pin(w.dev, "gemm", NULL));
    NEED(ssq_gemm_batched(w.q, &w.args));
    tap_ok(told && strcmp(x.implementation, "mma") == 0 && same(&w, want),
           "%s: by %s", reason, x.implementation);
    end(&w);
}

static void test_explain(void)
{
    struct form f = {.factor = 2, .d = 2, .batch = 1};
    ssq_gemm_explanation x;

    explain(&f, &x);
    tap_ok(strcmp(x.implementation, "cublaslt") == 0 && x.matrix_units &&
               x.block == 8 && x.condition[0] == '\0',
           "f16: %s, blocks of %u", x.implementation, x.block);
    f.factor = f.d = 1;
    explain(&f, &x);
    tap_ok(strcmp(x.implementation, "cublaslt") == 0 && !x.matrix_units &&
               core_has(x.condition, "f32"),
           "f32: %s, %s", x.implementation, x.condition);
    f = (struct form){.factor = 2, .d = 2, .batch = 1, .m = 23};
    test_refused(&f, "multiples of 8");
}

/* A library that is wrong: refused at open, and the device goes on. */
static void test_wrong(const char *fault, const char *text)
{
    const struct form f = {.factor = 2, .d = 2, .batch = 1};

    set("FAKEBLAS_WRONG", fault);
    test_refused(&f, text);
    set("FAKEBLAS_WRONG", NULL);
}

static void test_failing(void)
{
    const struct form f = {.factor = 2, .d = 2, .batch = 1};
    unsigned long n, refused, heuristics;
    unsigned wrong = 0, missed = 0;

    set("FAKEBLAS_FAIL", "create");
    test_refused(&f, "CUBLAS_STATUS_NOT_INITIALIZED");
    set("FAKEBLAS_FAIL", "heuristic");
    test_refused(&f, "no algorithm");
    set("FAKEBLAS_FAIL", "all");
    test_refused(&f, "NOT_SUPPORTED");
    set("FAKEBLAS_FAIL", "first");
    compare(&f, &wrong, &missed);
    fakeblas_counts(&n, &refused, &heuristics);
    tap_ok(wrong == 0 && missed == 0 && refused > 0,
           "the first algorithm refuses: the next one does it");
    set("FAKEBLAS_FAIL", NULL);
}

/* All algorithms refuse, but only after open: the op is done all the same, by
 * the plan, as are later ones, and the queue goes on. */
static void test_late(const struct form *f, const char *what)
{
    static float want[MOST];
    struct work w;

    expect(f, want);
    forget();
    begin(&w, "cuda:0", f);
    setenv("FAKEBLAS_REFUSE", "1", 1);
    unsigned long before = products();
    ssq_status st = ssq_gemm_batched(w.q, &w.args);
    bool right = st == SSQ_OK && same(&w, want);
    unsetenv("FAKEBLAS_REFUSE");
    right = right && ssq_gemm_batched(w.q, &w.args) == SSQ_OK && same(&w, want);
    tap_ok(right && products() == before,
           "%s that each algorithm refuses as it runs: %s", what,
           st == SSQ_OK ? "ok" : ssq_last_error());
    end(&w);
    forget();
}

/* A capture of ours, replayed on new values of c. */
static void test_graph(void)
{
    static float want[MOST];
    const struct form f = {.factor = 3,
                           .d = 3,
                           .bias = 1,
                           .batch = 2,
                           .activation = SSQ_ACTIVATION_RELU};
    ssq_graph *g = NULL;
    struct work w;

    expect(&f, want);
    begin(&w, "cuda:0", &f);
    NEED(ssq_graph_begin(w.q));
    NEED(ssq_gemm_batched(w.q, &w.args));
    NEED(ssq_graph_end(w.q, &g));
    unsigned long before = products();
    NEED(ssq_graph_launch(w.q, g));
    NEED(ssq_graph_launch(w.q, g));
    tap_ok(same(&w, want) && products() == before + 2,
           "a graph multiplies when it is launched");
    ssq_graph_destroy(&g);
    end(&w);
}

/* The caller's own capture, of his stream: it becomes his graph. */
static void test_capture(void)
{
    static float want[MOST];
    const struct form f = {.factor = 2, .d = 2, .c = 2, .bias = 1, .batch = 1};
    CUcontext ctx;
    CUstream s;
    CUgraph g;
    CUgraphExec x;
    ssq_queue *q;
    struct work w;

    expect(&f, want);
    begin(&w, "cuda:0", &f);
    NEED(ssq_queue_sync(w.q));
    cuDevicePrimaryCtxRetain(&ctx, 0);
    cuCtxPushCurrent_v2(ctx);
    cuStreamCreate(&s, 1);
    NEED(ssq_cuda_queue_create(w.dev, s, &q));
    NEED(ssq_gemm_batched(q, &w.args)); /* kernels are loaded */
    NEED(ssq_queue_sync(q));
    cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    ssq_status st = ssq_gemm_batched(q, &w.args);
    CUresult e = cuStreamEndCapture(s, &g);
    tap_ok(st == SSQ_OK && e == CUDA_SUCCESS, "a captured stream takes it: %d",
           (int)e);
    if (e == CUDA_SUCCESS) {
        ssq_fill_args zero = SSQ_FILL_INIT;
        zero.x = w.d;
        NEED(ssq_fill(w.q, &zero));
        NEED(ssq_queue_sync(w.q));
        cuGraphInstantiateWithFlags(&x, g, 0);
        cuGraphLaunch(x, s);
        cuStreamSynchronize(s);
        cuGraphExecDestroy(x);
        cuGraphDestroy(g);
    }
    tap_ok(same(&w, want), "and the graph does it");
    ssq_queue_destroy(&q);
    end(&w);
    cuStreamDestroy_v2(s);
    cuCtxPopCurrent_v2(&ctx);
    cuDevicePrimaryCtxRelease_v2(0);
}

int main(void)
{
    unsigned long faults, live;
    char text[512] = "";

    if (driver_missing("cuda"))
        return tap_done(0);
    for (int factor = 1; factor < 4; factor++)
        for (int d = 1; d < 4; d++)
            test_forms(factor, d);
    test_explain();
    test_wrong("transposed", "transposed");
    test_wrong("half", "less than float32");
    test_wrong("bias", "the bias is missing");
    test_wrong("beta", "beta c is missing");
    test_failing();
    test_late(&(struct form){.factor = 2, .d = 2, .batch = 1}, "a product");
    test_late(&(struct form){.factor = 3,
                             .d = 3,
                             .bias = 1,
                             .batch = 2,
                             .activation = SSQ_ACTIVATION_RELU},
              "sums");
    test_graph();
    test_capture();
    forget();
    live = fakeblas_live();
    faults = fakeblas_faults(text, sizeof(text));
    tap_ok(faults == 0, "nothing was against the documentation: %s", text);
    tap_ok(live == 0, "nothing is left: %lu", live);
    return tap_done(27);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* blas_test.c - products by cuBLASLt on the stand-ins: their results, that the
 * self-test at open finds libraries at fault, and what is left without one.
 *
 * Operands are small integers and halves, so that a result is rounded once at
 * most and must be the reference's, bit for bit. */
#include <sesqui/cuda.h>

#include "tests/core/driver.h"
#include "tests/fakecuda/blas/fakeblas.h"

#define M    24
#define N    40
#define K    72
#define MOST (520 * 401)

static const char *const names[] = {"none", "f32", "f16", "bf16"};
static const ssq_dtype dtypes[] = {(ssq_dtype)0, SSQ_F32, SSQ_F16, SSQ_BF16};

/* The device that the tests are about, as the driver says it. */
static int capability;

/* A product; dtypes by their place in the list, 0: there is none. */
struct blas_form {
    int factor, d, c, bias;
    bool turn_a, turn_b;
    int64_t batch;
    ssq_activation activation;
    int64_t m, n, k; /* 0: M, N and K */
    bool bits;       /* elements have more of them than TF32 */
};

struct blas_work {
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

/* The implementation of cuda:0's products; NULL: no matter which is best. */
static const char *pin;

static void open_device(struct blas_work *w, const char *device)
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
        NEED(ssq_implementation_pin(w->dev, "gemm", pin));
    }
}

/* Of cuda:0: 80 is compute capability 8.0. */
static int capability_of(void)
{
    int major = 0, minor = 0;

    cuInit(0);
    cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                         0);
    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                         0);
    return 10 * major + minor;
}

static ssq_tensor *tensor(struct blas_work *w, int dtype, int64_t batch,
                          int64_t rows, int64_t columns, unsigned seed,
                          bool bits)
{
    static float x[MOST];
    const int64_t shape[] = {batch, rows, columns};
    int64_t n = batch * rows * columns;
    ssq_tensor *t = NULL;

    if (dtype == 0)
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] =
            (float)((int)(seed >> 24) % 7 - 3) * (bits ? 1.0f + 0x1p-11f : 1);
    }
    NEED(ssq_tensor_create(w->dev, dtypes[dtype], rows == 0 ? 1 : 3,
                           rows == 0 ? &columns : shape, &t));
    if (rows == 0)
        n = columns;
    NEED(ssq_tensor_write(w->q, t, x, (size_t)n * 4, SSQ_F32));
    return t;
}

static void begin(struct blas_work *w, const char *device,
                  const struct blas_form *f)
{
    int64_t m = f->m == 0 ? M : f->m, n = f->n == 0 ? N : f->n,
            k = f->k == 0 ? K : f->k;

    memset(w, 0, sizeof(*w));
    open_device(w, device);
    w->a = tensor(w, f->factor, f->batch, f->turn_a ? k : m, f->turn_a ? m : k,
                  1, f->bits);
    w->b = tensor(w, f->factor, f->batch, f->turn_b ? n : k, f->turn_b ? k : n,
                  2, false);
    w->c = tensor(w, f->c, f->batch, m, n, 3, false);
    w->bias = tensor(w, f->bias, 1, 0, n, 4, false);
    w->d = tensor(w, f->d, f->batch, m, n, 5, false);
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

static void end(struct blas_work *w)
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

static void read_d(struct blas_work *w, float *x)
{
    NEED(ssq_tensor_read(w->q, w->d, x, w->elements * 4, SSQ_F32));
    NEED(ssq_queue_sync(w->q));
}

/* The reference's d. */
static void expect(const struct blas_form *f, float *x)
{
    struct blas_work w;

    begin(&w, "reference", f);
    NEED(ssq_gemm_batched(w.q, &w.args));
    read_d(&w, x);
    end(&w);
}

static bool same(struct blas_work *w, const float *want)
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
static void compare(const struct blas_form *f, unsigned *wrong,
                    unsigned *missed)
{
    static float want[MOST];
    struct blas_work w;

    expect(f, want);
    begin(&w, "cuda:0", f);
    unsigned long before = products();
    NEED(ssq_gemm_batched(w.q, &w.args));
    *wrong += !same(&w, want);
    *missed += products() != before + (f->factor != 3 || capability >= 80);
    end(&w);
}

/* All that may be added to a product of these dtypes. */
static void test_forms(int factor, int d)
{
    static const ssq_activation activations[] = {SSQ_ACTIVATION_NONE,
                                                 SSQ_ACTIVATION_RELU};
    unsigned wrong = 0, missed = 0, n = 0;
    struct blas_form f = {.factor = factor, .d = d};

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

static void explain(const struct blas_form *f, ssq_gemm_explanation *x)
{
    struct blas_work w;

    begin(&w, "cuda:0", f);
    *x = (ssq_gemm_explanation)SSQ_GEMM_EXPLANATION_INIT;
    NEED(ssq_gemm_explain(w.q, &w.args, x));
    end(&w);
}

/* A product that goes to our own kernels, for a reason; and is right there. */
static void test_refused(const struct blas_form *f, const char *reason)
{
    static float want[MOST];
    ssq_gemm_explanation x;
    struct blas_work w;
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

/* Products that are added at a time, as they are on NVIDIA's generations. */
static uint32_t block(void)
{
    return capability >= 90 ? 16 : capability >= 80 ? 8 : 4;
}

static void test_explain(void)
{
    struct blas_form f = {.factor = 2, .d = 2, .batch = 1};
    ssq_gemm_explanation x;

    explain(&f, &x);
    tap_ok(strcmp(x.implementation, "cublaslt") == 0 && x.matrix_units &&
               x.block == block() && x.condition[0] == '\0' && !x.copied,
           "f16: %s, blocks of %u", x.implementation, x.block);
    f.factor = f.d = 1;
    explain(&f, &x);
    tap_ok(strcmp(x.implementation, "cublaslt") == 0 && !x.matrix_units &&
               !x.tf32 && core_has(x.condition, "f32"),
           "f32: %s, %s", x.implementation, x.condition);
    f = (struct blas_form){.factor = 2, .d = 2, .batch = 1, .m = 23};
    explain(&f, &x);
    tap_ok(x.matrix_units && !x.copied,
           "23 rows of whole lines are taken as they are");
}

/* Lines off 16 bytes, or sizes along them that are not multiples of 8: small
 * products go to the plan, which is faster; pinned, they are copied. */
static void test_copies(void)
{
    static const int64_t sizes[][3] = {
        {23, 40, 72}, {24, 41, 72}, {24, 40, 71}, {23, 37, 69}};
    static float want[MOST];
    unsigned wrong = 0, missed = 0, n = 0;
    const struct blas_form f = {.factor = 2, .d = 2, .batch = 1, .n = 41};
    unsigned long before;
    ssq_gemm_explanation x;
    struct blas_work w;

    explain(&f, &x);
    expect(&f, want);
    begin(&w, "cuda:0", &f);
    before = products();
    NEED(ssq_gemm_batched(w.q, &w.args));
    tap_ok(strcmp(x.implementation, "tiled") == 0 && !x.copied &&
               core_has(x.condition, "2^26 products") && same(&w, want) &&
               products() == before,
           "a small one is not copied: %s", x.condition);
    end(&w);
    for (size_t i = 0; i < 4; i++)
        for (unsigned turn = 0; turn < 4; turn++, n++) {
            const struct blas_form g = {.factor = 2 + (int)(n % 2),
                                        .d = 1 + (int)(n % 3),
                                        .c = (int)(n / 2 % 4),
                                        .bias = (int)(n / 3 % 4),
                                        .turn_a = (turn & 1) != 0,
                                        .turn_b = (turn & 2) != 0,
                                        .batch = 1 + n % 3,
                                        .activation = n % 5 == 0
                                                          ? SSQ_ACTIVATION_RELU
                                                          : SSQ_ACTIVATION_NONE,
                                        .m = sizes[i][0],
                                        .n = sizes[i][1],
                                        .k = sizes[i][2]};
            if (g.factor == 3 && capability < 80)
                continue;
            pin = "cublaslt";
            compare(&g, &wrong, &missed);
        }
    pin = NULL;
    tap_ok(wrong == 0 && missed == 0,
           "%u products of odd sizes, pinned: %u wrong, %u by others", n, wrong,
           missed);
}

/* Put x into column i of a matrix, or into row i, of zeros. */
static void put_line(struct blas_work *w, const ssq_tensor *to, int axis,
                     int64_t i, const float *x, int64_t n)
{
    const int64_t shape[] = {axis == 1 ? n : 1, axis == 1 ? 1 : n};
    ssq_tensor *line = NULL, *from = NULL;

    NEED(ssq_tensor_slice(to, axis, i, i + 1, 1, &line));
    NEED(ssq_tensor_create(w->dev, SSQ_F16, 2, shape, &from));
    NEED(ssq_tensor_write(w->q, from, x, (size_t)n * 4, SSQ_F32));
    NEED(ssq_copy(w->q, SSQ_COPY(.x = from, .y = line)));
    ssq_tensor_destroy(&from);
    ssq_tensor_destroy(&line);
}

static ssq_tensor *zeros(struct blas_work *w, ssq_dtype dtype, int64_t rows,
                         int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    ssq_tensor *t = NULL;

    NEED(ssq_tensor_create(w->dev, dtype, 2, shape, &t));
    NEED(ssq_fill(w->q, SSQ_FILL(.x = t)));
    return t;
}

/* A product whose copies do not fit together: of factors that are 0 except for
 * the ends of k. */
static void test_pieces(int64_t m, int64_t n)
{
    enum { MOST_LINES = 300, DEPTH = 65529 };
    static float i[MOST_LINES], got[3 * MOST_LINES];
    struct blas_work w = {.args = SSQ_GEMM_INIT};
    unsigned long before = products();
    unsigned wrong = 0;

    for (int q = 0; q < MOST_LINES; q++)
        i[q] = (float)(q + 1);
    open_device(&w, "cuda:0");
    w.args.a = w.a = zeros(&w, SSQ_F16, m, DEPTH);
    w.args.b = w.b = zeros(&w, SSQ_F16, DEPTH, n);
    w.args.d = w.d = zeros(&w, SSQ_F32, m, n);
    put_line(&w, w.a, 1, 0, i, m);
    put_line(&w, w.a, 1, DEPTH - 1, i + 1, m);
    put_line(&w, w.b, 0, 0, i + 2, n);
    put_line(&w, w.b, 0, DEPTH - 1, i, n);
    NEED(ssq_gemm(w.q, &w.args));
    w.elements = (size_t)(m * n);
    read_d(&w, got);
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < n; c++)
            wrong += got[r * n + c] != i[r] * i[c + 2] + i[r + 1] * i[c];
    tap_ok(wrong == 0 && products() > before + 1,
           "%d x %d of k %d in %lu pieces: %u wrong", (int)m, (int)n,
           (int)DEPTH, products() - before, wrong);
    end(&w);
}

/* A large one is copied without a pin, and says so; one whose copies have no
 * room is done in pieces, along each dimension. */
static void test_large(void)
{
    const struct blas_form f = {
        .factor = 2, .d = 1, .batch = 1, .m = 520, .n = 401, .k = 331};
    unsigned wrong = 0, missed = 0;
    ssq_gemm_explanation x;

    explain(&f, &x);
    tap_ok(strcmp(x.implementation, "cublaslt") == 0 && x.copied &&
               x.matrix_units,
           "%s copies factors of odd sizes", x.implementation);
    compare(&f, &wrong, &missed);
    tap_ok(wrong == 0 && missed == 0, "and multiplies them right");
    pin = "cublaslt";
    test_pieces(258, 3);
    if (getenv("SSQ_TEST_FULL") != NULL) /* some seconds each */
        test_pieces(3, 258);
    pin = NULL;
}

/* ---- TF32 ---- */

/* A product of factors with more bits than TF32; was it cut? What is left of
 * them then are integers, whose product is known to the bit. */
static bool is_cut(const struct blas_form *f, uint32_t flags, bool device)
{
    static float want[MOST], got[MOST], left[MOST];
    struct blas_form integers = *f;
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    unsigned long before, after;
    unsigned algorithm;
    struct blas_work w;

    integers.bits = false;
    expect(f, want);
    expect(&integers, left);
    options.allow_tf32 = device;
    forget();
    NEED(ssq_device_open("cuda:0", &options, &kept.dev));
    NEED(ssq_queue_create(kept.dev, NULL, &kept.q));
    begin(&w, "cuda:0", f);
    w.args.flags = flags;
    fakeblas_last(&before, &algorithm);
    NEED(ssq_gemm_batched(w.q, &w.args));
    read_d(&w, got);
    fakeblas_last(&after, &algorithm);
    bool cut = memcmp(want, got, w.elements * sizeof(*got)) != 0;
    end(&w);
    forget();
    if (cut != (after != before))
        tap_ok(false, "what was asked of the library is what was done");
    if (cut && memcmp(left, got, w.elements * sizeof(*got)) != 0)
        tap_ok(false, "what is cut is the low bits of the factors alone");
    return cut;
}

static void test_tf32(void)
{
    const struct blas_form f = {.factor = 1, .d = 1, .batch = 1, .bits = true};
    const struct blas_form half = {.factor = 2, .d = 1, .batch = 1};
    bool has = capability >= 80;
    ssq_gemm_explanation x = SSQ_GEMM_EXPLANATION_INIT;
    struct blas_work w;

    tap_ok(!is_cut(&f, 0, false), "float32 keeps all its bits by default");
    tap_ok(is_cut(&f, SSQ_GEMM_ALLOW_TF32, false) == has,
           "with SSQ_GEMM_ALLOW_TF32 it is cut");
    tap_ok(is_cut(&f, 0, true) == has, "and on a device that allows it");
    tap_ok(!is_cut(&half, SSQ_GEMM_ALLOW_TF32, true), "f16 has nothing to cut");
    begin(&w, "cuda:0", &f);
    w.args.flags = SSQ_GEMM_ALLOW_TF32 | SSQ_GEMM_REQUIRE_MATRIX_UNITS;
    NEED(ssq_gemm_explain(w.q, &w.args, &x));
    tap_ok(x.tf32 == has && x.matrix_units == has &&
               x.block == (has ? block() / 2 : 0) &&
               (has || core_has(x.condition, "8.0")),
           "explained: tf32 %d, blocks of %u, %s", x.tf32, x.block,
           x.condition);
    tap_ok((ssq_gemm_batched(w.q, &w.args) == SSQ_OK) == has,
           "and they are matrix units, where these are required");
    end(&w);
    set("FAKEBLAS_WRONG", "tf32");
    begin(&w, "cuda:0", &f);
    w.args.flags = SSQ_GEMM_ALLOW_TF32;
    NEED(ssq_gemm_explain(w.q, &w.args, &x));
    tap_ok(strcmp(x.implementation, "cublaslt") == 0 && !x.tf32 &&
               core_has(x.condition, has ? "less than float32" : "8.0"),
           "where its self-test fails, float32 keeps its bits: %s",
           x.condition);
    end(&w);
    set("FAKEBLAS_WRONG", NULL);
}

/* A library that is wrong: refused at open, and the device continues. */
static void test_wrong(const char *fault, const char *text)
{
    const struct blas_form f = {.factor = 2, .d = 2, .batch = 1};

    set("FAKEBLAS_WRONG", fault);
    test_refused(&f, text);
    set("FAKEBLAS_WRONG", NULL);
}

static void test_failing(void)
{
    const struct blas_form f = {.factor = 2, .d = 2, .batch = 1};
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

/* All algorithms refuse, but only after open: the op is done nevertheless, by
 * the plan, as are later ones, and the queue continues. */
static void test_late(struct blas_form f0, const char *what)
{
    if (capability < 80 && f0.factor == 3)
        f0.factor = f0.d = 2; /* bf16 is the plan's there */
    const struct blas_form *f = &f0;
    static float want[MOST];
    struct blas_work w;

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
    const int half = capability >= 80 ? 3 : 2;
    const struct blas_form f = {.factor = half,
                                .d = half,
                                .bias = 1,
                                .batch = 2,
                                .activation = SSQ_ACTIVATION_RELU};
    ssq_graph *g = NULL;
    struct blas_work w;

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

/* The caller's own capture, of its stream: it becomes the caller's graph. */
static void test_capture(void)
{
    static float want[MOST];
    const struct blas_form f = {
        .factor = 2, .d = 2, .c = 2, .bias = 1, .batch = 1};
    CUcontext ctx;
    CUstream s;
    CUgraph g;
    CUgraphExec x;
    ssq_queue *q;
    struct blas_work w;

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
    capability = capability_of();
    for (int factor = 1; factor < 4; factor++)
        for (int d = 1; d < 4; d++)
            test_forms(factor, d);
    test_explain();
    test_copies();
    test_large();
    test_tf32();
    test_wrong("transposed", "transposed");
    test_wrong("half", "less than float32");
    test_wrong("bias", "the bias is missing");
    test_wrong("beta", "beta c is missing");
    test_failing();
    test_late((struct blas_form){.factor = 2, .d = 2, .batch = 1}, "a product");
    test_late((struct blas_form){.factor = 3,
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
    return tap_done(39);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* loops_test.c - where a driver ends long loops, an op is right or refused.
 *
 * Lavapipe before Mesa 26.1 ends all loops of an item after 65535 iterations of
 * them together, and says nothing. SSQ_LIMIT_ITERATIONS makes every device with
 * groups refuse as if it did so earlier. Ops whose loops grow with n are run
 * with and without such a limit, and compared with the reference: sums of small
 * integers are exact; of the others an error is a chain of n additions, which
 * bounds both sides. */
#include "tests/core/core.h"

#include "conformance/bounds.h"

#include <math.h>

/* Most results of a case. */
#define MOST_RESULTS (INT64_C(1) << 21)
/* Of the second n no op has loops as short; casts have. */
#define NOTHING "90"

/* The objects of a case, to be destroyed, and its result. */
struct loops_made {
    ssq_queue *q;
    ssq_tensor *t[12];
    int n;
    const ssq_tensor *result;
};

static ssq_tensor *keep(struct loops_made *m, ssq_tensor *t)
{
    m->t[m->n++] = t;
    return t;
}

static ssq_tensor *make(struct loops_made *m, ssq_dtype dtype, int rank,
                        const int64_t *shape, float (*value)(int64_t i))
{
    ssq_tensor *t = NULL;
    int64_t n = 1;

    for (int i = 0; i < rank; i++)
        n *= shape[i];
    float *v = malloc((size_t)n * sizeof(*v));
    for (int64_t i = 0; i < n; i++)
        v[i] = value(i);
    NEED(ssq_tensor_create(ssq_queue_device(m->q), dtype, rank, shape, &t));
    NEED(ssq_tensor_write(m->q, t, v, (size_t)n * sizeof(*v), SSQ_F32));
    NEED(ssq_queue_sync(m->q));
    free(v);
    return keep(m, t);
}

static float integer(int64_t i)
{
    return (float)(i * 7 % 11 % 5 - 2);
}

static float one(int64_t i)
{
    (void)i;
    return 1.0f;
}

static float three(int64_t i)
{
    (void)i;
    return 3.0f;
}

/* The initial value of a result, which no op makes of the others. */
static float before(int64_t i)
{
    (void)i;
    return 77.0f;
}

#define SHAPE(...)                                                             \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                 \
        (const int64_t[])                                                      \
    {                                                                          \
        __VA_ARGS__                                                            \
    }
#define IN(...)  make(m, SSQ_F32, SHAPE(__VA_ARGS__), integer)
#define OUT(...) (m->result = make(m, SSQ_F32, SHAPE(__VA_ARGS__), before))

static ssq_status softmax_rows(struct loops_made *m, int64_t n)
{
    ssq_softmax_args a = SSQ_SOFTMAX_INIT;

    a.x = IN(2, n);
    a.y = OUT(2, n);
    return ssq_softmax(m->q, &a);
}

static ssq_status softmax_columns(struct loops_made *m, int64_t n)
{
    ssq_softmax_args a = SSQ_SOFTMAX_INIT;

    a.x = IN(n, 40);
    a.y = OUT(n, 40);
    a.axis = 0;
    return ssq_softmax(m->q, &a);
}

static ssq_status softmax_backward(struct loops_made *m, int64_t n)
{
    ssq_softmax_backward_args a = SSQ_SOFTMAX_BACKWARD_INIT;

    a.y = IN(2, n);
    a.dy = IN(2, n);
    a.dx = OUT(2, n);
    return ssq_softmax_backward(m->q, &a);
}

static ssq_status layer_norm(struct loops_made *m, int64_t n)
{
    ssq_layer_norm_args a = SSQ_LAYER_NORM_INIT;

    a.x = IN(2, n);
    a.y = OUT(2, n);
    return ssq_layer_norm(m->q, &a);
}

/* The sums over n rows. */
static ssq_status layer_norm_backward(struct loops_made *m, int64_t n)
{
    ssq_layer_norm_backward_args a = SSQ_LAYER_NORM_BACKWARD_INIT;

    a.x = IN(n, 4);
    a.dy = IN(n, 4);
    a.mean = make(m, SSQ_F32, SHAPE(n), integer);
    a.rstd = make(m, SSQ_F32, SHAPE(n), one);
    a.dgamma = OUT(4);
    return ssq_layer_norm_backward(m->q, &a);
}

static ssq_status sum(struct loops_made *m, int64_t n, int64_t cols, int axis)
{
    ssq_sum_args a = SSQ_SUM_INIT;

    a.x = axis == 0 ? IN(n, cols) : IN(cols, n);
    a.y = OUT(cols);
    a.axes[0] = axis;
    a.n_axes = 1;
    return ssq_sum(m->q, &a);
}

static ssq_status sum_rows(struct loops_made *m, int64_t n)
{
    return sum(m, n, 3, 1);
}

static ssq_status sum_columns(struct loops_made *m, int64_t n)
{
    return sum(m, n, 5, 0);
}

static ssq_status argmax(struct loops_made *m, int64_t n)
{
    ssq_argmax_args a = SSQ_ARGMAX_INIT;

    a.x = IN(3, n);
    a.y = m->result = make(m, SSQ_I32, SHAPE(3), before);
    a.last = true;
    return ssq_argmax(m->q, &a);
}

/* Not by a gemm: in groups. */
static ssq_status conv(struct loops_made *m, int64_t n)
{
    ssq_conv2d_args a = SSQ_CONV2D_INIT;

    a.x = IN(1, 2 * n, 1, 2);
    a.w = IN(4, n, 1, 1);
    a.y = OUT(1, 4, 1, 2);
    a.groups = 2;
    return ssq_conv2d(m->q, &a);
}

static ssq_status conv_weight(struct loops_made *m, int64_t n)
{
    ssq_conv2d_backward_weight_args a = SSQ_CONV2D_BACKWARD_WEIGHT_INIT;

    a.x = IN(1, 4, n / 8, 8);
    a.dy = IN(1, 4, n / 8, 8);
    a.dw = OUT(4, 2, 1, 1);
    a.groups = 2;
    return ssq_conv2d_backward_weight(m->q, &a);
}

/* All in one row. */
static ssq_status scatter(struct loops_made *m, int64_t n, int64_t cols,
                          ssq_dtype dtype)
{
    ssq_scatter_add_rows_args a = SSQ_SCATTER_ADD_ROWS_INIT;

    a.dy = IN(n, cols);
    a.index = make(m, SSQ_I32, SHAPE(n), three);
    a.dx = m->result = make(m, dtype, SHAPE(5, cols), integer);
    return ssq_scatter_add_rows(m->q, &a);
}

static ssq_status scatter_rows(struct loops_made *m, int64_t n)
{
    return scatter(m, n, 40, SSQ_F32);
}

static ssq_status scatter_rows_f16(struct loops_made *m, int64_t n)
{
    return scatter(m, n, 34, SSQ_F16);
}

static ssq_status scatter_elements(struct loops_made *m, int64_t n)
{
    return scatter(m, n, 3, SSQ_BF16);
}

static ssq_status attend(struct loops_made *m, int64_t n, ssq_attention_args *a)
{
    *a = (ssq_attention_args)SSQ_ATTENTION_INIT;
    a->q = IN(1, 1, 20, 8);
    a->k = IN(1, 1, n, 8);
    a->v = IN(1, 1, n, 8);
    a->y = OUT(1, 1, 20, 8);
    a->lse = make(m, SSQ_F32, SHAPE(1, 1, 20), before);
    return ssq_attention(m->q, a);
}

static ssq_status attention(struct loops_made *m, int64_t n)
{
    ssq_attention_args a;

    return attend(m, n, &a);
}

static ssq_status attention_dq(struct loops_made *m, int64_t n)
{
    ssq_attention_args f;
    ssq_attention_backward_args a = SSQ_ATTENTION_BACKWARD_INIT;
    ssq_status st = attend(m, n, &f);

    if (st != SSQ_OK)
        return st;
    a.q = f.q;
    a.k = f.k;
    a.v = f.v;
    a.y = f.y;
    a.lse = f.lse;
    a.dy = IN(1, 1, 20, 8);
    a.dq = OUT(1, 1, 20, 8);
    return ssq_attention_backward(m->q, &a);
}

static ssq_status max_pool(struct loops_made *m, int64_t n)
{
    ssq_max_pool2d_args a = SSQ_MAX_POOL2D_INIT;

    a.x = IN(1, 3, n / 8, 8);
    a.y = OUT(1, 3, 1, 1);
    a.kernel[0] = a.stride[0] = n / 8;
    a.kernel[1] = a.stride[1] = 8;
    return ssq_max_pool2d(m->q, &a);
}

static ssq_status cross_entropy(struct loops_made *m, int64_t n)
{
    ssq_cross_entropy_args a = SSQ_CROSS_ENTROPY_INIT;

    a.logits = IN(2, n);
    a.target = make(m, SSQ_I32, SHAPE(2), three);
    a.loss = OUT(1);
    a.label_smoothing = 0.5;
    return ssq_cross_entropy(m->q, &a);
}

static ssq_status top_k(struct loops_made *m, int64_t n)
{
    ssq_top_k_accuracy_args a = SSQ_TOP_K_ACCURACY_INIT;

    a.logits = IN(2, n);
    a.target = make(m, SSQ_I32, SHAPE(2), three);
    a.hits = m->result = make(m, SSQ_I32, SHAPE(1), before);
    a.k = n / 5;
    return ssq_top_k_accuracy(m->q, &a);
}

static ssq_status add_backward(struct loops_made *m, int64_t n)
{
    ssq_binary_backward_args a = SSQ_BINARY_BACKWARD_INIT;

    a.dy = IN(n, 40);
    a.db = OUT(40);
    return ssq_add_backward(m->q, &a);
}

static ssq_status gemm(struct loops_made *m, int64_t n)
{
    ssq_gemm_args a = SSQ_GEMM_INIT;

    a.a = IN(3, n);
    a.b = IN(n, 5);
    a.bias = IN(5);
    a.d = OUT(3, 5);
    return ssq_gemm(m->q, &a);
}

/* d in columns, so that the bias goes along rows inside. */
static ssq_status gemm_transposed(struct loops_made *m, int64_t n)
{
    static const int axes[] = {1, 0};
    ssq_gemm_args a = SSQ_GEMM_INIT;
    ssq_tensor *d = NULL;

    a.a = IN(3, n);
    a.b = IN(n, 5);
    a.bias = IN(5);
    NEED(ssq_tensor_transpose(OUT(5, 3), axes, &d));
    a.d = keep(m, d);
    return ssq_gemm(m->q, &a);
}

static const struct work {
    const char *name;
    ssq_status (*run)(struct loops_made *m, int64_t n);
    int64_t n[3];
    bool exact;
} works[] = {
    {"softmax along rows", softmax_rows, {300, 4000, 900000}, false},
    {"softmax along columns", softmax_columns, {300, 4000, 20000}, false},
    {"softmax_backward", softmax_backward, {300, 4000, 900000}, true},
    {"layer_norm", layer_norm, {300, 4000, 900000}, false},
    {"layer_norm_backward", layer_norm_backward, {300, 4000, 300000}, true},
    {"sum of rows", sum_rows, {300, 4000, 700000}, true},
    {"sum of columns", sum_columns, {300, 4000, 400000}, true},
    {"argmax", argmax, {300, 4000, 700000}, true},
    {"convolution", conv, {300, 4000, 70000}, true},
    {"gradient of filters", conv_weight, {320, 4000, 140000}, true},
    {"scatter_add of rows", scatter_rows, {300, 4000, 70001}, true},
    {"scatter_add of f16 rows", scatter_rows_f16, {300, 4000, 70001}, true},
    {"scatter_add of elements", scatter_elements, {300, 4000, 70001}, true},
    {"attention", attention, {300, 4000, 30000}, false},
    {"attention_backward", attention_dq, {300, 4000, 30000}, false},
    {"max_pool", max_pool, {320, 4000, 80000}, true},
    {"cross_entropy", cross_entropy, {300, 4000, 900000}, false},
    {"top_k_accuracy", top_k, {300, 4000, 900000}, true},
    {"add_backward", add_backward, {300, 4000, 40000}, true},
    {"gemm", gemm, {300, 4000, 200000}, true},
    {"gemm into columns", gemm_transposed, {300, 4000, 200000}, true},
};
#define WORKS (sizeof(works) / sizeof(works[0]))

/* Run case k of a work on a device; out has room for MOST_RESULTS.
 * @return how many there are, or 0: refused */
static int64_t compute(const char *name, const struct work *w, int64_t n,
                       const char *limit, float *out)
{
    struct loops_made m = {.n = 0};
    int64_t results = 0;

    if (limit != NULL)
        setenv("SSQ_LIMIT_ITERATIONS", limit, 1);
    ssq_device *dev = core_open(name);
    unsetenv("SSQ_LIMIT_ITERATIONS");
    if (strchr(name, ':') != NULL) /* others have no limit */
        NEED(ssq_implementation_pin(dev, "gemm", "tiled"));
    m.q = core_queue(dev);
    ssq_status st = w->run(&m, n);
    if (st == SSQ_OK) {
        results = ssq_tensor_elements(m.result);
        NEED(ssq_tensor_read(m.q, m.result, out, MOST_RESULTS * sizeof(*out),
                             SSQ_F32));
        NEED(ssq_queue_sync(m.q));
    } else if (st != SSQ_ERR_UNSUPPORTED) {
        core_need(st, w->name);
    }
    for (int i = 0; i < m.n; i++)
        ssq_tensor_destroy(&m.t[i]);
    ssq_queue_destroy(&m.q);
    ssq_device_close(&dev);
    return results;
}

/* Results that are further apart than two chains of n additions. */
static int64_t wrong(const struct work *w, int64_t n, const float *got,
                     const float *want, int64_t results)
{
    double most = 0;
    int64_t bad = 0;

    for (int64_t i = 0; i < results; i++)
        most = fmax(most, fabs((double)want[i]));
    double error = w->exact ? 0 : 2 * bound_chain((double)n, most);
    for (int64_t i = 0; i < results; i++)
        bad += !(fabs((double)got[i] - (double)want[i]) <= error);
    return bad;
}

/* Right, or refused with both numbers; must: which of these, 0 any. */
static void test(const char *name, const struct work *w, int64_t n,
                 const char *limit, const float *want, float *got, int must)
{
    int64_t results = compute(name, w, n, limit, got);
    bool refused = results == 0;
    bool said = core_has(ssq_last_error(), "an item of kernel") &&
                core_has(ssq_last_error(), "ends its loops after") &&
                (limit == NULL || core_has(ssq_last_error(), limit));
    int64_t bad = refused ? 0 : wrong(w, n, got, want, results);

    if (!tap_ok((refused ? said && must <= 0 : bad == 0 && must >= 0),
                "%s: %s of %lld, loops of %s: %s", name, w->name, (long long)n,
                limit == NULL ? "the driver's" : limit,
                refused ? "refused" : "right"))
        tap_diag("%lld of %lld results are wrong; %s", (long long)bad,
                 (long long)results, refused ? ssq_last_error() : "");
}

/* The first n, with the test's own limits and without. With SSQ_TEST_FULL=1
 * also the second n, and the third with the limit of an old lavapipe. */
static void test_work(const struct work *w, char names[][32], size_t devices)
{
    float *want = malloc(MOST_RESULTS * sizeof(*want));
    float *got = malloc(MOST_RESULTS * sizeof(*got));

    for (int k = 0; k < (tap_full() ? 3 : 1); k++) {
        int64_t n = w->n[k];
        if (compute("reference", w, n, NULL, want) == 0)
            tap_bail("the reference refuses %s", w->name);
        for (size_t i = 0; i < devices && k == 2; i++)
            if (core_has(names[i], "vulkan"))
                test(names[i], w, n, "65535", want, got, 0);
        for (size_t i = 0; i < devices && k < 2; i++) {
            if (k == 1)
                test(names[i], w, n, NOTHING, want, got, -1);
            test(names[i], w, n, "300", want, got, 0);
            test(names[i], w, n, "2000", want, got, 0);
            test(names[i], w, n, NULL, want, got, 1);
        }
    }
    free(want);
    free(got);
}

int main(void)
{
    char names[CORE_MOST][32];
    size_t n = 0;

    /* A processor as a GPU: else its items have vectors for loops. PoCL takes
     * minutes to compile for that, and the plans are the same. */
    setenv("SSQ_OPENCL_GROUP", "64", 1);
    for (size_t i = 0; i < core_device_count(); i++)
        if (core_has(core_device(i), "vulkan:") ||
            (core_has(core_device(i), "opencl:") && tap_full()))
            snprintf(names[n++], sizeof(names[0]), "%s", core_device(i));
    for (size_t i = 0; i < WORKS; i++)
        test_work(&works[i], names, n);
    if (n == 0)
        tap_skip("no device with groups", "long loops");
    return tap_done(n > 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* long_test.c - reductions of more than a launch sees have the bits of those
 * that it does see.
 *
 * A device with a small binding range cuts what it reduces into pieces. Where
 * a chunk of 16384 elements fits, the order of the sums is the same, so are
 * the bits of any data; where it does not, sums of small integers are exact in
 * every order. And a product too deep for one launch. */
#include "tests/core/core.h"

#include <math.h>

enum work { SUM, MEAN, PROD, MAX, MIN, NORM, ADD_BACKWARD, MEAN_BACKWARD };
static const char *const words[] = {"sum",          "mean",         "prod",
                                    "max",          "min",          "norm",
                                    "add_backward", "mean_backward"};

/* x is [n, m]; n is reduced, and m too by a norm; across: along rows that are
 * m apart instead of in one piece. */
static const struct {
    enum work work;
    ssq_dtype dtype;
    int64_t n, m;
    bool across, integers;
    const char *limit;
} cases[] = {
    {SUM, SSQ_F32, 49157, 3, false, false, "66000"},
    {SUM, SSQ_F32, 32768, 1, false, false, "66000"},
    {SUM, SSQ_F32, 16385, 2, false, false, "66000"},
    {SUM, SSQ_F16, 70001, 2, false, false, "66000"},
    {SUM, SSQ_BF16, 70001, 1, false, false, "33100"},
    {SUM, SSQ_F32, 9973, 7, true, true, "4096"},
    {SUM, SSQ_F32, 50021, 2, false, true, "1024"},
    {SUM, SSQ_F16, 40009, 3, true, true, "1024"},
    {MEAN, SSQ_F32, 49157, 2, false, false, "66000"},
    {MEAN, SSQ_F32, 4096, 5, true, true, "1024"},
    {PROD, SSQ_F32, 49157, 2, false, false, "66000"},
    {MAX, SSQ_F32, 49157, 2, false, false, "66000"},
    {MAX, SSQ_F16, 9973, 5, true, false, "700"},
    {MIN, SSQ_BF16, 49157, 3, false, false, "1024"},
    {MIN, SSQ_I32, 9973, 3, true, true, "1024"},
    {MAX, SSQ_U8, 9973, 3, false, true, "600"},
    {NORM, SSQ_F32, 49157, 1, false, false, "66000"},
    {NORM, SSQ_F16, 70001, 1, false, false, "33100"},
    {NORM, SSQ_F32, 32768, 3, true, false, "200000"},
    {ADD_BACKWARD, SSQ_F32, 49157, 1, false, false, "66000"},
    {ADD_BACKWARD, SSQ_F32, 33000, 3, false, false, "66000"},
    {ADD_BACKWARD, SSQ_F32, 33000, 3, true, false, "200000"},
    {ADD_BACKWARD, SSQ_F16, 65536, 2, true, false, "66000"},
    {MEAN_BACKWARD, SSQ_F32, 9973, 2, false, false, "1024"},
    {MEAN_BACKWARD, SSQ_F16, 9973, 3, true, false, "1024"},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static uint64_t seed;

static float draw(size_t i)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    int r = (int)(seed >> 40 & 0xffff);
    if (cases[i].integers)
        return (float)(r % 17) - (cases[i].dtype == SSQ_U8 ? 0.0f : 8.0f);
    if (cases[i].work == PROD)
        return 1.0f + (float)(r - 32768) * 0x1p-24f;
    return (float)(r - 32768) * 0x1p-14f;
}

/* [n, m], in memory [m, n] unless across. */
static ssq_tensor *make(ssq_device *dev, size_t i)
{
    const int64_t shape[2] = {cases[i].n, cases[i].m};
    const int64_t turned[2] = {cases[i].m, cases[i].n};
    ssq_tensor *t = NULL, *view = NULL;

    if (cases[i].across) {
        NEED(ssq_tensor_create(dev, cases[i].dtype, 2, shape, &t));
        return t;
    }
    NEED(ssq_tensor_create(dev, cases[i].dtype, 2, turned, &t));
    NEED(ssq_tensor_transpose(t, NULL, &view));
    ssq_tensor_destroy(&t);
    return view;
}

static ssq_status reduce(ssq_queue *q, size_t i, const ssq_tensor *x,
                         const ssq_tensor *y)
{
    ssq_reduce_args args = SSQ_REDUCE_INIT;

    args.x = x;
    args.y = y;
    args.axes[0] = 0;
    args.n_axes = 1;
    switch (cases[i].work) {
    case SUM:
        return ssq_sum(q, &args);
    case MEAN:
        return ssq_mean(q, &args);
    case PROD:
        return ssq_prod(q, &args);
    case MAX:
        return ssq_max(q, &args);
    default:
        return ssq_min(q, &args);
    }
}

/* One op; x is the long operand, y the short one. */
static ssq_status run(ssq_queue *q, size_t i, const ssq_tensor *x,
                      const ssq_tensor *y)
{
    ssq_norm_args norm = SSQ_NORM_INIT;
    ssq_binary_backward_args add = SSQ_BINARY_BACKWARD_INIT;
    ssq_mean_backward_args mean = SSQ_MEAN_BACKWARD_INIT;

    switch (cases[i].work) {
    case NORM:
        norm.x = x;
        norm.y = y;
        return ssq_norm(q, &norm);
    case ADD_BACKWARD:
        add.dy = x;
        add.db = y;
        return ssq_add_backward(q, &add);
    case MEAN_BACKWARD:
        mean.dy = y;
        mean.dx = x;
        mean.axes[0] = 0;
        mean.n_axes = 1;
        return ssq_mean_backward(q, &mean);
    default:
        return reduce(q, i, x, y);
    }
}

static int64_t results(size_t i)
{
    return cases[i].work == NORM ? 1 : cases[i].m;
}

static ssq_dtype result_dtype(size_t i)
{
    bool same = cases[i].work == MAX || cases[i].work == MIN;

    return same ? cases[i].dtype : SSQ_F32;
}

/* Run the op in a graph; how many ops are in it? */
static ssq_status run_graph(ssq_queue *q, size_t i, const ssq_tensor *x,
                            const ssq_tensor *y, size_t *ops)
{
    ssq_graph *graph = NULL;

    NEED(ssq_graph_begin(q));
    ssq_status st = run(q, i, x, y);
    NEED(ssq_graph_end(q, &graph));
    *ops = ssq_graph_ops(graph);
    NEED(ssq_graph_launch(q, graph));
    ssq_graph_destroy(&graph);
    return st;
}

/* Run it with the host's help; how many ops did the host do? */
static ssq_status run_helped(ssq_queue *q, size_t i, const ssq_tensor *x,
                             const ssq_tensor *y, size_t *ops)
{
    ssq_memory_info info = SSQ_MEMORY_INFO_INIT;
    ssq_status st = run(q, i, x, y);

    NEED(ssq_device_memory(ssq_queue_device(q), &info));
    *ops = (size_t)info.fallbacks;
    return st;
}

/* Run case i with a limit (NULL: none); out has room for x and y. */
static ssq_status compute(const char *name, size_t i, const char *limit,
                          bool helped, float *out, size_t *ops)
{
    int64_t n = cases[i].n * cases[i].m, m = results(i);
    float *values = malloc((size_t)n * sizeof(*values));
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    ssq_device *dev = NULL;

    options.host_fallback = helped;
    if (limit != NULL)
        setenv("SSQ_LIMIT_BINDING", limit, 1);
    NEED(ssq_device_open(name, &options, &dev));
    unsetenv("SSQ_LIMIT_BINDING");
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = make(dev, i), *y = core_vector(dev, result_dtype(i), m);
    seed = i;
    for (int64_t k = 0; k < n; k++)
        values[k] = draw(i);
    NEED(ssq_tensor_write(q, x, values, (size_t)n * sizeof(*values), SSQ_F32));
    NEED(ssq_tensor_write(q, y, values, (size_t)n * sizeof(*values), SSQ_F32));
    ssq_status st =
        helped ? run_helped(q, i, x, y, ops) : run_graph(q, i, x, y, ops);
    NEED(ssq_tensor_read(q, x, out, (size_t)n * sizeof(*out), SSQ_F32));
    NEED(ssq_tensor_read(q, y, out + n, (size_t)m * sizeof(*out), SSQ_F32));
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    free(values);
    return st;
}

/* The same bits; of a product by a plan, class R, each side within gamma_n of
 * the exact one. */
static bool agree(const char *name, size_t i, const float *whole,
                  const float *cut, size_t n)
{
    double u = (double)cases[i].n * 0x1p-24, most = 2 * u / (1 - u);

    if (memcmp(whole, cut, n * sizeof(*whole)) == 0)
        return true;
    bool planned = strchr(name, ':') != NULL || strcmp(name, "cpu") == 0;
    if (cases[i].work != PROD || !planned)
        return false;
    for (size_t k = 0; k < n; k++)
        if (!(fabs((double)whole[k] - (double)cut[k]) <=
              most * fabs((double)whole[k])))
            return false;
    return true;
}

static void test_case(const char *name, size_t i)
{
    size_t n = (size_t)(cases[i].n * cases[i].m + results(i)), one = 0,
           many = 0;
    size_t bytes = n * sizeof(float);
    float *whole = malloc(bytes), *cut = malloc(bytes);
    ssq_status st = compute(name, i, NULL, false, whole, &one);

    core_need(st, words[cases[i].work]);
    st = compute(name, i, cases[i].limit, false, cut, &many);
    /* a norm is one op over a list of pieces */
    bool pieces = cases[i].work == NORM ? many == 1 : many > one;
    if (!tap_ok(st == SSQ_OK && pieces && agree(name, i, whole, cut, n),
                "%s: %s %s of %lld x %lld%s within %s bytes: %zu ops give what "
                "%zu give",
                name, words[cases[i].work], ssq_dtype_name(cases[i].dtype),
                (long long)cases[i].m, (long long)cases[i].n,
                cases[i].across ? ", across" : "", cases[i].limit, many, one))
        tap_diag("%s; %.9g, whole %.9g", st == SSQ_OK ? "" : ssq_last_error(),
                 (double)cut[n - 1], (double)whole[n - 1]);
    free(whole);
    free(cut);
}

/* A refused op may run on the host, also in the middle of a call of
 * several ops. */
static void test_helped(const char *name)
{
    static const size_t helped[] = {16, 19, 21};

    for (size_t k = 0; k < 3; k++) {
        size_t i = helped[k], one = 0, by_host = 0;
        size_t n = (size_t)(cases[i].n * cases[i].m + results(i));
        size_t bytes = n * sizeof(float);
        float *whole = malloc(bytes), *out = malloc(bytes);

        NEED(compute(name, i, NULL, false, whole, &one));
        NEED(compute(name, i, "60000", true, out, &by_host));
        tap_ok(by_host > 0 && memcmp(whole, out, bytes) == 0,
               "%s: %s of %lld x %lld within 60000 bytes: %zu ops by the host "
               "give the same bits",
               name, words[cases[i].work], (long long)cases[i].m,
               (long long)cases[i].n, by_host);
        free(whole);
        free(out);
    }
}

/* An op with a fixed order is refused if a chunk is more than a launch. */
static void test_refused(const char *name)
{
    static const struct {
        size_t i;
        const char *limit, *text;
    } refused[] = {
        {16, "60000", "norm: operand|49157 elements|60000 bytes"},
        {19, "60000", "binary_backward: operand|60000 bytes"},
    };

    for (size_t k = 0; k < 2; k++) {
        size_t i = refused[k].i, ops = 0;
        size_t n = (size_t)(cases[i].n * cases[i].m + results(i));
        float *out = malloc(n * sizeof(*out));
        ssq_status st = compute(name, i, refused[k].limit, false, out, &ops);

        core_status(st, SSQ_ERR_UNSUPPORTED, refused[k].text,
                    "%s: %s within %s bytes is refused", name,
                    words[cases[i].work], refused[k].limit);
        tap_ok(ops == 0, "%s: and has enqueued nothing: %zu ops", name, ops);
        free(out);
    }
}

/* A product with one result of this many ones. A chain of float32 sums would
 * stay at 2^24: the launches are shares of it, which a watchdog lets finish. */
#define DEEP (INT64_C(17) << 20)

/* With a first product of 2^30 fewer ones will do: its share loses all of its
 * own, which are a third, and a chain would lose the others too's. */
#define FEW (INT64_C(1) << 20)

static void test_deep(const char *name)
{
    int64_t depth = tap_full() ? DEEP : FEW;
    const int64_t row[] = {1, depth}, column[] = {depth, 1}, one[] = {1, 1};
    const float first = tap_full() ? 1.0f : 0x1p15f;
    const float least = tap_full() ? (float)DEEP : 0x1p30f + (float)FEW / 2;
    const float most = tap_full() ? least : 0x1p30f + (float)FEW;
    ssq_device *dev = core_open(name);
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = NULL, *a = NULL, *b = NULL, *d = NULL, *front = NULL;
    ssq_fill_args fill = SSQ_FILL_INIT;
    ssq_gemm_args args = SSQ_GEMM_INIT;
    float sum = 0.0f;

    NEED(ssq_tensor_create(dev, SSQ_F16, 2, row, &x));
    NEED(ssq_tensor_reshape(x, 2, row, &a));
    NEED(ssq_tensor_reshape(x, 2, column, &b));
    NEED(ssq_tensor_slice(x, 1, 0, 1, 1, &front));
    NEED(ssq_tensor_create(dev, SSQ_F32, 2, one, &d));
    fill.x = x;
    fill.value = 1.0;
    NEED(ssq_fill(q, &fill));
    NEED(ssq_tensor_write(q, front, &first, sizeof(first), SSQ_F32));
    args.a = a;
    args.b = b;
    args.d = d;
    NEED(ssq_gemm(q, &args));
    NEED(ssq_tensor_read(q, d, &sum, sizeof(sum), SSQ_F32));
    NEED(ssq_queue_sync(q));
    if (!tap_ok(sum >= least && sum <= most,
                "%s: a 1x1 product of %lld ones is divided", name,
                (long long)depth))
        tap_diag("it is %.9g, at least %.9g", (double)sum, (double)least);
    ssq_tensor_destroy(&front);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&b);
    ssq_tensor_destroy(&d);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        /* drivers have every second case, and so every kind of work */
        bool all = strchr(core_device(d), ':') == NULL || tap_full();
        for (size_t i = 0; i < CASES; i += all ? 1 : 2)
            test_case(core_device(d), i);
        test_helped(core_device(d));
        test_refused(core_device(d));
        /* lavapipe takes minutes: its items wait for each other at each step */
        if (core_has(core_device(d), "opencl:") ||
            (core_has(core_device(d), "vulkan:") && tap_full()))
            test_deep(core_device(d));
    }
    return tap_done(64);
}

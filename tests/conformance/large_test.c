/* SPDX-License-Identifier: Apache-2.0 */
/* large_test.c - ops with operands larger than a launch sees have the bits of
 * the ones that it does see.
 *
 * Each case runs on two devices that differ by SSQ_LIMIT_BINDING alone, by each
 * implementation. All operands together are many times the limit. */
#include "tests/core/core.h"

/* Bytes; the second one where a row is to be cut into parts. */
#define LIMITS  2
#define OUTPUTS 3
#define MOST    10 /* tensors of a case */

static const char *const limits[LIMITS] = {"40000", "70000"};

/* A device, and what a case makes on it. */
struct desk {
    ssq_device *device;
    ssq_queue *queue;
    ssq_tensor *made[MOST];
    size_t n;
    const ssq_tensor *out[OUTPUTS];
    size_t outs;
};

static ssq_tensor *tensor(struct desk *d, ssq_dtype dtype, int rank,
                          const int64_t *shape)
{
    if (d->n == MOST)
        tap_bail("more than %d tensors", MOST);
    NEED(ssq_tensor_create(d->device, dtype, rank, shape, &d->made[d->n]));
    return d->made[d->n++];
}
#define SHAPE(...)                                                             \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),           \
        (const int64_t[])                                                      \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

/* Normal numbers, the same on every device; each tensor has others. */
static void draw(struct desk *d, const ssq_tensor *t)
{
    ssq_random_normal_args args = SSQ_RANDOM_NORMAL_INIT;
    args.x = t;
    args.seed = d->n;
    NEED(ssq_random_normal(d->queue, &args));
}

static ssq_tensor *input(struct desk *d, ssq_dtype dtype, int rank,
                         const int64_t *shape)
{
    ssq_tensor *t = tensor(d, dtype, rank, shape);
    draw(d, t);
    return t;
}

/* Numbers from -2 to classes: some are none of them. */
static ssq_tensor *labels(struct desk *d, int64_t n, int64_t classes)
{
    ssq_tensor *t = tensor(d, SSQ_I32, 1, &n);
    int32_t *host = malloc((size_t)n * sizeof(*host));
    if (host == NULL)
        tap_bail("no memory for %lld labels", (long long)n);
    uint64_t seed = 7;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        host[i] = (int32_t)((seed >> 33) % (uint64_t)(classes + 3)) - 2;
    }
    NEED(ssq_tensor_write(d->queue, t, host, (size_t)n * sizeof(*host),
                          SSQ_I32));
    NEED(ssq_queue_sync(d->queue));
    free(host);
    return t;
}

static const ssq_tensor *output(struct desk *d, ssq_dtype dtype, int rank,
                                const int64_t *shape)
{
    const ssq_tensor *t = tensor(d, dtype, rank, shape);
    d->out[d->outs++] = t;
    return t;
}

/* ---- cases ---- */

static ssq_status softmax(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(500, 50));
    return ssq_softmax(
        d->queue, SSQ_SOFTMAX(.x = x, .y = output(d, SSQ_F16, SHAPE(500, 50))));
}

/* The rows are neighbours: windows are of columns. */
static ssq_status softmax_columns(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_BF16, SHAPE(40, 9, 300));
    return ssq_log_softmax(
        d->queue,
        SSQ_LOG_SOFTMAX(.x = x, .y = output(d, SSQ_F32, SHAPE(40, 9, 300)),
                        .axis = 1));
}

/* Few, long rows: several groups have parts of each. */
static ssq_status softmax_long(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F16, SHAPE(3, 33000));
    return ssq_softmax(
        d->queue,
        SSQ_SOFTMAX(.x = x, .y = output(d, SSQ_F16, SHAPE(3, 33000))));
}

static ssq_status softmax_backward_long(struct desk *d)
{
    const ssq_tensor *y = input(d, SSQ_F16, SHAPE(3, 33000));
    const ssq_tensor *dy = input(d, SSQ_F16, SHAPE(3, 33000));
    return ssq_softmax_backward(
        d->queue,
        SSQ_SOFTMAX_BACKWARD(.y = y, .dy = dy,
                             .dx = output(d, SSQ_F16, SHAPE(3, 33000))));
}

static ssq_status softmax_backward(struct desk *d)
{
    const ssq_tensor *y = input(d, SSQ_F32, SHAPE(500, 50));
    const ssq_tensor *dy = input(d, SSQ_BF16, SHAPE(500, 50));
    return ssq_softmax_backward(
        d->queue,
        SSQ_SOFTMAX_BACKWARD(.y = y, .dy = dy,
                             .dx = output(d, SSQ_F32, SHAPE(500, 50))));
}

static ssq_status layer_norm(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(400, 100));
    const ssq_tensor *gamma = input(d, SSQ_F16, SHAPE(100));
    return ssq_layer_norm(
        d->queue, SSQ_LAYER_NORM(.x = x, .gamma = gamma,
                                 .y = output(d, SSQ_F16, SHAPE(400, 100)),
                                 .mean = output(d, SSQ_F32, SHAPE(400, 1)),
                                 .rstd = output(d, SSQ_F32, SHAPE(400, 1))));
}

/* One piece of x is two of y: the statistics are still those of one. */
static ssq_status batch_norm(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F16, SHAPE(10, 30, 40));
    const ssq_tensor *gamma = input(d, SSQ_F32, SHAPE(30));
    const ssq_tensor *mean = output(d, SSQ_F32, SHAPE(30));
    const ssq_tensor *var = output(d, SSQ_F32, SHAPE(30));
    draw(d, mean);
    draw(d, var);
    return ssq_batch_norm(
        d->queue, SSQ_BATCH_NORM(.x = x, .gamma = gamma, .training = true,
                                 .momentum = 0.1, .running_mean = mean,
                                 .running_var = var,
                                 .y = output(d, SSQ_F32, SHAPE(10, 30, 40))));
}

static ssq_status layer_norm_backward(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(1500, 50));
    const ssq_tensor *dy = input(d, SSQ_F32, SHAPE(1500, 50));
    const ssq_tensor *gamma = input(d, SSQ_F16, SHAPE(50));
    return ssq_layer_norm_backward(
        d->queue,
        SSQ_LAYER_NORM_BACKWARD(.x = x, .gamma = gamma, .dy = dy,
                                .dx = output(d, SSQ_F32, SHAPE(1500, 50)),
                                .dgamma = output(d, SSQ_F32, SHAPE(50)),
                                .dbeta = output(d, SSQ_F32, SHAPE(50))));
}

static ssq_status cross_entropy(struct desk *d, ssq_reduction reduction,
                                ssq_dtype dtype)
{
    const bool each = reduction == SSQ_REDUCTION_NONE;
    const int64_t n = 500, c = 70;
    const ssq_tensor *x = input(d, dtype, SHAPE(n, c));
    const ssq_tensor *w = input(d, SSQ_F32, SHAPE(c));
    return ssq_cross_entropy(
        d->queue,
        SSQ_CROSS_ENTROPY(.logits = x, .target = labels(d, n, c), .weight = w,
                          .loss = output(d, SSQ_F32, each, &n),
                          .dlogits = output(d, dtype, SHAPE(n, c)),
                          .reduction = reduction));
}

static ssq_status cross_entropy_mean(struct desk *d)
{
    return cross_entropy(d, SSQ_REDUCTION_MEAN, SSQ_F32);
}

static ssq_status cross_entropy_sum(struct desk *d)
{
    return cross_entropy(d, SSQ_REDUCTION_SUM, SSQ_F16);
}

static ssq_status cross_entropy_each(struct desk *d)
{
    return cross_entropy(d, SSQ_REDUCTION_NONE, SSQ_BF16);
}

/* Classes in the middle: rows of two dimensions. */
static ssq_status cross_entropy_planes(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(9, 15, 8, 30));
    const ssq_tensor *p = input(d, SSQ_F32, SHAPE(9, 15, 8, 30));
    return ssq_cross_entropy(
        d->queue,
        SSQ_CROSS_ENTROPY(.logits = x, .target_prob = p,
                          .loss = output(d, SSQ_F32, 0, NULL),
                          .dlogits = output(d, SSQ_F32, SHAPE(9, 15, 8, 30)),
                          .label_smoothing = 0.1));
}

static ssq_status mse(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(100, 333));
    const ssq_tensor *t = input(d, SSQ_F16, SHAPE(100, 333));
    return ssq_mse(d->queue,
                   SSQ_MSE(.x = x, .target = t,
                           .loss = output(d, SSQ_F32, 0, NULL),
                           .dx = output(d, SSQ_F32, SHAPE(100, 333))));
}

/* pos_weight is broadcast: windows are of whole rows. */
static ssq_status bce(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(700, 64));
    const ssq_tensor *t = input(d, SSQ_F32, SHAPE(700, 64));
    const ssq_tensor *w = input(d, SSQ_F32, SHAPE(64));
    return ssq_bce_with_logits(
        d->queue,
        SSQ_BCE_WITH_LOGITS(.x = x, .target = t, .pos_weight = w,
                            .loss = output(d, SSQ_F32, 0, NULL),
                            .dx = output(d, SSQ_F16, SHAPE(700, 64))));
}

static ssq_status gather(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(900, 40));
    return ssq_gather_rows(
        d->queue, SSQ_GATHER_ROWS(.x = x, .index = labels(d, 700, 900),
                                  .y = output(d, SSQ_F32, SHAPE(700, 40))));
}

static ssq_status gather_cast(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(5000, 5));
    return ssq_gather_rows(
        d->queue, SSQ_GATHER_ROWS(.x = x, .index = labels(d, 12000, 5000),
                                  .y = output(d, SSQ_F16, SHAPE(12000, 5))));
}

static ssq_status scatter(struct desk *d)
{
    const ssq_tensor *dy = input(d, SSQ_F16, SHAPE(9000, 16));
    const ssq_tensor *dx = input(d, SSQ_F32, SHAPE(5000, 16));
    d->out[d->outs++] = dx;
    return ssq_scatter_add_rows(
        d->queue, SSQ_SCATTER_ADD_ROWS(.dy = dy, .index = labels(d, 9000, 5000),
                                       .dx = dx));
}

static ssq_status scatter_narrow(struct desk *d)
{
    const ssq_tensor *dy = input(d, SSQ_F32, SHAPE(600, 16));
    const ssq_tensor *dx = input(d, SSQ_BF16, SHAPE(5000, 16));
    d->out[d->outs++] = dx;
    return ssq_scatter_add_rows(
        d->queue, SSQ_SCATTER_ADD_ROWS(.dy = dy, .index = labels(d, 600, 5000),
                                       .dx = dx));
}

static ssq_status one_hot(struct desk *d)
{
    return ssq_one_hot(d->queue,
                       SSQ_ONE_HOT(.index = labels(d, 9000, 50),
                                   .y = output(d, SSQ_F32, SHAPE(9000, 50))));
}

static ssq_status one_hot_first(struct desk *d)
{
    return ssq_one_hot(d->queue,
                       SSQ_ONE_HOT(.index = labels(d, 9000, 5), .axis = 0,
                                   .y = output(d, SSQ_U8, SHAPE(5, 9000))));
}

static ssq_status top_k(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(1100, 70));
    return ssq_top_k_accuracy(
        d->queue,
        SSQ_TOP_K_ACCURACY(.logits = x, .target = labels(d, 1100, 70), .k = 5,
                           .accuracy = output(d, SSQ_F32, 0, NULL),
                           .hits = output(d, SSQ_I32, 0, NULL)));
}

/* d = a b, of which some are transposed. */
static ssq_status gemm(struct desk *d, ssq_dtype dtype, int64_t m, int64_t n,
                       int64_t k, bool trans_a, bool trans_b)
{
    const ssq_tensor *a =
        input(d, dtype, 2,
              trans_a ? (const int64_t[]){k, m} : (const int64_t[]){m, k});
    const ssq_tensor *b =
        input(d, dtype, 2,
              trans_b ? (const int64_t[]){n, k} : (const int64_t[]){k, n});
    const ssq_tensor *bias = input(d, SSQ_F32, SHAPE(n));
    const ssq_tensor *c = input(d, SSQ_F16, SHAPE(m, n));
    return ssq_gemm(d->queue,
                    SSQ_GEMM(.a = a, .b = b, .c = c, .beta = 0.5, .bias = bias,
                             .trans_a = trans_a, .trans_b = trans_b,
                             .d = output(d, SSQ_F32, SHAPE(m, n))));
}

/* As logits of a table: b's rows are many, d's columns are. */
static ssq_status gemm_logits(struct desk *d)
{
    return gemm(d, SSQ_F32, 40, 500, 33, false, true);
}

/* As the gradient from logits: b is deep. */
static ssq_status gemm_deep(struct desk *d)
{
    return gemm(d, SSQ_F32, 20, 65, 500, false, false);
}

/* As the gradient of the table: a is deep, and is along m. */
static ssq_status gemm_table(struct desk *d)
{
    return gemm(d, SSQ_F16, 1100, 33, 200, true, false);
}

/* Few rows: b is read as it is. */
static ssq_status gemm_few(struct desk *d)
{
    return gemm(d, SSQ_F32, 3, 300, 900, false, false);
}

/* A row of a is larger than a launch sees. */
static ssq_status gemm_line(struct desk *d)
{
    return gemm(d, SSQ_F32, 5, 20, 11000, false, false);
}

static ssq_status gemm_batched(struct desk *d)
{
    const ssq_tensor *a = input(d, SSQ_BF16, SHAPE(40, 20, 50));
    const ssq_tensor *b = input(d, SSQ_BF16, SHAPE(40, 50, 30));
    return ssq_gemm_batched(
        d->queue, SSQ_GEMM_BATCHED(.a = a, .b = b,
                                   .d = output(d, SSQ_F32, SHAPE(40, 20, 30))));
}

static ssq_status attention_of(struct desk *d, int64_t kv_heads, double p)
{
    const ssq_tensor *q = input(d, SSQ_F32, SHAPE(9, 4, 20, 16));
    const ssq_tensor *k = input(d, SSQ_F32, SHAPE(9, kv_heads, 24, 16));
    const ssq_tensor *v = input(d, SSQ_F32, SHAPE(9, kv_heads, 24, 16));
    const ssq_tensor *mask = input(d, SSQ_F32, SHAPE(9, 1, 20, 24));
    return ssq_attention(
        d->queue,
        SSQ_ATTENTION(.q = q, .k = k, .v = v, .mask = mask, .dropout = p,
                      .seed = 5, .y = output(d, SSQ_F32, SHAPE(9, 4, 20, 16))));
}

static ssq_status attention(struct desk *d)
{
    return attention_of(d, 4, 0.0);
}

static ssq_status attention_dropout(struct desk *d)
{
    return attention_of(d, 4, 0.25);
}

static ssq_status attention_groups(struct desk *d)
{
    return attention_of(d, 2, 0.25);
}

static ssq_status attention_backward(struct desk *d)
{
    const ssq_tensor *q = input(d, SSQ_F16, SHAPE(9, 4, 20, 16));
    const ssq_tensor *k = input(d, SSQ_F16, SHAPE(9, 2, 24, 16));
    const ssq_tensor *v = input(d, SSQ_F16, SHAPE(9, 2, 24, 16));
    const ssq_tensor *y = input(d, SSQ_F16, SHAPE(9, 4, 20, 16));
    const ssq_tensor *dy = input(d, SSQ_F16, SHAPE(9, 4, 20, 16));
    const ssq_tensor *lse = input(d, SSQ_F32, SHAPE(9, 4, 20));
    return ssq_attention_backward(
        d->queue,
        SSQ_ATTENTION_BACKWARD(.q = q, .k = k, .v = v, .y = y, .dy = dy,
                               .lse = lse, .dropout = 0.25, .seed = 5,
                               .dq = output(d, SSQ_F32, SHAPE(9, 4, 20, 16)),
                               .dk = output(d, SSQ_F32, SHAPE(9, 2, 24, 16)),
                               .dv = output(d, SSQ_F32, SHAPE(9, 2, 24, 16))));
}

static ssq_status rotary(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(9, 4, 20, 16));
    return ssq_rotary(d->queue,
                      SSQ_ROTARY(.x = x, .offset = 3,
                                 .y = output(d, SSQ_F16, SHAPE(9, 4, 20, 16))));
}

static ssq_status max_pool(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(6, 9, 20, 21));
    return ssq_max_pool2d(
        d->queue,
        SSQ_MAX_POOL2D(.x = x, .kernel = {3, 2},
                       .y = output(d, SSQ_F32, SHAPE(6, 9, 6, 10)),
                       .argmax = output(d, SSQ_I32, SHAPE(6, 9, 6, 10))));
}

static ssq_status avg_pool_backward(struct desk *d)
{
    const ssq_tensor *dy = input(d, SSQ_F32, SHAPE(6, 9, 6, 10));
    return ssq_avg_pool2d_backward(
        d->queue, SSQ_AVG_POOL2D_BACKWARD(.dy = dy, .kernel = {3, 2},
                                          .dx = output(d, SSQ_BF16,
                                                       SHAPE(6, 9, 20, 21))));
}

static ssq_status conv(struct desk *d)
{
    const ssq_tensor *x = input(d, SSQ_F32, SHAPE(16, 4, 15, 15));
    const ssq_tensor *w = input(d, SSQ_F32, SHAPE(4, 4, 3, 3));
    return ssq_conv2d(
        d->queue, SSQ_CONV2D(.x = x, .w = w, .padding = {1, 1, 1, 1},
                             .y = output(d, SSQ_F32, SHAPE(16, 4, 15, 15))));
}

static ssq_status conv_data(struct desk *d)
{
    const ssq_tensor *dy = input(d, SSQ_F32, SHAPE(16, 4, 15, 15));
    const ssq_tensor *w = input(d, SSQ_F32, SHAPE(4, 4, 3, 3));
    return ssq_conv2d_backward_data(
        d->queue,
        SSQ_CONV2D_BACKWARD_DATA(.dy = dy, .w = w, .padding = {1, 1, 1, 1},
                                 .dx =
                                     output(d, SSQ_F32, SHAPE(16, 4, 15, 15))));
}

static const struct {
    const char *op, *text;
    ssq_status (*run)(struct desk *);
    int limit; /* which */
} cases[] = {
    {"softmax", "softmax of 500 rows", softmax},
    {"softmax", "log_softmax along the middle of [40,9,300]", softmax_columns},
    {"softmax", "softmax of 3 rows of 33000", softmax_long, 1},
    {"softmax_backward", "gradient of 3 rows of 33000", softmax_backward_long,
     1},
    {"softmax_backward", "gradient of 500 rows", softmax_backward},
    {"layer_norm", "layer norm of 400 rows", layer_norm},
    {"layer_norm_backward", "gradient of 1500 rows", layer_norm_backward},
    {"channel_norm", "batch norm of f16 [10,30,40] as f32", batch_norm},
    {"cross_entropy", "mean of 500 rows", cross_entropy_mean},
    {"cross_entropy", "sum of 500 rows", cross_entropy_sum},
    {"cross_entropy", "losses of 500 rows", cross_entropy_each},
    {"cross_entropy", "mean of [9,15,8,30]", cross_entropy_planes},
    {"loss", "mse of 33300 elements", mse},
    {"loss", "bce of [700,64] with a broadcast weight", bce},
    {"gather", "700 of 900 rows of 40", gather},
    {"gather", "12000 of 5000 rows of 5, cast", gather_cast},
    {"scatter_add", "9000 to 5000 rows of 16", scatter},
    {"scatter_add", "600 to 5000 rows of 16, bf16", scatter_narrow},
    {"one_hot", "9000 of 50 classes", one_hot},
    {"one_hot", "9000 of 5 classes first", one_hot_first},
    {"top_k_accuracy", "5 of 70 for 1100 rows", top_k},
    {"gemm", "40 x 500 x 33, b transposed", gemm_logits},
    {"gemm", "20 x 65 x 500", gemm_deep},
    {"gemm", "1100 x 33 x 200, a transposed, f16", gemm_table},
    {"gemm", "3 x 300 x 900", gemm_few},
    {"gemm", "5 x 20 x 11000", gemm_line},
    {"gemm", "40 of 20 x 30 x 50, bf16", gemm_batched},
    {"attention", "[9,4,20,16]", attention},
    {"attention", "[9,4,20,16] with dropout", attention_dropout},
    {"attention", "[9,4,20,16], 2 heads of keys", attention_groups},
    {"attention_backward", "[9,4,20,16], 2 heads of keys", attention_backward},
    {"rotary", "[9,4,20,16]", rotary},
    {"pool", "maxima of [6,9,20,21]", max_pool},
    {"pool", "gradient of averages of [6,9,20,21]", avg_pool_backward},
    {"conv", "[16,4,15,15]", conv},
    {"conv", "gradient of [16,4,15,15]", conv_data},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* ---- running ---- */

static size_t bytes_of(const ssq_tensor *t)
{
    size_t n = ssq_dtype_bits(ssq_tensor_dtype(t)) / 8;
    for (int i = 0; i < ssq_tensor_rank(t); i++)
        n *= (size_t)ssq_tensor_size(t, i);
    return n;
}

/* The bytes of all outputs, to be freed; NULL: the op was refused. */
static unsigned char *outcome(struct desk *d, size_t i, const char *impl,
                              size_t *bytes)
{
    unsigned char *host = NULL;
    NEED(ssq_implementation_pin(d->device, cases[i].op, impl));
    d->n = d->outs = 0;
    ssq_status st = cases[i].run(d);
    *bytes = 0;
    for (size_t k = 0; k < d->outs; k++)
        *bytes += bytes_of(d->out[k]);
    if (st == SSQ_OK) {
        host = malloc(*bytes);
        if (host == NULL)
            tap_bail("no memory for %zu bytes", *bytes);
        unsigned char *at = host;
        for (size_t k = 0; k < d->outs; k++) {
            size_t n = bytes_of(d->out[k]);
            NEED(ssq_tensor_read(d->queue, d->out[k], at, n,
                                 ssq_tensor_dtype(d->out[k])));
            at += n;
        }
    } else if (st != SSQ_ERR_UNSUPPORTED) {
        tap_diag("%s", ssq_last_error());
    }
    NEED(ssq_queue_sync(d->queue));
    for (size_t k = 0; k < d->n; k++)
        ssq_tensor_destroy(&d->made[k]);
    NEED(ssq_implementation_pin(d->device, cases[i].op, NULL));
    return host;
}

static void compare(struct desk *whole, struct desk *cut, size_t i,
                    const char *name, const char *impl)
{
    size_t bytes, cut_bytes;
    char why[256];
    unsigned char *want = outcome(whole, i, impl, &bytes);
    unsigned char *got = NULL;
    if (want == NULL)
        return; /* an implementation that has no such case */
    got = outcome(cut, i, impl, &cut_bytes);
    snprintf(why, sizeof(why), "%s", ssq_last_error());
    if (got == NULL && strstr(why, " bytes are left to the plan") != NULL) {
        free(want);
        return; /* a backend's own has no pieces: unpinned, a plan has the op */
    }
    if (!tap_ok(got != NULL && memcmp(want, got, bytes) == 0,
                "%s/%s: %s: %s in launches of %s bytes has the bits of one",
                name, impl, cases[i].op, cases[i].text,
                limits[cases[i].limit]) &&
        got == NULL)
        tap_diag("%s", why);
    free(want);
    free(got);
}

static void open_desk(struct desk *d, const char *name, const char *limit)
{
    if (limit != NULL)
        setenv("SSQ_LIMIT_BINDING", limit, 1);
    d->device = core_open(name);
    unsetenv("SSQ_LIMIT_BINDING");
    d->queue = core_queue(d->device);
}

static void close_desk(struct desk *d)
{
    ssq_queue_destroy(&d->queue);
    ssq_device_close(&d->device);
}

static void test_device(const char *name)
{
    struct desk whole = {.n = 0}, cut[LIMITS] = {{.n = 0}};
    open_desk(&whole, name, NULL);
    for (int k = 0; k < LIMITS; k++)
        open_desk(&cut[k], name, limits[k]);
    /* a driver compiles the kernels of each case again */
    size_t stride = strchr(name, ':') != NULL && !tap_full() ? 4 : 1;
    for (size_t i = 0; i < CASES; i += stride)
        for (size_t k = 0;; k++) {
            const char *impl =
                ssq_implementation_name(whole.device, cases[i].op, k);
            if (impl == NULL)
                break;
            compare(&whole, &cut[cases[i].limit], i, name, impl);
        }
    close_desk(&whole);
    for (int k = 0; k < LIMITS; k++)
        close_desk(&cut[k]);
}

/* One row is too long for a launch: nothing happens. */
static void test_refusals(const char *name)
{
    struct desk d = {.n = 0};
    open_desk(&d, name, limits[0]);
    const ssq_tensor *x = input(&d, SSQ_F32, SHAPE(3, 12000));
    const ssq_tensor *y = tensor(&d, SSQ_F32, SHAPE(3, 12000));
    ssq_status st = ssq_softmax(d.queue, SSQ_SOFTMAX(.x = x, .y = y));
    if (st == SSQ_OK) /* host code of any size */
        tap_ok(strchr(name, ':') == NULL, "%s: a row of 48000 bytes", name);
    else
        core_status(st, SSQ_ERR_UNSUPPORTED,
                    "operand 0, f32 [1,12000]|48000 bytes|40000 "
                    "bytes",
                    "%s: a row of 48000 bytes is refused", name);
    for (size_t k = 0; k < d.n; k++)
        ssq_tensor_destroy(&d.made[k]);
    close_desk(&d);
}

/* ---- of true sizes ---- */

/* Rows from .. from + n - 1 of t, as a tensor of the desk. */
static ssq_tensor *rows_of(struct desk *d, const ssq_tensor *t, int64_t from,
                           int64_t n)
{
    NEED(ssq_tensor_slice(t, 0, from, from + n, 1, &d->made[d->n]));
    return d->made[d->n++];
}

static bool same_bytes(struct desk *d, const ssq_tensor *a, const ssq_tensor *b)
{
    size_t n = bytes_of(a);
    unsigned char *x = malloc(n), *y = malloc(n);
    if (x == NULL || y == NULL)
        tap_bail("no memory for %zu bytes", n);
    NEED(ssq_tensor_read(d->queue, a, x, n, ssq_tensor_dtype(a)));
    NEED(ssq_tensor_read(d->queue, b, y, n, ssq_tensor_dtype(b)));
    NEED(ssq_queue_sync(d->queue));
    bool same = memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

/* GPT-2's table, 154 MB: its gradient by k, and products with its last rows. */
static void test_table(const char *name)
{
    const int64_t rows = 50257, from = rows - 64;
    struct desk d = {.n = 0};
    open_desk(&d, name, NULL);
    const ssq_tensor *table = input(&d, SSQ_F32, SHAPE(rows, 768));
    const ssq_tensor *x = input(&d, SSQ_F32, SHAPE(8, 768));
    ssq_tensor *logits = tensor(&d, SSQ_F32, SHAPE(8, rows));
    ssq_tensor *last = tensor(&d, SSQ_F32, SHAPE(8, 64)), *columns = NULL;
    const ssq_tensor *dx = tensor(&d, SSQ_F32, SHAPE(8, 768));
    NEED(ssq_gemm(d.queue,
                  SSQ_GEMM(.a = x, .b = table, .trans_b = true, .d = logits)));
    NEED(ssq_gemm(d.queue, SSQ_GEMM(.a = x, .b = rows_of(&d, table, from, 64),
                                    .trans_b = true, .d = last)));
    NEED(ssq_tensor_slice(logits, 1, from, rows, 1, &columns));
    tap_ok(same_bytes(&d, last, columns),
           "%s: 8 x 50257 x 768 has the bits of 8 x 64 x 768", name);
    NEED(ssq_gemm(d.queue, SSQ_GEMM(.a = logits, .b = table, .d = dx)));
    NEED(ssq_queue_sync(d.queue));
    tap_ok(true, "%s: 8 x 768 x 50257 is not refused", name);
    ssq_tensor_destroy(&columns);
    for (size_t k = 0; k < d.n; k++)
        ssq_tensor_destroy(&d.made[k]);
    close_desk(&d);
}

/* 4.5 GB and 2.26e9 elements in place: more than words of 32 bits count. */
static void test_host(const char *impl)
{
    const int64_t rows = 45000;
    struct desk d = {.n = 0};
    open_desk(&d, "cpu", NULL);
    NEED(ssq_implementation_pin(d.device, "softmax", impl));
    const ssq_tensor *x = tensor(&d, SSQ_F16, SHAPE(rows, 50257));
    ssq_tensor *want = tensor(&d, SSQ_F16, SHAPE(64, 50257));
    const ssq_tensor *last = rows_of(&d, x, rows - 64, 64);
    NEED(ssq_fill(d.queue, SSQ_FILL(.x = x)));
    draw(&d, last);
    NEED(ssq_softmax(d.queue, SSQ_SOFTMAX(.x = last, .y = want)));
    NEED(ssq_softmax(d.queue, SSQ_SOFTMAX(.x = x, .y = x)));
    tap_ok(same_bytes(&d, last, want),
           "cpu/%s: softmax of 45000 rows of 50257 has the bits of 64", impl);
    for (size_t k = 0; k < d.n; k++)
        ssq_tensor_destroy(&d.made[k]);
    close_desk(&d);
}

int main(void)
{
    for (size_t i = 0; i < core_device_count(); i++) {
        test_device(core_device(i));
        test_refusals(core_device(i));
        if (tap_full() && i > 1) /* reference and guard take minutes */
            test_table(core_device(i));
    }
    if (tap_full()) {
        test_host("rows");
        test_host("portable");
    }
    return tap_done(70);
}

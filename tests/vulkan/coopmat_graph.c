/* SPDX-License-Identifier: Apache-2.0 */
/* coopmat_graph.c - products on cooperative matrices in graphs.
 *
 * A chain h = relu(x w1' + bias), y = h w2, sum = sum / 2 + h w2 is captured
 * once and launched with other inputs each time. The operands of each product
 * are read back, so that each is compared with its own float64 sums under the
 * bound of conformance/bounds.h. */

#include "conformance/bounds.h"
#include "tests/core/driver.h"

/** Sizes that are not multiples of a matrix's, and more than a tile. */
#define ROWS   75
#define IN     61
#define HIDDEN 97
#define OUT    70
/** More products than one part of a graph has. */
#define MANY 70

enum { X, W1, BIAS, W2, H, Y, SUM, TENSORS };

static const struct {
    ssq_dtype dtype;
    int64_t shape[2];
} kinds[TENSORS] = {
    [X] = {SSQ_F16, {ROWS, IN}},     [W1] = {SSQ_F16, {HIDDEN, IN}},
    [BIAS] = {SSQ_F32, {1, HIDDEN}}, [W2] = {SSQ_F16, {HIDDEN, OUT}},
    [H] = {SSQ_F16, {ROWS, HIDDEN}}, [Y] = {SSQ_F16, {ROWS, OUT}},
    [SUM] = {SSQ_F32, {ROWS, OUT}},
};

static ssq_device *dev;
static ssq_queue *q;
static ssq_tensor *t[TENSORS];
static float *host[TENSORS]; /* as last written or read */
static bool flushed;

static size_t elements(int i)
{
    return (size_t)(kinds[i].shape[0] * kinds[i].shape[1]);
}

static void make(void)
{
    for (int i = 0; i < TENSORS; i++) {
        host[i] = calloc(elements(i), sizeof(float));
        if (host[i] == NULL)
            tap_bail("no memory");
        if (i == BIAS)
            t[i] = core_vector(dev, kinds[i].dtype, kinds[i].shape[1]);
        else
            NEED(ssq_tensor_create(dev, kinds[i].dtype, 2, kinds[i].shape,
                                   &t[i]));
    }
}

static void destroy(void)
{
    for (int i = 0; i < TENSORS; i++) {
        ssq_tensor_destroy(&t[i]);
        free(host[i]);
    }
}

/* Numbers of [-1, 1], or integers of [-3, 3]. */
static void write_new(int i, bool integers)
{
    static uint32_t word = 1;

    for (size_t e = 0; e < elements(i); e++) {
        word = word * 1664525u + 1013904223u;
        host[i][e] = integers ? (float)(word >> 16) / 0x1p16f * 7.0f - 3.5f
                              : (float)(word >> 8) * 0x1p-23f - 1.0f;
        if (integers)
            host[i][e] = roundf(host[i][e]);
    }
    NEED(ssq_tensor_write(q, t[i], host[i], elements(i) * sizeof(float),
                          SSQ_F32));
    NEED(ssq_tensor_read(q, t[i], host[i], elements(i) * sizeof(float),
                         SSQ_F32));
    NEED(ssq_queue_sync(q));
}

static void read_back(int i)
{
    NEED(ssq_tensor_read(q, t[i], host[i], elements(i) * sizeof(float),
                         SSQ_F32));
    NEED(ssq_queue_sync(q));
}

/* ---- products ---- */

/* d = relu?(a op(b) + beta c + bias); c is d. */
struct coopmat_graph_product {
    const char *name;
    int a, b, d;
    bool trans_b, bias;
    double beta;
};

static const struct coopmat_graph_product chain[] = {
    {"h = relu(x w1' + bias)", X, W1, H, true, true, 0},
    {"y = h w2", H, W2, Y, false, false, 0},
    {"sum = sum / 2 + h w2", H, W2, SUM, false, false, 0.5},
};
#define CHAIN (sizeof(chain) / sizeof(chain[0]))

static ssq_gemm_args args_of(const struct coopmat_graph_product *p)
{
    ssq_gemm_args args = SSQ_GEMM_INIT;

    args.a = t[p->a];
    args.b = t[p->b];
    args.d = t[p->d];
    args.trans_b = p->trans_b;
    args.flags = SSQ_GEMM_REQUIRE_MATRIX_UNITS;
    if (p->beta != 0)
        args.c = args.d;
    args.beta = p->beta;
    if (p->bias) {
        args.bias = t[BIAS];
        args.activation = SSQ_ACTIVATION_RELU;
    }
    return args;
}

static void run_chain(void)
{
    for (size_t i = 0; i < CHAIN; i++) {
        ssq_gemm_args args = args_of(&chain[i]);

        NEED(ssq_gemm(q, &args));
    }
}

static double b_of(const struct coopmat_graph_product *p, int64_t row,
                   int64_t column)
{
    int64_t at = p->trans_b ? column * kinds[p->b].shape[1] + row
                            : row * kinds[p->b].shape[1] + column;

    return (double)host[p->b][at];
}

/* Is element (i, j) of d within the bound? c: d's value before. */
static bool within(const struct coopmat_graph_product *p, int64_t i, int64_t j,
                   double c, double block)
{
    const int64_t k = kinds[p->a].shape[1], n = kinds[p->d].shape[1];
    double sum = 0, size = 0, got = (double)host[p->d][i * n + j];

    for (int64_t l = 0; l < k; l++) {
        double product = (double)host[p->a][i * k + l] * b_of(p, l, j);

        sum += product;
        size += fabs(product);
    }
    double error =
        bound_gemm((double)k, block, size, fabs(p->beta * c), 1.0,
                   bound_eta_product(SSQ_F16, SSQ_F16, flushed), flushed);
    double want = sum + p->beta * c;
    error += 0x1p-39 * size; /* the sum here */
    if (p->bias) {
        error = bound_add(error, want);
        want = fmax(want + (double)host[BIAS][j], 0);
        error = bound_activation(error, 1.0, want);
    }
    return fabs(got - want) <= bound_store(want, error, kinds[p->d].dtype);
}

static long wrong_elements(const struct coopmat_graph_product *p,
                           const float *before)
{
    const int64_t n = kinds[p->d].shape[1];
    ssq_gemm_explanation how = SSQ_GEMM_EXPLANATION_INIT;
    ssq_gemm_args args = args_of(p);
    long wrong = 0;

    NEED(ssq_gemm_explain(q, &args, &how));
    if (strcmp(how.implementation, "coopmat") != 0 || !how.matrix_units)
        tap_bail("%s, not coopmat: %s", how.implementation, how.condition);
    for (int64_t i = 0; i < kinds[p->d].shape[0]; i++)
        for (int64_t j = 0; j < n; j++) {
            double c = p->beta == 0 ? 0 : (double)before[i * n + j];

            wrong += !within(p, i, j, c, (double)how.block);
        }
    return wrong;
}

/* ---- tests ---- */

static ssq_graph *capture(void (*run)(void))
{
    ssq_graph *g = NULL;

    NEED(ssq_graph_begin(q));
    run();
    NEED(ssq_graph_end(q, &g));
    return g;
}

/* A launch is right, and has the bits of the same calls one by one. */
static void test_launch(ssq_graph *g, int launch)
{
    const size_t bytes = elements(SUM) * sizeof(float);
    float *before = malloc(bytes), *after = malloc(bytes);

    if (before == NULL || after == NULL)
        tap_bail("no memory");
    write_new(X, false);
    read_back(SUM);
    memcpy(before, host[SUM], bytes);
    NEED(ssq_graph_launch(q, g));
    for (int i = H; i <= SUM; i++)
        read_back(i);
    for (size_t i = 0; i < CHAIN; i++) {
        long wrong = wrong_elements(&chain[i], before);

        tap_ok(wrong == 0, "launch %d: %s: %ld wrong", launch, chain[i].name,
               wrong);
    }
    memcpy(after, host[SUM], bytes);
    NEED(ssq_tensor_write(q, t[SUM], before, bytes, SSQ_F32));
    run_chain();
    read_back(SUM);
    tap_ok(memcmp(after, host[SUM], bytes) == 0,
           "launch %d: the same bits as without a graph", launch);
    free(before);
    free(after);
}

static void test_chain(void)
{
    ssq_graph *g;

    for (int i = X; i <= W2; i++)
        write_new(i, false);
    write_new(SUM, false);
    g = capture(run_chain);
    tap_ok(ssq_graph_ops(g) == CHAIN, "%zu products are captured",
           ssq_graph_ops(g));
    for (int launch = 1; launch <= 3; launch++)
        test_launch(g, launch);
    ssq_graph_destroy(&g);
}

static const struct coopmat_graph_product adds = {"",    H,     W2, SUM,
                                                  false, false, 1.0};

static void add_many(void)
{
    ssq_gemm_args args = args_of(&adds);

    for (int i = 0; i < MANY; i++)
        NEED(ssq_gemm(q, &args));
}

/* Of integers, whose sums are exact: none is left out or comes too early. */
static void test_many(void)
{
    long wrong = 0;
    ssq_graph *g;

    write_new(H, true);
    write_new(W2, true);
    memset(host[SUM], 0, elements(SUM) * sizeof(float));
    NEED(ssq_tensor_write(q, t[SUM], host[SUM], elements(SUM) * sizeof(float),
                          SSQ_F32));
    g = capture(add_many);
    NEED(ssq_graph_launch(q, g));
    NEED(ssq_graph_launch(q, g));
    read_back(SUM);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < OUT; j++) {
            double sum = 0;

            for (int64_t l = 0; l < HIDDEN; l++)
                sum += (double)host[H][i * HIDDEN + l] * b_of(&adds, l, j);
            wrong += (double)host[SUM][i * OUT + j] != 2 * MANY * sum;
        }
    tap_ok(wrong == 0, "%d products into one sum, launched twice: %ld wrong",
           MANY, wrong);
    ssq_graph_destroy(&g);
}

int main(void)
{
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;

    if (driver_missing("vulkan"))
        return tap_done(0);
    dev = core_open("vulkan:0");
    NEED(ssq_device_props_get(dev, &props));
    flushed = props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED;
    if ((props.f16 & SSQ_CAP_MATRIX) == 0) {
        if (tap_required("coopmat"))
            tap_ok(false, "matrices of f16 are required: %s", props.refused);
        else
            tap_skip("vulkan:0 has no matrices of f16", "coopmat in graphs");
        ssq_device_close(&dev);
        return tap_done(0);
    }
    NEED(ssq_implementation_pin(dev, "gemm", "coopmat"));
    q = core_queue(dev);
    make();
    test_chain();
    test_many();
    destroy();
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    return tap_done(14);
}

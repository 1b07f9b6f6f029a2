/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - <sesqui/pack.h> on every device: products by packed weights have the
 * bits of products by the weights themselves, of every dtype, shape and
 * transposition. Weights that were written must be packed again. Wrong
 * arguments are refused. On cpu the copy is read: ssq_gemm_explain reports it.
 */
#include <sesqui/graph.h>
#include <sesqui/pack.h>
#include <sesqui/tape.h>
#include <sesqui/vars.h>

#include "tests/core/core.h"

#include <stdlib.h>

struct pack_harness {
    const char *name;
    ssq_device *dev;
    ssq_queue *q;
};

static ssq_tensor *matrix(const struct pack_harness *b, ssq_dtype dtype,
                          int64_t rows, int64_t columns, uint64_t seed)
{
    const int64_t shape[] = {rows, columns};
    ssq_tensor *t = NULL;
    NEED(ssq_tensor_create(b->dev, dtype, 2, shape, &t));
    NEED(ssq_random_normal(b->q, SSQ_RANDOM_NORMAL(.x = t, .seed = seed)));
    return t;
}

/* ---- bits ---- */

struct pack_shape {
    int64_t m, n, k;
    bool trans_b;
};

/* The product by b, into out as float32. */
static bool multiply(const struct pack_harness *harness, const ssq_tensor *a,
                     const ssq_tensor *b, ssq_tensor *d, bool trans_b,
                     float *out, int64_t n)
{
    ssq_status st = ssq_gemm(
        harness->q, SSQ_GEMM(.a = a, .b = b, .d = d, .trans_b = trans_b,
                             .activation = SSQ_ACTIVATION_RELU));
    if (st == SSQ_OK)
        st = ssq_tensor_read(harness->q, d, out, (size_t)n * sizeof(*out),
                             SSQ_F32);
    ssq_status synced = ssq_queue_sync(harness->q);
    if (st != SSQ_OK || synced != SSQ_OK)
        tap_diag("%s", ssq_last_error());
    return st == SSQ_OK && synced == SSQ_OK;
}

static bool same(const struct pack_harness *harness, const struct pack_shape *s,
                 ssq_dtype ta, ssq_dtype tb, bool *read)
{
    ssq_tensor *a = matrix(harness, ta, s->m, s->k, 1), *packed = NULL;
    ssq_tensor *b = s->trans_b ? matrix(harness, tb, s->n, s->k, 2)
                               : matrix(harness, tb, s->k, s->n, 2);
    ssq_tensor *d = matrix(harness, SSQ_F32, s->m, s->n, 3);
    ssq_gemm_explanation e = SSQ_GEMM_EXPLANATION_INIT;
    const int64_t n = s->m * s->n;
    float *plain = malloc((size_t)n * sizeof(*plain));
    float *by_pack = malloc((size_t)n * sizeof(*by_pack));
    if (plain == NULL || by_pack == NULL)
        tap_bail("no memory");
    NEED(ssq_gemm_pack(harness->q, b, s->trans_b, &packed));
    bool good = multiply(harness, a, b, d, s->trans_b, plain, n) &&
                multiply(harness, a, packed, d, s->trans_b, by_pack, n) &&
                memcmp(plain, by_pack, (size_t)n * sizeof(*plain)) == 0;
    NEED(ssq_gemm_explain(
        harness->q,
        SSQ_GEMM(.a = a, .b = packed, .d = d, .trans_b = s->trans_b), &e));
    *read = e.packed;
    NEED(ssq_gemm_explain(
        harness->q, SSQ_GEMM(.a = a, .b = b, .d = d, .trans_b = s->trans_b),
        &e));
    good = good && !e.packed;
    free(plain);
    free(by_pack);
    ssq_tensor_destroy(&packed);
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&b);
    ssq_tensor_destroy(&d);
    return good;
}

static void test_bits(const struct pack_harness *harness)
{
    static const struct pack_shape shapes[] = {
        {1, 64, 96, true},    {8, 64, 96, false},   {8, 70, 600, true},
        {16, 96, 130, true},  {16, 33, 130, false}, {33, 128, 1500, true},
        {61, 160, 64, false}, {5, 20, 40, true},    {20, 64, 31, true}};
    static const ssq_dtype types[][2] = {{SSQ_F32, SSQ_F32},
                                         {SSQ_F16, SSQ_F16},
                                         {SSQ_BF16, SSQ_BF16},
                                         {SSQ_F32, SSQ_BF16}};
    unsigned times = 0;
    /* others have no copy: little can differ, and drivers compile kernels */
    const size_t step = strcmp(harness->name, "cpu") == 0 ? 1 : 4;
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i += step) {
            const struct pack_shape *s = &shapes[i];
            bool read = false;
            tap_ok(same(harness, s, types[t][0], types[t][1], &read),
                   "%s: %s %s %lldx%lldx%lld %s: the same bits%s",
                   harness->name, ssq_dtype_name(types[t][0]),
                   ssq_dtype_name(types[t][1]), (long long)s->m,
                   (long long)s->n, (long long)s->k,
                   s->trans_b ? "along k" : "by rows", read ? ", packed" : "");
            times += read;
        }
    if (strcmp(harness->name, "cpu") == 0)
        tap_ok(times >= 12, "cpu: %u products read the copy", times);
    else
        tap_ok(times == 0, "%s: makes no copy", harness->name);
}

/* ---- writes ---- */

static bool is(const struct pack_harness *harness, const ssq_tensor *d,
               float want)
{
    float x[32 * 64];
    NEED(ssq_tensor_read(harness->q, d, x, sizeof(x), SSQ_F32));
    NEED(ssq_queue_sync(harness->q));
    for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
        if (x[i] != want)
            return false;
    return true;
}

static void test_writes(const struct pack_harness *harness)
{
    ssq_tensor *a = matrix(harness, SSQ_F32, 32, 64, 1);
    ssq_tensor *b = matrix(harness, SSQ_F32, 64, 64, 1);
    ssq_tensor *d = matrix(harness, SSQ_F32, 32, 64, 1), *packed = NULL,
               *row = NULL, *view = NULL;
    ssq_graph *graph = NULL;
    NEED(ssq_fill(harness->q, SSQ_FILL(.x = a, .value = 1.0)));
    NEED(ssq_fill(harness->q, SSQ_FILL(.x = b, .value = 2.0)));
    NEED(ssq_gemm_pack(harness->q, b, true, &packed));
    const ssq_gemm_args *args =
        SSQ_GEMM(.a = a, .b = packed, .d = d, .trans_b = true);
    NEED(ssq_gemm(harness->q, args));
    tap_ok(is(harness, d, 128.0f), "%s: packed, and multiplied", harness->name);
    NEED(ssq_tensor_slice(b, 0, 3, 4, 1, &row));
    NEED(ssq_fill(harness->q, SSQ_FILL(.x = row, .value = 2.0)));
    core_status(ssq_gemm(harness->q, args), SSQ_ERR_INVALID,
                "gemm|written|fill|ssq_gemm_repack",
                "%s: a row was written, with what it was", harness->name);
    ssq_gemm_explanation e = SSQ_GEMM_EXPLANATION_INIT;
    core_status(ssq_gemm_explain(harness->q, args, &e), SSQ_ERR_INVALID,
                "written", "%s: explain says so, too", harness->name);
    NEED(ssq_fill(harness->q, SSQ_FILL(.x = b, .value = 3.0)));
    NEED(ssq_gemm_repack(harness->q, packed));
    NEED(ssq_gemm(harness->q, args));
    tap_ok(is(harness, d, 192.0f), "%s: packed again", harness->name);
    /* by way of the packed tensor, which is b */
    NEED(ssq_fill(harness->q, SSQ_FILL(.x = packed, .value = 4.0)));
    core_status(ssq_gemm(harness->q, args), SSQ_ERR_INVALID, "written",
                "%s: written through the packed tensor", harness->name);
    NEED(ssq_gemm_repack(harness->q, packed));
    /* a graph reads b as it is when it is launched */
    NEED(ssq_graph_begin(harness->q));
    NEED(ssq_gemm(harness->q, args));
    ssq_tensor *other = NULL;
    core_status(ssq_gemm_pack(harness->q, b, true, &other), SSQ_ERR_INVALID,
                "captured", "%s: packing in a capture", harness->name);
    core_status(ssq_gemm_repack(harness->q, packed), SSQ_ERR_INVALID,
                "captured", "%s: packing again in a capture", harness->name);
    NEED(ssq_graph_end(harness->q, &graph));
    NEED(ssq_fill(harness->q, SSQ_FILL(.x = b, .value = 5.0)));
    NEED(ssq_graph_launch(harness->q, graph));
    tap_ok(is(harness, d, 320.0f), "%s: a graph reads b", harness->name);
    /* a view of it is a view of b */
    NEED(ssq_tensor_transpose(packed, NULL, &view));
    NEED(ssq_gemm(harness->q, SSQ_GEMM(.a = a, .b = view, .d = d)));
    tap_ok(is(harness, d, 320.0f), "%s: a view is of b, written or not",
           harness->name);
    ssq_graph_destroy(&graph);
    ssq_tensor_destroy(&view);
    ssq_tensor_destroy(&row);
    ssq_tensor_destroy(&b);
    NEED(ssq_gemm_repack(harness->q, packed));
    NEED(ssq_gemm(harness->q, args));
    ssq_tensor_destroy(&packed); /* with the product still in progress */
    tap_ok(is(harness, d, 320.0f), "%s: the packed tensor holds b",
           harness->name);
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&d);
}

/* Allocations that are still granted; below 0 all are. */
static int granted = -1;

static void *grant(void *unused, size_t bytes)
{
    (void)unused;
    if (granted > 0)
        granted--;
    return granted == 0 ? NULL : malloc(bytes);
}

static void take_back(void *unused, void *p)
{
    (void)unused;
    free(p);
}

/* Packing again fails: the text says why, and not that someone wrote. */
static void test_torn(const struct pack_harness *harness)
{
    ssq_tensor *b = matrix(harness, SSQ_F32, 64, 64, 1), *packed = NULL;
    ssq_tensor *d = matrix(harness, SSQ_F32, 64, 64, 1);
    ssq_gemm_args again = SSQ_GEMM_INIT;
    NEED(ssq_gemm_pack(harness->q, b, true, &packed));
    again.a = b;
    again.b = packed;
    again.d = d;
    again.trans_b = true;
    granted = 0;
    ssq_status st = ssq_gemm_repack(harness->q, packed);
    granted = -1;
    if (st == SSQ_OK)
        tap_ok(strcmp(harness->name, "cpu") != 0,
               "%s: has no copy, and packs again without memory",
               harness->name);
    else
        core_status(ssq_gemm(harness->q, &again), SSQ_ERR_INVALID,
                    "b could not be packed again", "%s: packing again fails",
                    harness->name);
    NEED(ssq_gemm_repack(harness->q, packed));
    core_status(ssq_gemm(harness->q, &again), SSQ_OK, NULL,
                "%s: and then succeeds", harness->name);
    ssq_tensor_destroy(&packed);
    ssq_tensor_destroy(&b);
    ssq_tensor_destroy(&d);
}

/* Weights that are some columns of a matrix: its others are none of theirs. */
static void test_neighbours(const struct pack_harness *harness)
{
    ssq_tensor *all = matrix(harness, SSQ_F32, 64, 128, 1), *b = NULL,
               *rest = NULL;
    ssq_tensor *a = matrix(harness, SSQ_F32, 32, 64, 1), *packed = NULL;
    ssq_tensor *d = matrix(harness, SSQ_F32, 32, 64, 1), *both = NULL;
    NEED(ssq_tensor_slice(all, 1, 0, 64, 1, &b));
    NEED(ssq_tensor_slice(all, 1, 64, 128, 1, &rest));
    NEED(ssq_tensor_slice(all, 1, 63, 65, 1, &both));
    NEED(ssq_gemm_pack(harness->q, b, true, &packed));
    NEED(ssq_fill(harness->q, SSQ_FILL(.x = rest, .value = 2.0)));
    core_status(ssq_gemm(harness->q, SSQ_GEMM(.a = a, .b = packed, .d = d,
                                              .trans_b = true)),
                SSQ_OK, NULL, "%s: columns beside b were written",
                harness->name);
    NEED(ssq_fill(harness->q, SSQ_FILL(.x = both, .value = 2.0)));
    core_status(ssq_gemm(harness->q, SSQ_GEMM(.a = a, .b = packed, .d = d,
                                              .trans_b = true)),
                SSQ_ERR_INVALID, "written", "%s: and one of its own",
                harness->name);
    ssq_tensor_destroy(&packed);
    ssq_tensor_destroy(&both);
    ssq_tensor_destroy(&rest);
    ssq_tensor_destroy(&b);
    ssq_tensor_destroy(&all);
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&d);
}

/* A tape's input is b, even after later writes. */
static void test_tape(const struct pack_harness *harness)
{
    ssq_tensor *a = matrix(harness, SSQ_F32, 32, 64, 1), *packed = NULL;
    ssq_tensor *b = matrix(harness, SSQ_F32, 64, 64, 1);
    ssq_params *params = NULL;
    ssq_tape *tape = NULL;
    NEED(ssq_gemm_pack(harness->q, b, true, &packed));
    NEED(ssq_fill(harness->q, SSQ_FILL(.x = a, .value = 1.0)));
    NEED(ssq_fill(harness->q, SSQ_FILL(.x = b, .value = 2.0)));
    NEED(ssq_params_create(harness->dev, NULL, NULL, &params));
    NEED(ssq_tape_create(harness->q, params, &tape));
    ssq_tape_begin(tape, false);
    ssq_var y =
        ssq_gemm_var(ssq_var_input(tape, a), ssq_var_input(tape, packed),
                     SSQ_VAR_NONE, SSQ_GEMM(.trans_b = true));
    const ssq_tensor *d = ssq_var_tensor(y);
    tap_ok(d != NULL && is(harness, d, 128.0f), "%s: a tape reads b",
           harness->name);
    ssq_tape_destroy(&tape);
    ssq_params_destroy(&params);
    ssq_tensor_destroy(&packed);
    ssq_tensor_destroy(&b);
    ssq_tensor_destroy(&a);
}

/* ---- refused ---- */

static void test_refusals(const struct pack_harness *harness)
{
    const int64_t cube[] = {4, 64, 64};
    ssq_tensor *b = matrix(harness, SSQ_BF16, 64, 64, 1), *p = NULL, *x = NULL,
               *y = NULL;
    ssq_device *dev = NULL;
    core_status(ssq_gemm_pack(NULL, b, true, &p), SSQ_ERR_INVALID, "gemm_pack",
                "%s: no queue", harness->name);
    core_status(ssq_gemm_pack(harness->q, NULL, true, &p), SSQ_ERR_INVALID,
                "b is NULL", "%s: no b", harness->name);
    core_status(ssq_gemm_pack(harness->q, b, true, NULL), SSQ_ERR_INVALID,
                "packed is NULL", "%s: no place", harness->name);
    NEED(ssq_tensor_create(harness->dev, SSQ_F32, 3, cube, &x));
    core_status(ssq_gemm_pack(harness->q, x, true, &p), SSQ_ERR_INVALID,
                "rank 3, expected 2", "%s: rank 3", harness->name);
    ssq_tensor_destroy(&x);
    NEED(ssq_tensor_create(harness->dev, SSQ_I32, 2, cube, &x));
    core_status(ssq_gemm_pack(harness->q, x, true, &p), SSQ_ERR_INVALID,
                "b|i32", "%s: integers", harness->name);
    ssq_tensor_destroy(&x);
    NEED(ssq_tensor_slice(b, 1, 0, 64, 2, &x));
    core_status(ssq_gemm_pack(harness->q, x, true, &p), SSQ_ERR_INVALID,
                "strides 64 and 2", "%s: every second column", harness->name);
    core_status(ssq_gemm_repack(harness->q, b), SSQ_ERR_INVALID, "not packed",
                "%s: packing again what is not packed", harness->name);
    core_status(ssq_gemm_repack(harness->q, NULL), SSQ_ERR_INVALID, "NULL",
                "%s: packing nothing again", harness->name);
    tap_ok(p == NULL, "%s: nothing was made", harness->name);
    NEED(ssq_gemm_pack(harness->q, b, true, &p));
    y = matrix(harness, SSQ_F32, 64, 64, 1);
    core_status(ssq_gemm(harness->q, SSQ_GEMM(.a = b, .b = p, .d = y)),
                SSQ_ERR_INVALID, "packed with trans_b true|false",
                "%s: the other transposition", harness->name);
    core_status(ssq_gemm(harness->q, SSQ_GEMM(.a = p, .b = b, .d = y)), SSQ_OK,
                "", "%s: as a it is b", harness->name);
    dev = core_open("reference");
    ssq_queue *q = core_queue(dev);
    core_status(ssq_gemm_repack(q, p), SSQ_ERR_INVALID, "packed",
                "%s: on another device's queue", harness->name);
    core_status(
        ssq_gemm(harness->q, SSQ_GEMM(.a = b, .b = p, .d = y, .trans_b = true)),
        SSQ_OK, "", "%s: a wrong argument of repack changes nothing",
        harness->name);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    ssq_tensor_destroy(&p);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_tensor_destroy(&b);
    const int64_t none[] = {0, 64};
    NEED(ssq_tensor_create(harness->dev, SSQ_F32, 2, none, &b));
    core_status(ssq_gemm_pack(harness->q, b, false, &p), SSQ_OK, "",
                "%s: weights without elements", harness->name);
    core_status(ssq_gemm_repack(harness->q, p), SSQ_OK, "", "%s: and again",
                harness->name);
    ssq_tensor_destroy(&p);
    ssq_tensor_destroy(&b);
}

/* The queue fails, since the graph's second op has no memory. Until packing
 * again succeeds on another queue, the weights are refused, even if they have
 * no elements. */
static void test_failed_queue(const struct pack_harness *harness)
{
    const int64_t none[] = {64, 0}, image[] = {1, 1, 64, 64};
    ssq_tensor *a = matrix(harness, SSQ_F32, 64, 64, 1), *b = NULL, *p = NULL;
    ssq_tensor *d = NULL, *x = NULL, *y = NULL;
    ssq_queue *q = core_queue(harness->dev);
    ssq_graph *graph = NULL;
    NEED(ssq_tensor_reshape(a, 4, image, &x));
    NEED(ssq_tensor_create(harness->dev, SSQ_F32, 4, image, &y));
    NEED(ssq_tensor_create(harness->dev, SSQ_F32, 2, none, &b));
    NEED(ssq_tensor_create(harness->dev, SSQ_F32, 2, none, &d));
    NEED(ssq_gemm_pack(q, b, false, &p));
    NEED(ssq_graph_begin(q));
    NEED(ssq_fill(q, SSQ_FILL(.x = a, .value = 1.0)));
    NEED(ssq_conv2d(
        q, SSQ_CONV2D(.x = x, .w = x, .y = y, .padding = {63, 63, 0, 0})));
    NEED(ssq_graph_end(q, &graph));
    granted = 0;
    ssq_status st = ssq_graph_launch(q, graph);
    granted = -1;
    core_status(st, SSQ_ERR_NOMEM, "", "%s: a queue fails", harness->name);
    core_status(ssq_gemm_repack(q, p), SSQ_ERR_NOMEM, "",
                "%s: packing again on it", harness->name);
    core_status(ssq_gemm(harness->q, SSQ_GEMM(.a = a, .b = p, .d = d)),
                SSQ_ERR_INVALID, "could not be packed again",
                "%s: then the weights are refused", harness->name);
    NEED(ssq_gemm_repack(harness->q, p));
    core_status(ssq_gemm(harness->q, SSQ_GEMM(.a = a, .b = p, .d = d)), SSQ_OK,
                "", "%s: and accepted after a success", harness->name);
    ssq_graph_destroy(&graph);
    ssq_queue_destroy(&q);
    ssq_tensor_destroy(&p);
    ssq_tensor_destroy(&b);
    ssq_tensor_destroy(&d);
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
}

int main(void)
{
    const ssq_allocator allocator = {sizeof(allocator), grant, take_back, NULL};
    const char *name;
    NEED(ssq_allocator_set(&allocator));
    for (size_t i = 0; (name = core_device(i)) != NULL; i++) {
        struct pack_harness harness = {.name = name};
        harness.dev = core_open(name);
        harness.q = core_queue(harness.dev);
        test_bits(&harness);
        test_writes(&harness);
        test_neighbours(&harness);
        test_torn(&harness);
        test_tape(&harness);
        test_refusals(&harness);
        if (strcmp(name, "reference") == 0)
            test_failed_queue(&harness);
        ssq_queue_destroy(&harness.q);
        ssq_device_close(&harness.dev);
    }
    return tap_done(130);
}

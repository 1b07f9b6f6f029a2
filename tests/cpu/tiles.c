/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.c - products by the processor's tiles, on a model of them: the tables
 * of gemm with 1, 2 and 3 threads and the same bits, three products of halves
 * where they are allowed and from k = 302 on, infinities and NaNs, a child of
 * fork; and, on a processor that has them, the bits of the model. */
#include "tests/core/core.h"
#include "conformance/suite.h"

#include <math.h>

/* ---- the tables ---- */

struct tiles_digests {
    uint64_t *digest;
    size_t n, room, failed, by_tiles;
};

static void note(void *user, const char *device, const char *impl,
                 const struct suite *suite, size_t i, const struct harness *b,
                 bool ok)
{
    struct tiles_digests *d = user;
    char text[256];
    if (b->idle || strcmp(impl, "amx") != 0)
        return;
    if (d->n == d->room) {
        d->room = d->room == 0 ? 1024 : 2 * d->room;
        d->digest = realloc(d->digest, d->room * sizeof(*d->digest));
        if (d->digest == NULL)
            tap_bail("no memory for %zu digests", d->room);
    }
    d->digest[d->n++] = b->digest;
    d->by_tiles += ok && !b->skipped;
    if (ok || b->skipped)
        return;
    d->failed++;
    suite->describe(i, text, sizeof(text));
    tap_diag("%s/%s: %s: %s", device, impl, text, b->text);
}

static void run(const struct suite *suite, const char *tiles,
                const char *threads, struct tiles_digests *d)
{
    d->n = d->failed = d->by_tiles = 0;
    setenv("SSQ_NUM_THREADS", threads, 1);
    setenv("SSQ_CPU_TILES", tiles, 1);
    suite_run(suite, "cpu", false, note, d);
}

static bool equal(const struct tiles_digests *a, const struct tiles_digests *b)
{
    return a->n > 0 && a->n == b->n &&
           memcmp(a->digest, b->digest, a->n * sizeof(*a->digest)) == 0;
}

static void test_tables(void)
{
    struct tiles_digests first = {0}, next = {0};
    size_t all = 0;
    if (!tap_full())
        setenv("SSQ_TEST_STRIDE", "3,gemm_shapes=9", 0);
    for (size_t s = 0; suites[s] != NULL; s++) {
        const struct suite *suite = suites[s];
        if (strcmp(suite->op, "gemm") != 0)
            continue;
        run(suite, "model_fp16", "2", &next);
        tap_ok(next.failed == 0, "%s: %zu results by tiles of f16", suite->name,
               next.by_tiles);
        run(suite, "model", "2", &first);
        tap_ok(first.failed == 0, "%s: %zu results by tiles with 2 threads",
               suite->name, first.by_tiles);
        all += first.by_tiles;
        for (int i = tap_full() ? 1 : 3; i <= 3; i += 2) {
            char threads[8];
            snprintf(threads, sizeof(threads), "%d", i);
            run(suite, "model", threads, &next);
            tap_ok(next.failed == 0 && equal(&first, &next),
                   "%s: %zu results with %d thread(s) have the same bits",
                   suite->name, next.by_tiles, i);
        }
    }
    suite_end();
    tap_ok(all >= 50, "%zu results by tiles", all);
    free(first.digest);
    free(next.digest);
}

/* ---- single products ---- */

#define M    40
#define N    70
#define MOST 330 /* k */

/* The operands of d = a b (+ d). */
struct tiles_product {
    ssq_dtype dtype;
    int64_t k;
    uint32_t flags;
    bool add, device;         /* add to d; the device allows three products */
    const char *tiles, *impl; /* NULL: as it is */
};

static float a[M * MOST], b[MOST * N], d0[M * N];

/* Numbers with as many bits as f16 has, or small integers. */
static void fill(bool integers)
{
    uint32_t state = 12345;
    float *x[] = {a, b, d0};
    size_t n[] = {M * MOST, MOST * N, M * N};
    for (int q = 0; q < 3; q++)
        for (size_t i = 0; i < n[q]; i++) {
            state = state * 1664525u + 1013904223u;
            int32_t v = (int32_t)(state >> 20) - 2048;
            x[q][i] = integers ? (float)(v % 9) : (float)v * 0x1p-10f;
        }
}

static void set_tiles(const char *tiles)
{
    if (tiles == NULL)
        unsetenv("SSQ_CPU_TILES");
    else
        setenv("SSQ_CPU_TILES", tiles, 1);
}

static ssq_tensor *matrix(ssq_queue *q, ssq_device *dev, ssq_dtype dtype,
                          int64_t rows, int64_t columns, const float *x)
{
    const int64_t shape[] = {rows, columns};
    ssq_tensor *t = NULL;
    NEED(ssq_tensor_create(dev, dtype, 2, shape, &t));
    NEED(ssq_tensor_write(q, t, x, (size_t)(rows * columns) * sizeof(*x),
                          SSQ_F32));
    return t;
}

/* Make it: d is float32. */
static void make(const struct tiles_product *p, float *d,
                 ssq_gemm_explanation *how)
{
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    ssq_device *dev = NULL;
    options.allow_f16_three = p->device;
    set_tiles(p->tiles);
    NEED(ssq_device_open("cpu", &options, &dev));
    if (p->impl != NULL)
        NEED(ssq_implementation_pin(dev, "gemm", p->impl));
    ssq_queue *q = core_queue(dev);
    ssq_tensor *ta = matrix(q, dev, p->dtype, M, p->k, a);
    ssq_tensor *tb = matrix(q, dev, p->dtype, p->k, N, b);
    ssq_tensor *td = matrix(q, dev, SSQ_F32, M, N, d0);
    ssq_gemm_args args = SSQ_GEMM_INIT;
    args.a = ta;
    args.b = tb;
    args.d = td;
    args.flags = p->flags;
    if (p->add) {
        args.c = td;
        args.beta = 1.0;
    }
    *how = (ssq_gemm_explanation)SSQ_GEMM_EXPLANATION_INIT;
    NEED(ssq_gemm_explain(q, &args, how));
    NEED(ssq_gemm(q, &args));
    NEED(ssq_tensor_read(q, td, d, sizeof(d0), SSQ_F32));
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&ta);
    ssq_tensor_destroy(&tb);
    ssq_tensor_destroy(&td);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

static bool same(const float *x, const float *y)
{
    return memcmp(x, y, sizeof(d0)) == 0;
}

/* Within the bound of float32 sums, section 5 of doc/design/numbers.md. */
static bool within(const struct tiles_product *p, const float *d)
{
    bool good = true;
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            double sum = 0.0, size = 0.0;
            for (int64_t k = 0; k < p->k; k++) {
                double x = (double)a[i * p->k + k] * (double)b[k * N + j];
                sum += x;
                size += fabs(x);
            }
            double u = (double)(p->k + 2) * 0x1p-24;
            good = good && fabs((double)d[i * N + j] - sum) <=
                               u / (1.0 - u) * size + 0x1p-40 * size;
        }
    return good;
}

static void test_three(void)
{
    static float four[M * N], three[M * N], device[M * N], short_of[M * N];
    ssq_gemm_explanation how;
    struct tiles_product p = {.dtype = SSQ_F16, .k = 302, .tiles = "model"};
    fill(false);
    make(&p, four, &how);
    tap_ok(how.products == 4 && how.matrix_units && how.block == 0 &&
               !how.flushed && strcmp(how.implementation, "amx") == 0 &&
               within(&p, four),
           "f16, k 302: %s, %u products", how.implementation,
           (unsigned)how.products);
    p.flags = SSQ_GEMM_ALLOW_F16_THREE;
    make(&p, three, &how);
    tap_ok(how.products == 3 && within(&p, three) && !same(three, four),
           "%u where the call allows it, and other bits",
           (unsigned)how.products);
    p.flags = 0;
    p.device = true;
    make(&p, device, &how);
    tap_ok(how.products == 3 && same(device, three), "%u where the device does",
           (unsigned)how.products);
    p.k = 301;
    make(&p, short_of, &how);
    tap_ok(how.products == 4 && within(&p, short_of), "k 301: %u in any case",
           (unsigned)how.products);
    p.tiles = "model_fp16";
    p.k = 302;
    make(&p, short_of, &how);
    tap_ok(how.products == 0 && within(&p, short_of) && !same(short_of, four),
           "f16 that is not cut: %u products", (unsigned)how.products);
    p = (struct tiles_product){.dtype = SSQ_BF16,
                               .k = 302,
                               .flags = SSQ_GEMM_ALLOW_F16_THREE,
                               .tiles = "model"};
    make(&p, short_of, &how);
    tap_ok(how.products == 0 && how.flushed && how.matrix_units,
           "bf16 has no halves");
    fill(true);
    p.dtype = SSQ_F16;
    make(&p, three, &how);
    p.impl = "packed";
    make(&p, four, &how);
    tap_ok(how.products == 0 && how.condition[0] != '\0' && same(three, four),
           "integers are exact in three products");
}

/* One that is not finite, at a place of a or b: by `packed`, all of it. */
static void test_not_finite(void)
{
    static float tiles[M * N], packed[M * N], other[M * N];
    static const float poisons[] = {(float)INFINITY, -(float)INFINITY,
                                    (float)NAN};
    ssq_gemm_explanation how;
    for (int i = 0; i < 6; i++) {
        struct tiles_product p = {
            .dtype = SSQ_F16, .k = 77, .add = i % 2 == 1, .tiles = "model"};
        fill(false);
        make(&p, other, &how);
        if (i < 3)
            a[17 * 77 + 76] = poisons[i];
        else
            b[76 * N + 69] = poisons[i - 3];
        make(&p, tiles, &how);
        bool by_tiles = strcmp(how.implementation, "amx") == 0;
        p.impl = "packed";
        make(&p, packed, &how);
        tap_ok(by_tiles && same(tiles, packed) &&
                   (i < 3 ? !isfinite(tiles[17 * N]) : isfinite(tiles[0])) &&
                   !same(tiles, other),
               "%g in %s%s: all of it by packed", (double)poisons[i % 3],
               i < 3 ? "a" : "b", p.add ? ", c is d" : "");
    }
}

/* A child of fork has its own tiles and threads. */
static void test_fork(void)
{
    static float before[M * N], after[M * N];
    ssq_gemm_explanation how;
    struct tiles_product p = {.dtype = SSQ_F16, .k = 64, .tiles = "model"};
    int status = -1;
    fill(false);
    make(&p, before, &how);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        make(&p, after, &how);
        _exit(same(before, after) ? 0 : 1);
    }
    waitpid(child, &status, 0);
    tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "a child of fork has the same bits");
}

/* The processor's own tiles give the bits of the model. */
static void test_real(void)
{
    static float model[M * N], real[M * N];
    static const struct {
        ssq_dtype dtype;
        uint32_t flags;
        const char *tiles;
    } kinds[] = {{SSQ_BF16, 0, "model"},
                 {SSQ_F16, 0, "model"},
                 {SSQ_F16, SSQ_GEMM_ALLOW_F16_THREE, "model"},
                 {SSQ_F16, 0, "model_fp16"}};
    for (size_t i = 0; i < 4; i++) {
        ssq_gemm_explanation how, of_model;
        struct tiles_product p = {.dtype = kinds[i].dtype,
                                  .k = 320,
                                  .flags = kinds[i].flags,
                                  .tiles = kinds[i].tiles};
        fill(false);
        make(&p, model, &of_model);
        p.tiles = NULL;
        make(&p, real, &how);
        if (strcmp(how.implementation, "amx") != 0)
            tap_skip(how.condition, "the model has the processor's bits");
        else if (how.products != of_model.products)
            tap_skip("the processor multiplies f16 otherwise",
                     "the model has the processor's bits");
        else
            tap_ok(same(model, real), "the model has the processor's bits");
    }
}

int main(void)
{
    test_tables();
    test_three();
    test_not_finite();
    test_fork();
    test_real();
    return tap_done(30);
}

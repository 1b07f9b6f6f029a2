/* SPDX-License-Identifier: Apache-2.0 */
/* nomem.c - products of cpu when the memory that they take while they run is
 * not there: the call answers NOMEM and has written nothing, the queue
 * continues, and the call may be repeated. First the library's allocations
 * fail, each in its turn; then the system's. */
#include "tests/core/core.h"
#include "tests/core/space.h"

#include <stdlib.h>

static struct {
    long calls;   /* of alloc, since it was armed */
    long fail_at; /* which of them fails; 0 none */
    long refused;
} heap;

static void *heap_alloc(void *user, size_t bytes)
{
    (void)user;
    if (++heap.calls == heap.fail_at) {
        heap.refused++;
        return NULL;
    }
    return malloc(bytes);
}

static void heap_free(void *user, void *p)
{
    (void)user;
    free(p);
}

static const ssq_allocator allocator = {sizeof(allocator), heap_alloc,
                                        heap_free, NULL};

struct nomem_work {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *a, *b, *d;
    int64_t m, n;
    ssq_dtype dtype;
    bool turned; /* b is along k */
};

static ssq_tensor *matrix(const struct nomem_work *w, int64_t rows,
                          int64_t columns, double value)
{
    const int64_t shape[] = {rows, columns};
    ssq_tensor *t = NULL;
    NEED(ssq_tensor_create(w->dev, w->dtype, 2, shape, &t));
    NEED(ssq_fill(w->q, SSQ_FILL(.x = t, .value = value)));
    return t;
}

static void begin(struct nomem_work *w, int64_t k)
{
    w->dev = core_open("cpu");
    w->q = core_queue(w->dev);
    w->a = matrix(w, w->m, k, 0.5);
    w->b = w->turned ? matrix(w, w->n, k, 2.0) : matrix(w, k, w->n, 2.0);
    w->d = matrix(w, w->m, w->n, -3.0);
}

static void end(struct nomem_work *w)
{
    ssq_tensor_destroy(&w->a);
    ssq_tensor_destroy(&w->b);
    ssq_tensor_destroy(&w->d);
    ssq_queue_destroy(&w->q);
    ssq_device_close(&w->dev);
}

static ssq_status multiply(struct nomem_work *w)
{
    return ssq_gemm(
        w->q, SSQ_GEMM(.a = w->a, .b = w->b, .d = w->d, .trans_b = w->turned));
}

/* All of d is this. */
static bool all(struct nomem_work *w, float value)
{
    size_t n = (size_t)(w->m * w->n);
    float *x = malloc(n * sizeof(*x));
    bool good = x != NULL && ssq_tensor_read(w->q, w->d, x, n * sizeof(*x),
                                             SSQ_F32) == SSQ_OK;
    for (size_t i = 0; i < n && good; i++)
        good = x[i] == value;
    free(x);
    return good;
}

/* The first product of a device takes memory, in one allocation of ours after
 * the other until none fails. */
static void test_library(struct nomem_work w)
{
    const char *dtype = ssq_dtype_name(w.dtype);
    bool nomem = true, untouched = true, again = true;
    long at = 0, failed = 0;
    for (bool more = true; more;) {
        begin(&w, 64);
        heap.calls = heap.refused = 0;
        heap.fail_at = ++at;
        ssq_status st = multiply(&w);
        heap.fail_at = 0;
        more = heap.refused > 0;
        failed += more;
        if (more) {
            nomem = nomem && st == SSQ_ERR_NOMEM;
            untouched = untouched && all(&w, -3.0f);
        }
        again = again && multiply(&w) == SSQ_OK &&
                ssq_queue_sync(w.q) == SSQ_OK && all(&w, 64.0f);
        end(&w);
    }
    tap_ok(failed > 0, "%s, %ld rows: %ld allocations", dtype, (long)w.m,
           failed);
    tap_ok(nomem, "%s, %ld rows: each that fails is said", dtype, (long)w.m);
    tap_ok(untouched, "%s, %ld rows: nothing was written", dtype, (long)w.m);
    tap_ok(again, "%s, %ld rows: the queue goes on", dtype, (long)w.m);
}

/* b's panels are 16 MiB of float32 more than the process may have. */
static int without_memory(void *unused)
{
    struct nomem_work w = {
        .m = 1024, .n = 2048, .dtype = SSQ_F32, .turned = true};
    struct rlimit was;
    (void)unused;
    setenv("SSQ_NUM_THREADS", "1", 1);
    begin(&w, 2048);
    if (!space_limit(1u << 20, &was))
        return 2;
    ssq_status st = multiply(&w);
    bool named = core_has(ssq_last_error(), "no memory for");
    if (setrlimit(RLIMIT_AS, &was) != 0)
        return 2;
    if (st == SSQ_OK)
        return 3;
    if (st != SSQ_ERR_NOMEM || !named)
        return 4;
    if (!all(&w, -3.0f))
        return 5;
    if (multiply(&w) != SSQ_OK || ssq_queue_sync(w.q) != SSQ_OK ||
        !all(&w, 2048.0f))
        return 6;
    end(&w);
    return 0;
}

static void test_system(void)
{
#ifdef SANITIZED
    (void)without_memory;
    tap_skip("a sanitizer needs the address space", "a product without memory");
#else
    int st = tap_fork(without_memory, NULL, 120);
    if (tap_exited(st, 2))
        tap_skip("the system sets no limit", "a product without memory");
    else
        tap_ok(tap_exited(st, 0), "a product without memory: %s",
               tap_status(st));
#endif
}

int main(void)
{
    test_system();
    NEED(ssq_allocator_set(&allocator));
    test_library((struct nomem_work){.m = 48, .n = 80, .dtype = SSQ_F32});
    test_library((struct nomem_work){.m = 48, .n = 80, .dtype = SSQ_F16});
    test_library((struct nomem_work){.m = 48, .n = 80, .dtype = SSQ_BF16});
    test_library((struct nomem_work){
        .m = 1, .n = 80, .dtype = SSQ_BF16, .turned = true});
    return tap_done(16); /* a sanitizer leaves the first one out */
}

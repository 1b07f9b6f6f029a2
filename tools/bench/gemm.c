/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - matrix products: cubes, the sizes of a layer, odd sizes, few rows
 * with large weights, and a batch of small products. Sizes are MxNxK or
 * MxNxKxBATCH. gemm_packed has a b that was packed before; only standard input
 * can name it. */
#include "conformance/bounds.h"
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <string.h>

/** Number of elements of a result that are checked in float64. */
#define LOOKS 64

struct gemm_product {
    ssq_tensor *a, *b, *d, *packed; /* packed: b, packed; or NULL */
    int64_t batch, m, n, k;
};

static ssq_gemm_args gemm_args_of(const struct gemm_product *p)
{
    ssq_gemm_args g = SSQ_GEMM_INIT;
    g.a = p->a;
    g.b = p->packed != NULL ? p->packed : p->b;
    g.d = p->d;
    return g;
}

static ssq_status tool_gemm_run(struct workload *w)
{
    ssq_gemm_args g = gemm_args_of(w->state);
    return ((const struct gemm_product *)w->state)->batch > 0
               ? ssq_gemm_batched(w->queue, &g)
               : ssq_gemm(w->queue, &g);
}

static void gemm_drop(struct workload *w)
{
    struct gemm_product *p = w->state;
    ssq_tensor_destroy(&p->a);
    ssq_tensor_destroy(&p->b);
    ssq_tensor_destroy(&p->packed);
    ssq_tensor_destroy(&p->d);
}

/* Return the elements of a dense tensor as float32; free() them.
 * NULL: failed. */
static float *image(const struct workload *w, const ssq_tensor *t, int64_t n)
{
    float *x = malloc((size_t)n * sizeof(*x));
    if (x != NULL && (ssq_tensor_read(w->queue, t, x, (size_t)n * sizeof(*x),
                                      SSQ_F32) != SSQ_OK ||
                      ssq_queue_sync(w->queue) != SSQ_OK)) {
        free(x);
        x = NULL;
    }
    return x;
}

/* Return the error of d[at] divided by its bound. */
static double gemm_look(const struct gemm_product *p, const struct workload *w,
                        const float *a, const float *b, const float *d,
                        int64_t at)
{
    const int64_t j = at % p->n, i = at / p->n % p->m, l = at / p->n / p->m;
    double want = 0.0, size = 0.0;
    a += (l * p->m + i) * p->k;
    b += l * p->k * p->n + j;
    for (int64_t k = 0; k < p->k; k++) {
        double product = (double)a[k] * (double)b[k * p->n];
        want += product;
        size += fabs(product);
    }
    double error = bound_gemm((double)p->k, 0.0, size, 0.0, 1.0, 0.0, true);
    return fabs((double)d[at] - want) / bound_store(want, error, w->c.result);
}

static double of_bound(struct workload *w)
{
    const struct gemm_product *p = w->state;
    const int64_t batch = p->batch > 0 ? p->batch : 1;
    const int64_t n = batch * p->m * p->n;
    float *a = image(w, p->a, batch * p->m * p->k);
    float *b = image(w, p->b, batch * p->k * p->n);
    float *d = image(w, p->d, n);
    double worst = -1.0;
    for (int i = 0; i < LOOKS && a != NULL && b != NULL && d != NULL; i++) {
        /* the first and the last element, and elements at equal steps */
        double e = gemm_look(p, w, a, b, d,
                             (n - 1) / (LOOKS - 1) * i +
                                 (i == LOOKS - 1 ? (n - 1) % (LOOKS - 1) : 0));
        worst = e > worst || e != e ? e : worst;
    }
    free(a);
    free(b);
    free(d);
    return worst;
}

static ssq_status gemm_make(struct workload *w)
{
    const int64_t *s = w->c.size;
    const bool packed = strcmp(w->c.op, "gemm_packed") == 0;
    if ((strcmp(w->c.op, "gemm") != 0 && !packed) || w->c.sizes < 3 ||
        w->c.sizes > (packed ? 3 : 4))
        return SSQ_ERR_NOT_FOUND;
    struct gemm_product *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return SSQ_ERR_NOMEM;
    *p = (struct gemm_product){.m = s[0], .n = s[1], .k = s[2], .batch = s[3]};
    w->state = p;
    w->run = tool_gemm_run;
    w->drop = gemm_drop;
    w->of_bound = of_bound;
    const int64_t a[] = {p->batch, p->m, p->k}, b[] = {p->batch, p->k, p->n};
    const int64_t d[] = {p->batch, p->m, p->n};
    const int flat = p->batch > 0 ? 0 : 1;
    ssq_status st =
        workload_tensor(w, w->c.dtype, 3 - flat, a + flat, 1.0, &p->a);
    if (st == SSQ_OK)
        st = workload_tensor(w, w->c.dtype, 3 - flat, b + flat, 1.0, &p->b);
    if (st == SSQ_OK)
        st = ssq_tensor_create(w->device, w->c.result, 3 - flat, d + flat,
                               &p->d);
    if (st == SSQ_OK && packed)
        st = ssq_gemm_pack(w->queue, p->b, false, &p->packed);
    ssq_gemm_args g = gemm_args_of(p);
    ssq_gemm_explanation e = SSQ_GEMM_EXPLANATION_INIT;
    if (st == SSQ_OK)
        st = ssq_gemm_explain(w->queue, &g, &e);
    snprintf(w->impl, sizeof(w->impl), "%s", e.implementation);
    const double n = p->batch > 0 ? (double)p->batch : 1.0;
    const double x = (double)(ssq_dtype_bits(w->c.dtype) / 8);
    w->flops = 2.0 * n * (double)p->m * (double)p->n * (double)p->k;
    w->bytes = n * (x * (double)p->k * (double)(p->m + p->n) +
                    (double)(ssq_dtype_bits(w->c.result) / 8) * (double)p->m *
                        (double)p->n);
    return st;
}

static const struct bench_grid grids[] = {
    {"gemm", "f32 f16 bf16",
     "256x256x256 512x512x512 1024x1024x1024 2048x2048x2048 4096x4096x4096 "
     "8192x4096x784 1000x1003x517 8x4096x4096 128x128x64x64"},
    {NULL, NULL, NULL}};

const struct bench_family gemm_family = {
    .suite = "gemm", .grids = grids, .make = gemm_make};

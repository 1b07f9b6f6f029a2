/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - products of f16 and bf16 by each implementation of the device:
 * cubes, shapes of transformers, sizes that are not multiples of 8, and batches
 * too small to fill a GPU. */
#include "tests/gpu/gpu.h"

#include <stdio.h>

static const struct {
    const char *what;
    int64_t m, n, k;
} shapes[] = {
    {"cube", 1024, 1024, 1024},          {"cube", 2048, 2048, 2048},
    {"cube", 4096, 4096, 4096},          {"cube", 8192, 8192, 8192},
    {"cube", 16384, 16384, 16384},       {"qkv", 8192, 3072, 1024},
    {"attention out", 8192, 1024, 1024}, {"ffn up", 8192, 4096, 1024},
    {"ffn down", 8192, 1024, 4096},      {"ffn up 4k", 4096, 16384, 4096},
    {"vocabulary", 2048, 50304, 1024},   {"unaligned", 4095, 4093, 1023},
    {"unaligned n", 4096, 4095, 4096},   {"batch 1", 1, 4096, 4096},
    {"batch 8", 8, 4096, 4096},          {"batch 32", 32, 4096, 4096},
};
static const struct {
    const char *what;
    int64_t m, n, k;
} brief[] = {{"cube", 64, 64, 64}, {"unaligned", 23, 17, 9}};

struct gpu_gemm_product {
    ssq_tensor *a, *b, *d;
};

static ssq_status run(struct gpu *g, void *user)
{
    const struct gpu_gemm_product *p = user;

    return ssq_gemm(g->queue, SSQ_GEMM(.a = p->a, .b = p->b, .d = p->d));
}

/* As each implementation does it, and as it is without a pin. */
static void by_each(struct gpu *g, const char *name, ssq_status st,
                    struct gpu_gemm_product *p, double flops, double bytes)
{
    gpu_time(g, name, "chosen", st, run, p, flops, bytes);
    for (size_t i = 0; st == SSQ_OK; i++) {
        const char *impl = ssq_implementation_name(g->device, "gemm", i);

        if (impl == NULL)
            break;
        if (ssq_implementation_pin(g->device, "gemm", impl) != SSQ_OK)
            continue;
        /* an implementation may refuse a case */
        if (run(g, p) == SSQ_OK)
            gpu_time(g, name, impl, st, run, p, flops, bytes);
        if (ssq_implementation_pin(g->device, "gemm", NULL) != SSQ_OK)
            break;
    }
}

static void time_shape(struct gpu *g, ssq_dtype dtype, const char *what,
                       int64_t m, int64_t n, int64_t k)
{
    const int64_t a[] = {m, k}, b[] = {k, n}, d[] = {m, n};
    struct gpu_gemm_product p = {NULL, NULL, NULL};
    char name[128];
    ssq_status st = gpu_tensor(g, dtype, 2, a, 1.0, &p.a);

    if (st == SSQ_OK)
        st = gpu_tensor(g, dtype, 2, b, 1.0, &p.b);
    if (st == SSQ_OK)
        st = ssq_tensor_create(g->device, dtype, 2, d, &p.d);
    snprintf(name, sizeof(name), "gemm %s %s %lldx%lldx%lld",
             ssq_dtype_name(dtype), what, (long long)m, (long long)n,
             (long long)k);
    by_each(g, name, st, &p, 2.0 * (double)m * (double)n * (double)k,
            2.0 * ((double)(m * k) + (double)(k * n) + (double)(m * n)));
    ssq_tensor_destroy(&p.a);
    ssq_tensor_destroy(&p.b);
    ssq_tensor_destroy(&p.d);
    (void)ssq_device_trim(g->device);
}

void gpu_gemm(struct gpu *g)
{
    static const ssq_dtype dtypes[] = {SSQ_F16, SSQ_BF16};

    for (int t = 0; t < 2; t++) {
        for (size_t i = 0; !g->brief && i < sizeof(shapes) / sizeof(shapes[0]);
             i++)
            time_shape(g, dtypes[t], shapes[i].what, shapes[i].m, shapes[i].n,
                       shapes[i].k);
        for (size_t i = 0; g->brief && i < sizeof(brief) / sizeof(brief[0]);
             i++)
            time_shape(g, dtypes[t], brief[i].what, brief[i].m, brief[i].n,
                       brief[i].k);
    }
}

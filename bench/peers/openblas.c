/* SPDX-License-Identifier: Apache-2.0 */
/* openblas.c - products of float32 by OpenBLAS, or by any other library that
 * has cblas_sgemm: PEER_OPENBLAS is its path. */
#include "bench/peers/peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* cblas.h's: row-major is 101, no transpose 111. */
typedef void (*sgemm_fn)(int order, int trans_a, int trans_b, int m, int n,
                         int k, float alpha, const float *a, int lda,
                         const float *b, int ldb, float beta, float *d,
                         int ldd);

static sgemm_fn sgemm;

static const char *load(int threads)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so",
                                        NULL};
    char number[16];
    snprintf(number, sizeof(number), "%d", threads);
    if (threads > 0 && setenv("OPENBLAS_NUM_THREADS", number, 1) != 0)
        return "no memory";
    void *library = peer_load("PEER_OPENBLAS", names);
    if (library == NULL)
        return "no libopenblas.so.0";
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    if (sgemm == NULL) /* that of PyPI's scipy-openblas32 */
        *(void **)&sgemm = dlsym(library, "scipy_cblas_sgemm");
    return sgemm == NULL ? "no cblas_sgemm in it" : NULL;
}

static const char *make(struct peer_gemm *g)
{
    return g->dtype == PEER_F32 ? NULL : "float32 alone";
}

static bool run(struct peer_gemm *g)
{
    const int m = (int)g->m, n = (int)g->n, k = (int)g->k;
    for (int64_t i = 0; i < g->batch; i++)
        sgemm(101, 111, 111, m, n, k, 1.0f,
              (const float *)g->a + i * g->m * g->k, k,
              (const float *)g->b + i * g->k * g->n, n, 0.0f,
              (float *)g->d + i * g->m * g->n, n);
    return true;
}

int main(int argc, char **argv)
{
    const struct peer p = {
        .name = "openblas", .open = load, .make = make, .run = run};
    return peer_main(argc, argv, &p);
}

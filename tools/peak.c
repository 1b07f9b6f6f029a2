/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - the best throughputs of a device, through the API: the fastest of a
 * few large square gemms, and of large copies. These are peaks of the library,
 * not of the hardware's data sheet. A case's share of them shows how well its
 * shape suits this device. */
#include "tools/tool.h"

#include <math.h>

#define RUNS       3
#define COPY_BYTES (64 << 20) /* half read, half written */
#define SECONDS    0.25 /* a larger gemm is tried if it should take less */
#define LARGEST    8192 /* maximum side of a gemm: three matrices of 256 MiB */

bool ones(ssq_queue *q, ssq_dtype dtype, int rank, const int64_t *shape,
          ssq_tensor **t)
{
    if (ssq_tensor_create(ssq_queue_device(q), dtype, rank, shape, t) != SSQ_OK)
        return false;
    ssq_fill_args f = SSQ_FILL_INIT;
    f.x = *t;
    f.value = 1.0;
    return ssq_fill(q, &f) == SSQ_OK;
}

/* Return the seconds of the fastest of RUNS; negative if it cannot run. */
static double time_gemm(ssq_queue *q, ssq_dtype dtype, int64_t n)
{
    int64_t shape[2] = {n, n};
    ssq_tensor *a = NULL, *b = NULL, *d = NULL;
    double best = -1.0;
    bool ok = ones(q, dtype, 2, shape, &a) && ones(q, dtype, 2, shape, &b) &&
              ones(q, dtype, 2, shape, &d);
    ssq_gemm_args g = SSQ_GEMM_INIT;
    g.a = a;
    g.b = b;
    g.d = d;
    for (int i = 0; ok && i <= RUNS; i++) {
        /* ones() only enqueues its fills: wait before timing */
        ok = ssq_queue_sync(q) == SSQ_OK;
        double began = now();
        ok = ok && ssq_gemm(q, &g) == SSQ_OK && ssq_queue_sync(q) == SSQ_OK;
        double seconds = now() - began;
        /* the first run warms up */
        if (ok && i > 0 && (best < 0.0 || seconds < best))
            best = seconds;
    }
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&b);
    ssq_tensor_destroy(&d);
    return ok ? best : -1.0;
}

void copier_drop(struct copier *c)
{
    ssq_tensor_destroy(&c->x);
    ssq_tensor_destroy(&c->y);
}

/* Create tensors that hold half of the bytes each. */
static bool copier_make(ssq_queue *q, struct copier *c, double bytes)
{
    int64_t n = (int64_t)ceil(bytes / 8.0);
    if (c->x != NULL && ssq_tensor_size(c->x, 0) == n)
        return true;
    copier_drop(c);
    return n > 0 && ones(q, SSQ_F32, 1, &n, &c->x) &&
           ones(q, SSQ_F32, 1, &n, &c->y);
}

double copier_run(ssq_queue *q, struct copier *c, double bytes)
{
    ssq_copy_args copy = SSQ_COPY_INIT;
    if (!copier_make(q, c, bytes) || ssq_queue_sync(q) != SSQ_OK)
        return 0.0;
    copy.x = c->x;
    copy.y = c->y;
    double began = now();
    bool ok = ssq_copy(q, &copy) == SSQ_OK && ssq_queue_sync(q) == SSQ_OK;
    return ok ? now() - began : 0.0;
}

/* Return the seconds of the fastest large copy; the first one warms up. */
static double time_copy(ssq_queue *q)
{
    struct copier c = {NULL, NULL};
    double best = 0.0;
    for (int i = 0; i <= RUNS; i++) {
        double seconds = copier_run(q, &c, COPY_BYTES);
        if (i > 0 && (best <= 0.0 || seconds < best))
            best = seconds;
    }
    copier_drop(&c);
    return best;
}

bool peak_measure(ssq_queue *queue, double *gflops, double *gbytes)
{
    static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
    *gflops = 0.0;
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
        for (int64_t n = 256; n <= LARGEST; n *= 2) {
            double seconds = time_gemm(queue, dtypes[i], n);
            if (seconds <= 0.0)
                break; /* not on this device, or no memory for it */
            double throughput =
                2e-9 * (double)n * (double)n * (double)n / seconds;
            if (throughput > *gflops)
                *gflops = throughput;
            /* the next one takes eight times as long */
            if (8.0 * seconds > SECONDS)
                break;
        }
    double seconds = time_copy(queue);
    *gbytes = seconds > 0.0 ? 1e-9 * (double)COPY_BYTES / seconds : 0.0;
    return *gflops > 0.0 && *gbytes > 0.0;
}

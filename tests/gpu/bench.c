/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - times the workloads on a device.
 *
 * usage: bench DEVICE [--brief] [--seconds S] [GROUP...] */
#include "tests/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** Batches of runs, whose median counts. */
#define BATCHES 5

static const struct {
    const char *name;
    void (*run)(struct gpu *g);
} groups[] = {
    {"copy", gpu_copy}, {"rows", gpu_rows}, {"optimizer", gpu_optimizer},
    {"step", gpu_step}, {"gemm", gpu_gemm},
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of this many runs after each other, with their end. */
static ssq_status time_runs(struct gpu *g, gpu_fn fn, void *user, long n,
                            double *seconds)
{
    double began = now();
    ssq_status st = SSQ_OK;

    for (long i = 0; i < n && st == SSQ_OK; i++)
        st = fn(g, user);
    if (st == SSQ_OK)
        st = ssq_queue_sync(g->queue);
    *seconds = now() - began;
    return st;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median of a run's seconds. The first runs compile kernels and make
 * memory; one more tells how many are a batch. A run that takes longer than all
 * batches should is timed once. */
static ssq_status measure(struct gpu *g, gpu_fn fn, void *user, double *seconds)
{
    double batch[BATCHES], one = 0.0, spent = 0.0;
    ssq_status st = SSQ_OK;

    for (int i = g->brief ? 2 : 0; i < 3 && st == SSQ_OK; i++) {
        st = time_runs(g, fn, user, 1, &one);
        spent += one;
        if (spent > BATCHES * g->seconds && i >= 1)
            break;
    }
    if (st == SSQ_OK)
        st = time_runs(g, fn, user, 1, &one);
    double wanted = g->brief ? 1.0 : g->seconds / (one + 1e-6);
    long n = wanted < 1.0 ? 1 : wanted > 1e5 ? 100000 : (long)wanted;
    int batches = one > BATCHES * g->seconds ? 1 : BATCHES;
    for (int i = 0; i < batches && st == SSQ_OK; i++) {
        st = time_runs(g, fn, user, n, &batch[i]);
        batch[i] /= (double)n;
    }
    if (st == SSQ_OK) {
        qsort(batch, (size_t)batches, sizeof(double), by_value);
        *seconds = batch[batches / 2];
    }
    return st;
}

void gpu_time(struct gpu *g, const char *name, const char *impl, ssq_status st,
              gpu_fn fn, void *user, double flops, double bytes)
{
    double seconds = 0.0;

    if (st == SSQ_OK)
        st = measure(g, fn, user, &seconds);
    if (st == SSQ_OK) {
        printf("%s\t%s\t%.6g\t%.6g\t%.6g\n", name, impl, seconds, flops, bytes);
    } else {
        printf("%s\t%s\t-\t%.6g\t%.6g\t%s\n", name, impl, flops, bytes,
               ssq_last_error());
        /* a case too large for the device is not a failure */
        g->failed = g->failed || st != SSQ_ERR_NOMEM;
    }
    fflush(stdout);
}

ssq_status gpu_tensor(struct gpu *g, ssq_dtype dtype, int rank,
                      const int64_t *shape, double std, ssq_tensor **t)
{
    static uint32_t stream;
    ssq_status st = ssq_tensor_create(g->device, dtype, rank, shape, t);

    return st != SSQ_OK
               ? st
               : ssq_random_normal(
                     g->queue, SSQ_RANDOM_NORMAL(.x = *t, .seed = 1,
                                                 .id = ++stream, .std = std));
}

ssq_status gpu_classes(struct gpu *g, int64_t n, int64_t classes,
                       ssq_tensor **t)
{
    int32_t *host = malloc((size_t)n * sizeof(*host));
    ssq_status st = ssq_tensor_create(g->device, SSQ_I32, 1, &n, t);

    for (int64_t i = 0; host != NULL && i < n; i++)
        host[i] = (int32_t)(i * 7919 % classes);
    if (st == SSQ_OK && host != NULL)
        st = ssq_tensor_write(g->queue, *t, host, (size_t)n * sizeof(*host),
                              SSQ_I32);
    if (st == SSQ_OK)
        st = ssq_queue_sync(g->queue); /* until then the host's are read */
    free(host);
    return host == NULL ? SSQ_ERR_NOMEM : st;
}

static bool chosen(const char *name, int n, char **names)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return n == 0;
}

int main(int argc, char **argv)
{
    struct gpu g = {.seconds = 0.2};
    int first = 2;

    if (first < argc && strcmp(argv[first], "--brief") == 0) {
        g.brief = true;
        first++;
    }
    if (first + 1 < argc && strcmp(argv[first], "--seconds") == 0) {
        g.seconds = atof(argv[first + 1]);
        first += 2;
    }
    if (argc < 2 || !(g.seconds > 0.0)) {
        fprintf(stderr, "usage: bench DEVICE [--brief] [--seconds S] "
                        "[GROUP...]\n");
        return 2;
    }
    ssq_status st = ssq_device_open(argv[1], NULL, &g.device);
    if (st == SSQ_OK)
        st = ssq_queue_create(g.device, NULL, &g.queue);
    if (st != SSQ_OK) {
        fprintf(stderr, "bench: %s\n", ssq_last_error());
        return 1;
    }
    for (size_t i = 0; i < GROUPS; i++)
        if (chosen(groups[i].name, argc - first, argv + first))
            groups[i].run(&g);
    ssq_queue_destroy(&g.queue);
    ssq_device_close(&g.device);
    return g.failed ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c - cases from standard input, times to standard output. */
#include "bench/peers/peer.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** As in tools/bench/workload.c. */
#define MOST     9
#define SHORTEST 0.002
#define LONGEST  10.0

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

size_t peer_size(enum peer_dtype dtype)
{
    return dtype == PEER_F32 ? 4 : 2;
}

void *peer_load(const char *variable, const char *const *names)
{
    const char *name = getenv(variable);
    void *library = NULL;
    if (name != NULL)
        return dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    for (; *names != NULL && library == NULL; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
    return library;
}

/* ---- operands ---- */

/* Uniform in [-1, 1), a multiple of 2^-7: exact in all dtypes. */
static float draw(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)((int)(state >> 56) - 128) / 128.0f;
}

/* The upper half of a float32, or the f16 of a value that is exact in it. */
static uint16_t narrow(float x, enum peer_dtype dtype)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if (dtype == PEER_BF16 || (bits & 0x7fffffff) == 0)
        return (uint16_t)(bits >> 16);
    return (uint16_t)((bits >> 16 & 0x8000) |
                      (((bits >> 23 & 0xff) - 112) << 10) |
                      (bits >> 13 & 0x3ff));
}

static void *operand(size_t n, enum peer_dtype dtype)
{
    /* 64: a cache line, and the widest vector */
    void *x = aligned_alloc(64, (n * peer_size(dtype) + 63) / 64 * 64);
    for (size_t i = 0; x != NULL && i < n; i++) {
        float value = draw();
        if (dtype == PEER_F32)
            ((float *)x)[i] = value;
        else
            ((uint16_t *)x)[i] = narrow(value, dtype);
    }
    return x;
}

/* ---- times ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of a run, the mean of several; negative: it failed. */
static double seconds_of(const struct peer *p, struct peer_gemm *g, long times)
{
    double began = now();
    for (long i = 0; i < times; i++)
        if (!p->run(g))
            return -1.0;
    return (now() - began) / (double)times;
}

/* The first run warms up, the second says how many are timed. */
static bool measure(const struct peer *p, struct peer_gemm *g, double budget,
                    const char *line)
{
    double seconds[MOST], one = seconds_of(p, g, 1);
    if (one >= 0.0 && one < LONGEST)
        one = seconds_of(p, g, 1);
    if (one < 0.0)
        return false;
    double most = budget / (one + 1e-9);
    size_t runs = most < 3.0 ? 1 : most > MOST ? MOST : (size_t)most;
    long times = one < SHORTEST ? (long)(SHORTEST / (one + 1e-7)) + 1 : 1;
    for (size_t i = 0; i < runs; i++)
        if ((seconds[i] = seconds_of(p, g, times)) < 0.0)
            return false;
    qsort(seconds, runs, sizeof(double), by_value);
    double flops =
        2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    printf("{\"device\": \"%s\", \"case\": \"%s\", \"runs\": %zu, "
           "\"median_s\": %.9g, \"min_s\": %.9g, \"max_s\": %.9g, "
           "\"gflops\": %.6g}\n",
           p->name, line, runs, seconds[runs / 2], seconds[0],
           seconds[runs - 1], flops / seconds[runs / 2] * 1e-9);
    return true;
}

/* ---- cases ---- */

static bool read_case(const char *line, struct peer_gemm *g)
{
    static const char *const names[] = {"f32", "f16", "bf16"};
    char op[16], dtype[8];
    long long m, n, k, batch = 1;
    if (sscanf(line, "%15s %7s %lldx%lldx%lldx%lld", op, dtype, &m, &n, &k,
               &batch) < 5 ||
        strcmp(op, "gemm") != 0)
        return false;
    *g = (struct peer_gemm){.m = m, .n = n, .k = k, .batch = batch};
    for (int i = 0; i < 3; i++)
        if (strcmp(names[i], dtype) == 0) {
            g->dtype = (enum peer_dtype)i;
            return m > 0 && n > 0 && k > 0 && batch > 0;
        }
    return false;
}

static const char *answer(const struct peer *p, double budget, const char *line)
{
    struct peer_gemm g;
    if (!read_case(line, &g))
        return "no product";
    g.a = operand((size_t)(g.batch * g.m * g.k), g.dtype);
    g.b = operand((size_t)(g.batch * g.k * g.n), g.dtype);
    g.d = operand((size_t)(g.batch * g.m * g.n), g.dtype);
    const char *why =
        g.a == NULL || g.b == NULL || g.d == NULL ? "no memory" : NULL;
    if (why == NULL && p->make != NULL)
        why = p->make(&g);
    if (why == NULL && !measure(p, &g, budget, line))
        why = "it failed";
    if (p->drop != NULL)
        p->drop(&g);
    free(g.a);
    free(g.b);
    free(g.d);
    return why;
}

/* This many processors: however a library creates its threads, it counts
 * the processors that it may use. */
static void keep_to(int threads)
{
    cpu_set_t all, some;
    CPU_ZERO(&some);
    if (threads < 1 || sched_getaffinity(0, sizeof(all), &all) != 0)
        return;
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&some) < threads; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &some);
    if (sched_setaffinity(0, sizeof(some), &some) != 0)
        perror("sched_setaffinity");
}

int peer_main(int argc, char **argv, const struct peer *p)
{
    double budget = 1.0;
    int threads = 0;
    char line[256];
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--threads") == 0)
            threads = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--seconds") == 0)
            budget = atof(argv[i + 1]);
    }
    keep_to(threads);
    const char *missing = p->open(threads);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\r\n\"\\")] = '\0';
        const char *why = missing != NULL ? missing : answer(p, budget, line);
        if (why != NULL)
            printf("{\"device\": \"%s\", \"case\": \"%s\", \"skipped\": "
                   "\"%s\"}\n",
                   p->name, line, why);
        fflush(stdout);
    }
    return 0;
}

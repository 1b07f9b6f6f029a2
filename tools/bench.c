/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - `sesqui bench`: time the largest cases of the tables.
 *
 * Cases are ranked by what they say they cost, found in admission mode without
 * computing. The peaks are measured in the same run, on the same device and
 * through the same API: see peak.c. */
#include "tests/op/suite_run.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

struct timing {
    const struct suite *suite;
    const char *impl;
    size_t i;
    double median, least, most; /* seconds */
    double flops, bytes;
};

struct timings {
    struct timing *t;
    size_t n, room;
    double gflops, gbytes; /* the peaks */
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool time_case(struct bed *b, const struct suite *s, size_t i,
                      struct timings *all)
{
    b->bench = true;
    b->admit = false;
    bed_case_begin(b->state);
    bool ok = bed_run(b, s, i, false);
    const double *seconds;
    int n = bed_times(b, &seconds);
    if (!ok || b->skipped || n == 0)
        return ok;
    double sorted[64];
    memcpy(sorted, seconds, (size_t)n * sizeof(double));
    qsort(sorted, (size_t)n, sizeof(double), by_value);
    if (all->n == all->room) {
        all->room = all->room * 2 + 64;
        struct timing *t = realloc(all->t, all->room * sizeof(*t));
        if (t == NULL)
            return false;
        all->t = t;
    }
    struct timing t = {s,         b->impl,       i,        sorted[n / 2],
                       sorted[0], sorted[n - 1], b->flops, b->bytes};
    all->t[all->n++] = t;
    return true;
}

/* Seconds that a case would take at 1 GFLOP/s and 1 GB/s: its rank. */
static double cost_of(struct bed *b, const struct suite *s, size_t i)
{
    b->bench = false;
    b->admit = true;
    bed_case_begin(b->state);
    bool ok = bed_run(b, s, i, false);
    return ok && !b->skipped ? b->flops + b->bytes : 0.0;
}

/* The n most expensive cases of a table, each timed. */
static bool time_table(struct bed *b, const struct suite *s, unsigned n,
                       struct timings *all)
{
    size_t cases = s->n + s->large;
    double *cost = calloc(cases + 1, sizeof(double));
    bool ok = cost != NULL;
    for (size_t i = 0; ok && i < cases; i++)
        cost[i] = cost_of(b, s, i);
    for (unsigned k = 0; ok && k < n; k++) {
        size_t best = 0;
        for (size_t i = 1; i < cases; i++)
            if (cost[i] > cost[best])
                best = i;
        if (cases == 0 || cost[best] <= 0.0)
            break;
        cost[best] = 0.0;
        ok = time_case(b, s, best, all);
    }
    free(cost);
    return ok;
}

static void print_timing(const struct bed *b, const struct timing *t,
                         const struct timings *all, bool json, bool *first)
{
    char text[256];
    t->suite->describe(t->i, text, sizeof(text));
    double gflops = t->flops / t->median * 1e-9;
    double gbytes = t->bytes / t->median * 1e-9;
    double of_compute = all->gflops > 0.0 ? gflops / all->gflops : 0.0;
    double of_memory = all->gbytes > 0.0 ? gbytes / all->gbytes : 0.0;
    double of_peak = of_compute > of_memory ? of_compute : of_memory;
    double spread = (t->most - t->least) / t->median;
    if (!json) {
        printf("%-10s %-10s %9.3f ms %5.0f %% %9.3f GFLOP/s %8.3f GB/s "
               "%5.0f %%  %s\n",
               b->props.name, t->impl, 1e3 * t->median, 100.0 * spread, gflops,
               gbytes, 100.0 * of_peak, text);
        return;
    }
    printf("%s\n  {\"device\": \"%s\", \"op\": \"%s\", \"implementation\": "
           "\"%s\", \"case\": ",
           *first ? "" : ",", b->props.name, t->suite->op, t->impl);
    json_string(stdout, text);
    printf(", \"median_s\": %.9g, \"min_s\": %.9g, \"max_s\": %.9g, "
           "\"gflops\": %.6g, \"gbytes_s\": %.6g, \"of_peak\": %.4g}",
           t->median, t->least, t->most, gflops, gbytes, of_peak);
    *first = false;
}

static bool selected(const struct suite *s, const char *op)
{
    return op == NULL || strcmp(op, s->op) == 0 || strcmp(op, s->name) == 0;
}

static bool bench_tables(struct bed *b, const struct options *o,
                         struct timings *all)
{
    for (size_t i = 0; suites[i] != NULL; i++) {
        const struct suite *s = suites[i];
        for (size_t k = 0; selected(s, o->op); k++) {
            b->impl = ssq_implementation_name(b->device, s->op, k);
            if (b->impl == NULL)
                break;
            bool ok =
                ssq_implementation_pin(b->device, s->op, b->impl) == SSQ_OK &&
                time_table(b, s, o->cases, all);
            if (ssq_implementation_pin(b->device, s->op, NULL) != SSQ_OK || !ok)
                return false;
        }
    }
    return true;
}

int command_bench(const struct options *o)
{
    struct bed b = {.props = SSQ_DEVICE_PROPS_INIT};
    const char *name = o->device == NULL ? "auto" : o->device;
    ssq_status st = ssq_device_open(name, NULL, &b.device);
    if (st == SSQ_OK)
        st = ssq_device_props_get(b.device, &b.props);
    if (st == SSQ_OK)
        st = ssq_queue_create(b.device, NULL, &b.queue);
    if (st != SSQ_OK) {
        complain("bench");
        ssq_device_close(&b.device);
        return st == SSQ_ERR_NOT_FOUND ? EXIT_USAGE : EXIT_FAILED;
    }
    struct timings all = {0};
    bool first = true;
    b.state = bed_state_create();
    bool ok = peak_measure(b.queue, &all.gflops, &all.gbytes) &&
              bench_tables(&b, o, &all);
    if (o->json)
        printf("[");
    else
        printf("# %s: peaks measured here: %.3f GFLOP/s (square gemm), "
               "%.3f GB/s (copy of 32 MiB); median of 9, spread (max - min) / "
               "median\n",
               b.props.name, all.gflops, all.gbytes);
    for (size_t i = 0; i < all.n; i++)
        print_timing(&b, &all.t[i], &all, o->json, &first);
    if (o->json)
        printf("\n]\n");
    if (!ok)
        fprintf(stderr, "sesqui: bench: %s\n", b.text);
    free(all.t);
    bed_state_destroy(b.state);
    ssq_queue_destroy(&b.queue);
    ssq_device_close(&b.device);
    return ok && all.n > 0 ? EXIT_FINE : EXIT_FAILED;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - `sesqui bench`: time the largest cases of the tables.
 *
 * Cases are ranked by what they say they cost, found in admission mode without
 * computing. The peaks are measured in the same run, on the same device and
 * through the same API: see peak.c. After each run of a case a plain copy of as
 * many bytes is timed, so that whatever else the machine does meets both.
 *
 * A line has its seconds. What would take longer at the peaks' rates is left
 * out, and named; the next cheaper case takes its place. What takes longer than
 * they say has one run. */
#include "tests/op/suite_run.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

/** Of a launch; a case has at most BENCH_RUNS of tests/op/suite.c, fewer. */
#define RUNS 64
/** Of a case: one that warms up, and one that is timed. */
#define LEAST_RUNS 2.0

/* A line of the report. */
struct timing {
    const char *op, *impl;
    char text[256];             /* the case */
    double median, least, most; /* seconds */
    double flops, bytes;        /* of one run, as the case says */
    double copy; /* a copy's time over the case's, the median; 0: none */
    size_t runs; /* 0: left out; median is what one would have taken */
};

struct timings {
    struct timing *t; /* n of them, in memory for room */
    size_t n, room;
    double gflops,
        gbytes; /* the peaks: 1e9 a second; 0 before they are known */
};

/* The copy that cases are timed in turn with: it needs to outlive a case, and a
 * bed's peer is given nothing but the bed. */
static struct copier rival;

/* What a case is timed in turn with: struct bed's peer. */
static double copy_as_much(struct bed *b)
{
    return b->bytes > 0.0 ? copier_run(b->queue, &rival, b->bytes) : 0.0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A row with its times in seconds[n], which are sorted; NULL without memory. */
static struct timing *add_timing(struct timings *all, const char *op,
                                 const char *impl, double *seconds, size_t n)
{
    if (all->n == all->room) {
        all->room = all->room * 2 + 64;
        struct timing *t = realloc(all->t, all->room * sizeof(*t));
        if (t == NULL)
            return NULL;
        all->t = t;
    }
    qsort(seconds, n, sizeof(double), by_value);
    struct timing *t = &all->t[all->n++];
    *t = (struct timing){.op = op,
                         .impl = impl,
                         .runs = n,
                         .median = seconds[n / 2],
                         .least = seconds[0],
                         .most = seconds[n - 1]};
    return t;
}

/* Run a case and note its times; false: it failed, or no memory. A case that is
 * skipped, or calls no op, leaves no line. The ratio to the copy is taken run
 * by run, since the two of a pair met the same machine. */
static bool time_case(struct bed *b, const struct suite *s, size_t i,
                      struct timings *all)
{
    b->bench = true;
    b->admit = false;
    bed_case_begin(b->state, false);
    bool ok = bed_run(b, s, i, false);
    const double *seconds, *peer;
    int n = bed_times(b, &seconds, &peer);
    if (!ok || b->skipped || n == 0)
        return ok;
    double sorted[RUNS], ratio[RUNS];
    for (int k = 0; k < n; k++) {
        sorted[k] = seconds[k];
        ratio[k] = peer[k] / seconds[k];
    }
    qsort(ratio, (size_t)n, sizeof(double), by_value);
    struct timing *t = add_timing(all, s->op, b->impl, sorted, (size_t)n);
    if (t == NULL)
        return false;
    s->describe(i, t->text, sizeof(t->text));
    t->flops = b->flops;
    t->bytes = b->bytes;
    t->copy = ratio[n / 2];
    return true;
}

/* What comes before an op's own work: see latency.c. */
static bool time_launch(struct bed *b, struct timings *all)
{
    double call[RUNS], both[RUNS];
    if (!launch_measure(b->queue, RUNS, call, both))
        return false;
    struct timing *t = add_timing(all, "launch", "-", call, RUNS);
    if (t == NULL)
        return false;
    snprintf(t->text, sizeof(t->text), "fill of one element: the call");
    t = add_timing(all, "launch", "-", both, RUNS);
    if (t == NULL)
        return false;
    snprintf(t->text, sizeof(t->text),
             "fill of one element: the call and its end");
    return true;
}

static bool add_overhead(double *seconds, const char *op, const char *how,
                         struct timings *all)
{
    struct timing *t = add_timing(all, "tape", "-", seconds, OVERHEAD_RUNS);
    if (t != NULL)
        snprintf(t->text, sizeof(t->text), "%s of one element: %s", op, how);
    return t != NULL;
}

/* What a tape adds to a call: see overhead.c. */
static bool time_tape(struct bed *b, struct timings *all)
{
    static const char *const op[2] = {"relu", "mul by a parameter"};
    bool ok = true;
    for (int mul = 0; mul < 2 && ok; mul++) {
        static struct overhead o;
        ok = overhead_measure(b->queue, mul == 1, &o) &&
             add_overhead(o.hand_forward, op[mul], "by hand", all) &&
             add_overhead(o.tape_forward, op[mul], "on a tape", all) &&
             add_overhead(o.hand_backward, op[mul], "gradient, by hand", all) &&
             add_overhead(o.tape_backward, op[mul], "gradient, on a tape", all);
    }
    for (int replay = 0; replay < 2 && ok; replay++) {
        static double seconds[OVERHEAD_RUNS];
        ok = step_measure(b->queue, replay == 1, seconds) &&
             add_overhead(seconds, "relu or its gradient",
                          replay == 1 ? "in a step, replayed" : "in a step",
                          all);
    }
    return ok;
}

/* The one line that cannot be repeated in a process. */
static bool time_start(double seconds, struct timings *all)
{
    struct timing *t = add_timing(all, "open", "-", &seconds, 1);
    if (t == NULL)
        return false;
    snprintf(t->text, sizeof(t->text),
             "this process' first device, queue and result");
    return true;
}

/* A case and what it costs: its rank, 0 where it does not run, and the seconds
 * that it takes at the peaks. */
struct ranked {
    size_t i;
    double cost, seconds;
};

/* Ask a case what it costs, without computing. Rank is the sum of operations
 * and bytes: only the order matters, and either may be 0. */
static struct ranked rank(struct bed *b, const struct suite *s, size_t i,
                          const struct timings *all)
{
    struct ranked r = {.i = i};
    b->bench = false;
    b->admit = true;
    bed_case_begin(b->state, false);
    if (!bed_run(b, s, i, false) || b->skipped)
        return r;
    r.cost = b->flops + b->bytes;
    r.seconds = 1e-9 * (b->flops / all->gflops + b->bytes / all->gbytes);
    return r;
}

/* The most expensive first; of equal ones the first, so that the choice is the
 * same in every run. */
static int by_cost(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? 1 : -1;
    return (x->i > y->i) - (x->i < y->i);
}

/* Is there time for a case that takes so long? If not, a row says so. */
static bool affordable(const struct bed *b, const struct suite *s,
                       const struct ranked *r, struct timings *all, bool *ok)
{
    double seconds = r->seconds;
    if (LEAST_RUNS * seconds <= b->budget)
        return true;
    struct timing *t = add_timing(all, s->op, b->impl, &seconds, 1);
    *ok = t != NULL;
    if (*ok) {
        t->runs = 0;
        s->describe(r->i, t->text, sizeof(t->text));
    }
    return false;
}

/* The n most expensive cases of a table that there is time for. */
static bool time_table(struct bed *b, const struct suite *s, unsigned n,
                       struct timings *all)
{
    size_t cases = s->n + s->large;
    struct ranked *r = calloc(cases + 1, sizeof(*r));
    bool ok = r != NULL;
    for (size_t i = 0; ok && i < cases; i++)
        r[i] = rank(b, s, i, all);
    if (ok)
        qsort(r, cases, sizeof(*r), by_cost);
    for (size_t i = 0; ok && i < cases && r[i].cost > 0.0 && n > 0; i++) {
        if (!affordable(b, s, &r[i], all, &ok))
            continue;
        ok = time_case(b, s, r[i].i, all);
        n--;
    }
    free(r);
    return ok;
}

/* The line of a case that there was no time for. */
static void print_left_out(const struct bed *b, const struct timing *t,
                           bool json, bool *first)
{
    if (!json) {
        printf("%-10s %-10s left out: a run would take about %.3g s, and two "
               "more than --seconds %g: %s\n",
               b->props.name, t->impl, t->median, b->budget, t->text);
        return;
    }
    printf("%s\n  {\"device\": \"%s\", \"op\": \"%s\", \"implementation\": "
           "\"%s\", \"case\": ",
           *first ? "" : ",", b->props.name, t->op, t->impl);
    json_string(stdout, t->text);
    printf(", \"runs\": 0, \"expected_s\": %.3g}", t->median);
    *first = false;
}

/* A case's line. Of the two peaks the one that it comes nearer to is taken to
 * be what bounds it. */
static void print_timing(const struct bed *b, const struct timing *t,
                         const struct timings *all, bool json, bool *first)
{
    if (t->runs == 0) {
        print_left_out(b, t, json, first);
        return;
    }
    double gflops = t->flops / t->median * 1e-9;
    double gbytes = t->bytes / t->median * 1e-9;
    double of_compute = all->gflops > 0.0 ? gflops / all->gflops : 0.0;
    double of_memory = all->gbytes > 0.0 ? gbytes / all->gbytes : 0.0;
    double of_peak = of_compute > of_memory ? of_compute : of_memory;
    double spread = (t->most - t->least) / t->median;
    if (!json) {
        printf("%-10s %-10s %2zu x %9.5f ms %5.0f %% %9.3f GFLOP/s %8.3f GB/s "
               "%5.0f %% %5.0f %%  %s\n",
               b->props.name, t->impl, t->runs, 1e3 * t->median, 100.0 * spread,
               gflops, gbytes, 100.0 * of_peak, 100.0 * t->copy, t->text);
        return;
    }
    printf("%s\n  {\"device\": \"%s\", \"op\": \"%s\", \"implementation\": "
           "\"%s\", \"case\": ",
           *first ? "" : ",", b->props.name, t->op, t->impl);
    json_string(stdout, t->text);
    printf(", \"runs\": %zu, \"median_s\": %.9g, \"min_s\": %.9g, \"max_s\": "
           "%.9g, "
           "\"gflops\": %.6g, \"gbytes_s\": %.6g, \"of_peak\": %.4g, "
           "\"of_copy\": %.4g}",
           t->runs, t->median, t->least, t->most, gflops, gbytes, of_peak,
           t->copy);
    *first = false;
}

static bool named(const char *op, const char *name)
{
    return op == NULL || strcmp(op, name) == 0;
}

static bool selected(const struct suite *s, const char *op)
{
    return named(op, s->op) || named(op, s->name);
}

/* Every selected table by every implementation, pinned for as long. */
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

/* What is no table, the peaks, and the tables. */
static bool bench_all(struct bed *b, const struct options *o, double start,
                      struct timings *all)
{
    bool open = named(o->op, "open"), launch = named(o->op, "launch");
    bool tape = named(o->op, "tape");
    if ((open && !time_start(start, all)) || (launch && !time_launch(b, all)) ||
        (tape && !time_tape(b, all)))
        return false;
    if (o->op != NULL && (open || launch || tape))
        return true; /* no table */
    return peak_measure(b->queue, &all->gflops, &all->gbytes) &&
           bench_tables(b, o, all);
}

/* What the columns are, as lines that a reader of numbers skips. */
static void print_peaks(const struct bed *b, const struct timings *all)
{
    printf("# %s: peaks measured here: %.3f GFLOP/s (square gemm), "
           "%.3f GB/s (copy of 32 MiB)\n"
           "# runs x their median, spread (max - min) / median, rates, of the "
           "nearer "
           "peak, of the rate of a copy of as many bytes\n",
           b->props.name, all->gflops, all->gbytes);
}

int command_bench(const struct options *o)
{
    struct bed b = {.props = SSQ_DEVICE_PROPS_INIT,
                    .peer = copy_as_much,
                    .budget = o->seconds > 0.0 ? o->seconds : 10.0};
    const char *name = o->device == NULL ? "auto" : o->device;
    double start;
    ssq_status st = start_device(name, &b.device, &b.queue, &start);
    if (st == SSQ_OK)
        st = ssq_device_props_get(b.device, &b.props);
    if (st != SSQ_OK) {
        complain("bench");
        ssq_queue_destroy(&b.queue);
        ssq_device_close(&b.device);
        return st == SSQ_ERR_NOT_FOUND ? EXIT_USAGE : EXIT_FAILED;
    }
    /* everything is measured before anything is printed */
    struct timings all = {0};
    bool first = true;
    b.state = bed_state_create();
    bool ok = bench_all(&b, o, start, &all);
    if (o->json)
        printf("[");
    else if (all.gbytes > 0.0)
        print_peaks(&b, &all);
    size_t timed = 0;
    for (size_t i = 0; i < all.n; i++) {
        print_timing(&b, &all.t[i], &all, o->json, &first);
        timed += all.t[i].runs > 0;
    }
    if (o->json)
        printf("\n]\n");
    if (!ok)
        fprintf(stderr, "sesqui: bench: %s\n", b.text);
    free(all.t);
    copier_drop(&rival);
    bed_state_destroy(b.state);
    ssq_queue_destroy(&b.queue);
    ssq_device_close(&b.device);
    if (ok && timed == 0)
        fprintf(stderr, "sesqui: bench: nothing was timed\n");
    return ok && timed > 0 ? EXIT_FINE : EXIT_FAILED;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - times the largest cases of the tables of conformance.
 *
 * Cases are ranked by their costs. Each case states its cost in admission mode,
 * without computing. The peaks are measured in the same run, on the same device
 * and through the same API: see peak.c. After each run of a case a plain copy
 * of as many bytes is timed. So other load on the machine affects both.
 *
 * A row may take options.seconds. A case that would take longer at the
 * throughputs of the peaks is left out, and named; the next cheaper case is
 * timed instead. A case that takes longer than expected is timed once. */
#include "conformance/suite_run.h"
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <string.h>

/** More than BENCH_RUNS of conformance/harness.c. */
#define RUNS 64
/** Runs of a case at least: one to warm up, and one that is timed. */
#define LEAST_RUNS 2.0

/* The copy that is timed in turn with cases. It is static because it must
 * outlive a case, and the peer of a harness receives only the harness. */
static struct copier rival;

/* The peer of struct harness: copy as many bytes as the case moves. */
static double copy_as_much(struct harness *b)
{
    return b->bytes > 0.0 ? copier_run(b->queue, &rival, b->bytes) : 0.0;
}

/* Run a case and add a row with its times. Returns false if it failed or
 * memory is short. A case that is skipped, or calls no op, adds no row. The
 * ratio to the copy is computed for each run, because both of a pair had the
 * same load. */
static bool time_case(struct harness *b, const struct suite *s, size_t i,
                      struct bench_rows *all)
{
    b->bench = true;
    b->admit = false;
    harness_case_begin(b->state, false);
    bool ok = harness_run(b, s, i, false);
    const double *seconds, *peer;
    int n = harness_times(b, &seconds, &peer);
    if (!ok || b->skipped || n == 0)
        return ok;
    double sorted[RUNS], ratio[RUNS];
    for (int k = 0; k < n; k++) {
        sorted[k] = seconds[k];
        ratio[k] = peer[k] / seconds[k];
    }
    struct bench_row *t =
        rows_add(all, "tables", s->op, b->impl, sorted, (size_t)n);
    if (t == NULL)
        return false;
    s->describe(i, t->text, sizeof(t->text));
    t->flops = b->flops;
    t->bytes = b->bytes;
    t->peak = all->gflops;
    t->copy = rows_median(ratio, (size_t)n);
    return true;
}

/* A case and its cost. cost is its rank, 0 if it does not run; seconds is its
 * time at the peaks. */
struct ranked {
    size_t i;
    double cost, seconds;
};

/* Get the cost of a case without computing. The rank is the sum of operations
 * and bytes: only the order matters, and either may be 0. */
static struct ranked tables_rank(struct harness *b, const struct suite *s,
                                 size_t i, const struct bench_rows *all)
{
    struct ranked r = {.i = i};
    b->bench = false;
    b->admit = true;
    harness_case_begin(b->state, false);
    if (!harness_run(b, s, i, false) || b->skipped)
        return r;
    r.cost = b->flops + b->bytes;
    r.seconds = 1e-9 * (b->flops / all->gflops + b->bytes / all->gbytes);
    return r;
}

/* Sort the most expensive first. Equal costs keep their order, so that every
 * run chooses the same cases. */
static int by_cost(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? 1 : -1;
    return (x->i > y->i) - (x->i < y->i);
}

/* Return true if there is time for a case. If not, add a row that says so. */
static bool tables_affordable(const struct harness *b, const struct suite *s,
                              const struct ranked *r, struct bench_rows *all,
                              bool *ok)
{
    double seconds = r->seconds;
    if (LEAST_RUNS * seconds <= b->budget)
        return true;
    struct bench_row *t = rows_add(all, "tables", s->op, b->impl, &seconds, 1);
    *ok = t != NULL;
    if (*ok) {
        t->runs = 0;
        s->describe(r->i, t->text, sizeof(t->text));
    }
    return false;
}

/* Time the n most expensive cases of a table for which there is time. */
static bool time_table(struct harness *b, const struct suite *s, unsigned n,
                       struct bench_rows *all)
{
    size_t cases = s->n + s->large;
    struct ranked *r = calloc(cases + 1, sizeof(*r));
    bool ok = r != NULL;
    for (size_t i = 0; ok && i < cases; i++)
        r[i] = tables_rank(b, s, i, all);
    if (ok)
        qsort(r, cases, sizeof(*r), by_cost);
    for (size_t i = 0; ok && i < cases && r[i].cost > 0.0 && n > 0; i++) {
        if (!tables_affordable(b, s, &r[i], all, &ok))
            continue;
        ok = time_case(b, s, r[i].i, all);
        n--;
    }
    free(r);
    return ok;
}

/* Return the number of pairs of a table and an implementation. */
static size_t count_pairs(const struct harness *b, const char *op)
{
    size_t n = 0;
    for (size_t i = 0; suites[i] != NULL; i++)
        for (size_t k = 0; suite_named(suites[i], op); k++) {
            if (ssq_implementation_name(b->device, suites[i]->op, k) == NULL)
                break;
            n++;
        }
    return n;
}

/* Time every selected table with every implementation, which is
 * pinned meanwhile. */
static bool time_tables(struct harness *b, const struct options *o,
                        struct bench_rows *all)
{
    struct tool_progress p;
    char what[96];
    size_t done = 0;
    progress_begin(&p, "bench", count_pairs(b, o->op), false);
    for (size_t i = 0; suites[i] != NULL; i++) {
        const struct suite *s = suites[i];
        for (size_t k = 0; suite_named(s, o->op); k++) {
            b->impl = ssq_implementation_name(b->device, s->op, k);
            if (b->impl == NULL)
                break;
            snprintf(what, sizeof(what), "%s by %s", s->name, b->impl);
            progress_at(&p, done++, 0.0, what);
            bool ok =
                ssq_implementation_pin(b->device, s->op, b->impl) == SSQ_OK &&
                time_table(b, s, o->cases, all);
            if (ssq_implementation_pin(b->device, s->op, NULL) != SSQ_OK ||
                !ok) {
                progress_clear(&p);
                return false;
            }
        }
    }
    progress_clear(&p);
    return true;
}

bool tables_time(ssq_device *device, ssq_queue *queue, const struct options *o,
                 struct bench_rows *all)
{
    struct harness b = {.device = device,
                        .queue = queue,
                        .props = SSQ_DEVICE_PROPS_INIT,
                        .peer = copy_as_much,
                        .budget = o->seconds};
    if (ssq_device_props_get(device, &b.props) != SSQ_OK ||
        !peak_measure(queue, &all->gflops, &all->gbytes))
        return false;
    b.state = harness_state_create();
    bool ok = time_tables(&b, o, all);
    if (!ok)
        fprintf(stderr, "sesqui: bench: %s\n", b.text);
    copier_drop(&rival);
    harness_state_destroy(b.state);
    return ok;
}

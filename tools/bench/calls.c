/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - rows for the costs before an op's own work: a device's start, a
 * launch, and the overhead of a tape. */
#include "tools/bench/bench.h"

#include <string.h>

#define RUNS 64

/* Time a launch: see latency.c. */
static bool time_launch(ssq_queue *queue, struct bench_rows *all)
{
    double call[RUNS], both[RUNS];
    if (!launch_measure(queue, RUNS, call, both))
        return false;
    struct bench_row *t = rows_add(all, "latency", "launch", "-", call, RUNS);
    if (t == NULL)
        return false;
    snprintf(t->text, sizeof(t->text), "fill of one element: the call");
    t = rows_add(all, "latency", "launch", "-", both, RUNS);
    if (t == NULL)
        return false;
    snprintf(t->text, sizeof(t->text),
             "fill of one element: the call and its end");
    return true;
}

static bool add_overhead(double *seconds, const char *op, const char *how,
                         struct bench_rows *all)
{
    struct bench_row *t =
        rows_add(all, "latency", "tape", "-", seconds, OVERHEAD_RUNS);
    if (t != NULL)
        snprintf(t->text, sizeof(t->text), "%s of one element: %s", op, how);
    return t != NULL;
}

/* Time the overhead of a tape: see overhead.c. */
static bool time_tape(ssq_queue *queue, struct bench_rows *all)
{
    static const char *const op[2] = {"relu", "mul by a parameter"};
    bool ok = true;
    for (int mul = 0; mul < 2 && ok; mul++) {
        static struct overhead o;
        ok = overhead_measure(queue, mul == 1, &o) &&
             add_overhead(o.hand_forward, op[mul], "by hand", all) &&
             add_overhead(o.tape_forward, op[mul], "on a tape", all) &&
             add_overhead(o.hand_backward, op[mul], "gradient, by hand", all) &&
             add_overhead(o.tape_backward, op[mul], "gradient, on a tape", all);
    }
    for (int replay = 0; replay < 2 && ok; replay++) {
        static double seconds[OVERHEAD_RUNS];
        ok = step_measure(queue, replay == 1, seconds) &&
             add_overhead(seconds, "relu or its gradient",
                          replay == 1 ? "in a step, replayed" : "in a step",
                          all);
    }
    return ok;
}

/* Add the time of the start, the only one that a process cannot
 * measure twice. */
static bool time_start(double seconds, struct bench_rows *all)
{
    struct bench_row *t = rows_add(all, "latency", "open", "-", &seconds, 1);
    if (t == NULL)
        return false;
    snprintf(t->text, sizeof(t->text),
             "this process' first device, queue and result");
    return true;
}

static bool calls_wanted(const struct options *o, const char *op)
{
    return o->op == NULL || strcmp(op, o->op) == 0;
}

bool calls_time(ssq_queue *queue, const struct options *o, double start,
                struct bench_rows *all)
{
    return (!calls_wanted(o, "open") || time_start(start, all)) &&
           (!calls_wanted(o, "launch") || time_launch(queue, all)) &&
           (!calls_wanted(o, "tape") || time_tape(queue, all));
}

const char *const calls_names[] = {"launch", "open", "tape", NULL};

bool calls_known(const char *op)
{
    for (size_t i = 0; calls_names[i] != NULL; i++)
        if (strcmp(op, calls_names[i]) == 0)
            return true;
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - the value of a schedule at a step, in double.
 *
 * A formula with a citation is that of the cited source, so that a run that
 * moves here keeps its learning rates. Values are rounded to float32 only when
 * they are sent to a device (schedule_words.c). */
#include "lib/amp/optimizer/optimizer.h"

#include <math.h>

#define PI 3.14159265358979323846

/* Return half a cosine from start to end, as p goes from 0 to 1. */
static double anneal_cosine(double start, double end, double p)
{
    return end + (start - end) / 2.0 * (cos(PI * p) + 1.0);
}

static double anneal_linear(double start, double end, double p)
{
    return (end - start) * p + start;
}

/* A linear warmup, then half a cosine from base to min_value. t is below
 * total_steps, so if all steps are warmup the second part is not reached, and
 * nothing is divided by 0. */
static double value_cosine(const ssq_schedule *s, uint32_t t)
{
    if (t < s->warmup_steps) {
        double p = (double)t / s->warmup_steps;
        return s->base * (s->warmup_start + (1.0 - s->warmup_start) * p);
    }
    double p = (double)(t - s->warmup_steps) /
               (double)(s->total_steps - s->warmup_steps);
    return s->min_value + (s->base - s->min_value) * (1.0 + cos(PI * p)) / 2.0;
}

/* torch/optim/lr_scheduler.py, OneCycleLR with three_phase=False: the first
 * phase ends at pct_start * total - 1, the second at total - 1. */
static double value_one_cycle(const ssq_schedule *s, uint32_t t)
{
    double first = s->base / s->div_factor;
    double last = first / s->final_div_factor;
    double middle = s->pct_start * s->total_steps - 1.0;
    double from = t <= middle ? first : s->base;
    double to = t <= middle ? s->base : last;
    double begin = t <= middle ? 0.0 : middle;
    double end = t <= middle ? middle : s->total_steps - 1.0;
    /* a phase of length 0 (torch divides by zero) has ended */
    double p = end > begin ? (t - begin) / (end - begin) : 1.0;
    return s->linear ? anneal_linear(from, to, p) : anneal_cosine(from, to, p);
}

/* fastai/callback/schedule.py, fit_one_cycle: the position is t / total. It is
 * below 1, so neither phase is entered if its divisor is 0. */
static double value_fastai(const ssq_schedule *s, uint32_t t)
{
    double position = (double)t / s->total_steps;
    double first = s->base / s->div_factor;
    double last = s->base / s->final_div_factor;
    if (position < s->pct_start)
        return anneal_cosine(first, s->base, position / s->pct_start);
    return anneal_cosine(s->base, last,
                         (position - s->pct_start) / (1.0 - s->pct_start));
}

static ssq_status schedule_bad(const char *name, double value,
                               const char *expected)
{
    return error_set(SSQ_ERR_INVALID, "schedule: %s is %.17g, expected %s",
                     name, value, expected);
}

static bool at_least_0(double value)
{
    return value >= 0.0 && isfinite(value);
}

static bool above_0(double value)
{
    return value > 0.0 && isfinite(value);
}

/* For both kinds of one-cycle: divisors must be above 0. */
static ssq_status check_one_cycle(const ssq_schedule *s)
{
    if (!(s->pct_start >= 0.0 && s->pct_start <= 1.0))
        return schedule_bad("pct_start", s->pct_start, "0 to 1");
    if (!above_0(s->div_factor))
        return schedule_bad("div_factor", s->div_factor, "more than 0");
    if (!above_0(s->final_div_factor))
        return schedule_bad("final_div_factor", s->final_div_factor,
                            "more than 0");
    return SSQ_OK;
}

/* All steps may be warmup: then the other fields are not read. */
static ssq_status check_cosine(const ssq_schedule *s)
{
    if (s->warmup_steps > s->total_steps)
        return schedule_bad("warmup_steps", s->warmup_steps,
                            "at most total_steps");
    if (!at_least_0(s->warmup_start))
        return schedule_bad("warmup_start", s->warmup_start, "0 or more");
    if (!at_least_0(s->min_value))
        return schedule_bad("min_value", s->min_value, "0 or more");
    return SSQ_OK;
}

/* Check the caller's values, which are not kept here. */
static ssq_status check_table(const ssq_schedule *s)
{
    if (s->table == NULL)
        return error_set(SSQ_ERR_INVALID, "schedule: table is NULL");
    for (uint32_t i = 0; i < s->total_steps; i++)
        if (!isfinite(s->table[i]))
            return error_set(SSQ_ERR_INVALID,
                             "schedule: table[%u] is %g, expected finite",
                             (unsigned)i, s->table[i]);
    return SSQ_OK;
}

/* Check the fields that the kind reads; other fields are ignored. */
static ssq_status schedule_check_schedule(const ssq_schedule *s)
{
    if (s->total_steps == 0)
        return schedule_bad("total_steps", 0.0, "at least 1");
    if (s->kind != SSQ_SCHEDULE_TABLE && !at_least_0(s->base))
        return schedule_bad("base", s->base, "0 or more");
    switch (s->kind) {
    case SSQ_SCHEDULE_CONSTANT:
        return SSQ_OK;
    case SSQ_SCHEDULE_STEP:
        if (s->step_size == 0)
            return schedule_bad("step_size", 0.0, "at least 1");
        return at_least_0(s->gamma)
                   ? SSQ_OK
                   : schedule_bad("gamma", s->gamma, "0 or more");
    case SSQ_SCHEDULE_COSINE:
        return check_cosine(s);
    case SSQ_SCHEDULE_ONE_CYCLE:
    case SSQ_SCHEDULE_ONE_CYCLE_FASTAI:
        return check_one_cycle(s);
    case SSQ_SCHEDULE_TABLE:
        return check_table(s);
    }
    return schedule_bad("kind", (double)s->kind, "an SSQ_SCHEDULE_*");
}

/* Return the value of a checked schedule, for t < total_steps. */
static double schedule_value_at(const ssq_schedule *s, uint32_t t)
{
    switch (s->kind) {
    case SSQ_SCHEDULE_STEP:
        /* integer quotient: the number of whole steps of step_size */
        return s->base * pow(s->gamma, t / s->step_size);
    case SSQ_SCHEDULE_COSINE:
        return value_cosine(s, t);
    case SSQ_SCHEDULE_ONE_CYCLE:
        return value_one_cycle(s, t);
    case SSQ_SCHEDULE_ONE_CYCLE_FASTAI:
        return value_fastai(s, t);
    case SSQ_SCHEDULE_TABLE:
        return s->table[t];
    case SSQ_SCHEDULE_CONSTANT:
        break;
    }
    return s->base;
}

double schedule_at(const ssq_schedule *s, uint32_t t)
{
    struct fpenv env = fpenv_enter();
    /* after the end a schedule keeps its last value */
    uint32_t last = s->total_steps - 1;
    double value = schedule_value_at(s, t < last ? t : last);
    FPENV_KEEP(value);
    fpenv_leave(env);
    return value;
}

ssq_status ssq_schedule_value(const ssq_schedule *schedule, uint32_t t,
                              double *value)
{
    if (schedule == NULL || value == NULL)
        return error_set(SSQ_ERR_INVALID, "schedule_value: %s is NULL",
                         schedule == NULL ? "schedule" : "value");
    if (schedule->struct_size != sizeof(*schedule))
        return error_set(SSQ_ERR_INVALID,
                         "schedule_value: struct_size is %zu, expected %zu",
                         schedule->struct_size, sizeof(*schedule));
    struct fpenv env = fpenv_enter();
    ssq_status st = schedule_check_schedule(schedule);
    FPENV_KEEP(st);
    fpenv_leave(env);
    if (st == SSQ_OK)
        *value = schedule_at(schedule, t);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - every preset, step by step, against its system's own rule.
 *
 * One case is one machine and one overflow bitmap: the rule of rules.c, the
 * simulator, and reference or guard must agree bit for bit on the scale and on
 * what each update did, and simulator and device on every field. */
#include "tests/amp/amp.h"
#include "tests/amp/rules.h"

#include <float.h>

#define LONGEST 12000

struct trace_plan {
    const struct rule *rule;
    ssq_scaler_options options;
    size_t n;
    uint8_t overflow[LONGEST];
    size_t steps; /* until the system gave up, or n */
};

/* overflow with probability p; whole bursts of them now and then */
static void draw(struct trace_plan *plan, size_t n, double p, uint64_t seed)
{
    uint64_t random = seed * 2 + 1;
    plan->n = n;
    for (size_t i = 0; i < n; i++) {
        plan->overflow[i] = amp_uniform(&random) < p;
        if (i > 0 && p > 0 && p < 0.5 && plan->overflow[i - 1] &&
            amp_uniform(&random) < 0.25)
            plan->overflow[i] = 1;
    }
}

/* The number of the first step where rule and simulator disagree, n if none.
 * States that a system does not have are not compared. */
static size_t compare_rule(struct trace_plan *plan)
{
    struct system s = system_begin(&plan->options);
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    for (size_t i = 0; i < plan->n; i++) {
        double before = plan->rule->binary64 ? s.wide : (double)s.scale, scale;
        ssq_scale_action action, want = plan->rule->step(&s, plan->overflow[i]);
        double after = plan->rule->binary64 ? s.wide : (double)s.scale;
        if (i > 0 && (state.scale == 0 || !isfinite(state.scale)))
            return plan->n; /* keras 3 gets there; loading that is refused */
        NEED(ssq_scaler_simulate(&plan->options, &state, 1, &plan->overflow[i],
                                 &scale, &action));
        plan->steps = i + 1;
        if (scale != before || action != want || state.scale != after ||
            (plan->rule->counter && state.good != s.counter) ||
            (plan->rule->hysteresis && state.hyst != s.hysteresis)) {
            say_state("simulator", &state);
            tap_diag("rule: scale %a, then %a, counter %lld, hysteresis %lld, "
                     "action %d",
                     before, after, (long long)s.counter,
                     (long long)s.hysteresis, (int)want);
            return i;
        }
        if (want == SSQ_SCALE_FLOOR)
            break; /* the system ends the run */
    }
    return plan->n;
}

/* One call for the whole bitmap gives what one call per step gave. */
static bool compare_whole(const struct trace_plan *plan)
{
    static double scales[LONGEST];
    static ssq_scale_action actions[LONGEST];
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    struct system s = system_begin(&plan->options);
    bool ok = true;
    NEED(ssq_scaler_simulate(&plan->options, &state, plan->steps,
                             plan->overflow, scales, actions));
    for (size_t i = 0; i < plan->steps && ok; i++) {
        ok = scales[i] == (plan->rule->binary64 ? s.wide : (double)s.scale);
        ok = actions[i] == plan->rule->step(&s, plan->overflow[i]) && ok;
    }
    return ok;
}

/* A device against the simulator, while float32 follows. */
static size_t compare_device(const struct trace_plan *plan, const struct rig *r,
                             size_t n)
{
    ssq_scaler *scaler = rig_scaler(r, NULL, &plan->options);
    ssq_scaler_state want = SSQ_SCALER_STATE_INIT;
    size_t i = 0;
    double scale = plan->options.init_scale;
    for (; i < n; i++) {
        /* a verdict looks at the gradient times 1 / scale */
        uint8_t overflow =
            plan->overflow[i] != 0 || !isfinite(1.0f / (float)scale);
        NEED(ssq_scaler_simulate(&plan->options, &want, 1, &overflow, NULL,
                                 NULL));
        scale = want.scale;
        if (plan->options.binary64 &&
            (want.scale < 0x1p-126 || want.scale > 0x1p127)) {
            i = n;
            break;
        }
        rig_step(r, scaler, plan->overflow[i]);
        ssq_scaler_state got = rig_state(r, scaler);
        if (!same_state(&got, &want)) {
            say_state("device", &got);
            say_state("simulator", &want);
            break;
        }
        if (want.scale == 0 || !isfinite(want.scale))
            i = n - 1;
    }
    ssq_scaler_destroy(&scaler);
    return i;
}

static struct rig rigs[CORE_MOST];

/* A driver follows one plan in 5, others for each preset, and all with
 * SSQ_TEST_FULL=1: its machine is the hosts' own text. */
static bool follows(size_t device)
{
    static size_t asked[CORE_MOST];
    size_t turn = asked[device]++;
    return strchr(core_device(device), ':') == NULL || tap_full() ||
           turn % 5 == 0;
}

/* on_devices: how many steps to run there too. */
static void follow(struct trace_plan *plan, size_t on_devices, const char *what)
{
    const char *name = plan->rule->preset;
    size_t at = compare_rule(plan);
    tap_ok(at == plan->n && compare_whole(plan),
           "%s %s: %zu steps as the system's own rule", name, what,
           plan->steps);
    if (at != plan->n)
        tap_diag("at step %zu", at);
    size_t n = plan->steps < on_devices ? plan->steps : on_devices;
    for (size_t d = 0; d < core_device_count() && on_devices > 0; d++)
        if (follows(d))
            tap_ok(compare_device(plan, &rigs[d], n) == n,
                   "%s: %s %s: %zu steps as the simulator, every field",
                   core_device(d), name, what, n);
}

/* The presets as they come, with overflows of several densities. */
static void defaults(const struct rule *rule)
{
    static const double density[] = {0.0, 1.0 / 3000, 1.0 / 500, 1.0 / 50};
    static struct trace_plan plan;
    char what[64];
    plan.rule = rule;
    plan.options = rig_preset(rule->preset);
    for (size_t i = 0; i < sizeof(density) / sizeof(density[0]); i++) {
        snprintf(what, sizeof(what), "with its defaults, overflow %.4f",
                 density[i]);
        draw(&plan, LONGEST, density[i], i + 1);
        follow(&plan, 0, what);
    }
}

/* The same rules with intervals short enough for every branch. */
static void short_intervals(const struct rule *rule)
{
    static const double density[] = {0.03, 0.2, 0.5, 0.9};
    static const uint32_t interval[] = {1, 2, 3, 7};
    static struct trace_plan plan;
    char what[64];
    plan.rule = rule;
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            plan.options = rig_preset(rule->preset);
            if (plan.options.growth_interval == UINT32_MAX)
                return; /* a static scale */
            plan.options.growth_interval = interval[k];
            if (rule->any_allowance)
                plan.options.hysteresis = 1 + (uint32_t)i;
            snprintf(what, sizeof(what), "interval %u, overflow %.2f",
                     (unsigned)interval[k], density[i]);
            draw(&plan, 3000, density[i], 10 + 4 * i + k);
            follow(&plan, i == k ? 300 : 0, what);
        }
}

/* Growth alone up to the cap, and overflow alone down to the floor. */
static void limits(const struct rule *rule)
{
    static struct trace_plan plan;
    plan.rule = rule;
    plan.options = rig_preset(rule->preset);
    draw(&plan, 1300, 1.0, 1);
    follow(&plan, 260, "down to its floor");
    if (plan.options.growth_interval == UINT32_MAX)
        return;
    plan.options.growth_interval = 1;
    draw(&plan, 600, 0.0, 1);
    follow(&plan, 300, "up to its cap");
}

/* Where float32 ends: the last steps above 2^127 and below 2^-126. */
static void ends(const struct rule *rule)
{
    static const double start[] = {0x1p126, 0x1p-125, 0x1p-148, 0x1.fffffep127,
                                   0x1p-149};
    static struct trace_plan plan;
    char what[64];
    plan.rule = rule;
    for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++) {
        plan.options = rig_preset(rule->preset);
        plan.options.init_scale = start[i];
        if (plan.options.growth_interval != UINT32_MAX)
            plan.options.growth_interval = 2;
        if (plan.options.binary64 || plan.options.cap == SSQ_CEILING_STOP ||
            (plan.options.floor != SSQ_FLOOR_NONE &&
             start[i] < plan.options.min_scale))
            continue;
        snprintf(what, sizeof(what), "from %a", start[i]);
        draw(&plan, 200, 0.4, 77 + i);
        follow(&plan, 200, what);
    }
}

/* Factors that are not powers of two, for systems that take them: in double
 * where the system multiplies so, else as float32. */
static void factors(const struct rule *rule)
{
    static const double factor[][2] = {
        {1.1, 0.3}, {1.0000001, 0.9999999}, {3.0, 1.0 / 3.0}, {1.7, 0.77}};
    static struct trace_plan plan;
    char what[80];
    plan.rule = rule;
    for (size_t i = 0; i < sizeof(factor) / sizeof(factor[0]); i++) {
        plan.options = rig_preset(rule->preset);
        plan.options.growth_interval = 2;
        plan.options.growth_factor =
            rule->double_factor ? factor[i][0] : (double)(float)factor[i][0];
        plan.options.backoff_factor =
            rule->double_factor ? factor[i][1] : (double)(float)factor[i][1];
        snprintf(what, sizeof(what), "factors %.9g and %.9g",
                 plan.options.growth_factor, plan.options.backoff_factor);
        draw(&plan, 4000, 0.2, 20 + i);
        follow(&plan, 400, what);
    }
}

/* fairseq's share of overflows. */
static void tolerance(const struct rule *rule)
{
    static const double share[] = {0.05, 0.1, 0.25, 1.0 / 3.0, 0.5, 1.0};
    static struct trace_plan plan;
    char what[64];
    plan.rule = rule;
    for (size_t i = 0; i < sizeof(share) / sizeof(share[0]); i++) {
        plan.options = rig_preset(rule->preset);
        plan.options.tolerance = share[i];
        plan.options.growth_interval = 5;
        snprintf(what, sizeof(what), "tolerance %.3f", share[i]);
        draw(&plan, 6000, 0.3, 40 + i);
        follow(&plan, 400, what);
    }
}

static void systems_options(void)
{
    for (size_t i = 0; ssq_scaler_preset_name(i) != NULL; i++) {
        size_t k = 0;
        while (k < rules_count &&
               strcmp(rules[k].preset, ssq_scaler_preset_name(i)) != 0)
            k++;
        tap_ok(k < rules_count, "preset %s has a rule to be compared with",
               ssq_scaler_preset_name(i));
    }
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++)
        rigs[d] = rig_open(core_device(d));
    systems_options();
    for (size_t i = 0; i < rules_count; i++) {
        defaults(&rules[i]);
        short_intervals(&rules[i]);
        limits(&rules[i]);
        ends(&rules[i]);
        if (rules[i].any_factor)
            factors(&rules[i]);
        if (rules[i].tolerance)
            tolerance(&rules[i]);
    }
    for (size_t d = 0; d < core_device_count(); d++)
        rig_close(&rigs[d]);
    return tap_done(700);
}

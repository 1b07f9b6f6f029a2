/* SPDX-License-Identifier: Apache-2.0 */
/* drift.c - how often a loss scaler bears overflows that have nothing to do
 * with its scale.
 *
 * Such overflows come with probability p per step. Growths and backoffs of a
 * long run balance at one p; below it the scale climbs until real overflows
 * stop it, above it the scale falls to the floor for any gradients.
 * doc/design/scaler.md has the formulas; here they are measured.
 * SSQ_TEST_FULL=1 prints the balance points. */
#include "tests/amp/amp.h"

#define CHUNK 65536

/* The rules of a preset without its floor and cap, in double: they are not the
 * question. */
static ssq_scaler_options free_machine(const char *preset)
{
    ssq_scaler_options o = rig_preset(preset);
    o.floor = SSQ_FLOOR_NONE;
    o.cap = SSQ_CEILING_NONE;
    o.binary64 = true;
    o.init_scale = 1.0;
    return o;
}

/* Growths minus backoffs of n steps, for each backoff and growth. */
static double drift(const char *preset, double p, size_t n, uint64_t seed)
{
    static uint8_t overflow[CHUNK];
    ssq_scaler_options o = free_machine(preset);
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    for (size_t done = 0; done < n; done += CHUNK) {
        for (size_t i = 0; i < CHUNK; i++)
            overflow[i] = amp_uniform(&seed) < p;
        NEED(ssq_scaler_simulate(&o, &s, CHUNK, overflow, NULL, NULL));
        s.scale = 1.0; /* far from what a double cannot hold */
    }
    return ((double)s.growths - s.backoffs) / ((double)s.growths + s.backoffs);
}

/* Growths minus backoffs per overflow, from the rules: x is the chance of a
 * streak of N, so x / (1 - x) is the number of growths between two overflows.
 * A backoff happens at every overflow; unless there was a growth before it (H 2
 * refilled by growth); only right behind another one (H 2 refilled by a clean
 * step). */
enum refill { NONE, GROWTH, CLEAN };
static double balance(double p, double interval, enum refill refill)
{
    double x = pow(1.0 - p, interval);
    double backoffs = refill == NONE ? 1.0 : refill == GROWTH ? 1.0 - x : p;
    return x / (1.0 - x) - backoffs;
}

static double break_even(double interval, enum refill refill)
{
    double low = 1e-7, high = 0.5;
    for (int i = 0; i < 100; i++) {
        double middle = sqrt(low * high);
        if (balance(middle, interval, refill) > 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The measured one, to about 1 %. */
static double measured(const char *preset, double start)
{
    double low = start / 1.5, high = start * 1.5;
    for (int i = 0; i < 9; i++) {
        double middle = sqrt(low * high);
        if (drift(preset, middle, 64u << 20, 5) > 0)
            low = middle;
        else
            high = middle;
    }
    return sqrt(low * high);
}

static void balance_point(const char *preset, double interval,
                          enum refill refill)
{
    double p = break_even(interval, refill);
    double below = drift(preset, p / 1.15, 8u << 20, 3);
    double above = drift(preset, p * 1.15, 8u << 20, 4);
    tap_ok(below > 0 && above < 0,
           "%s: climbs at one overflow in %.0f steps (%+.3f), falls at one in "
           "%.0f (%+.3f)",
           preset, 1.15 / p, below, 1 / (1.15 * p), above);
    if (tap_full())
        tap_diag("%s: balance at 1 in %.0f, by formula 1 in %.0f", preset,
                 1 / measured(preset, p), 1 / p);
}

/* Mean log2 of the scale after 20,000 steps with one overflow in k. */
static double end_of_run(const char *preset, double k, double *least)
{
    static uint8_t overflow[20000];
    ssq_scaler_options o = rig_preset(preset);
    double sum = 0;
    *least = 1e9;
    for (uint64_t run = 0; run < 100; run++) {
        uint64_t seed = run + 1000;
        ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
        for (size_t i = 0; i < 20000; i++)
            overflow[i] = amp_uniform(&seed) < 1.0 / k;
        NEED(ssq_scaler_simulate(&o, &s, 20000, overflow, NULL, NULL));
        sum += log2(s.scale);
        *least = fmin(*least, log2(s.scale));
    }
    return sum / 100;
}

/* The claim of the default preset. */
static void runs(void)
{
    double least, torch = end_of_run("pytorch", 500, &least);
    tap_ok(torch < -10,
           "pytorch, 20,000 steps, overflow 1 in 500: 2^16 becomes 2^%.1f in "
           "the mean, 2^%.0f at least",
           torch, least);
    double ours = end_of_run("sesqui", 500, &least);
    tap_ok(ours > 16 && least > 12,
           "sesqui, the same: 2^%.1f in the mean, 2^%.0f at least", ours,
           least);
    if (!tap_full())
        return;
    for (double k = 4000; k > 60; k /= 2)
        for (size_t i = 0; ssq_scaler_preset_name(i) != NULL; i++) {
            double mean = end_of_run(ssq_scaler_preset_name(i), k, &least);
            tap_diag("%s, 1 in %.0f: 2^%.1f, least 2^%.1f",
                     ssq_scaler_preset_name(i), k, mean, least);
        }
}

int main(void)
{
    balance_point("pytorch", 2000, NONE);
    balance_point("keras3", 2000, NONE);
    balance_point("fastai", 1000, NONE);
    balance_point("deepspeed_fused", 1000, NONE);
    balance_point("megatron", 1000, GROWTH);
    balance_point("deepspeed", 1000, GROWTH);
    balance_point("deepspeed_consecutive", 1000, CLEAN);
    balance_point("nemo", 1000, CLEAN);
    balance_point("sesqui", 2000, CLEAN);
    runs();
    return tap_done(11);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.c - the scaler's machine as a pure function of an overflow bitmap.
 *
 * It has two instances of kernels/amp/machine.h: the devices'
 * (machine.c), and one whose scales are doubles, for systems that compute in
 * binary64. That text uses macros REAL_* for everything about a scale. They are
 * defined here as double arithmetic before it is included. */
#include "lib/amp/scaler/machine.h"
#include "lib/amp/scaler/options.h"

#include "lib/core/base/fpenv.h"

#include <math.h>

#define REAL            double
#define REAL_FACTORS    double up, down, tolerance;
#define REAL_UP(M, X)   ((X) * (M).up)
#define REAL_DOWN(M, X) ((X) * (M).down)
#define REAL_TOLERATED(M)                                                      \
    ((double)(M).word[SCALER_OVF] / (double)(M).word[SCALER_SINCE] <           \
     (M).tolerance)
#define REAL_FINITE(X) isfinite(X)
#define REAL_ONE       1.0
#define REAL_1_5       1.5
#define REAL_1_00001   1.00001
#include "kernels/amp/machine.h"

/* Set the words of the float32 machine, and the scales as doubles. */
static void wide_begin(const ssq_scaler_options *o, const ssq_scaler_state *s,
                       struct machine *m)
{
    options_words(o, m->word);
    state_words(o, s, m->word);
    m->scale = s->scale;
    m->least = o->min_scale;
    m->largest = o->max_scale;
    m->up = o->growth_factor;
    m->down = o->backoff_factor;
    m->tolerance = o->tolerance;
    /* again, in double: state_words() used the rounded scale */
    m->word[SCALER_POISON] =
        o->floor == SSQ_FLOOR_APPLY && s->scale <= o->min_scale;
}

/* Run n updates of a binary64 machine. The scale of step i is the one before
 * its update, the action is the update's. */
static void run_wide(const ssq_scaler_options *o, ssq_scaler_state *s, size_t n,
                     const uint8_t *overflow, double *scales,
                     ssq_scale_action *actions)
{
    struct machine m;
    wide_begin(o, s, &m);
    for (size_t i = 0; i < n; i++) {
        if (scales != NULL)
            scales[i] = m.scale;
        m.word[SCALER_VERDICT] = overflow[i];
        m = machine_next(m, false, 0.0);
        if (actions != NULL)
            actions[i] = (ssq_scale_action)m.word[SCALER_ACTION];
    }
    words_state(m.word, s);
    s->scale = m.scale; /* the word has the initial scale */
}

/* The same for a float32 machine, as on devices. */
static void run_f32(const ssq_scaler_options *o, ssq_scaler_state *s, size_t n,
                    const uint8_t *overflow, double *scales,
                    ssq_scale_action *actions)
{
    uint32_t words[SCALER_WORDS];
    options_words(o, words);
    state_words(o, s, words);
    for (size_t i = 0; i < n; i++) {
        if (scales != NULL)
            scales[i] = AS_F32(words[SCALER_SCALE]);
        words[SCALER_VERDICT] = overflow[i];
        machine_update(words);
        if (actions != NULL)
            actions[i] = (ssq_scale_action)words[SCALER_ACTION];
    }
    words_state(words, s);
}

/* Return whether this is SSQ_SCALER_STATE_INIT. No machine has a scale of 0 and
 * no allowance before its first update, so the caller has no state. */
static bool untouched(const ssq_scaler_state *s)
{
    return s->scale == 0.0 && s->good == 0 && s->hyst == 0 && s->grown == 0 &&
           s->since == 0 && s->ovf == 0 && s->updates == 0 && s->skipped == 0 &&
           s->consecutive == 0 && s->last_skip == 0 && s->growths == 0 &&
           s->backoffs == 0 && s->events == 0 && s->action == SSQ_SCALE_NONE;
}

/* Check the arguments, and set *s to where the run begins: *state, or the
 * options' initial state. */
static ssq_status simulate_begin(ssq_scaler_options *o,
                                 const ssq_scaler_state *state,
                                 ssq_scaler_state *s)
{
    ssq_status st = options_check(o, false, "scaler_simulate");
    if (st != SSQ_OK)
        return st;
    if (state != NULL && state->struct_size != sizeof(*state))
        return error_set(SSQ_ERR_INVALID,
                         "scaler_simulate: struct_size of state is %zu, "
                         "expected %zu",
                         state->struct_size, sizeof(*state));
    if (state == NULL || untouched(state)) {
        state_begin(o, s);
        return SSQ_OK;
    }
    *s = *state;
    return state_check(o, false, s, "scaler_simulate");
}

ssq_status ssq_scaler_simulate(const ssq_scaler_options *options,
                               ssq_scaler_state *state, size_t n,
                               const uint8_t *overflow, double *scales,
                               ssq_scale_action *actions)
{
    if (options == NULL || (overflow == NULL && n > 0))
        return error_set(SSQ_ERR_INVALID, "scaler_simulate: %s is NULL",
                         options == NULL ? "options" : "overflow");
    ssq_scaler_options o = *options;
    ssq_scaler_state s;
    ssq_status st = simulate_begin(&o, state, &s);
    if (st != SSQ_OK)
        return st;
    struct fpenv env = fpenv_enter();
    if (o.binary64)
        run_wide(&o, &s, n, overflow, scales, actions);
    else
        run_f32(&o, &s, n, overflow, scales, actions);
    fpenv_leave(env);
    if (state != NULL)
        *state = s;
    return SSQ_OK;
}

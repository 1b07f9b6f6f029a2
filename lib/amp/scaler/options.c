/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - check a scaler's options and state, and convert them to words. */
#include "lib/amp/scaler/options.h"

#include "kernels/amp/machine.h"
#include "lib/core/base/fpenv.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Kernels cannot include public headers. They have these values as macros, and
 * options_words() copies the enums as numbers. */
_Static_assert(FLOOR_CLAMP == SSQ_FLOOR_CLAMP &&
                   FLOOR_ERROR_AT_MIN == SSQ_FLOOR_ERROR_AT_MIN &&
                   FLOOR_ERROR_RESTORE == SSQ_FLOOR_ERROR_RESTORE &&
                   FLOOR_APPLY == SSQ_FLOOR_APPLY &&
                   FLOOR_ERROR_SNAP == SSQ_FLOOR_ERROR_SNAP,
               "floors");
_Static_assert(CEILING_FINITE == SSQ_CEILING_FINITE &&
                   CEILING_CLAMP == SSQ_CEILING_CLAMP &&
                   CEILING_STOP == SSQ_CEILING_STOP,
               "ceilings");
_Static_assert(REFILL_CLEAN == SSQ_REFILL_CLEAN &&
                   REFILL_BACKOFF == SSQ_REFILL_BACKOFF &&
                   REFILL_GROWTH == SSQ_REFILL_GROWTH,
               "refills");
_Static_assert(ACTION_CLEAN == SSQ_SCALE_CLEAN &&
                   ACTION_GROWTH == SSQ_SCALE_GROWTH &&
                   ACTION_CAPPED == SSQ_SCALE_CAPPED &&
                   ACTION_HOLD == SSQ_SCALE_HOLD &&
                   ACTION_BACKOFF == SSQ_SCALE_BACKOFF &&
                   ACTION_FLOOR == SSQ_SCALE_FLOOR &&
                   ACTION_POISON == SSQ_SCALE_POISON,
               "actions");
_Static_assert(EVENT_FLOOR == SSQ_SCALE_EVENT_FLOOR &&
                   EVENT_SKIPS == SSQ_SCALE_EVENT_SKIPS,
               "events");

/* Return whether value is above 0 and finite, also as a float32. */
static bool positive_f32(double value)
{
    return value > 0.0 && isfinite(value) && (float)value > 0.0f &&
           isfinite((float)value);
}

/* Return whether value is a float32. */
static bool is_f32(double value)
{
    return (double)(float)value == value;
}

/* For a value > 0. Exact: frexp's fraction is in [1/2, 1). */
static bool options_power_of_two(double value)
{
    int exponent;
    return frexp(value, &exponent) == 0.5;
}

static ssq_status bad_number(const char *what, const char *name, double value,
                             const char *expected)
{
    return error_set(SSQ_ERR_INVALID, "%s: %s is %.17g, expected %s", what,
                     name, value, expected);
}

static ssq_status bad_count(const char *what, const char *name, uint32_t value,
                            const char *expected)
{
    return error_set(SSQ_ERR_INVALID, "%s: %s is %u, expected %s", what, name,
                     (unsigned)value, expected);
}

/* Check that counts fit into the machine's 32 bits. Interval and lag are added,
 * and the allowance is a signed number that may become negative. */
static ssq_status check_counts(const ssq_scaler_options *o, const char *what)
{
    if (o->growth_interval == 0)
        return bad_count(what, "growth_interval", 0, "at least 1");
    if (o->first_lag > UINT32_MAX - o->growth_interval)
        return bad_count(what, "first_lag", o->first_lag,
                         "less than 2^32 with growth_interval");
    if (o->repeat_lag > UINT32_MAX - o->growth_interval)
        return bad_count(what, "repeat_lag", o->repeat_lag,
                         "less than 2^32 with growth_interval");
    if (o->hysteresis == 0 || o->hysteresis > INT32_MAX)
        return bad_count(what, "hysteresis", o->hysteresis, "1 to 2147483647");
    if (o->refill > 7)
        return bad_count(what, "refill", o->refill, "OR-ed SSQ_REFILL_*");
    return SSQ_OK;
}

/* The comparisons refuse NaN. */
static ssq_status options_check_factors(const ssq_scaler_options *o,
                                        const char *what)
{
    if (!(o->init_scale > 0.0) || !isfinite(o->init_scale) ||
        (!o->binary64 && !positive_f32(o->init_scale)))
        return bad_number(what, "init_scale", o->init_scale,
                          "a positive finite float32");
    if (!(o->growth_factor >= 1.0) || !isfinite(o->growth_factor))
        return bad_number(what, "growth_factor", o->growth_factor,
                          "at least 1 and finite");
    if (!(o->backoff_factor > 0.0 && o->backoff_factor <= 1.0))
        return bad_number(what, "backoff_factor", o->backoff_factor,
                          "in (0, 1]");
    if (!(o->tolerance >= 0.0 && o->tolerance <= 1.0))
        return bad_number(what, "tolerance", o->tolerance, "in [0, 1]");
    return SSQ_OK;
}

/* Return the initial value of a scale. init_scale is rounded to float32, and a
 * limit that was equal to it before must be equal afterwards. */
static double as_begun(const ssq_scaler_options *o, double scale)
{
    return o->binary64 ? scale : (float)scale;
}

/* Check floor and cap with their scales. The initial scale must be between the
 * two to which the machine clamps. STOP may be below, because it only ends
 * growth, and may be infinite. A scale that no rule uses is not checked. */
static ssq_status check_limits(const ssq_scaler_options *o, const char *what)
{
    if ((unsigned)o->floor > SSQ_FLOOR_ERROR_SNAP)
        return bad_count(what, "floor", (uint32_t)o->floor, "an SSQ_FLOOR_*");
    if ((unsigned)o->cap > SSQ_CEILING_STOP)
        return bad_count(what, "cap", (uint32_t)o->cap, "an SSQ_CEILING_*");
    if (o->floor != SSQ_FLOOR_NONE && !positive_f32(o->min_scale))
        return bad_number(what, "min_scale", o->min_scale,
                          "a positive finite float32");
    if (o->floor != SSQ_FLOOR_NONE &&
        as_begun(o, o->min_scale) > as_begun(o, o->init_scale))
        return bad_number(what, "min_scale", o->min_scale,
                          "at most init_scale");
    if (o->floor == SSQ_FLOOR_ERROR_SNAP && o->min_scale != 1.0)
        return bad_number(what, "min_scale", o->min_scale,
                          "1 with SSQ_FLOOR_ERROR_SNAP");
    if (o->cap >= SSQ_CEILING_CLAMP && !(o->max_scale > 0.0))
        return bad_number(what, "max_scale", o->max_scale, "more than 0");
    if (o->cap == SSQ_CEILING_CLAMP &&
        (as_begun(o, o->max_scale) < as_begun(o, o->init_scale) ||
         !isfinite(as_begun(o, o->max_scale))))
        return bad_number(what, "max_scale", o->max_scale,
                          "at least init_scale and finite");
    return SSQ_OK;
}

/* Check the conditions under which float32 words follow a binary64 machine bit
 * for bit. Factors must be powers of two, by which float32 and double are
 * multiplied without rounding. A scale that becomes the value must be a
 * float32. A limit that is only compared with the scale may be any double: see
 * bits_down(). */
static ssq_status check_followed(const ssq_scaler_options *o, const char *what)
{
    const char *factor = "a power of two, for a binary64 machine on a device";
    const char *value = "a float32, for a binary64 machine on a device";
    if (!options_power_of_two(o->growth_factor))
        return bad_number(what, "growth_factor", o->growth_factor, factor);
    if (!options_power_of_two(o->backoff_factor))
        return bad_number(what, "backoff_factor", o->backoff_factor, factor);
    if (!positive_f32(o->init_scale) || !is_f32(o->init_scale))
        return bad_number(what, "init_scale", o->init_scale, value);
    if ((o->floor == SSQ_FLOOR_CLAMP || o->floor == SSQ_FLOOR_ERROR_AT_MIN) &&
        !is_f32(o->min_scale))
        return bad_number(what, "min_scale", o->min_scale, value);
    if (o->cap == SSQ_CEILING_CLAMP && !is_f32(o->max_scale))
        return bad_number(what, "max_scale", o->max_scale, value);
    return SSQ_OK;
}

/* init_scale is rounded last: error texts have the caller's value. */
ssq_status options_check(ssq_scaler_options *o, bool on_device,
                         const char *what)
{
    if (o->struct_size != sizeof(*o))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size of options is %zu, expected %zu",
                         what, o->struct_size, sizeof(*o));
    struct fpenv env = fpenv_enter();
    ssq_status st = check_counts(o, what);
    if (st == SSQ_OK)
        st = options_check_factors(o, what);
    if (st == SSQ_OK)
        st = check_limits(o, what);
    if (st == SSQ_OK && on_device && o->binary64)
        st = check_followed(o, what);
    if (st == SSQ_OK && !o->binary64)
        o->init_scale = (float)o->init_scale;
    FPENV_KEEP(st);
    fpenv_leave(env);
    return st;
}

/* Store a double in two words, for devices without 64 bits. */
static void put_double(uint32_t *high, uint32_t *low, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    *high = (uint32_t)(bits >> 32);
    *low = (uint32_t)bits;
}

/* Store tolerance as wide_below() needs it. If it is m * 2^(exponent - 53) with
 * a 53-bit m, this is the midpoint below, (2 m - 1) * 2^(exponent - 54). 0 is
 * three zero words. */
static void put_tolerance(uint32_t words[SCALER_WORDS], double tolerance)
{
    if (tolerance == 0.0)
        return;
    int exponent;
    double fraction = frexp(tolerance, &exponent); /* in [1/2, 1) */
    uint64_t m = 2 * (uint64_t)ldexp(fraction, 53) - 1;
    words[SCALER_TOLERANCE_HI] = (uint32_t)(m >> 32);
    words[SCALER_TOLERANCE_LO] = (uint32_t)m;
    words[SCALER_TOLERANCE_SHIFT] = (uint32_t)(54 - exponent);
}

/* Return the bits of the float32 with which a scale is compared: scale <=
 * down(value) and scale >= up(value) have the same result as with value itself.
 * The cast rounds to nearest, so it is at most one float off. The bits of
 * floats
 * >= +0 have the order of the floats, and one less is the float before. */
static uint32_t bits_down(double value)
{
    float f = (float)value;
    return AS_U32(f) - ((double)f > value);
}

static uint32_t bits_up(double value)
{
    float f = (float)value;
    return AS_U32(f) + ((double)f < value);
}

void options_words(const ssq_scaler_options *o, uint32_t words[SCALER_WORDS])
{
    struct fpenv env = fpenv_enter();
    memset(words, 0, SCALER_WORDS * sizeof(words[0]));
    put_double(&words[SCALER_UP_HI], &words[SCALER_UP_LO], o->growth_factor);
    put_double(&words[SCALER_DOWN_HI], &words[SCALER_DOWN_LO],
               o->backoff_factor);
    words[SCALER_INTERVAL] = o->growth_interval;
    words[SCALER_FIRST_LAG] = o->first_lag;
    words[SCALER_REPEAT_LAG] = o->repeat_lag;
    words[SCALER_FLOOR] = (uint32_t)o->floor;
    /* the scale is only compared with min_scale, or is set to it */
    if (o->floor == SSQ_FLOOR_ERROR_RESTORE || o->floor == SSQ_FLOOR_APPLY)
        words[SCALER_MIN] = bits_down(o->min_scale);
    else if (o->floor != SSQ_FLOOR_NONE)
        words[SCALER_MIN] = AS_U32((float)o->min_scale);
    words[SCALER_CEILING] = (uint32_t)o->cap;
    if (o->cap == SSQ_CEILING_STOP)
        words[SCALER_MAX] = bits_up(o->max_scale);
    else if (o->cap == SSQ_CEILING_CLAMP)
        words[SCALER_MAX] = AS_U32((float)o->max_scale);
    words[SCALER_HYSTERESIS] = o->hysteresis;
    words[SCALER_REFILL] = o->refill;
    put_tolerance(words, o->tolerance);
    words[SCALER_RESET_ON_INF] = o->reset_on_inf;
    words[SCALER_MATCH_EQUAL] = o->match_equal;
    words[SCALER_MAX_SKIPS] = o->max_consecutive_skips;
    words[SCALER_MAGIC] = SCALER_MAGIC_VALUE;
    fpenv_leave(env);
}

void state_begin(const ssq_scaler_options *options, ssq_scaler_state *state)
{
    *state = (ssq_scaler_state)SSQ_SCALER_STATE_INIT;
    state->scale = options->init_scale;
    state->hyst = (int32_t)options->hysteresis;
}

/* Counts that no run reaches: such a machine never changes the scale. */
#define NEVER_GROWS     UINT32_MAX
#define NEVER_BACKS_OFF ((uint32_t)INT32_MAX)

/* Return whether backoffs can make the scale 0. A product is monotonic in the
 * scale, so only the smallest scale that may still fall matters. Without a
 * floor this is the smallest subnormal, otherwise the first scale above the
 * floor's limit. The other floors never go below min_scale, which is not 0.
 * wide: the scale is a double. */
static bool reaches_zero(const ssq_scaler_options *o, bool wide)
{
    uint32_t words[SCALER_WORDS], least = 1;
    double least_wide = DBL_TRUE_MIN;
    if (o->hysteresis == NEVER_BACKS_OFF)
        return false;
    options_words(o, words);
    switch (o->floor) {
    case SSQ_FLOOR_NONE:
        break;
    case SSQ_FLOOR_APPLY: /* from min_scale on it stays */
        least = words[SCALER_MIN] + 1;
        least_wide = nextafter(o->min_scale, (double)INFINITY);
        break;
    case SSQ_FLOOR_ERROR_SNAP: /* from 1.5 on it becomes 1 */
        least = REAL_1_5 + 1;
        least_wide = nextafter(1.5, 2.0);
        break;
    default:
        return false;
    }
    if (wide)
        return least_wide * o->backoff_factor == 0.0;
    return wide_times(least, words[SCALER_DOWN_HI], words[SCALER_DOWN_LO]) == 0;
}

/* Return whether growth can make the scale infinite. Only the largest scale
 * that may still grow matters: the largest finite one, or the last below STOP.
 */
static bool reaches_infinity(const ssq_scaler_options *o, bool wide)
{
    uint32_t words[SCALER_WORDS], most = F32_INF - 1;
    double most_wide = DBL_MAX;
    options_words(o, words);
    if (o->cap == SSQ_CEILING_FINITE || o->cap == SSQ_CEILING_CLAMP ||
        o->growth_interval == NEVER_GROWS)
        return false;
    if (o->cap == SSQ_CEILING_STOP && o->max_scale <= DBL_MAX)
        most_wide = nextafter(o->max_scale, 0.0);
    if (o->cap == SSQ_CEILING_STOP && words[SCALER_MAX] - 1 < most)
        most = words[SCALER_MAX] - 1;
    if (wide)
        return isinf(most_wide * o->growth_factor);
    return wide_times(most, words[SCALER_UP_HI], words[SCALER_UP_LO]) ==
           F32_INF;
}

/* Check the scale of a state: positive and finite. 0 and infinity are allowed
 * if these options lead there by themselves, for example without a floor and a
 * cap, because such a run is saved and restored like any other. */
static ssq_status options_check_scale(const ssq_scaler_options *options,
                                      bool on_device, double scale,
                                      const char *what)
{
    bool wide = !on_device && options->binary64;
    struct fpenv env = fpenv_enter();
    FPENV_KEEP(scale);
    bool ok = scale > 0.0 && isfinite(scale) &&
              (wide || (positive_f32(scale) && is_f32(scale)));
    const char *expected = "a positive finite float32";
    if ((scale == 0.0 && !signbit(scale)) || (isinf(scale) && scale > 0.0)) {
        ok = isinf(scale) ? reaches_infinity(options, wide)
                          : reaches_zero(options, wide);
        expected = "a scale that a machine with these options reaches";
    }
    FPENV_KEEP(ok);
    fpenv_leave(env);
    return ok ? SSQ_OK : bad_number(what, "scale", scale, expected);
}

static ssq_status bad_pair(const char *what, const char *name, uint32_t value,
                           const char *other, uint32_t limit)
{
    return error_set(SSQ_ERR_INVALID, "%s: %s is %u, %s is %u", what, name,
                     (unsigned)value, other, (unsigned)limit);
}

/* Return whether the last step was skipped for labels out of range. This
 * changes no count of overflows. */
static bool held_by_labels(const ssq_scaler_state *s)
{
    return s->action == SSQ_SCALE_HOLD && s->consecutive == 0 &&
           s->skipped > 0 && s->last_skip == s->updates;
}

/* Check counters that depend on each other: refuse what is impossible for any
 * options and overflows. */
static ssq_status options_check_counters(const ssq_scaler_state *s,
                                         const char *what)
{
    if (s->since > s->updates)
        return bad_pair(what, "since", s->since, "updates", s->updates);
    if (s->skipped > s->updates)
        return bad_pair(what, "skipped", s->skipped, "updates", s->updates);
    if (s->consecutive > s->skipped)
        return bad_pair(what, "consecutive", s->consecutive, "skipped",
                        s->skipped);
    if (s->last_skip > s->updates || s->last_skip < s->skipped ||
        (s->last_skip > 0 && s->skipped == 0))
        return error_set(SSQ_ERR_INVALID,
                         "%s: last_skip is %u, updates is %u, skipped is %u",
                         what, (unsigned)s->last_skip, (unsigned)s->updates,
                         (unsigned)s->skipped);
    if ((s->consecutive > 0) !=
            (s->skipped > 0 && s->last_skip == s->updates) &&
        !held_by_labels(s))
        return error_set(SSQ_ERR_INVALID,
                         "%s: consecutive is %u, last_skip is %u, updates is "
                         "%u",
                         what, (unsigned)s->consecutive, (unsigned)s->last_skip,
                         (unsigned)s->updates);
    if (s->ovf > s->skipped)
        return bad_pair(what, "ovf", s->ovf, "skipped", s->skipped);
    if (s->backoffs > s->skipped)
        return bad_pair(what, "backoffs", s->backoffs, "skipped", s->skipped);
    if (s->growths > s->updates - s->skipped)
        return bad_pair(what, "growths", s->growths, "updates - skipped",
                        s->updates - s->skipped);
    if (s->grown > s->growths)
        return bad_pair(what, "grown", s->grown, "growths", s->growths);
    return SSQ_OK;
}

/* Check that the last action agrees with the counters about a skip. */
static ssq_status check_action(const ssq_scaler_state *s, const char *what)
{
    if ((unsigned)s->action > SSQ_SCALE_POISON)
        return bad_count(what, "action", (uint32_t)s->action,
                         "an ssq_scale_action");
    bool skipped = s->action == SSQ_SCALE_HOLD ||
                   s->action == SSQ_SCALE_BACKOFF ||
                   s->action == SSQ_SCALE_FLOOR;
    if (skipped != (s->consecutive > 0) && !held_by_labels(s))
        return bad_pair(what, "action", (uint32_t)s->action, "consecutive",
                        s->consecutive);
    if ((s->action == SSQ_SCALE_NONE) != (s->updates == 0))
        return bad_pair(what, "action", (uint32_t)s->action, "updates",
                        s->updates);
    return SSQ_OK;
}

ssq_status state_check(const ssq_scaler_options *options, bool on_device,
                       const ssq_scaler_state *s, const char *what)
{
    ssq_status st = options_check_scale(options, on_device, s->scale, what);
    if (st != SSQ_OK)
        return st;
    /* SSQ_SCALER_STATE_INIT: some machines reach a scale of 0, but none before
     * its first update, and none while an overflow is still allowed. */
    if (s->scale == 0.0 && s->hyst == 0 && s->updates == 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: scale, hyst and updates are 0: a state that was "
                         "not filled in",
                         what);
    if (s->hyst > (int32_t)options->hysteresis)
        return error_set(SSQ_ERR_INVALID, "%s: hyst is %d, hysteresis is %u",
                         what, (int)s->hyst, (unsigned)options->hysteresis);
    if (s->hyst < 0 - (int64_t)s->skipped)
        return error_set(SSQ_ERR_INVALID, "%s: hyst is %d, skipped is %u", what,
                         (int)s->hyst, (unsigned)s->skipped);
    if (s->grown > 1)
        return bad_count(what, "grown", s->grown, "0 or 1");
    if (s->events > (SSQ_SCALE_EVENT_FLOOR | SSQ_SCALE_EVENT_SKIPS))
        return bad_count(what, "events", s->events, "OR-ed SSQ_SCALE_EVENT_*");
    st = options_check_counters(s, what);
    return st == SSQ_OK ? check_action(s, what) : st;
}

void state_words(const ssq_scaler_options *options, const ssq_scaler_state *s,
                 uint32_t words[SCALER_WORDS])
{
    struct fpenv env = fpenv_enter();
    /* the overflow flag belongs to a step, and is not in a saved state */
    uint32_t scale = AS_U32((float)s->scale);
    words[SCALER_SCALE] = scale;
    words[SCALER_INVERSE] = wide_inverse(scale);
    words[SCALER_VERDICT] = 0;
    words[SCALER_GOOD] = s->good;
    words[SCALER_HYST] = (uint32_t)s->hyst;
    words[SCALER_GROWN] = s->grown;
    words[SCALER_SINCE] = s->since;
    words[SCALER_OVF] = s->ovf;
    words[SCALER_UPDATES] = s->updates;
    words[SCALER_SKIPPED] = s->skipped;
    words[SCALER_CONSECUTIVE] = s->consecutive;
    words[SCALER_LAST_SKIP] = s->last_skip;
    words[SCALER_GROWTHS] = s->growths;
    words[SCALER_BACKOFFS] = s->backoffs;
    words[SCALER_EVENTS] = s->events;
    words[SCALER_ACTION] = (uint32_t)s->action;
    /* the value that the update before would have left */
    words[SCALER_POISON] = options->floor == SSQ_FLOOR_APPLY &&
                           scale <= bits_down(options->min_scale);
    fpenv_leave(env);
}

void words_state(const uint32_t words[SCALER_WORDS], ssq_scaler_state *s)
{
    /* widening a subnormal is arithmetic, which DAZ would make 0 */
    struct fpenv env = fpenv_enter();
    s->scale = AS_F32(words[SCALER_SCALE]);
    fpenv_leave(env);
    s->good = words[SCALER_GOOD];
    memcpy(&s->hyst, &words[SCALER_HYST], sizeof(s->hyst));
    s->grown = words[SCALER_GROWN];
    s->since = words[SCALER_SINCE];
    s->ovf = words[SCALER_OVF];
    s->updates = words[SCALER_UPDATES];
    s->skipped = words[SCALER_SKIPPED];
    s->consecutive = words[SCALER_CONSECUTIVE];
    s->last_skip = words[SCALER_LAST_SKIP];
    s->growths = words[SCALER_GROWTHS];
    s->backoffs = words[SCALER_BACKOFFS];
    s->events = words[SCALER_EVENTS];
    s->action = (ssq_scale_action)words[SCALER_ACTION];
}

ssq_status state_events(const ssq_scaler_state *s, const char *what)
{
    if ((s->events & SSQ_SCALE_EVENT_FLOOR) != 0)
        return error_set(SSQ_ERR_SCALE,
                         "%s: overflow with the loss scale at its floor: it is "
                         "%g after update %u, %u of them skipped",
                         what, s->scale, (unsigned)s->updates,
                         (unsigned)s->skipped);
    if (s->events != 0)
        return error_set(SSQ_ERR_SCALE,
                         "%s: too many steps in a row were skipped: %u now, "
                         "the last was update %u",
                         what, (unsigned)s->consecutive,
                         (unsigned)s->last_skip);
    return SSQ_OK;
}

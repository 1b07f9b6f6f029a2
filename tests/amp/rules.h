/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - every loss scaler's own update, written from its own source.
 *
 * Nothing here knows our machine: each function is the few lines of its system
 * with its system's variables, in the arithmetic of its system. */
#ifndef TESTS_AMP_RULES_H
#define TESTS_AMP_RULES_H

#include <sesqui/amp/scaler.h>

/** The variables of all systems; each uses its own. */
struct system {
    ssq_scaler_options o;
    float scale;             /* of systems that keep a float32 */
    double wide;             /* of the ones that keep a double */
    int64_t counter;         /* clean steps */
    int64_t hysteresis, bad; /* overflows left; overflows in a row */
    /* numbers of steps, -1: never; overflows as the system counts them */
    int64_t iter, last_overflow, last_rescale, overflows;
};

/** A system's rule, and what may be compared with our machine's state. */
struct rule {
    const char *preset;
    bool binary64;      /* the scale is .wide */
    bool counter;       /* .counter is the machine's good */
    bool hysteresis;    /* .hysteresis is the machine's hyst */
    bool any_factor;    /* follows factors that are not powers of two */
    bool double_factor; /* ... and multiplies by them in double */
    bool any_allowance; /* follows every allowance with short intervals */
    bool tolerance;     /* has a share of overflows */
    /** One update; inf: the step had a gradient that is not finite.
     *  SSQ_SCALE_FLOOR: the system gave up. */
    ssq_scale_action (*step)(struct system *s, bool inf);
};

extern const struct rule rules[];
extern const size_t rules_count;

/** As the system's constructor leaves it. */
static inline struct system system_begin(const ssq_scaler_options *o)
{
    struct system s = {
        *o, (float)o->init_scale, o->init_scale, 0, o->hysteresis, 0, 0, -1, -1,
        0};
    return s;
}

#endif

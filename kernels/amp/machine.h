/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the loss scale's state machine: one text for every processor.
 *
 * machine_next() is one update of a struct machine, which has the words of a
 * scaler block:
 *
 *     STRUCT(machine) m;
 *     MACHINE_LOAD(m, WORD)
 *     m = machine_next(m, set, value);
 *     MACHINE_STORE(m, WORD)
 *
 * WORD(i) is word i of the block, as a u32 that can be assigned. Scales are of
 * the type REAL. It is the bits of a float32, unless the including file says
 * otherwise: bits of floats >= +0 order as the floats do, and no device can
 * flush them. The dry run of systems that compute in binary64 defines REAL and
 * its operations as double.
 *
 * The rules, with every system's own, are in doc/design/scaler.md. */
#ifndef KERNELS_AMP_MACHINE_H
#define KERNELS_AMP_MACHINE_H

#include "kernels/amp/amp.h"
#include "kernels/amp/wide.h"

#ifndef REAL
#define REAL         u32
#define REAL_FACTORS /* growth and backoff factors are words */
#define REAL_UP(M, X)                                                          \
    wide_times(X, M.word[SCALER_UP_HI], M.word[SCALER_UP_LO])
#define REAL_DOWN(M, X)                                                        \
    wide_times(X, M.word[SCALER_DOWN_HI], M.word[SCALER_DOWN_LO])
/* overflows / updates since the last rescale < tolerance */
#define REAL_TOLERATED(M)                                                      \
    wide_below(M.word[SCALER_OVF], M.word[SCALER_SINCE],                       \
               M.word[SCALER_TOLERANCE_HI], M.word[SCALER_TOLERANCE_LO],       \
               M.word[SCALER_TOLERANCE_SHIFT])
#define REAL_FINITE(X) ((X) < F32_INF)
#define REAL_ONE       0x3f800000u
#define REAL_1_5       0x3fc00000u
#define REAL_1_00001   0x3f800054u /* the least x with x - 1.0f >= 1e-5 */
#endif

/* The words of a scaler block, and its scales as numbers. */
struct machine {
    u32 word[SCALER_WORDS];
    REAL scale;
    REAL least;
    REAL largest;
    REAL_FACTORS
};

#define MACHINE_LOAD(M, WORD)                                                  \
    UNROLL for (u32 m_i = 0u; m_i < SCALER_WORDS; m_i++)                       \
        M.word[m_i] = WORD(m_i);                                               \
    M.scale = M.word[SCALER_SCALE];                                            \
    M.least = M.word[SCALER_MIN];                                              \
    M.largest = M.word[SCALER_MAX];
#define MACHINE_STORE(M, WORD)                                                 \
    UNROLL for (u32 m_i = 0u; m_i < SCALER_STATE_WORDS; m_i++)                 \
        WORD(m_i) = M.word[m_i];                                               \
    WORD(SCALER_POISON) = M.word[SCALER_POISON];                               \
    WORD(SCALER_SCALE) = M.scale;                                              \
    WORD(SCALER_INVERSE) = wide_inverse(M.scale);

/* Reset the allowance of overflows. */
FN STRUCT(machine) machine_refill(STRUCT(machine) m, u32 when)
{
    if ((m.word[SCALER_REFILL] & when) != 0u)
        m.word[SCALER_HYST] = m.word[SCALER_HYSTERESIS];
    return m;
}

/* A step that was skipped. */
FN STRUCT(machine) machine_overflow(STRUCT(machine) m)
{
    u32 at_floor = m.word[SCALER_FLOOR];
    REAL scale = REAL_DOWN(m, m.scale);

    if (m.word[SCALER_RESET_ON_INF] != 0u) {
        m.word[SCALER_GOOD] = 0u;
        m.word[SCALER_GROWN] = 0u;
    }
    m.word[SCALER_HYST] -= 1u;
    m.word[SCALER_OVF] += 1u;
    if (at_floor == FLOOR_ERROR_SNAP && m.scale <= REAL_1_5)
        scale = REAL_ONE;
    if ((at_floor == FLOOR_CLAMP || at_floor == FLOOR_ERROR_AT_MIN) &&
        scale < m.least)
        scale = m.least;
    /* the allowance is a signed number: it may fall below 0 */
    if (m.word[SCALER_HYST] - 1u < 0x7fffffffu || REAL_TOLERATED(m)) {
        m.word[SCALER_ACTION] = ACTION_HOLD;
    } else if ((at_floor == FLOOR_ERROR_AT_MIN && m.scale <= m.least) ||
               (at_floor == FLOOR_ERROR_RESTORE && scale <= m.least) ||
               (at_floor == FLOOR_ERROR_SNAP && m.scale < REAL_1_00001)) {
        m.word[SCALER_ACTION] = ACTION_FLOOR;
        m.word[SCALER_EVENTS] |= EVENT_FLOOR;
    } else {
        m.word[SCALER_ACTION] = ACTION_BACKOFF;
        m.scale = scale;
        m.word[SCALER_SINCE] = 0u;
        m.word[SCALER_OVF] = 0u;
        m.word[SCALER_BACKOFFS] += 1u;
        m = machine_refill(m, REFILL_BACKOFF);
    }
    return m;
}

/* The streak is long enough. */
FN STRUCT(machine) machine_grow(STRUCT(machine) m)
{
    u32 ceiling = m.word[SCALER_CEILING];
    REAL scale = REAL_UP(m, m.scale);

    if (ceiling == CEILING_STOP && m.scale >= m.largest) {
        m.word[SCALER_ACTION] = ACTION_CAPPED;
    } else {
        if (ceiling == CEILING_FINITE && !REAL_FINITE(scale))
            scale = m.scale;
        if (ceiling == CEILING_CLAMP && scale > m.largest)
            scale = m.largest;
        m.word[SCALER_ACTION] = ACTION_GROWTH;
        m.scale = scale;
        m.word[SCALER_GOOD] = 0u;
        m.word[SCALER_GROWN] = 1u;
        m.word[SCALER_SINCE] = 0u; /* not OVF: fairseq forgets it */
        m.word[SCALER_GROWTHS] += 1u;
        m = machine_refill(m, REFILL_GROWTH);
    }
    return m;
}

/* A step that was applied. */
FN STRUCT(machine) machine_clean(STRUCT(machine) m)
{
    u32 lag = m.word[SCALER_GROWN] != 0u ? m.word[SCALER_REPEAT_LAG]
                                         : m.word[SCALER_FIRST_LAG];
    u32 needed = m.word[SCALER_INTERVAL] + lag;

    m = machine_refill(m, REFILL_CLEAN);
    m.word[SCALER_GOOD] += 1u;
    m.word[SCALER_ACTION] = ACTION_CLEAN;
    if (m.word[SCALER_GOOD] == needed || (m.word[SCALER_GOOD] > needed &&
                                          m.word[SCALER_MATCH_EQUAL] == 0u))
        m = machine_grow(m);
    return m;
}

/* Counts that do not depend on the rules; also for a scale set by the caller.
 * Labels out of range do not end a streak of overflows. */
FN STRUCT(machine) machine_count(STRUCT(machine) m, bool skip, bool labels)
{
    m.word[SCALER_UPDATES] += 1u;
    if (skip || labels) {
        m.word[SCALER_SKIPPED] += 1u;
        m.word[SCALER_LAST_SKIP] = m.word[SCALER_UPDATES];
    }
    if (skip) {
        m.word[SCALER_CONSECUTIVE] += 1u;
        if (m.word[SCALER_MAX_SKIPS] != 0u &&
            m.word[SCALER_CONSECUTIVE] % m.word[SCALER_MAX_SKIPS] == 0u)
            m.word[SCALER_EVENTS] |= EVENT_SKIPS;
    } else if (!labels) {
        m.word[SCALER_CONSECUTIVE] = 0u;
    }
    return m;
}

/* One update; with set the scale becomes value and the rules rest. */
FN STRUCT(machine) machine_next(STRUCT(machine) m, bool set, REAL value)
{
    bool labels = m.word[SCALER_VERDICT] >= VERDICT_LABELS;
    bool bad = m.word[SCALER_VERDICT] != 0u && !labels;
    bool poison = bad && m.word[SCALER_POISON] != 0u;
    bool skip = bad && !poison; /* same rule as tick_begin(); this only moves
                                   the scale */

    m.word[SCALER_ACTION] = skip || labels ? ACTION_HOLD : ACTION_CLEAN;
    if (set) {
        m.scale = value;
    } else if (!labels) { /* labels say nothing of the scale */
        m.word[SCALER_SINCE] += 1u;
        if (skip)
            m = machine_overflow(m);
        else
            m = machine_clean(m);
    }
    m = machine_count(m, skip, labels);
    m.word[SCALER_VERDICT] = 0u;
    if (poison)
        m.word[SCALER_ACTION] = ACTION_POISON;
    m.word[SCALER_POISON] = m.word[SCALER_FLOOR] == FLOOR_APPLY &&
                                    m.scale <= m.least
                                ? 1u
                                : 0u;
    return m;
}

#endif

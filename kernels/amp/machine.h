/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the loss scale's state machine: one text for every processor.
 *
 * MACHINE_UPDATE is one update. WORD(i) is word i of a scaler block as a u32
 * that can be assigned: an element of a buffer in a kernel, of an array in C.
 * Scales are of the type REAL, which stands for float32 bits unless the
 * including file says otherwise: bits of floats >= +0 order as the floats do,
 * and no device can flush them. The dry run of systems that compute in binary64
 * defines REAL and its operations as double.
 *
 * The rules, with every system's own, are in doc/design/scaler.md. */
#ifndef KERNELS_AMP_MACHINE_H
#define KERNELS_AMP_MACHINE_H

#include "kernels/amp/amp.h"
#include "kernels/amp/wide.h"

#ifndef REAL
#define REAL            u32
#define REAL_GET(i)     WORD(i)
#define REAL_SET(i, x)  WORD(i) = x
#define REAL_FINITE(x)  ((x) < F32_INF)
#define REAL_INVERSE(x) wide_inverse(x)
#define REAL_UP(x)                                                             \
    wide_times(x, WORD(SCALER_UP_HI), WORD(SCALER_UP_LO))
#define REAL_DOWN(x)                                                           \
    wide_times(x, WORD(SCALER_DOWN_HI), WORD(SCALER_DOWN_LO))
/* overflows / updates since the last rescale < tolerance */
#define REAL_TOLERATED                                                         \
    wide_below(WORD(SCALER_OVF), WORD(SCALER_SINCE),                           \
               WORD(SCALER_TOLERANCE_HI), WORD(SCALER_TOLERANCE_LO),           \
               WORD(SCALER_TOLERANCE_SHIFT))
#define REAL_ONE     0x3f800000u
#define REAL_1_5     0x3fc00000u
#define REAL_1_00001 0x3f800054u /* the least x with x - 1.0f >= 1e-5 */
#endif

/* A step that was skipped. */
#define MACHINE_OVERFLOW                                                       \
    {                                                                          \
        if (WORD(SCALER_RESET_ON_INF) != 0u) {                                 \
            WORD(SCALER_GOOD) = 0u;                                            \
            WORD(SCALER_GROWN) = 0u;                                           \
        }                                                                      \
        WORD(SCALER_HYST) -= 1u;                                               \
        WORD(SCALER_OVF) += 1u;                                                \
        REAL m_new = REAL_DOWN(m_scale);                                       \
        if (m_floor == FLOOR_ERROR_SNAP && m_scale <= REAL_1_5)                \
            m_new = REAL_ONE;                                                  \
        if ((m_floor == FLOOR_CLAMP || m_floor == FLOOR_ERROR_AT_MIN) &&       \
            m_new < m_min)                                                     \
            m_new = m_min;                                                     \
        /* the allowance is a signed number: it may fall below 0 */            \
        if (WORD(SCALER_HYST) - 1u < 0x7fffffffu || REAL_TOLERATED) {          \
            m_action = ACTION_HOLD;                                            \
        } else if ((m_floor == FLOOR_ERROR_AT_MIN && m_scale <= m_min) ||      \
                   (m_floor == FLOOR_ERROR_RESTORE && m_new <= m_min) ||       \
                   (m_floor == FLOOR_ERROR_SNAP && m_scale < REAL_1_00001)) {  \
            m_action = ACTION_FLOOR;                                           \
            WORD(SCALER_EVENTS) |= EVENT_FLOOR;                                \
        } else {                                                               \
            m_action = ACTION_BACKOFF;                                         \
            m_scale = m_new;                                                   \
            WORD(SCALER_SINCE) = 0u;                                           \
            WORD(SCALER_OVF) = 0u;                                             \
            WORD(SCALER_BACKOFFS) += 1u;                                       \
            if ((WORD(SCALER_REFILL) & REFILL_BACKOFF) != 0u)                  \
                WORD(SCALER_HYST) = WORD(SCALER_HYSTERESIS);                   \
        }                                                                      \
    }

/* The streak is long enough. */
#define MACHINE_GROWTH                                                         \
    {                                                                          \
        u32 m_ceiling = WORD(SCALER_CEILING);                                  \
        if (m_ceiling == CEILING_STOP && m_scale >= REAL_GET(SCALER_MAX)) {    \
            m_action = ACTION_CAPPED;                                          \
        } else {                                                               \
            REAL m_new = REAL_UP(m_scale);                                     \
            if (m_ceiling == CEILING_FINITE && !REAL_FINITE(m_new))            \
                m_new = m_scale;                                               \
            if (m_ceiling == CEILING_CLAMP && m_new > REAL_GET(SCALER_MAX))    \
                m_new = REAL_GET(SCALER_MAX);                                  \
            m_action = ACTION_GROWTH;                                          \
            m_scale = m_new;                                                   \
            WORD(SCALER_GOOD) = 0u;                                            \
            WORD(SCALER_GROWN) = 1u;                                           \
            WORD(SCALER_SINCE) = 0u; /* not OVF: fairseq forgets it */         \
            WORD(SCALER_GROWTHS) += 1u;                                        \
            if ((WORD(SCALER_REFILL) & REFILL_GROWTH) != 0u)                   \
                WORD(SCALER_HYST) = WORD(SCALER_HYSTERESIS);                   \
        }                                                                      \
    }

/* A step that was applied. */
#define MACHINE_CLEAN                                                          \
    {                                                                          \
        u32 m_need = WORD(SCALER_INTERVAL) + (WORD(SCALER_GROWN) != 0u         \
                                                  ? WORD(SCALER_REPEAT_LAG)    \
                                                  : WORD(SCALER_FIRST_LAG));   \
        if ((WORD(SCALER_REFILL) & REFILL_CLEAN) != 0u)                        \
            WORD(SCALER_HYST) = WORD(SCALER_HYSTERESIS);                       \
        WORD(SCALER_GOOD) += 1u;                                               \
        m_action = ACTION_CLEAN;                                               \
        if (WORD(SCALER_GOOD) == m_need ||                                     \
            (WORD(SCALER_GOOD) > m_need && WORD(SCALER_MATCH_EQUAL) == 0u))    \
            MACHINE_GROWTH                                                     \
    }

/* Counts that do not depend on the rules; also for a scale set by the caller.
 * Labels out of range do not end a streak of overflows. */
#define MACHINE_COUNT                                                          \
    {                                                                          \
        WORD(SCALER_UPDATES) += 1u;                                            \
        if (m_skip || m_labels) {                                              \
            WORD(SCALER_SKIPPED) += 1u;                                        \
            WORD(SCALER_LAST_SKIP) = WORD(SCALER_UPDATES);                     \
        }                                                                      \
        if (m_skip) {                                                          \
            WORD(SCALER_CONSECUTIVE) += 1u;                                    \
            if (WORD(SCALER_MAX_SKIPS) != 0u &&                                \
                WORD(SCALER_CONSECUTIVE) % WORD(SCALER_MAX_SKIPS) == 0u)       \
                WORD(SCALER_EVENTS) |= EVENT_SKIPS;                            \
        } else if (!m_labels) {                                                \
            WORD(SCALER_CONSECUTIVE) = 0u;                                     \
        }                                                                      \
    }

/* One update; with set the scale becomes value and the rules rest. */
#define MACHINE_UPDATE(set, value)                                             \
    {                                                                          \
        REAL m_scale = REAL_GET(SCALER_SCALE);                                 \
        REAL m_min = REAL_GET(SCALER_MIN);                                     \
        u32 m_floor = WORD(SCALER_FLOOR);                                      \
        u32 m_action = ACTION_CLEAN;                                           \
        bool m_labels = WORD(SCALER_VERDICT) >= VERDICT_LABELS;                \
        bool m_bad = WORD(SCALER_VERDICT) != 0u && !m_labels;                  \
        bool m_poison = m_bad && WORD(SCALER_POISON) != 0u;                    \
        bool m_skip = m_bad && !m_poison;                                      \
        if (set) {                                                             \
            m_scale = value;                                                   \
            m_action = m_skip || m_labels ? ACTION_HOLD : ACTION_CLEAN;        \
        } else if (m_labels) {                                                 \
            m_action = ACTION_HOLD; /* they say nothing of the scale */        \
        } else {                                                               \
            WORD(SCALER_SINCE) += 1u;                                          \
            if (m_skip)                                                        \
                MACHINE_OVERFLOW                                               \
            else                                                               \
                MACHINE_CLEAN                                                  \
        }                                                                      \
        MACHINE_COUNT                                                          \
        WORD(SCALER_VERDICT) = 0u;                                             \
        WORD(SCALER_ACTION) = m_poison ? ACTION_POISON : m_action;             \
        WORD(SCALER_POISON) =                                                  \
            m_floor == FLOOR_APPLY && m_scale <= m_min ? 1u : 0u;              \
        REAL_SET(SCALER_SCALE, m_scale);                                       \
        REAL_SET(SCALER_INVERSE, REAL_INVERSE(m_scale));                       \
    }

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h - learning-rate schedules as device tables.
 *
 * A schedule is a float32 table computed on the host in double and read on the
 * device at min(t, n - 1), t the number of successful steps before this one:
 * a skipped step does not advance it. */
#ifndef SESQUI_AMP_SCHEDULE_H
#define SESQUI_AMP_SCHEDULE_H

#include <sesqui/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ssq_schedule_kind {
    SSQ_SCHEDULE_CONSTANT = 0,
    SSQ_SCHEDULE_STEP = 1,   /**< base * gamma^floor(t / step_size) */
    SSQ_SCHEDULE_COSINE = 2, /**< linear warm-up from warmup_start * base, then
                                  half a cosine down to min_value at
                                  total_steps (torch CosineAnnealingLR) */
    SSQ_SCHEDULE_ONE_CYCLE = 3,       /**< torch OneCycleLR, two phases */
    SSQ_SCHEDULE_ONE_CYCLE_FASTAI = 4, /**< fastai fit_one_cycle */
    SSQ_SCHEDULE_TABLE = 5            /**< the caller's own values */
} ssq_schedule_kind;

/** A schedule. Unused fields are ignored. */
typedef struct ssq_schedule {
    size_t struct_size;
    ssq_schedule_kind kind;
    double base;           /**< the value to schedule; max_lr of one-cycle */
    uint32_t total_steps;  /**< >= 1; length of the table */
    uint32_t step_size;    /**< STEP, >= 1 */
    double gamma;          /**< STEP */
    uint32_t warmup_steps; /**< COSINE */
    double warmup_start;   /**< COSINE: factor of base at t = 0 */
    double min_value;      /**< COSINE */
    double pct_start;      /**< ONE_CYCLE: share of rising steps: 0.3 (torch),
                                0.25 (fastai) */
    double div_factor;     /**< ONE_CYCLE: base / first value: 25 */
    double final_div_factor; /**< torch: first / last value 1e4; fastai:
                                  base / last value 1e5 */
    bool linear;           /**< ONE_CYCLE of torch: linear, not cosine */
    const double *table;   /**< TABLE: total_steps values, copied */
} ssq_schedule;
#define SSQ_SCHEDULE_INIT                                                      \
    {                                                                          \
        sizeof(ssq_schedule), SSQ_SCHEDULE_CONSTANT, 1e-3, 1, 1, 0.1, 0, 0.0,  \
            0.0, 0.3, 25.0, 1e4, false, NULL                                   \
    }

/** The value at step t, in double: what the table holds rounded to float32.
 *  @return SSQ_ERR_INVALID a field out of range, with its value. Pure. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_schedule_value(
    const ssq_schedule *schedule, uint32_t t, double *value);

#ifdef __cplusplus
}
#endif

#endif

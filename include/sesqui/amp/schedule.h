/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h - learning-rate schedules as device tables.
 *
 *     CHECK(ssq_trainer_schedule(trainer, SSQ_HYPER_LR,
 *             SSQ_SCHEDULE(.kind = SSQ_SCHEDULE_COSINE, .base = 1e-3,
 *                          .total_steps = 10000)));
 *
 * A schedule is a table of float32 values, which the host computes in double.
 * The device reads it at min(t, total_steps - 1); t is the number of successful
 * steps before this one. A skipped step does not advance it. After the end the
 * last value is used. total_steps is therefore the length of the training, for
 * STEP too.
 *
 * n is total_steps, w is warmup_steps, cos(a, b, p) = b + (a - b) / 2 *
 * (1 + cos(pi p)), lin(a, b, p) = (b - a) p + a:
 *
 *   CONSTANT  base
 *   STEP      base * gamma^floor(t / step_size)             torch StepLR
 *   COSINE    t < w: base * (warmup_start + (1 - warmup_start) t / w)
 *             else min_value + (base - min_value)
 *                              (1 + cos(pi (t - w) / (n - w))) / 2
 *                                    torch LinearLR, then CosineAnnealingLR
 *   ONE_CYCLE           e = pct_start n - 1
 *             t <= e: cos(base / div, base, t / e)
 *             else cos(base, base / div / final_div, (t - e) / (n - 1 - e))
 *             lin instead of cos if linear is set            torch OneCycleLR
 *             If e is 0, t / e counts as 1.
 *   ONE_CYCLE_FASTAI    p = t / n
 *             p < pct_start: cos(base / div, base, p / pct_start)
 *             else cos(base, base / final_div, (p - pct_start) /
 *                                              (1 - pct_start))
 *                                                    fastai's fit_one_cycle
 *   TABLE     table[t]
 *
 * One-cycle can also drive a momentum. For example, ONE_CYCLE with base 0.85,
 * div_factor 0.85 / 0.95 and final_div_factor 1 goes from 0.95 to 0.85 and
 * back. ONE_CYCLE_FASTAI needs final_div_factor 0.85 / 0.95 for this.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_AMP_SCHEDULE_H
#define SESQUI_AMP_SCHEDULE_H

#include <sesqui/args.h>
#include <sesqui/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ssq_schedule_kind {
    SSQ_SCHEDULE_CONSTANT = 0,
    SSQ_SCHEDULE_STEP = 1,   /**< base * gamma^floor(t / step_size) */
    SSQ_SCHEDULE_COSINE = 2, /**< linear warm-up from warmup_start * base, then
                                  half a cosine down to min_value. It would be
                                  reached at total_steps, one past the end */
    SSQ_SCHEDULE_ONE_CYCLE = 3,        /**< torch OneCycleLR, two phases */
    SSQ_SCHEDULE_ONE_CYCLE_FASTAI = 4, /**< fastai fit_one_cycle */
    SSQ_SCHEDULE_TABLE = 5             /**< values that the caller gives */
} ssq_schedule_kind;

/** A schedule. Fields that the kind does not use are ignored, for example base
 *  of TABLE. Numbers must be finite. */
typedef struct ssq_schedule {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_schedule));
    ssq_schedule_kind kind SSQ_DEFAULT(SSQ_SCHEDULE_CONSTANT);
    double base SSQ_DEFAULT(1e-3);       /**< the value to schedule, >= 0; of
                                  one-cycle the value after the first phase */
    uint32_t total_steps SSQ_DEFAULT(1); /**< >= 1; length of the table */
    uint32_t step_size SSQ_DEFAULT(1);   /**< STEP, >= 1 */
    double gamma SSQ_DEFAULT(0.1);       /**< STEP, >= 0 */
    uint32_t warmup_steps SSQ_DEFAULT(0); /**< COSINE, <= total_steps */
    double warmup_start
        SSQ_DEFAULT(0.0); /**< COSINE: factor of base at t = 0, >= 0 */
    double min_value SSQ_DEFAULT(0.0);   /**< COSINE, >= 0 */
    double pct_start SSQ_DEFAULT(0.3);   /**< one-cycle: share of the steps in
                                  the first phase, 0..1: 0.3 (torch), 0.25
                                  (fastai) */
    double div_factor
        SSQ_DEFAULT(25.0); /**< one-cycle: base / first value, > 0 */
    double final_div_factor
        SSQ_DEFAULT(1e4); /**< > 0. ONE_CYCLE: first / last value, torch's is
                                  1e4; ONE_CYCLE_FASTAI: base / value at
                                  total_steps, one past the end; fastai's is
                                  1e5 */
    bool linear
        SSQ_DEFAULT(false); /**< ONE_CYCLE: linear, not cosine */
    const double *table
        SSQ_DEFAULT(NULL); /**< TABLE: total_steps finite values.
                             ssq_optimizer_schedule refuses negative ones, and
                             copies the table; ssq_schedule_value takes any */
} ssq_schedule;
#define SSQ_SCHEDULE_DEFAULTS                                                  \
    sizeof(ssq_schedule), SSQ_SCHEDULE_CONSTANT, 1e-3, 1, 1, 0.1, 0, 0.0, 0.0, \
        0.3, 25.0, 1e4, false, NULL
#define SSQ_SCHEDULE_INIT                                                      \
    {                                                                          \
        SSQ_SCHEDULE_DEFAULTS                                                  \
    }
#define SSQ_SCHEDULE(...)                                                      \
    SSQ_ARGS(ssq_schedule, SSQ_SCHEDULE_DEFAULTS, __VA_ARGS__)

/** Compute the value at step t, in double. The table holds it rounded to
 *  float32.
 *  @param t      any; past the end the last value
 *  @param value  out; infinite or NaN if the formula overflows, for example
 *                with a gamma above 1. ssq_optimizer_schedule refuses that
 *  @return SSQ_ERR_INVALID  kind, or a field that the kind uses, is out of
 *                           range (the message has its value); TABLE without
 *                           a table
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_schedule_value(const ssq_schedule *schedule, uint32_t t, double *value);

#ifdef __cplusplus
}
#endif

#endif

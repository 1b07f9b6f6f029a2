/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy_args.h - what the kernels of cross-entropy have in common.
 *
 * Rows of n classes. Where the rows of every operand are evenly apart, N_row
 * says how far; else those are 0, rank is not, and the table has the rows'
 * sizes and then each operand's steps. */
#ifndef KERNELS_LOSS_CROSS_ENTROPY_ARGS_H
#define KERNELS_LOSS_CROSS_ENTROPY_ARGS_H

#include "kernels/operands/floats.h"
#include "kernels/dialect/group.h"
#include "kernels/scalar/exp_neg.h"

/* All steps are in elements. An absent operand has dtype 0, and may be bound to
 * another one's memory, which is not touched. prob: the target as
 * probabilities, in the place of an index. */
struct cross_entropy_args {
    u32 x_at;
    u32 target_at;
    u32 prob_at;
    u32 weight_at;
    u32 dloss_at;
    u32 divisor_at;
    u32 dx_at;
    u32 loss_at;
    u32 table_at;
    u32 rows;
    u32 n;
    u32 rank; /* of the table; 0: rows are evenly apart, by: */
    u32 x_row;
    u32 target_row;
    u32 prob_row;
    u32 dloss_row;
    u32 dx_row;
    u32 loss_row;
    u32 x_step; /* from class to class */
    u32 prob_step;
    u32 weight_step;
    u32 dx_step;
    u32 x_dtype;
    u32 target_dtype;
    u32 prob_dtype;
    u32 weight_dtype;
    u32 dloss_dtype;
    u32 divisor_dtype;
    u32 dx_dtype;
    u32 loss_dtype;
    u32 logits; /* else log-probabilities */
    u32 smoothed;     /* spread is not 0 */
    u32 may_ignore;   /* rows whose target is ignore_index do not count */
    u32 ignore_index;
    float keep;       /* of the target, 1 - the label smoothing */
    float spread;     /* the share of every class by smoothing */
    float count; /* divides, as divisor[0] does */
    float scale; /* of the loss */
};

/* The state of a row: its loss counts, is 0, or is NaN. */
#define ROW_COUNTS  0u
#define ROW_IGNORED 1u
#define ROW_WRONG   2u /* the target is not a class */

FN u32 row_verdict(u32 target, u32 n, bool ignored)
{
    if (ignored)
        return ROW_IGNORED;
    return target < n ? ROW_COUNTS : ROW_WRONG;
}

/* The share of one dimension in the offset of an operand's row, in the loop of
 * ROW_BEGIN; the table has the sizes first, so operands are counted from 1. */
#define ROW_STEP(OPERAND) AT(table, pc.rank *U32(OPERAND) + row_r - 1u) * row_j
/* Declares where row ROW of each operand begins, its target, and the verdict on
 * that. */
#define ROW_BEGIN(ROW)                                                         \
    u32 x_from = ROW * pc.x_row;                                               \
    u32 target_from = ROW * pc.target_row;                                     \
    u32 prob_from = ROW * pc.prob_row;                                         \
    u32 dloss_from = ROW * pc.dloss_row;                                       \
    u32 dx_from = ROW * pc.dx_row;                                             \
    u32 loss_from = ROW * pc.loss_row;                                         \
    u32 row_rest = ROW;                                                        \
    for (u32 row_r = pc.rank; row_r > 0u; row_r--) {                           \
        u32 row_q = row_rest / AT(table, row_r - 1u);                          \
        u32 row_j = row_rest - row_q * AT(table, row_r - 1u);                  \
        row_rest = row_q;                                                      \
        x_from += ROW_STEP(1);                                                 \
        target_from += ROW_STEP(2);                                            \
        prob_from += ROW_STEP(3);                                              \
        dloss_from += ROW_STEP(4);                                             \
        dx_from += ROW_STEP(5);                                                \
        loss_from += ROW_STEP(6);                                              \
    }                                                                          \
    u32 mine = pc.n;                                                           \
    u32 verdict = ROW_COUNTS;                                                  \
    if (pc.target_dtype != 0u) {                                               \
        mine = AT(target, target_from);                                        \
        verdict = row_verdict(mine, pc.n,                                      \
                              pc.may_ignore != 0u && mine == pc.ignore_index); \
    }
/* x of class K. */
#define ROW_X(K) GET(x, x_from + (K)*pc.x_step, D, pc.x_dtype)
/* Is q[k] of other classes than the target's anything but 0? */
#define ROW_SPREADS (pc.prob_dtype != 0u || pc.smoothed != 0u)

/* q[k] of include/sesqui/ops/loss.h, for y[k] and weight[k]. */
FN float class_q(float y, float keep, float spread, bool weighted, float weight)
{
    EXACT float q = keep * y;

    q = q + spread;
    if (weighted)
        q = q * weight;
    return q;
}
#define ROW_Q(K)                                                               \
    class_q(pc.prob_dtype != 0u                                                \
                ? GET(prob, prob_from + (K)*pc.prob_step, D, pc.prob_dtype)    \
                : ((K) == mine ? 1.0f : 0.0f),                                 \
            pc.keep, pc.spread, pc.weight_dtype != 0u,                         \
            pc.weight_dtype != 0u                                              \
                ? GET(weight, (K)*pc.weight_step, D, pc.weight_dtype)          \
                : 1.0f)

/* The loss of a row, and the values that its gradient needs. */
struct row_sums {
    float row_max;
    float total; /* of exp(x - row_max) */
    float log_total;
    float loss;
    float sum_q;
};

FN STRUCT(row_sums) row_sums_none(void)
{
    STRUCT(row_sums) sums;

    sums.row_max = AS_F32(0xff800000u);
    sums.total = 0.0f;
    sums.log_total = 0.0f;
    sums.loss = 0.0f;
    sums.sum_q = 0.0f;
    return sums;
}

FN float class_max(float a, float b)
{
    return b > a ? b : a;
}

FN_INLINE float class_exp(float x, float row_max)
{
    EXACT float below = x - row_max;

    return s_exp_neg(below);
}

/* The log-probability of a class. The two differences are rounded one after
 * the other: row_max may be large, and log_total is small. */
FN float class_log(float x, bool logits, STRUCT(row_sums) sums)
{
    EXACT float l = x;

    if (logits) {
        l = l - sums.row_max;
        l = l - sums.log_total;
    }
    return l;
}
#define ROW_LOG(K) class_log(ROW_X(K), pc.logits != 0u, sums)

/* The loss of a row whose q is 0 except for its target: no loop over the
 * classes. row_max and log_total are known. */
FN STRUCT(row_sums) row_of_one(STRUCT(row_sums) sums, float q, float l)
{
    EXACT STRUCT(row_sums) one = sums;

    one.sum_q = q;
    one.loss = 0.0f - q * l;
    return one;
}

/* A target that is not a class makes the row NaN: a device cannot refuse it. */
FN float row_loss(u32 verdict, float loss, float scale)
{
    EXACT float y = verdict == ROW_WRONG ? AS_F32(F32_NAN) : loss;

    return y * scale;
}

/* The factor of a row's gradient: dloss, or 1, over the number that the mean
 * divides by. */
#define ROW_SEED                                                               \
    s_div(pc.dloss_dtype != 0u ? AT(dloss, dloss_from) : 1.0f,                 \
          pc.divisor_dtype != 0u ? AT(divisor, 0u) : pc.count)

/* The gradient of a class. For log-probabilities it is 0 where q is 0 for any
 * data (not `there`), not 0 times an infinite seed. */
FN_INLINE float class_gradient(u32 verdict, bool logits, bool there, float q,
                               float x, STRUCT(row_sums) sums, float seed)
{
    EXACT float g = verdict == ROW_WRONG ? AS_F32(F32_NAN) : 0.0f;

    if (verdict == ROW_COUNTS) {
        if (logits) {
            EXACT float e = class_exp(x, sums.row_max);

            e = s_div(e, sums.total);
            e = e * sums.sum_q;
            g = e - q;
            g = g * seed;
        } else if (there) {
            g = s_neg(q) * seed;
        }
    }
    return g;
}
/* The gradient of class K. x is not loaded of a row that does not count. */
#define ROW_HAS_Q(K) (ROW_SPREADS || (K) == mine)
#define ROW_GRADIENT(K)                                                        \
    class_gradient(verdict, pc.logits != 0u, ROW_HAS_Q(K),                     \
                   ROW_HAS_Q(K) ? ROW_Q(K) : 0.0f,                             \
                   verdict == ROW_COUNTS && pc.logits != 0u ? ROW_X(K) : 0.0f, \
                   sums, seed)
#define ROW_STORE_GRADIENT(K)                                                  \
    PUT(dx, dx_from + (K)*pc.dx_step, D, pc.dx_dtype, ROW_GRADIENT(K))

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* operands.h - checks of many operands at once, and operands seen as rows.
 *
 * Softmax, norms and cross-entropy work on rows. Their views all have one
 * shape: dimensions that count rows first, the `inner` dimensions of a row
 * last. What exists once per row (a mean, a target) has strides of 0 in the
 * inner dimensions; what all rows share (gamma) has strides of 0 outside. */
#ifndef LIB_OP_OPERANDS_H
#define LIB_OP_OPERANDS_H

#include "lib/core/core.h"

/* flags of a rule, OR-ed */
#define OPERAND_OUT      1u /* it is written */
#define OPERAND_OPTIONAL 2u /* it may be NULL */

/** What a tensor must be: one line per operand of an op. */
struct operand_rule {
    const ssq_tensor *tensor; /* the caller's, or NULL */
    const char *name;         /* in error texts, as in the args struct */
    unsigned dtypes;          /* DTYPE_BIT()s */
    unsigned flags;           /* OPERAND_ bits */
    unsigned may_be; /* bit i: an output that may be exactly operand i */
};

/** Presence, device and dtype of each; no output with shared elements; no
 *  output over another operand but as may_be says. */
ssq_status operands_check(const ssq_queue *queue, const char *op,
                          const struct operand_rule *rules, int n);
#define OPERANDS_CHECK(QUEUE, OP, RULES)                                       \
    operands_check(QUEUE, OP, RULES, (int)(sizeof(RULES) / sizeof((RULES)[0])))

/** Make a dimension the last one. */
void view_axis_last(struct view *v, int axis);
/** Append dimensions of size 1. */
void view_append_ones(struct view *v, int n);
/** Merge the dimensions of views of one shape, on each side of the border
 *  between rows and their last `inner` dimensions, as views_collapse does;
 *  views without a buffer are passed over. The first view must have one.
 *  @return how many dimensions a row has now: at least 1. The others may
 *          become none. */
int views_collapse_rows(struct view **views, int n, int inner);

#endif

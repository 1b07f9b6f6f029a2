/* SPDX-License-Identifier: Apache-2.0 */
/* operands.h - checks of all operands of a call, and operands as rows.
 *
 * Softmax, norms and cross-entropy work on rows. Their views all have one
 * shape: first the dimensions that count rows, then the `inner` dimensions of a
 * row. A value that exists once per row (a mean, a target) has strides of 0 in
 * the inner dimensions. A value that all rows share (gamma) has strides of 0 in
 * the other dimensions. */
#ifndef LIB_OP_OPERANDS_H
#define LIB_OP_OPERANDS_H

#include "lib/core/core.h"

/* flags of a rule, OR-ed */
#define OPERAND_OUT      1u /* it is written */
#define OPERAND_OPTIONAL 2u /* it may be NULL */

/** The requirements of an op on one operand. */
struct operand_rule {
    const ssq_tensor *tensor; /* from the args struct, or NULL */
    const char *name;         /* its name there, for error texts */
    unsigned dtypes;          /* DTYPE_BIT()s */
    unsigned flags;           /* OPERAND_ bits */
    unsigned may_be;          /* bit i: this output may be exactly operand i */
};

/** Check presence, device and dtype of each operand. The elements of an output
 *  must not share memory. An output must not overlap another operand, unless it
 *  is exactly that operand and may_be allows it. */
ssq_status operands_check(const ssq_queue *queue, const char *op,
                          const struct operand_rule *rules, int n);
#define OPERANDS_CHECK(QUEUE, OP, RULES)                                       \
    operands_check(QUEUE, OP, RULES, (int)(sizeof(RULES) / sizeof((RULES)[0])))

/** Move a dimension to the last place. */
void view_axis_last(struct view *v, int axis);
/** Append dimensions of size 1. */
void view_append_ones(struct view *v, int n);
/** Merge dimensions of views of one shape, as views_collapse() does, but not
 *  across the border between rows and their last `inner` dimensions. Views
 *  without a buffer are skipped; the first view must have one.
 *  @return the number of dimensions of a row: at least 1. The number of the
 *          other dimensions may become 0. */
int views_collapse_rows(struct view **views, int n, int inner);

#endif

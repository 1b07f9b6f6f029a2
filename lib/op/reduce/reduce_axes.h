/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_axes.h - from a set of axes to the form that reductions take. */
#ifndef LIB_OP_REDUCE_REDUCE_AXES_H
#define LIB_OP_REDUCE_REDUCE_AXES_H

#include "lib/op/reduce/reduce.h"

/** Which dimensions are reduced, and how many. */
struct axes {
    bool reduced[SSQ_MAX_RANK];
    int n;
};

/** Read the caller's list, as ssq_reduce_args describes it. axes has n values,
 *  or SSQ_MAX_RANK if n is 0. */
ssq_status axes_read(const int *axes, int n, int rank, const char *op,
                     struct axes *result);
/** Return the number of elements of the reduced dimensions of a view. */
int64_t axes_count(const struct axes *a, const struct view *x);
/** Set *split to x with the kept dimensions first. Returns their number. */
int axes_split(const struct axes *a, const struct view *x, struct view *split);
/** Set *kept to y as the kept dimensions of x. The reduced dimensions of y are
 *  1 or left out.
 *  @return SSQ_ERR_INVALID the shapes do not match; the text has both */
ssq_status axes_project(const struct axes *a, const struct view *x,
                        const char *x_what, const struct view *y,
                        const char *y_what, const char *op, struct view *kept);
/** Collapse n split views. Their first *kept dimensions are collapsed together
 *  with m views of only those; the other dimensions of the n are collapsed
 *  together. Sets *kept to the new number. n <= 2, m <= 2. */
void axes_collapse(struct view **split, int n, struct view **kept_only, int m,
                   int *kept);

#endif

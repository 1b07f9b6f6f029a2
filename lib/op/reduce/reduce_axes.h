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

/** Read the caller's list, as ssq_reduce_args describes it: axes has n values,
 *  with n 0 SSQ_MAX_RANK. */
ssq_status axes_read(const int *axes, int n, int rank, const char *op,
                     struct axes *result);
/** Elements of the reduced dimensions of a view. */
int64_t axes_count(const struct axes *a, const struct view *x);
/** x with the kept dimensions first; returns how many they are. */
int axes_split(const struct axes *a, const struct view *x, struct view *split);
/** y, whose reduced dimensions are 1 or left out, as the kept dimensions of
 *  x. @return INVALID with both shapes */
ssq_status axes_project(const struct axes *a, const struct view *x,
                        const char *x_what, const struct view *y,
                        const char *y_what, const char *op, struct view *kept);
/** Collapse the first *kept dimensions of n split views together with m views
 *  of those alone, and the rest of the n together; *kept becomes the new
 *  number. n <= 2, m <= 2. */
void axes_collapse(struct view **split, int n, struct view **kept_only, int m,
                   int *kept);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - operands as rows of neighbours, which are handed out in runs. */
#ifndef BACKENDS_CPU_NORM_ROWS_H
#define BACKENDS_CPU_NORM_ROWS_H

#include "backends/cpu/threads/parallel.h"
#include "backends/cpu/norm/row_kernels.h"
#include "lib/core/module/backend.h"

/** How many rows there are, the last `inner` dimensions being one, and how long
 *  each is. */
int64_t rows_count(const struct view *v, int inner);
int64_t rows_length(const struct view *v, int inner);

/** True if rows have at least `least` elements, and are enough to keep threads
 *  busy or no longer than longest, so that the plan need not divide them. */
bool rows_check_length(const struct view *v, int inner, int64_t least,
                       int64_t longest, struct why *why);

/** True if a row's elements are neighbours and rows lie evenly, or if v is
 *  absent; why says what is not. name is the operand's. */
bool rows_check(const struct view *v, int inner, const char *name,
                struct why *why);
/** The same for an operand with one element for each row. */
bool rows_check_ones(const struct view *v, int inner, const char *name,
                     struct why *why);
/** Of a view that either has found to lie so. */
struct rows_at rows_at(const struct view *v, int inner);

/** True if a result is better written past the caches. */
bool rows_past(const struct view *v);

/** Rows that a thread takes at a time, of this many elements each. */
int64_t rows_of_task(int64_t n);

/** task(context, i, ..) for i below n, by the caller alone where there are few
 *  elements. */
void rows_loop(struct team *team, uint64_t elements, int64_t n, team_task task,
               void *context);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - distribute rows (a view's last dimension) over groups and items. */
#ifndef LIB_PLAN_ROWS_H
#define LIB_PLAN_ROWS_H

#include "lib/core/queue/plan.h"

/** How rows are distributed. Either groups process rows, over all dimensions
 *  except the last. Or items process rows that are adjacent along one of these
 *  dimensions, c ("columns"). Then the walk excludes c, too. */
struct rows {
    uint32_t n;      /* elements of a row */
    uint32_t walked; /* places of the walk: all rows, or without c */
    uint32_t splits; /* parts of a row; 1 for columns */
    uint32_t part;   /* elements of each part except the last */
    bool columns;    /* items process rows along c; else groups do */
    int c;           /* the excluded dimension; -1: none */
    uint32_t cols;   /* its size, or 1 */
    int rank;        /* of the view */
};

/** The kernels that a plan has. */
enum rows_kernels { ROWS_GROUPS, ROWS_COLUMNS_TOO };

/** Return the best distribution for views of x's shape and of a similar
 *  layout. */
struct rows rows_of(const struct plan *p, const struct view *x,
                    enum rows_kernels have);
/** Return the distribution *r for a window x of the rows. */
struct rows rows_window(const struct rows *r, const struct view *x);
/** Return the step from one element of a row to the next. */
static inline uint32_t rows_step(const struct view *v)
{
    return (uint32_t)v->stride[v->rank - 1];
}
/** Set the sizes of the walk (rows_shape), or a view's steps through it and
 *  along c (rows_steps). For an absent view rows_steps() does nothing. */
void rows_shape(const struct rows *r, const struct view *v, uint32_t *rank,
                uint32_t *size);
void rows_steps(const struct rows *r, const struct view *v, uint32_t *steps,
                uint32_t *col);
/** End a launch: EACH_GROUP over walked * splits, or over the tiles of the
 *  kernel. loops is the number of iterations that an item needs for each
 *  element of a row. */
void rows_launch(struct plan *p, const struct rows *r, const void *args,
                 size_t bytes, uint64_t loops);

#endif

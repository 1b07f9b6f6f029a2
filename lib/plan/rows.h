/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - how rows, a view's last dimension, are given to groups and items. */
#ifndef LIB_PLAN_ROWS_H
#define LIB_PLAN_ROWS_H

#include "lib/plan/plan.h"

/** Rows are walked by the dimensions before the last; of columns, one of those
 *  is not walked: an item takes neighbours along it. */
struct rows {
    uint32_t n;      /* elements of a row */
    uint32_t walked; /* places: rows, or in columns all but those along c */
    uint32_t splits; /* parts of a row; 1 in columns */
    uint32_t part;   /* elements of each but the last */
    bool columns;    /* items take rows along c; else groups share a row */
    int c;           /* the dimension that is not walked; -1: none */
    uint32_t cols;   /* its size, or 1 */
    int rank;        /* of the view */
};

/** What a plan has kernels for. */
enum rows_kernels { ROWS_GROUPS, ROWS_COLUMNS_TOO };

/** The best way for views of x's shape that are stored much as x is. */
struct rows rows_of(const struct plan *p, const struct view *x,
                    enum rows_kernels have);
/** The same way for some of the rows: x is a window. */
struct rows rows_window(const struct rows *r, const struct view *x);
/** From one element of a row to the next. */
static inline uint32_t rows_step(const struct view *v)
{
    return (uint32_t)v->stride[v->rank - 1];
}
/** Sizes of what is walked, and a view's steps through it and along cols; an
 *  absent view's are left alone. */
void rows_shape(const struct rows *r, const struct view *v, uint32_t *rank,
                uint32_t *size);
void rows_steps(const struct rows *r, const struct view *v, uint32_t *steps,
                uint32_t *col);
/** End a launch: EACH_GROUP over walked * splits, or the kernel's tiles. loops:
 *  of one of these, for each of a row's elements that an item meets. */
void rows_launch(struct plan *p, const struct rows *r, const void *args,
                 size_t bytes, uint64_t loops);

#endif

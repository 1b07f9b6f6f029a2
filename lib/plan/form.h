/* SPDX-License-Identifier: Apache-2.0 */
/* form.h - kernels that process strided views by rows or by elements: see
 * kernels/operands/form.h. */
#ifndef LIB_PLAN_FORM_H
#define LIB_PLAN_FORM_H

#include "kernels/operands/form.h"
#include "lib/core/queue/plan.h"
#include "lib/plan/walk.h"

/* Shorter rows are processed by elements. On a CPU the loop over a row must be
 * worth its overhead. On a GPU a short row leaves items of the group idle. */
#define FORM_SHORT_PROCESSOR 8
#define FORM_SHORT_GPU       32

static inline bool form_short(const struct plan *p, int64_t cols)
{
    return cols < (limits_processor(plan_limits(p)) ? FORM_SHORT_PROCESSOR
                                                    : FORM_SHORT_GPU);
}

/* Columns of a piece. On a CPU they must be worth the overhead of a task; on a
 * GPU each item gets a few. */
#define FORM_PIECE_PROCESSOR 4096
#define FORM_PIECE_GPU       1024

/** Set *f for views of y's shape. dense: all of them are contiguous. *rank and
 *  size describe the walked dimensions. */
static inline void form_set(const struct plan *p, const struct view *y,
                            bool dense, struct form_shape *f, uint32_t *rank,
                            uint32_t *size)
{
    int last = dense || y->rank == 0 ? 0 : y->rank - 1;
    int64_t n = view_elements(y);
    int64_t cols = dense || y->rank == 0 ? n : y->shape[last];
    f->n = (uint32_t)n;
    f->by = form_short(p, cols) ? FORM_ELEMENTS : FORM_ROWS;
    f->cols = (uint32_t)cols;
    f->piece = limits_processor(plan_limits(p)) ? FORM_PIECE_PROCESSOR
                                                : FORM_PIECE_GPU;
    f->pieces = (uint32_t)size_div_up(f->cols, f->piece);
    walk_shape(y, 0, last, rank, size);
}

/** Set *step to a view's step along the last dimension, and steps to the
 *  others. */
static inline void form_steps(const struct view *v, bool dense, uint32_t *step,
                              uint32_t *steps)
{
    int last = dense || v->rank == 0 ? 0 : v->rank - 1;
    *step = dense ? 1 : v->rank == 0 ? 0 : (uint32_t)v->stride[last];
    walk_steps(v, 0, last, steps);
}

/** End a launch whose kernel has f among its parameters. */
static inline void form_launch(struct plan *p, const struct form_shape *f,
                               const void *args, size_t bytes)
{
    if (f->by == FORM_ROWS)
        plan_groups(p, args, bytes, (uint64_t)(f->n / f->cols) * f->pieces,
                    LOOPS_FEW + loops_shared(plan_limits(p), f->piece, 0));
    else
        plan_items(p, args, bytes, f->n, LOOPS_FEW);
}

#endif

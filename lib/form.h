/* SPDX-License-Identifier: Apache-2.0 */
/* form.h - how a kernel goes through strided views: see kernels/form.h. */
#ifndef LIB_FORM_H
#define LIB_FORM_H

#include "kernels/form.h"
#include "lib/plan.h"
#include "lib/walk.h"

struct form {
    FORM_FIELDS
};

/* Rows shorter than this are walked by elements: on a processor because the
 * loop over a row has to be worth its start, on a GPU because the other items
 * of a group would have nothing to do. */
#define FORM_SHORT_PROCESSOR 8
#define FORM_SHORT_GPU       32

static inline bool form_short(const struct plan *p, int64_t cols)
{
    return cols <
           (plan_limits(p)->group == 1 ? FORM_SHORT_PROCESSOR : FORM_SHORT_GPU);
}

/** The form for views of y's shape: dense, or by their last dimension. */
static inline void form_set(const struct plan *p, const struct view *y,
                            bool dense, struct form *f)
{
    int last = y->rank - 1;
    int64_t cols = y->rank == 0 ? 1 : y->shape[last];
    f->n = (uint32_t)view_elements(y);
    f->form = dense                 ? FORM_DENSE
              : form_short(p, cols) ? FORM_ELEMENTS
                                    : FORM_ROWS;
    f->cols = (uint32_t)cols;
    f->pieces = (f->cols + ROW_PIECE - 1) / ROW_PIECE;
    walk_shape(y, 0, y->rank == 0 ? 0 : last, &f->rank, f->size);
}

/** A view's steps: *step along the last dimension, the others' in steps. */
static inline void form_steps(const struct view *v, uint32_t *step,
                              uint32_t *steps)
{
    if (v->rank == 0)
        return;
    *step = (uint32_t)v->stride[v->rank - 1];
    walk_steps(v, 0, v->rank - 1, steps);
}

/** End the launch of a kernel that has f among its parameters. */
static inline void form_launch(struct plan *p, const struct form *f,
                               const void *args, size_t bytes)
{
    if (f->form == FORM_ROWS)
        plan_groups(p, args, bytes, (uint64_t)(f->n / f->cols) * f->pieces);
    else
        plan_items(p, args, bytes, f->n);
}

#endif

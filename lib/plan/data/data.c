/* SPDX-License-Identifier: Apache-2.0 */
/* data.c - the plans of fill, copy and cast. */
#include "lib/core/core.h"

#include "kernels/data/cast_stochastic_args.h"
#include "kernels/data/data_args.h"
#include "lib/plan/form.h"

/* Fill y. The variant depends only on the size of an element: the kernel stores
 * bits. */
static void plan_data_fill(struct plan *p, const struct fill_op *op)
{
    const struct view *y = &op->y;
    struct fill_args a = {.bits = op->bits};
    bool dense = view_contiguous(y);
    form_set(p, y, dense, &a.form, &a.rank, a.size);
    form_steps(y, dense, &a.y_step, a.y_steps);
    plan_kernel(p, KERNEL_fill, KEYS((uint8_t)dtype_bytes(y->dtype)));
    plan_bind(p, y, ACCESS_WRITE);
    form_launch(p, &a.form, &a, sizeof(a));
}

/* Return true if a contiguous view can be copied as words of 4 bytes. */
static bool is_words(const struct view *v)
{
    return (v->buffer->offset + v->offset) % 4 == 0 && view_span(v) % 4 == 0;
}

/* Set the parameters of y = x by elements. Returns true if both are dense. */
static bool copy_args(const struct plan *p, const struct view *x,
                      const struct view *y, struct copy_args *a)
{
    bool dense = view_contiguous(x) && view_contiguous(y);
    form_set(p, y, dense, &a->form, &a->rank, a->size);
    form_steps(x, dense, &a->x_step, a->x_steps);
    form_steps(y, dense, &a->y_step, a->y_steps);
    return dense;
}

/* Copy bits. Dense views of 1- or 2-byte elements are copied as words if they
 * begin and end at a word; that is fewer elements. */
static void copy_bits(struct plan *p, const struct view *x,
                      const struct view *y)
{
    struct copy_args a = {0};
    uint32_t bytes = (uint32_t)dtype_bytes(y->dtype);
    bool dense = copy_args(p, x, y, &a);
    if (dense && bytes < 4 && is_words(x) && is_words(y)) {
        struct view words = {.rank = 1, .shape = {view_span(y) / 4}};
        form_set(p, &words, true, &a.form, &a.rank, a.size);
        bytes = 4;
    }
    plan_kernel(p, KERNEL_copy, KEYS((uint8_t)bytes));
    plan_bind_as(p, x, bytes, ACCESS_READ);
    plan_bind_as(p, y, bytes, ACCESS_WRITE);
    form_launch(p, &a.form, &a, sizeof(a));
}

/* Copy x to y. The op has checked that both have the same dtype. */
static void plan_data_copy(struct plan *p, const struct copy_op *op)
{
    copy_bits(p, &op->x, &op->y);
}

/* Return true if a cast may drop bits of a float. Then rounding toward zero is
 * a separate variant. */
static bool may_truncate(const struct cast_op *op)
{
    ssq_dtype x = op->x.dtype, y = op->y.dtype;
    return dtype_is_float(x) && (y == SSQ_F16 || y == SSQ_BF16);
}

/* Cast with one variant for each pair of dtypes and each rounding that
 * differs. */
static void cast_plain(struct plan *p, const struct cast_op *op)
{
    struct copy_args a = {0};
    bool zero = op->rounding == SSQ_ROUND_TOWARD_ZERO && may_truncate(op);
    (void)copy_args(p, &op->x, &op->y, &a);
    plan_kernel(p, KERNEL_cast,
                KEYS((uint8_t)op->x.dtype, (uint8_t)op->y.dtype,
                     zero ? ROUND_TOWARD_ZERO : ROUND_NEAREST));
    plan_bind(p, &op->x, ACCESS_READ);
    plan_bind(p, &op->y, ACCESS_WRITE);
    form_launch(p, &a.form, &a, sizeof(a));
}

/* Cast with stochastic rounding, by items and not by rows. The random word of
 * an element depends on its index in the whole call. */
static void cast_stochastic(struct plan *p, const struct cast_op *op)
{
    const struct view *x = &op->x, *y = &op->y;
    struct cast_stochastic_args a = {
        .stream = {.n = (uint32_t)view_elements(y),
                   .dense = view_contiguous(x) && view_contiguous(y),
                   .seed_low = op->seed[0],
                   .seed_high = op->seed[1],
                   .id = op->id,
                   .base_low = (uint32_t)op->op.first,
                   .base_high = (uint32_t)(op->op.first >> 32),
                   .step_given = op->step.buffer != NULL}};
    walk_shape(y, 0, y->rank, &a.rank, a.size);
    walk_steps(x, 0, x->rank, a.x_steps);
    walk_steps(y, 0, y->rank, a.y_steps);
    plan_kernel(p, KERNEL_cast_stochastic,
                KEYS((uint8_t)x->dtype, (uint8_t)y->dtype));
    plan_bind(p, x, ACCESS_READ);
    plan_bind(p, y, ACCESS_WRITE);
    plan_bind(p, &op->step, ACCESS_READ);
    plan_items(p, &a, sizeof(a), a.stream.n, LOOPS_FEW);
}

/* Cast. Between equal dtypes it is a copy. Stochastic rounding only matters if
 * bits of a float may be dropped. */
static void plan_data_cast(struct plan *p, const struct cast_op *op)
{
    if (op->x.dtype == op->y.dtype)
        copy_bits(p, &op->x, &op->y);
    else if (op->rounding == SSQ_ROUND_STOCHASTIC && may_truncate(op))
        cast_stochastic(p, op);
    else
        cast_plain(p, op);
}

const struct fill_plan fill_plans[] = {{"portable", NULL, plan_data_fill},
                                       {NULL}};
const struct copy_plan copy_plans[] = {{"portable", NULL, plan_data_copy},
                                       {NULL}};
const struct cast_plan cast_plans[] = {{"portable", NULL, plan_data_cast},
                                       {NULL}};

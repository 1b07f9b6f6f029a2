/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - reference: reductions, argmax and the norm.
 *
 *     sum, mean, prod    y = the fold of x (fold.h), a mean divided by its
 *                        elements: float32, and storing rounds once
 *     max, min           y = the element of x with the greatest rank, exactly
 *     argmax, argmin     y = the position of such an element
 *     norm               y = sqrt(the fold of x^2) */
#include "lib/op/reduce/reduce.h"

#include "backends/reference/reduce/fold.h"
#include "backends/reference/reduce/part.h"
#include "kernels/reduce/reduce.h"

/* Return the sum or product of all elements of x, in the order of
 * kernels/reduce/norm.h. */
static float reduce_fold(const struct view *x, bool product)
{
    struct walk w;
    struct fold f;
    fold_begin(&f, product);
    walk_begin(&w, &x, 1);
    do {
        fold_add(&f, view_load(x, w.at[0]));
    } while (walk_next(&w));
    return fold_end(&f);
}

/* Return the bits of the greatest or least element. Ranks order NaNs, too. Of
 * equal elements the first is taken. */
static uint32_t reduce_extreme(const struct view *x, bool minimum)
{
    struct walk w;
    const void *base = view_host(x);
    uint32_t best = load_bits(base, x->dtype, 0);
    uint32_t rank = extreme_rank(best, x->dtype, minimum);
    walk_begin(&w, &x, 1);
    do {
        uint32_t bits = load_bits(base, x->dtype, w.at[0]);
        uint32_t r = extreme_rank(bits, x->dtype, minimum);
        if (r > rank) {
            rank = r;
            best = bits;
        }
    } while (walk_next(&w));
    return extreme_bits(best, x->dtype);
}

/* Return the bits of one result, in y's dtype. An extreme is not rounded. A
 * mean is a sum that is divided once. */
static uint32_t reduce_one(const struct reduce_op *op, const struct view *x)
{
    switch (op->kind) {
    case REDUCE_MAX:
        return reduce_extreme(x, false);
    case REDUCE_MIN:
        return reduce_extreme(x, true);
    default:
        break;
    }
    float y = reduce_fold(x, op->kind == REDUCE_PROD);
    if (op->kind == REDUCE_MEAN)
        y = s_div(y, op->divisor);
    return f32_to_bits(y, op->y.dtype, ROUND_NEAREST, 0);
}

/* Run a reduction. The first dimensions of x are the dimensions of y; the
 * others are reduced for each element of y. */
static ssq_status reference_reduce_run(struct backend_queue *queue,
                                       const struct reduce_op *op)
{
    (void)queue;
    struct walk w;
    struct view kept = view_part(&op->x, 0, op->kept);
    const struct view *v[] = {&kept, &op->y};
    void *y = view_host(&op->y);
    walk_begin(&w, v, 2);
    do {
        struct view x = reduce_part(&op->x, op->kept, w.at[0]);
        store_bits(y, op->y.dtype, w.at[1], reduce_one(op, &x));
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Return the position of the extreme, as its number in row-major order: of
 * equal elements the first, or the last. */
static uint32_t argmax_part(const struct argmax_op *op, const struct view *x)
{
    struct walk w;
    const void *base = view_host(x);
    uint32_t rank = 0, position = 0, i = 0;
    walk_begin(&w, &x, 1);
    do {
        uint32_t bits = load_bits(base, x->dtype, w.at[0]);
        uint32_t r = argmax_rank(bits, x->dtype, op->minimum);
        if (i == 0 || r > rank || (op->last && r == rank)) {
            rank = r;
            position = i;
        }
        i++;
    } while (walk_next(&w));
    return position;
}

static ssq_status reference_argmax_run(struct backend_queue *queue,
                                       const struct argmax_op *op)
{
    (void)queue;
    struct walk w;
    struct view kept = view_part(&op->x, 0, op->kept);
    const struct view *v[] = {&kept, &op->y};
    void *y = view_host(&op->y);
    walk_begin(&w, v, 2);
    do {
        struct view x = reduce_part(&op->x, op->kept, w.at[0]);
        store_bits(y, SSQ_I32, w.at[1], argmax_part(op, &x));
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Add all elements of a view. */
static void norm_add_view(struct norm_fold *f, const struct view *x)
{
    struct walk w;
    walk_begin(&w, &x, 1);
    do {
        norm_fold_add(f, view_load(x, w.at[0]));
    } while (walk_next(&w));
}

/* Compute the norm of a tensor, or of its pieces if the op has a list. Three
 * sums, of small, medium and large elements, prevent squares from overflowing
 * and underflowing. */
static ssq_status reference_norm_run(struct backend_queue *queue,
                                     const struct norm_op *op)
{
    (void)queue;
    struct norm_fold f;
    float total[3];
    norm_fold_begin(&f);
    if (op->op.list == NULL)
        norm_add_view(&f, &op->x);
    for (size_t i = 0; op->op.list != NULL && i < op->op.list->n; i++)
        norm_add_view(&f, &op->op.list->v[i]);
    norm_fold_end(&f, total);
    float y = norm_root(total[NORM_SMALL], total[NORM_MID], total[NORM_BIG]);
    view_store(&op->y, 0, y);
    return SSQ_OK;
}

REFERENCE_IMPL(reduce);
REFERENCE_IMPL(argmax);
REFERENCE_IMPL(norm);

/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - reference: reductions, argmax, the norm, and backward. */
#include "lib/op/reduce/reduce.h"

#include "backends/reference/reduce/fold.h"
#include "backends/reference/reference.h"
#include "kernels/reduce/reduce.h"

/* Return the reduced dimensions of x as a view, for the kept dimensions at
 * element `at`. */
static struct view rest_of(const struct view *x, int kept, int64_t at)
{
    struct view v = view_part(x, kept, x->rank);
    v.offset += (uint64_t)at * dtype_bytes(v.dtype);
    return v;
}

/* Return the sum or product of all elements of x, in the order of
 * kernels/reduce/norm.h. */
static float fold(const struct view *x, bool product)
{
    struct walk w;
    struct fold f;
    const void *base = view_host(x);
    fold_begin(&f, product);
    walk_begin(&w, &x, 1);
    do {
        fold_add(&f, load_f32(base, x->dtype, w.at[0]));
    } while (walk_next(&w));
    return fold_end(&f);
}

/* Return the bits of the greatest or least element. Ranks order NaNs, too. Of
 * equal elements the first is taken. */
static uint32_t extreme(const struct view *x, bool minimum)
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
        return extreme(x, false);
    case REDUCE_MIN:
        return extreme(x, true);
    default:
        break;
    }
    float y = fold(x, op->kind == REDUCE_PROD);
    if (op->kind == REDUCE_MEAN)
        y = s_div(y, op->divisor);
    return f32_to_bits(y, op->y.dtype, ROUND_NEAREST, 0);
}

/* Run a reduction. The first dimensions of x are the dimensions of y; the
 * others are reduced for each element of y. */
static ssq_status reduce(struct backend_queue *queue,
                         const struct reduce_op *op)
{
    (void)queue;
    struct walk w;
    struct view kept = view_part(&op->x, 0, op->kept);
    const struct view *v[] = {&kept, &op->y};
    void *y = view_host(&op->y);
    walk_begin(&w, v, 2);
    do {
        struct view x = rest_of(&op->x, op->kept, w.at[0]);
        store_bits(y, op->y.dtype, w.at[1], reduce_one(op, &x));
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Return the position of the extreme, as its number in row-major order: of
 * equal elements the first, or the last. */
static uint32_t argmax_one(const struct argmax_op *op, const struct view *x)
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

static ssq_status argmax(struct backend_queue *queue,
                         const struct argmax_op *op)
{
    (void)queue;
    struct walk w;
    struct view kept = view_part(&op->x, 0, op->kept);
    const struct view *v[] = {&kept, &op->y};
    void *y = view_host(&op->y);
    walk_begin(&w, v, 2);
    do {
        struct view x = rest_of(&op->x, op->kept, w.at[0]);
        store_bits(y, SSQ_I32, w.at[1], argmax_one(op, &x));
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Add all elements of a view. */
static void norm_add_view(struct norm_fold *f, const struct view *x)
{
    struct walk w;
    const void *base = view_host(x);
    walk_begin(&w, &x, 1);
    do {
        norm_fold_add(f, load_f32(base, x->dtype, w.at[0]));
    } while (walk_next(&w));
}

/* Compute the norm of a tensor, or of its pieces if the op has a list. Three
 * sums, of small, medium and large elements, prevent squares from overflowing
 * and underflowing. */
static ssq_status norm(struct backend_queue *queue, const struct norm_op *op)
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
    store_f32(view_host(&op->y), SSQ_F32, 0, y);
    return SSQ_OK;
}

/* Return how many elements equal the extreme y. They share its gradient. */
static uint32_t count_ties(const struct view *x, float y)
{
    struct walk w;
    const void *base = view_host(x);
    uint32_t ties = 0;
    walk_begin(&w, &x, 1);
    do {
        ties += extreme_tie(load_f32(base, x->dtype, w.at[0]), y);
    } while (walk_next(&w));
    return ties;
}

/* Set dx to a share of dy for each x that equals y, and to 0 elsewhere. If no
 * element equals y, set all of dx to NaN. */
static void spread_ties(const struct view *x, float y, float dy,
                        const struct view *dx)
{
    struct walk w;
    const struct view *v[] = {x, dx};
    const void *from = view_host(x);
    void *to = view_host(dx);
    uint32_t ties = count_ties(x, y);
    float share = extreme_share(dy, ties), other = ties == 0 ? share : 0.0f;
    walk_begin(&w, v, 2);
    do {
        bool tie = extreme_tie(load_f32(from, x->dtype, w.at[0]), y);
        store_f32(to, dx->dtype, w.at[1], tie ? share : other);
    } while (walk_next(&w));
}

/* Set all elements of dx to the same gradient. */
static void spread(float value, const struct view *dx)
{
    struct walk w;
    void *to = view_host(dx);
    walk_begin(&w, &dx, 1);
    do {
        store_f32(to, dx->dtype, w.at[0], value);
    } while (walk_next(&w));
}

/* Run the backward of a reduction. For a maximum or minimum, dy is divided
 * equally among the elements that equal it. For a mean, each element gets dy /
 * divisor. x and y are present only in the first case; otherwise other views
 * replace them in the walk. */
static ssq_status reduce_backward(struct backend_queue *queue,
                                  const struct reduce_backward_op *op)
{
    (void)queue;
    struct walk w;
    bool max = op->kind == REDUCE_MAX;
    struct view kept = view_part(&op->dx, 0, op->kept), kept_x = kept;
    if (max)
        kept_x = view_part(&op->x, 0, op->kept);
    const struct view *v[] = {&op->dy, &kept, &kept_x, max ? &op->y : &op->dy};
    const void *from = view_host(&op->dy), *y = view_host(&op->y);
    walk_begin(&w, v, 4);
    do {
        struct view dx = rest_of(&op->dx, op->kept, w.at[1]);
        float dy = load_f32(from, op->dy.dtype, w.at[0]);
        if (!max) {
            spread(s_div(dy, op->divisor), &dx);
            continue;
        }
        struct view x = rest_of(&op->x, op->kept, w.at[2]);
        spread_ties(&x, load_f32(y, op->y.dtype, w.at[3]), dy, &dx);
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(reduce, reduce);
REFERENCE_IMPL(argmax, argmax);
REFERENCE_IMPL(norm, norm);
REFERENCE_IMPL(reduce_backward, reduce_backward);

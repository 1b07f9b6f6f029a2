/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - reference: max and average pooling and their backward.
 *
 * For each image n and channel c, with
 *
 *     h = p stride - before + r dilation, and w from q and s in the same way,
 *
 *     max      map[n,c,p,q] = maximum of image[n,c,h,w] over the taps r, s
 *              index[n,c,p,q] = its h width + w
 *     average  map[n,c,p,q] = sum of image[n,c,h,w] over r, s, / divisor
 *
 *     backward of max      image[n,c,h,w] = sum of map[n,c,p,q] over the
 *                          windows p, q whose index is h, w
 *     backward of average  image[n,c,h,w] = sum of map[n,c,p,q] / divisor over
 *                          the windows p, q that have a tap at h, w
 *
 * Taps in the padding are left out. Sums are float64, in row-major order, and
 * rounded once to float32; storing rounds once more. */
#include "lib/op/pool/pool.h"

#include "backends/reference/reference.h"
#include "kernels/pool/pool.h"

/* Positions or taps first..last along each axis, inclusive. */
struct pool_range {
    int64_t first[AXES], last[AXES];
};

/* Set first and last to the taps of position p in [from, to) of the image's
 * coordinates. If there are none, last is less than first. */
static void pool_taps_within(const struct slide *s, int64_t p, int64_t from,
                             int64_t to, int64_t *first, int64_t *last)
{
    int64_t start = slide_at(s, p, 0);
    *first = size_most(0, size_div_up(from - start, s->dilation));
    *last = size_least(s->window, size_div_up(to - start, s->dilation)) - 1;
}

/* Return the taps of window (p, q) that are in the image. */
static struct pool_range pool_window_taps(const struct pool_op *op, int64_t p,
                                          int64_t q)
{
    const int64_t at[] = {p, q};
    struct pool_range r;
    for (int i = 0; i < AXES; i++)
        pool_taps_within(&op->slide[i], at[i], 0, op->slide[i].image,
                         &r.first[i], &r.last[i]);
    return r;
}

/* Return the windows that may have a tap at row h and column w. */
static struct pool_range pool_windows_at(const struct pool_op *op, int64_t h,
                                         int64_t w)
{
    const int64_t at[] = {h, w};
    struct pool_range r;
    for (int i = 0; i < AXES; i++) {
        const struct slide *s = &op->slide[i];
        int64_t x = at[i] + s->before;
        r.first[i] =
            size_most(0, size_div_up(x - (slide_extent(s) - 1), s->stride));
        r.last[i] = size_least(s->map - 1, x / s->stride);
    }
    return r;
}

/* Return whether position p has a tap at x. p must be from pool_windows_at(): x
 * is then inside the window, but it may be between two taps. */
static bool pool_has_tap(const struct slide *s, int64_t p, int64_t x)
{
    return (x - slide_at(s, p, 0)) % s->dilation == 0;
}

/* Return the number of taps of one axis that count for an average. */
static int64_t pool_count(const struct pool_op *op, int axis, int64_t p)
{
    const struct slide *s = &op->slide[axis];
    int64_t first, last;
    if (op->count_padding)
        pool_taps_within(s, p, -s->before, s->image + s->after, &first, &last);
    else
        pool_taps_within(s, p, 0, s->image, &first, &last);
    return last < first ? 0 : last - first + 1;
}

/* Return the divisor of the average of window (p, q): the caller's number, or
 * the number of its taps that count. */
static float pool_divisor(const struct pool_op *op, int64_t p, int64_t q)
{
    if (op->divisor != 0)
        return (float)op->divisor;
    return (float)(pool_count(op, HEIGHT, p) * pool_count(op, WIDTH, q));
}

/* Return the offset of element [n,c,h,w], where nc contains n and c. */
static int64_t pool_at(const struct view *v, const int64_t *nc, int64_t h,
                       int64_t w)
{
    return nc[0] * v->stride[0] + nc[1] * v->stride[1] + h * v->stride[2] +
           w * v->stride[3];
}

/* Compute the maximum of a window, and its index. The first tap is always
 * taken, so that a window of -Inf or NaN has an index, too; a window without
 * taps has the index -1. For the other taps pool_takes() decides. */
static void pool_max(const struct pool_op *op, const int64_t *nc, int64_t p,
                     int64_t q)
{
    const struct pool_range taps = pool_window_taps(op, p, q);
    float max = -INFINITY;
    int64_t index = -1;
    for (int64_t r = taps.first[HEIGHT]; r <= taps.last[HEIGHT]; r++)
        for (int64_t s = taps.first[WIDTH]; s <= taps.last[WIDTH]; s++) {
            int64_t h = slide_at(&op->slide[HEIGHT], p, r);
            int64_t w = slide_at(&op->slide[WIDTH], q, s);
            float x = view_load(&op->image, pool_at(&op->image, nc, h, w));
            if (index >= 0 && !pool_takes(x, max))
                continue;
            max = x;
            index = h * op->slide[WIDTH].image + w;
        }
    view_store(&op->map, pool_at(&op->map, nc, p, q), pool_result(max));
    if (op->index.buffer != NULL)
        store_bits(view_host(&op->index), SSQ_I32,
                   pool_at(&op->index, nc, p, q), (uint32_t)index);
}

/* Compute the average of a window. */
static void pool_average(const struct pool_op *op, const int64_t *nc, int64_t p,
                         int64_t q)
{
    const struct pool_range taps = pool_window_taps(op, p, q);
    double sum = 0.0;
    for (int64_t r = taps.first[HEIGHT]; r <= taps.last[HEIGHT]; r++)
        for (int64_t s = taps.first[WIDTH]; s <= taps.last[WIDTH]; s++) {
            int64_t h = slide_at(&op->slide[HEIGHT], p, r);
            int64_t w = slide_at(&op->slide[WIDTH], q, s);
            sum += (double)view_load(&op->image, pool_at(&op->image, nc, h, w));
        }
    view_store(&op->map, pool_at(&op->map, nc, p, q),
               (float)sum / pool_divisor(op, p, q));
}

/* Return the term of window (p, q) in the gradient of row h and column w. */
static float pool_term(const struct pool_op *op, const int64_t *nc, int64_t p,
                       int64_t q, int64_t h, int64_t w)
{
    if (!pool_has_tap(&op->slide[HEIGHT], p, h) ||
        !pool_has_tap(&op->slide[WIDTH], q, w))
        return 0.0f;
    if (op->kind == POOL_MAX_BACKWARD &&
        (int32_t)load_bits(view_host(&op->index), SSQ_I32,
                           pool_at(&op->index, nc, p, q)) !=
            h * op->slide[WIDTH].image + w)
        return 0.0f;
    float dy = view_load(&op->map, pool_at(&op->map, nc, p, q));
    return op->kind == POOL_AVG_BACKWARD ? dy / pool_divisor(op, p, q) : dy;
}

/* Compute the gradient of row h and column w. It adds the terms of all windows,
 * instead of scattering the gradient of each window. An element is therefore
 * written once, and its sum has one order. */
static void pool_gradient(const struct pool_op *op, const int64_t *nc,
                          int64_t h, int64_t w)
{
    const struct pool_range at = pool_windows_at(op, h, w);
    double sum = 0.0;
    for (int64_t p = at.first[HEIGHT]; p <= at.last[HEIGHT]; p++)
        for (int64_t q = at.first[WIDTH]; q <= at.last[WIDTH]; q++)
            sum += (double)pool_term(op, nc, p, q, h, w);
    view_store(&op->image, pool_at(&op->image, nc, h, w), (float)sum);
}

/* Compute each element [n,c,p,q] of the map, or [n,c,h,w] of the image. */
static ssq_status reference_pool_run(struct backend_queue *queue,
                                     const struct pool_op *op)
{
    (void)queue;
    static void (*const compute[])(const struct pool_op *, const int64_t *,
                                   int64_t, int64_t) = {
        [POOL_MAX] = pool_max,
        [POOL_MAX_BACKWARD] = pool_gradient,
        [POOL_AVG] = pool_average,
        [POOL_AVG_BACKWARD] = pool_gradient};
    const bool backward =
        op->kind == POOL_MAX_BACKWARD || op->kind == POOL_AVG_BACKWARD;
    const struct view *output = backward ? &op->image : &op->map;
    struct walk w;
    walk_begin(&w, &output, 1);
    do {
        compute[op->kind](op, w.index, w.index[2], w.index[3]);
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(pool);

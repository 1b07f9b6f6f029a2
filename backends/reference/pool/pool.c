/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - reference: max and average pooling and their backward.
 *
 * The forward pass computes each element of the map from its window. The
 * backward pass computes each element of the image from the windows that may
 * contain it, in row-major order. */
#include "lib/op/pool/pool.h"

#include "backends/reference/reference.h"
#include "kernels/pool/pool.h"

/* Positions or taps first..last along each axis, inclusive. */
struct pool_range {
    int64_t first[AXES], last[AXES];
};

/* Set first and last to the taps of position p in [from, to) of the image's
 * coordinates. If there are none, last is less than first. */
static void taps_in(const struct slide *s, int64_t p, int64_t from, int64_t to,
                    int64_t *first, int64_t *last)
{
    int64_t start = slide_at(s, p, 0);
    *first = size_most(0, size_div_up(from - start, s->dilation));
    *last = size_least(s->window, size_div_up(to - start, s->dilation)) - 1;
}

/* Return the taps of window (p, q) that are in the image. */
static struct pool_range window_of(const struct pool_op *op, int64_t p,
                                   int64_t q)
{
    const int64_t at[] = {p, q};
    struct pool_range r;
    for (int i = 0; i < AXES; i++)
        taps_in(&op->slide[i], at[i], 0, op->slide[i].image, &r.first[i],
                &r.last[i]);
    return r;
}

/* Return the positions whose windows may contain row h and column w. */
static struct pool_range windows_at(const struct pool_op *op, int64_t h,
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

/* Return whether row or column x is a tap of position p. p must be from
 * windows_at(): x is then inside the window, but it may be between two taps. */
static bool holds(const struct slide *s, int64_t p, int64_t x)
{
    return (x - slide_at(s, p, 0)) % s->dilation == 0;
}

/* Return the number of taps of one axis that count for an average. */
static int64_t counted(const struct pool_op *op, int axis, int64_t p)
{
    const struct slide *s = &op->slide[axis];
    int64_t first, last;
    if (op->count_padding)
        taps_in(s, p, -s->before, s->image + s->after, &first, &last);
    else
        taps_in(s, p, 0, s->image, &first, &last);
    return last < first ? 0 : last - first + 1;
}

/* Return the divisor of the average of window (p, q): the caller's number, or
 * the number of its taps that count. */
static float divisor_of(const struct pool_op *op, int64_t p, int64_t q)
{
    if (op->divisor != 0)
        return (float)op->divisor;
    return (float)(counted(op, HEIGHT, p) * counted(op, WIDTH, q));
}

/* A channel of one image: its offset in each view. */
struct channel {
    int64_t image, map, index;
};

/* Return the offset of row h and column w in a channel, in elements. Dimensions
 * 2 and 3 are the height and width. */
static int64_t offset(const struct view *v, int64_t h, int64_t w)
{
    return h * v->stride[2] + w * v->stride[3];
}

/* Compute the maximum of a window and its index, row-major in the channel of
 * the image. The first tap is always taken, so that a window of -Inf or NaN has
 * an index, too. For the others pool_takes() decides. */
static void max_at(const struct pool_op *op, struct channel c, int64_t p,
                   int64_t q)
{
    const struct view *x = &op->image;
    const void *image = view_host(x);
    struct pool_range r = window_of(op, p, q);
    float best = -INFINITY;
    int64_t where = -1;
    for (int64_t i = r.first[HEIGHT]; i <= r.last[HEIGHT]; i++)
        for (int64_t j = r.first[WIDTH]; j <= r.last[WIDTH]; j++) {
            int64_t h = slide_at(&op->slide[HEIGHT], p, i);
            int64_t w = slide_at(&op->slide[WIDTH], q, j);
            float value = load_f32(image, x->dtype, c.image + offset(x, h, w));
            if (where >= 0 && !pool_takes(value, best))
                continue;
            best = value;
            where = h * op->slide[WIDTH].image + w;
        }
    store_f32(view_host(&op->map), op->map.dtype,
              c.map + offset(&op->map, p, q), pool_result(best));
    if (op->index.buffer != NULL)
        store_bits(view_host(&op->index), SSQ_I32,
                   c.index + offset(&op->index, p, q), (uint32_t)where);
}

/* Compute the average of a window. The sum is float64, and rounded to float32
 * before the division. */
static void average_at(const struct pool_op *op, struct channel c, int64_t p,
                       int64_t q)
{
    const struct view *x = &op->image;
    const void *image = view_host(x);
    struct pool_range r = window_of(op, p, q);
    double sum = 0.0;
    for (int64_t i = r.first[HEIGHT]; i <= r.last[HEIGHT]; i++)
        for (int64_t j = r.first[WIDTH]; j <= r.last[WIDTH]; j++) {
            int64_t h = slide_at(&op->slide[HEIGHT], p, i);
            int64_t w = slide_at(&op->slide[WIDTH], q, j);
            sum += (double)load_f32(image, x->dtype, c.image + offset(x, h, w));
        }
    store_f32(view_host(&op->map), op->map.dtype,
              c.map + offset(&op->map, p, q),
              (float)sum / divisor_of(op, p, q));
}

/* Return the gradient that window (p, q) contributes to row h and column w. */
static double given(const struct pool_op *op, struct channel c, int64_t p,
                    int64_t q, int64_t h, int64_t w)
{
    const struct view *y = &op->map;
    if (!holds(&op->slide[HEIGHT], p, h) || !holds(&op->slide[WIDTH], q, w))
        return 0.0;
    if (op->kind == POOL_MAX_BACKWARD &&
        (int32_t)load_bits(view_host(&op->index), SSQ_I32,
                           c.index + offset(&op->index, p, q)) !=
            h * op->slide[WIDTH].image + w)
        return 0.0;
    float dy = load_f32(view_host(y), y->dtype, c.map + offset(y, p, q));
    if (op->kind == POOL_AVG_BACKWARD)
        dy = dy / divisor_of(op, p, q);
    return (double)dy;
}

/* Compute the gradient of row h and column w. It adds the contributions of all
 * windows, instead of scattering the gradient of each window. An element is
 * therefore written once, and its sum has one order. */
static void gradient_at(const struct pool_op *op, struct channel c, int64_t h,
                        int64_t w)
{
    struct pool_range r = windows_at(op, h, w);
    double sum = 0.0;
    for (int64_t p = r.first[HEIGHT]; p <= r.last[HEIGHT]; p++)
        for (int64_t q = r.first[WIDTH]; q <= r.last[WIDTH]; q++)
            sum += given(op, c, p, q, h, w);
    store_f32(view_host(&op->image), op->image.dtype,
              c.image + offset(&op->image, h, w), (float)sum);
}

/* Compute all elements of a channel of the result. */
static void pool_channel(const struct pool_op *op, struct channel c)
{
    bool backward =
        op->kind == POOL_MAX_BACKWARD || op->kind == POOL_AVG_BACKWARD;
    const struct view *made = backward ? &op->image : &op->map;
    for (int64_t i = 0; i < made->shape[2]; i++)
        for (int64_t j = 0; j < made->shape[3]; j++) {
            if (backward)
                gradient_at(op, c, i, j);
            else if (op->kind == POOL_MAX)
                max_at(op, c, i, j);
            else
                average_at(op, c, i, j);
        }
}

/* Run pooling, channel by channel. The offset of an absent index is not
 * used. */
static ssq_status pool(struct backend_queue *queue, const struct pool_op *op)
{
    (void)queue;
    const struct view *v[] = {&op->image, &op->map, &op->index};
    for (int64_t n = 0; n < op->image.shape[0]; n++)
        for (int64_t c = 0; c < op->image.shape[1]; c++) {
            int64_t at[3];
            for (int k = 0; k < 3; k++)
                at[k] = n * v[k]->stride[0] + c * v[k]->stride[1];
            pool_channel(op, (struct channel){at[0], at[1], at[2]});
        }
    return SSQ_OK;
}

REFERENCE_IMPL(pool, pool);

/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - reference: convolution and its gradients, as nested loops.
 *
 * Three operands belong together. For each image n and group g, with
 *
 *     h = p stride - before + r dilation, and w from q and s in the same way,
 *
 * each kind computes one of them from the other two:
 *
 *     forward  map[n,g,o,p,q]    = sum of image[n,g,c,h,w] filter[g,o,c,r,s]
 *                                  over c, r, s
 *     data     image[n,g,c,h,w]  = sum of map[n,g,o,p,q] filter[g,o,c,r,s]
 *                                  over o, r, s
 *     weight   filter[g,o,c,r,s] = sum of image[n,g,c,h,w] map[n,g,o,p,q]
 *                                  over n, p, q
 *
 * The loops are nested: four over the positions of the output, three over the
 * terms of a sum. The innermost loop is over the channels of the output,
 * because sums of different elements do not wait for each other.
 *
 * An element outside of an image or a map is 0, and this 0 is multiplied, too.
 * Sums are float64, in which products of float32 are exact, with the indexes in
 * ascending order, the last one fastest. A sum is rounded to float32 once. Bias
 * and activation are float32, and storing rounds once more. */
#include "lib/op/conv/conv.h"

#include "backends/reference/reference.h"
#include "backends/reference/work.h"
#include "kernels/gemm/epilogue.h"

/* An operand as float32, in row-major order. */
struct conv_operand {
    const float *x;
    const int64_t *shape;
};

/* Return element [i,j,k,h,w]. */
static inline double conv_at(const struct conv_operand *v, int64_t i, int64_t j,
                             int64_t k, int64_t h, int64_t w)
{
    const int64_t *n = v->shape;
    return (double)v->x[(((i * n[1] + j) * n[2] + k) * n[3] + h) * n[4] + w];
}

/* Return element [n,g,k,h,w] of an image or a map; 0 if h or w is outside. */
static inline double conv_padded(const struct conv_operand *v, int64_t n,
                                 int64_t g, int64_t k, int64_t h, int64_t w)
{
    if (h < 0 || h >= v->shape[3] || w < 0 || w >= v->shape[4])
        return 0.0;
    return conv_at(v, n, g, k, h, w);
}

/* A convolution. The operand that it computes is not set. */
struct convolution {
    const struct slide *vertical, *horizontal;
    int64_t n, c, o;
    struct conv_operand image, filter, map;
};

/* Add to sum[o] the terms of map[n,g,o,p,q]. */
static void conv_forward(const struct convolution *v, int64_t n, int64_t g,
                         int64_t p, int64_t q, double *sum)
{
    for (int64_t c = 0; c < v->c; c++)
        for (int64_t r = 0; r < v->vertical->window; r++)
            for (int64_t s = 0; s < v->horizontal->window; s++) {
                const int64_t h = slide_at(v->vertical, p, r);
                const int64_t w = slide_at(v->horizontal, q, s);
                const double x = conv_padded(&v->image, n, g, c, h, w);
                for (int64_t o = 0; o < v->o; o++)
                    sum[o] += x * conv_at(&v->filter, g, o, c, r, s);
            }
}

/* Return the position of the window whose tap r is at index h of the image, or
 * -1. It may be after the last position. */
static int64_t conv_position(const struct slide *s, int64_t h, int64_t r)
{
    int64_t start = h + s->before - r * s->dilation;
    return start % s->stride == 0 ? start / s->stride : -1;
}

/* Add to sum[c] the terms of image[n,g,c,h,w]. */
static void conv_data(const struct convolution *v, int64_t n, int64_t g,
                      int64_t h, int64_t w, double *sum)
{
    for (int64_t o = 0; o < v->o; o++)
        for (int64_t r = 0; r < v->vertical->window; r++)
            for (int64_t s = 0; s < v->horizontal->window; s++) {
                const int64_t p = conv_position(v->vertical, h, r);
                const int64_t q = conv_position(v->horizontal, w, s);
                const double dy = conv_padded(&v->map, n, g, o, p, q);
                for (int64_t c = 0; c < v->c; c++)
                    sum[c] += dy * conv_at(&v->filter, g, o, c, r, s);
            }
}

/* Add to sum[o] the terms of filter[g,o,c,r,s]. */
static void conv_weight(const struct convolution *v, int64_t g, int64_t c,
                        int64_t r, int64_t s, double *sum)
{
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t p = 0; p < v->vertical->map; p++)
            for (int64_t q = 0; q < v->horizontal->map; q++) {
                const int64_t h = slide_at(v->vertical, p, r);
                const int64_t w = slide_at(v->horizontal, q, s);
                const double x = conv_padded(&v->image, n, g, c, h, w);
                for (int64_t o = 0; o < v->o; o++)
                    sum[o] += x * conv_at(&v->map, n, g, o, p, q);
            }
}

/* Return activation(sum + bias) of channel k of group g. Gradients of filters
 * have neither. */
static float conv_finish(const struct conv_op *op, double sum, int64_t g,
                         int64_t k)
{
    const struct view *b = &op->bias;
    float x = (float)sum;
    if (b->buffer != NULL)
        x = x + view_load(b, g * b->stride[0] + k * b->stride[1]);
    return activate(x, op->activation);
}

/* Return a view without dimension d. */
static struct view conv_without(const struct view *v, int d)
{
    struct view rest = *v;
    rest.rank--;
    for (int i = d; i < rest.rank; i++) {
        rest.shape[i] = v->shape[i + 1];
        rest.stride[i] = v->stride[i + 1];
    }
    return rest;
}

typedef void (*conv_terms_fn)(const struct convolution *v, int64_t i, int64_t j,
                              int64_t k, int64_t l, double *sum);

/* Compute the output y, position by position. The channels are dimension d. sum
 * is memory for one element of each. */
static void conv_compute(const struct conv_op *op, const struct convolution *v,
                         const struct view *y, int d, double *sum)
{
    static const conv_terms_fn terms[] = {[CONV_FORWARD] = conv_forward,
                                          [CONV_DATA] = conv_data,
                                          [CONV_WEIGHT] = conv_weight};
    const struct view positions = conv_without(y, d);
    struct walk at;
    walk_begin(&at, (const struct view *[]){&positions}, 1);
    do {
        const int64_t *i = at.index;
        for (int64_t k = 0; k < y->shape[d]; k++)
            sum[k] = 0.0;
        terms[op->kind](v, i[0], i[1], i[2], i[3], sum);
        for (int64_t k = 0; k < y->shape[d]; k++)
            view_store(y, at.at[0] + k * y->stride[d],
                       conv_finish(op, sum[k], i[1], k));
    } while (walk_next(&at));
}

/* Unpack the two operands that are read, and compute the third one. */
static ssq_status reference_conv_run(struct backend_queue *queue,
                                     const struct conv_op *op)
{
    (void)queue;
    struct work w = {.n = 0};
    struct convolution v = {.vertical = &op->slide[HEIGHT],
                            .horizontal = &op->slide[WIDTH],
                            .n = op->n,
                            .c = op->c,
                            .o = op->o,
                            .image.shape = op->image.shape,
                            .filter.shape = op->filter.shape,
                            .map.shape = op->map.shape};
    const struct view *y = op->kind == CONV_FORWARD ? &op->map
                           : op->kind == CONV_DATA  ? &op->image
                                                    : &op->filter;
    int channels = op->kind == CONV_WEIGHT ? 1 : 2;
    double *sum = work_doubles(&w, y->shape[channels]);
    if (op->kind != CONV_DATA)
        v.image.x = work_view(&w, &op->image);
    if (op->kind != CONV_WEIGHT)
        v.filter.x = work_view(&w, &op->filter);
    if (op->kind != CONV_FORWARD)
        v.map.x = work_view(&w, &op->map);
    bool failed = w.failed;
    if (!failed)
        conv_compute(op, &v, y, channels, sum);
    work_free(&w);
    return failed ? error_set(SSQ_ERR_NOMEM,
                              "conv: no host memory for float32 operands")
                  : SSQ_OK;
}

REFERENCE_IMPL(conv);

/* SPDX-License-Identifier: Apache-2.0 */
/* product.h - a gemm in the form of kernels and vendors' libraries: one batch
 * dimension, and adjacent columns in d. A product is views and numbers: to cut
 * or transpose it moves nothing in memory.
 *
 * All functions are inline, because modules, which import nothing, need
 * them. */
#ifndef LIB_OP_GEMM_PRODUCT_H
#define LIB_OP_GEMM_PRODUCT_H

#include "kernels/gemm/gemm_args.h"
#include "lib/core/base/size.h"
#include "lib/op/gemm/gemm.h"

/** Views of rank 3. */
struct product {
    int64_t batch, m, n, k;
    float alpha, beta;
    ssq_activation activation;
    struct view a, b, c, bias, d;
};

/** Return the product of a whole op, which has one batch dimension, unchanged.
 *  If d's columns are not adjacent it must still be transposed. */
static inline struct product product_of(const struct gemm_op *op)
{
    return (struct product){op->batch, op->m,    op->n,          op->k,
                            op->alpha, op->beta, op->activation, op->a,
                            op->b,     op->c,    op->bias,       op->d};
}

/** Return the number of elements from the first to the last of a view. It
 *  cannot overflow, because the view is inside a buffer. */
static inline int64_t product_span(const struct view *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++)
        n += (v->shape[i] - 1) * v->stride[i];
    return n;
}

/** Return the stride of dimension i. It is 0 if the size is 1 or the operand is
 *  absent, so that any index reads the same element. */
static inline uint32_t product_step(const struct view *v, int i)
{
    return v->buffer == NULL || v->shape[i] == 1 ? 0 : (uint32_t)v->stride[i];
}

/** Set *row and *column to the steps of a factor to the next row and column;
 *  one of them is 1. A size of 1 may have any stride; the other dimension then
 *  decides. */
static inline void product_steps(const struct view *v, uint32_t *row,
                                 uint32_t *column)
{
    bool columns = v->stride[2] != 1;
    if (v->shape[2] == 1)
        columns = v->stride[1] == 1;
    *row = columns ? 1 : product_step(v, 1);
    *column = columns ? product_step(v, 2) : 1;
}

/** Swap the last two dimensions of a view. */
static inline void product_turn(struct view *v)
{
    int64_t size = v->shape[1], step = v->stride[1];
    v->shape[1] = v->shape[2];
    v->stride[1] = v->stride[2];
    v->shape[2] = size;
    v->stride[2] = step;
}

/** Transpose a product, d' = b' a': swap the factors and turn all views. A d
 *  whose rows are adjacent becomes one whose columns are. */
static inline void product_transpose(struct product *g)
{
    struct view a = g->a;
    int64_t m = g->m;
    g->m = g->n;
    g->n = m;
    g->a = g->b;
    g->b = a;
    product_turn(&g->a);
    product_turn(&g->b);
    product_turn(&g->c);
    product_turn(&g->bias);
    product_turn(&g->d);
}

/** Return the product of a whole op, for kernels that write d by rows. */
static inline struct product product_rows(const struct gemm_op *op)
{
    struct product g = product_of(op);
    if (g.n != 1 && g.d.stride[2] != 1)
        product_transpose(&g);
    return g;
}

/** Restrict dimension i to elements from .. from + n - 1; absent views do not
 *  change. */
static inline void product_cut(struct view *v, int i, int64_t from, int64_t n)
{
    if (v->buffer == NULL)
        return;
    v->offset +=
        (uint64_t)(from * v->stride[i]) * (v->dtype == SSQ_F32 ? 4u : 2u);
    v->shape[i] = n;
}

/** Return a part: all of k, and size->batch, size->m and size->n, or the
 *  remainder, from z, i and j. a is not cut along n, nor b along m. A broadcast
 *  dimension has stride 0; only its size changes. */
static inline struct product product_part(const struct product *g,
                                          const struct product *size, int64_t z,
                                          int64_t i, int64_t j)
{
    struct product part = *g;
    struct view *v[] = {&part.a, &part.b, &part.c, &part.bias, &part.d};
    part.batch = size_least(size->batch, g->batch - z);
    part.m = size_least(size->m, g->m - i);
    part.n = size_least(size->n, g->n - j);
    for (int q = 0; q < 5; q++)
        product_cut(v[q], 0, z, part.batch);
    for (int q = 0; q < 5; q++)
        if (v[q] != &part.b)
            product_cut(v[q], 1, i, part.m);
    for (int q = 1; q < 5; q++)
        product_cut(v[q], 2, j, part.n);
    return part;
}

/** Return the description of a product that every gemm kernel gets. With k = 0
 *  the sums are 0, and an infinite alpha times 0 would be NaN, so alpha becomes
 *  0 as well. Absent operands have steps of 0 and a dtype that marks them as
 *  absent. */
static inline struct gemm_shape product_shape(const struct product *g)
{
    struct gemm_shape s = {.m = (uint32_t)g->m,
                           .n = (uint32_t)g->n,
                           .k = (uint32_t)g->k,
                           .batch = (uint32_t)g->batch,
                           .activation = (uint32_t)g->activation,
                           .alpha = g->k == 0 ? 0.0f : g->alpha,
                           .beta = g->beta,
                           .a_batch = view_step(&g->a, 0),
                           .b_batch = view_step(&g->b, 0),
                           .c_batch = view_step(&g->c, 0),
                           .d_batch = view_step(&g->d, 0),
                           .c_row = view_step(&g->c, 1),
                           .c_column = view_step(&g->c, 2),
                           .bias_batch = view_step(&g->bias, 0),
                           .bias_row = view_step(&g->bias, 1),
                           .bias_column = view_step(&g->bias, 2),
                           .d_row = view_step(&g->d, 1)};
    s.types =
        GEMM_TYPES(view_dtype(&g->a), view_dtype(&g->b), view_dtype(&g->c),
                   view_dtype(&g->bias), view_dtype(&g->d));
    return s;
}

#endif

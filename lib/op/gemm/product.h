/* SPDX-License-Identifier: Apache-2.0 */
/* product.h - a gemm as kernels and vendors' libraries know it: one batch, and
 * d's columns are neighbours. A product is views and numbers: to cut, turn or
 * transpose it moves nothing in memory.
 *
 * All of it is inline, because modules, which import nothing, need it too. */
#ifndef LIB_OP_GEMM_PRODUCT_H
#define LIB_OP_GEMM_PRODUCT_H

#include "kernels/gemm/gemm_args.h"
#include "lib/core/size.h"
#include "lib/op/gemm/gemm.h"

/** Views of rank 3. */
struct product {
    int64_t batch, m, n, k;
    float alpha, beta;
    ssq_activation activation;
    struct view a, b, c, bias, d;
};

/** A whole op, which has one batch dimension, as it lies: where d's columns are
 *  no neighbours it is still to be transposed. */
static inline struct product product_of(const struct gemm_op *op)
{
    return (struct product){op->batch, op->m,    op->n,          op->k,
                            op->alpha, op->beta, op->activation, op->a,
                            op->b,     op->c,    op->bias,       op->d};
}

/** Elements from the first to the last of a view; it lies in a buffer, so that
 *  this cannot overflow. */
static inline int64_t product_span(const struct view *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++)
        n += (v->shape[i] - 1) * v->stride[i];
    return n;
}

/** Elements to the next place along dimension i: 0 where there is no next one,
 *  or the operand is absent, so that any index reads the same element. */
static inline uint32_t product_step(const struct view *v, int i)
{
    return v->buffer == NULL || v->shape[i] == 1 ? 0 : (uint32_t)v->stride[i];
}

/** The steps of a factor to the next row and column, one of which is 1. A size
 *  of 1 may have any stride: then the other dimension is the line. */
static inline void product_steps(const struct view *v, uint32_t *row,
                                 uint32_t *column)
{
    bool columns = v->stride[2] != 1;
    if (v->shape[2] == 1)
        columns = v->stride[1] == 1;
    *row = columns ? 1 : product_step(v, 1);
    *column = columns ? product_step(v, 2) : 1;
}

/** The last two dimensions of a view change places. */
static inline void product_turn(struct view *v)
{
    int64_t size = v->shape[1], step = v->stride[1];
    v->shape[1] = v->shape[2];
    v->stride[1] = v->stride[2];
    v->shape[2] = size;
    v->stride[2] = step;
}

/** d' = b' a': the factors change places and all views are turned. So a d whose
 *  rows are neighbours becomes one whose columns are. */
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

/** A whole op as kernels want it that write d by rows. */
static inline struct product product_rows(const struct gemm_op *op)
{
    struct product g = product_of(op);
    if (g.n != 1 && g.d.stride[2] != 1)
        product_transpose(&g);
    return g;
}

/** Elements from .. from + n - 1 of dimension i; absent views stay so. */
static inline void product_cut(struct view *v, int i, int64_t from, int64_t n)
{
    if (v->buffer == NULL)
        return;
    v->offset +=
        (uint64_t)(from * v->stride[i]) * (v->dtype == SSQ_F32 ? 4u : 2u);
    v->shape[i] = n;
}

/** A part: all of k for `part`'s batch, m and n, from z, i and j on, or what is
 *  left. a has no columns of n, and b no rows of m, so neither is cut there.
 *  What is broadcast has a stride of 0 and stays where it is, with fewer sizes
 *  to go through. */
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

/** What every kernel of a gemm is told of a product. With k = 0 the sums are 0,
 *  and alpha times them would be a NaN for an infinite alpha: it becomes 0 as
 *  well. Absent operands have steps of 0 and a dtype that says so, by which
 *  kernels know them. */
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

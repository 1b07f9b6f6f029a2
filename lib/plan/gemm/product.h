/* SPDX-License-Identifier: Apache-2.0 */
/* product.h - a matrix product that is a launch or three: a part of a gemm. */
#ifndef LIB_PLAN_GEMM_PRODUCT_H
#define LIB_PLAN_GEMM_PRODUCT_H

#include "lib/plan/gemm/gemm.h"

/** Views of rank 3, one batch; d's columns are neighbours. */
struct product {
    int64_t batch, m, n, k;
    float alpha, beta;
    ssq_activation activation;
    struct view a, b, c, bias, d;
};

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t quotient_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline uint32_t dtype_of(const struct view *v)
{
    return v->buffer == NULL ? 0 : (uint32_t)v->dtype;
}

static inline uint32_t step(const struct view *v, int i)
{
    return v->buffer == NULL ? 0 : (uint32_t)v->stride[i];
}

/* GEMM_FIELDS of any args X of product G. */
#define FILL(X, G)                                                             \
    do {                                                                       \
        (X).m = (uint32_t)(G)->m;                                              \
        (X).n = (uint32_t)(G)->n;                                              \
        (X).k = (uint32_t)(G)->k;                                              \
        (X).batch = (uint32_t)(G)->batch;                                      \
        (X).types = GEMM_TYPES(dtype_of(&(G)->a), dtype_of(&(G)->b),           \
                               dtype_of(&(G)->c), dtype_of(&(G)->bias),        \
                               dtype_of(&(G)->d));                             \
        (X).activation = (uint32_t)(G)->activation;                            \
        (X).alpha = (G)->k == 0 ? 0.0f : (G)->alpha;                           \
        (X).beta = (G)->beta;                                                  \
        (X).a_batch = step(&(G)->a, 0);                                        \
        (X).b_batch = step(&(G)->b, 0);                                        \
        (X).c_batch = step(&(G)->c, 0);                                        \
        (X).d_batch = step(&(G)->d, 0);                                        \
        (X).c_row = step(&(G)->c, 1);                                          \
        (X).c_column = step(&(G)->c, 2);                                       \
        (X).bias_batch = step(&(G)->bias, 0);                                  \
        (X).bias_row = step(&(G)->bias, 1);                                    \
        (X).bias_column = step(&(G)->bias, 2);                                 \
        (X).d_row = step(&(G)->d, 1);                                          \
    } while (0)

/** Elements from .. from + n - 1 of dimension i; absent views stay so. */
void product_cut(struct view *v, int i, int64_t from, int64_t n);
/** All of k for `part`'s batch, m and n, from z, i and j on, or what is left.
 */
struct product product_part(const struct product *g, const struct product *part,
                            int64_t z, int64_t i, int64_t j);
/** The last two dimensions of a view change places. */
void product_turn(struct view *v);
/** d' = b' a' */
void product_transpose(struct product *g);
/** An operand as u16 and as float32: the kernel reads the one that it is. */
void product_bind(struct plan *plan, const struct view *v, enum access access);
/** d, c and bias. */
void product_bind_epilogue(struct plan *plan, const struct product *g);

/** By gemm_tiled.k, and the greatest k for which an item's loops may do that;
 *  where no driver ends them, for which a tile's chain should be one launch. */
void plan_tiled(struct plan *plan, const struct product *g);
int64_t product_depth(const struct plan *plan, const struct product *g);
/** Of a greater k: shares of k are added up as if they were a batch, and their
 *  sums in a second launch. */
void plan_shares(struct plan *plan, const struct product *g);

#endif

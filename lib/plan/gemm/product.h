/* SPDX-License-Identifier: Apache-2.0 */
/* product.h - a matrix product that is a launch or three: a gemm, or a piece of
 * one. */
#ifndef LIB_PLAN_GEMM_PRODUCT_H
#define LIB_PLAN_GEMM_PRODUCT_H

#include "kernels/gemm/gemm_args.h"
#include "lib/plan/gemm/gemm.h"

/** Views of rank 3, one batch; d's columns are neighbours. */
struct product {
    int64_t batch, m, n, k;
    float alpha, beta;
    ssq_activation activation;
    struct view a, b, c, bias, d;
};

/** Elements from .. from + n - 1 of dimension i; absent views stay so. */
void product_cut(struct view *v, int i, int64_t from, int64_t n);
/** A piece: all of k for `part`'s batch, m and n, from z, i and j on, or what
 *  is left. */
struct product product_part(const struct product *g, const struct product *part,
                            int64_t z, int64_t i, int64_t j);
/** The last two dimensions of a view change places. */
void product_turn(struct view *v);
/** d' = b' a' */
void product_transpose(struct product *g);
/** What every kernel of a gemm is told of a product. */
struct gemm_shape product_shape(const struct product *g);
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

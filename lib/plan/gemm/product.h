/* SPDX-License-Identifier: Apache-2.0 */
/* product.h - a matrix product that is a launch or three: how its kernels bind
 * it. */
#ifndef LIB_PLAN_GEMM_PRODUCT_H
#define LIB_PLAN_GEMM_PRODUCT_H

#include "lib/op/gemm/product.h"
#include "lib/plan/gemm/gemm.h"

/** An operand as u16 and as float32: the kernel reads the one that it is. */
void product_bind(struct plan *plan, const struct view *v, enum access access);
/** d, c and bias. */
void product_bind_epilogue(struct plan *plan, const struct product *g);

/** True if a launch sees all operands. */
bool product_fits(const struct plan *plan, const struct product *g);
/** Make size, of the parts of g, so small that a launch sees the operands of
 *  any part, and that the sums of one fit scratch if k is cut. Then k is a
 *  multiple of 16. false: single elements are too far apart. */
bool product_shrink(const struct plan *plan, const struct product *g,
                    struct product *size);
/** n of k, from k on, or what is left. */
struct product product_depths(const struct product *g, int64_t k, int64_t n);

/** By gemm_tiled.k, and the greatest k for which an item's loops may do that;
 *  where no driver ends them, for which a tile's chain should be one launch. */
void plan_tiled(struct plan *plan, const struct product *g);
int64_t product_depth(const struct plan *plan, const struct product *g);
/** Of a greater k: shares of k are added up as if they were a batch, and their
 *  sums in a second launch. */
void plan_shares(struct plan *plan, const struct product *g);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* product.h - a matrix product of one or a few launches, and its bindings. */
#ifndef LIB_PLAN_GEMM_PRODUCT_H
#define LIB_PLAN_GEMM_PRODUCT_H

#include "lib/op/gemm/product.h"
#include "lib/plan/gemm/gemm.h"

/** Bind an operand as 2-byte elements and as float32. The kernel reads the
 *  right one. */
void product_bind(struct plan *plan, const struct view *v, enum access access);
/** Bind d, c and bias. */
void product_bind_epilogue(struct plan *plan, const struct product *g);

/** Return true if all operands fit into a launch. */
bool product_fits(const struct plan *plan, const struct product *g);
/** Make *size, the size of the parts of g, so small that the operands of any
 *  part fit into a launch. If k is cut, it is a multiple of 16, and the sums of
 *  a part fit into scratch. False: impossible, since single elements are too
 *  far apart. */
bool product_shrink(const struct plan *plan, const struct product *g,
                    struct product *size);
/** Return the part of g with n elements of k, or fewer at the end, beginning at
 *  k. */
struct product product_depths(const struct product *g, int64_t k, int64_t n);

/** plan_tiled() records a product by gemm_tiled.k. product_depth() returns the
 *  largest k that one launch should have. A driver that limits loops sets it;
 *  otherwise it limits the time of a launch. */
void plan_tiled(struct plan *plan, const struct product *g);
int64_t product_depth(const struct plan *plan, const struct product *g);
/** Record a product with a larger k. Slices of k are computed like a batch. A
 *  second launch adds their sums. */
void plan_split_k(struct plan *plan, const struct product *g);

#endif

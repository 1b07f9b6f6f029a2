/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - a gemm as a part of other plans. */
#ifndef LIB_PLAN_GEMM_GEMM_H
#define LIB_PLAN_GEMM_GEMM_H

#include "lib/op/gemm/gemm.h"
#include "lib/plan/plan.h"

/** Append the launches of a gemm in the form of lib/op/gemm/gemm.h. It needs no
 * more of op than the sizes, the parameters and the views; any number of batch
 *  dimensions, any strides as long as d has a unit stride in its last two. */
void plan_gemm(struct plan *plan, const struct gemm_op *op);

#endif

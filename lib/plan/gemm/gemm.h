/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - a GEMM as a step of other plans. */
#ifndef LIB_PLAN_GEMM_GEMM_H
#define LIB_PLAN_GEMM_GEMM_H

#include "lib/op/gemm/gemm.h"
#include "lib/core/queue/plan.h"

/** Record the launches of a GEMM in the form of lib/op/gemm/gemm.h. Only the
 *  sizes, the parameters and the views of op are used. Any number of batch
 *  dimensions and any strides are allowed, if one of d's last two dimensions
 *  has unit stride. */
void plan_gemm(struct plan *plan, const struct gemm_op *op);

#endif

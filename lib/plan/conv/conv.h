/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - convolution by way of matrices in memory. */
#ifndef LIB_PLAN_CONV_CONV_H
#define LIB_PLAN_CONV_CONV_H

#include "lib/op/conv/conv.h"
#include "lib/plan/plan.h"

bool conv_gemm_check(const struct backend_limits *l, const struct conv_op *op,
                     struct why *why);
void conv_gemm_build(struct plan *p, const struct conv_op *op);

#endif

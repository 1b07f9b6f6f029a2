/* SPDX-License-Identifier: Apache-2.0 */
/* tuned.h - the tuning of a gemm. */
#ifndef LIB_OP_GEMM_TUNED_H
#define LIB_OP_GEMM_TUNED_H

#include "lib/core/device/tuning.h"
#include "lib/op/gemm/gemm.h"

/** Return the key of a canonical op that multiplies: k is not 0, d not
 *  empty. */
struct tuning_key tuning_key_of(const struct gemm_op *op);

/** Set op->op.prefer and op->algorithm of a canonical op to the tuning of its
 *  shape. They are 0 if none exists, or if gemm is pinned. */
void tuning_prefer(const ssq_device *device, struct gemm_op *op);
/** Undo tuning_prefer(). */
static inline void tuning_forget(struct gemm_op *op)
{
    op->op.prefer = 0;
    op->algorithm = 0;
}

#endif

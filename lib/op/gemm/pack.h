/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - the packed copy of a tensor.
 *
 * It is a contiguous tensor [panels, k / pair, columns, pair] of b's dtype. The
 * columns of op(b) are in panels of `columns`, and `pair` elements that are
 * neighbours along k are adjacent. Columns after the last whole panel are not
 * in it. */
#ifndef LIB_OP_GEMM_PACK_H
#define LIB_OP_GEMM_PACK_H

#include "lib/core/queue/observer.h"
#include "lib/op/gemm/gemm.h"

struct packed {
    struct beside beside;   /* first */
    bool trans;             /* b is [n,k] */
    struct observer writes; /* counts writes to b */
    atomic_bool torn;       /* the copy may not match b; it must not be read */
    struct view panels;     /* absent: the device uses none; holds its buffer */
};

/** Set op->panels if args->b is packed and the panels can be read.
 *  @return SSQ_ERR_INVALID b was packed for another trans_b, was written since,
 *          or could not be packed again */
ssq_status packed_use(const ssq_queue *queue, const ssq_gemm_args *args,
                      const char *name, struct gemm_op *op);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - the copy that a packed tensor has beside it.
 *
 * It is a tensor [panels, k / pair, columns, pair], contiguous, of b's dtype:
 * columns of op(b) are in panels of `columns`, and `pair` elements that are
 * neighbours along k lie side by side. Columns behind the last whole panel are
 * not in it. */
#ifndef LIB_OP_GEMM_PACK_H
#define LIB_OP_GEMM_PACK_H

#include "lib/core/witness.h"
#include "lib/op/gemm/gemm.h"

struct packed {
    struct beside beside;  /* first */
    bool trans;            /* b is [n,k] */
    struct witness writes; /* to b */
    atomic_bool torn;      /* the copy is not what b was at any time */
    struct view panels;    /* absent: the device wants none; holds its buffer */
};

/** For a product whose b this is: op->panels where they are to be read.
 *  @return SSQ_ERR_INVALID b was packed for another trans_b, or written since
 */
ssq_status packed_use(const ssq_queue *queue, const ssq_gemm_args *args,
                      const char *name, struct gemm_op *op);

#endif

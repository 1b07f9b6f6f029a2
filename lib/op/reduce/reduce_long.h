/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_long.h - reductions whose operands are too long for a launch. */
#ifndef LIB_OP_REDUCE_REDUCE_LONG_H
#define LIB_OP_REDUCE_REDUCE_LONG_H

#include "lib/op/reduce/reduce.h"

/** Enqueue a reduction of any length: one op, or several stages. */
ssq_status reduce_enqueue(ssq_queue *queue, struct reduce_op *op);
/** Enqueue a norm of any length: of x, or of a list of its pieces. */
ssq_status norm_enqueue(ssq_queue *queue, struct norm_op *op);

#endif

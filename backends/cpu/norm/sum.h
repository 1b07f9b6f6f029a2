/* SPDX-License-Identifier: Apache-2.0 */
/* sum.h - sums and means of rows of neighbours. */
#ifndef BACKENDS_CPU_NORM_SUM_H
#define BACKENDS_CPU_NORM_SUM_H

#include "lib/op/reduce/reduce.h"

/* The slots of an implementation of reduce. */
bool sum_check(const struct backend_device *d, const struct reduce_op *op,
               struct why *why);
ssq_status sum_run(struct backend_queue *queue, const struct reduce_op *op);

#endif

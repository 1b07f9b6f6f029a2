/* SPDX-License-Identifier: Apache-2.0 */
/* pool_backward.h - the gradients of pooling. */
#ifndef BACKENDS_CPU_CONV_POOL_BACKWARD_H
#define BACKENDS_CPU_CONV_POOL_BACKWARD_H

#include "backends/cpu/cpu.h"
#include "lib/op/pool/pool.h"

bool pool_backward_check(const struct backend_device *d,
                         const struct pool_op *op, struct why *why);

/** @return SSQ_ERR_NOMEM, with nothing written */
ssq_status pool_backward_run(struct backend_queue *queue,
                             const struct pool_op *op);

#endif

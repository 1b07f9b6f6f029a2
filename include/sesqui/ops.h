/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - all ops, by family.
 *
 *     ssq_gemm(queue, SSQ_GEMM(.a = x, .b = w, .d = y));
 *
 *     ssq_gemm_args args = SSQ_GEMM_INIT;         // the same, in a variable
 *     args.a = x;
 *     args.b = w;
 *     args.d = y;
 *     ssq_gemm(queue, &args);
 *
 * SSQ_<OP>(.x = .., ..) is a pointer to the args of ssq_<op>, with defaults for
 * all fields that are not named (sesqui/args.h). SSQ_<OP>_INIT contains the
 * same defaults and sets struct_size. Optional tensors that are not set are
 * NULL.
 *
 * Rules of all ops. The families state only their special rules.
 *
 *  - Order: a call enqueues its op, and ops of a queue run in order. The call
 *    copies args and holds the memory of its tensors. The caller may change
 *    args and destroy the tensors when the call has returned.
 *  - SSQ_ERR_INVALID: a shape, dtype or value is not legal; elements of an
 *    output share memory; an output overlaps another operand. If a comment says
 *    "may be x", the output may be exactly x: the same place, shape, strides
 *    and element size. For example, y must not be x shifted by one element.
 *  - The check for overlap compares ranges of memory. It accepts columns of one
 *    matrix, but it may refuse other tensors that interleave without a common
 *    element, for example the even and the odd elements of a vector. In the
 *    same way it refuses an output whose dimensions interleave, for example
 *    shape {3, 2} with strides {2, 3}.
 *  - SSQ_ERR_UNSUPPORTED: no implementation of the device runs the op, for
 *    example because an operand or scratch is too large for a launch, or
 *    because the pinned implementation refuses it. The message lists the
 *    reasons. With ssq_device_options.host_fallback the op then runs on the
 *    host (device.h says when).
 *  - SSQ_ERR_NOMEM: also if memory for scratch runs out. Nothing has been
 *    written after an error, unless the comment of the call says so.
 *  - "float" is f32, f16 or bf16. Arithmetic is float32; sums of class R are
 *    float32 or better. A result is rounded once, to nearest even, when it is
 *    stored. Strides are free unless stated.
 *  - Shapes must be equal, except if a comment says "broadcast". Sizes of 1
 *    then repeat, and missing leading dimensions are 1, as in NumPy. Sizes of 0
 *    are legal. A tensor of "one element" may have any rank.
 *  - Class B: the same bits on every device and backend. If a device flushes
 *    float32 subnormals (props.f32_subnormals), this holds only if operands,
 *    results and intermediate values have none. Class R: within the bound of
 *    the comment or of doc/design/numbers.md, and deterministic.
 *  - Random numbers come from Philox4x32-10 with the key (seed, step, id,
 *    element). step is on the device, so a graph that is launched again can use
 *    other numbers.
 *
 * Exception from the mark below: a call that runs on the host because of
 * host_fallback waits for the queue. A call can consist of several ops, for
 * example ssq_lstm. If it fails after one of them has run on the host, outputs
 * may have been written, and the queue fails: later calls return the error.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_H
#define SESQUI_OPS_H

#include <sesqui/ops/data.h>
#include <sesqui/ops/elementwise.h>
#include <sesqui/ops/reduce.h>
#include <sesqui/ops/gemm.h>
#include <sesqui/ops/softmax.h>
#include <sesqui/ops/loss.h>
#include <sesqui/ops/norm.h>
#include <sesqui/ops/batch_norm.h>
#include <sesqui/ops/rnn.h>
#include <sesqui/ops/conv.h>
#include <sesqui/ops/pool.h>
#include <sesqui/ops/random.h>
#include <sesqui/ops/attention.h>
#include <sesqui/ops/metrics.h>

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - every op, by family.
 *
 * Rules that hold for all of them, so that the families only state what is
 * their own:
 *
 * - ssq_<op>(queue, args): args names the tensors; unset optional tensors are
 *   NULL. SSQ_<OP>(.x = .., ..) is a pointer to args with the op's defaults for
 *   what is not named (sesqui/args.h); a variable begins as SSQ_<OP>_INIT,
 *   which has the same defaults and sets struct_size. The call is asynchronous
 *   and in order on the queue; it holds what it needs of its tensors and
 *   copies the rest of args, so both may be gone at once.
 * - SSQ_ERR_INVALID: a NULL queue, args or required tensor; a wrong
 *   struct_size; tensors of another device; shapes, dtypes or values that the
 *   contract excludes; outputs whose elements share memory, or that overlap
 *   another operand without being exactly it where "may be" says so. The
 *   device is untouched. SSQ_ERR_UNSUPPORTED: no implementation on this
 *   device, with the reasons. SSQ_ERR_NOMEM: host memory or scratch. A queue
 *   that has failed answers its own error.
 * - "float" means f32, f16 or bf16. Arithmetic is float32; a result is rounded
 *   once, to nearest even, when it is stored. Strides are free unless said.
 * - Shapes must agree exactly, except where broadcasting is named: sizes of 1
 *   repeat and missing leading dimensions are 1, as in NumPy. Sizes of 0 are
 *   legal everywhere.
 * - class B: the same bits on every device and backend. class R: within the
 *   bound that the comment or doc/design/numbers.md gives, and deterministic.
 * - A random number is drawn from Philox4x32-10 keyed by (seed, step, id,
 *   element): step is a device word, so that a replayed graph moves on. */
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

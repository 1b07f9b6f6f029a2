/* SPDX-License-Identifier: Apache-2.0 */
/* dense.h - the cpu backend's own casts and sums of neighbours. */
#ifndef BACKENDS_CPU_ELEMENTWISE_DENSE_H
#define BACKENDS_CPU_ELEMENTWISE_DENSE_H

#include "backends/cpu/elementwise/dense_kernels.h"
#include "lib/core/module/backend.h"

extern const struct cast_impl cpu_cast[];
extern const struct binary_impl cpu_binary[];
extern const struct scale_impl cpu_scale[];

/** y = f(a) or f(a, b) of views that dense_check has admitted; b may be NULL.
 */
void dense_run(struct backend_queue *queue, enum dense_kind kind,
               const struct view *a, const struct view *b,
               const struct view *y);

/** True if the operands' elements are neighbours, of float dtypes, and enough.
 */
bool dense_check(const struct view *x, const struct view *y, struct why *why);

#endif

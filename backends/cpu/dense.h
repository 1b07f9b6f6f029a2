/* SPDX-License-Identifier: Apache-2.0 */
/* dense.h - the cpu backend's own casts and sums of neighbours. */
#ifndef BACKENDS_CPU_DENSE_H
#define BACKENDS_CPU_DENSE_H

#include "backends/cpu/dense_kernels.h"
#include "lib/core/backend.h"

extern const struct cast_impl cpu_cast[];
extern const struct binary_impl cpu_binary[];

/** y = f(x) for n elements of x and y, whose pointers and dtypes d has. */
void dense_run(struct backend_queue *queue, struct dense *d, size_t n);

/** True if the operands' elements are neighbours, of float dtypes, and enough.
 */
bool dense_check(const struct view *x, const struct view *y, struct why *why);

#endif

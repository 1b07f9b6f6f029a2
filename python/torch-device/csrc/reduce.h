// SPDX-License-Identifier: Apache-2.0
/* reduce.h - reductions of the library over dimensions of any tensor. */
#ifndef SESQUI_TORCH_REDUCE_H
#define SESQUI_TORCH_REDUCE_H

#include "elementwise.h"

namespace sesqui_torch
{

using Reduce = ssq_status (*)(ssq_queue *, const ssq_reduce_args *);
using Axes = c10::SmallVector<bool, 8>; /* which dimensions are reduced */

/* No or an empty list is all dimensions. */
Axes axes_of(const Tensor &x, const c10::IValue &list);
Axes axes_all(const Tensor &x);
Axes axis_of(const Tensor &x, int64_t axis);
/* The sizes of the result. */
c10::SmallVector<int64_t, 8> reduced_sizes(const Tensor &x, const Axes &axes,
                                           bool keep);
/* Elements of x for each element of the result. */
int64_t reduced_count(const Tensor &x, const Axes &axes);

/* y = f(x); y is contiguous, with or without the reduced dimensions. False if
 * the library has too few dimensions. */
bool reduce(ssq_queue *q, Reduce f, const Tensor &y, const Tensor &x,
            const Axes &axes);

} // namespace sesqui_torch

#endif

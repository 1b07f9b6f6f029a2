// SPDX-License-Identifier: Apache-2.0
/* index.h - checks of indices on the device. */
#ifndef SESQUI_TORCH_INDEX_H
#define SESQUI_TORCH_INDEX_H

#include "call.h"

namespace sesqui_torch
{

/* Count indices outside of 0 .. n - 1. They are reported as an error when the
 * program next waits for the device. Nothing runs if the values that were
 * written to x exclude such indices. `narrow` is x in int32. */
void index_check(ssq_queue *q, const Tensor &x, const Tensor &narrow,
                 int64_t n, const char *op,
                 int64_t ignore = std::numeric_limits<int64_t>::min());

} // namespace sesqui_torch

#endif

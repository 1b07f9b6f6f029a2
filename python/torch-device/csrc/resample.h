// SPDX-License-Identifier: Apache-2.0
/* resample.h - resampling of images by matrices. */
#ifndef SESQUI_TORCH_RESAMPLE_H
#define SESQUI_TORCH_RESAMPLE_H

#include "call.h"

namespace sesqui_torch
{

/* y = a x b^T for each image of x; backward: y = a^T x b. */
void resample(ssq_queue *q, const Tensor &y, const Tensor &x, const Tensor &a,
              const Tensor &b, bool backward);
/* The matrix of adaptive average pooling. */
Tensor averages(int64_t to, int64_t from, c10::Device device);

} // namespace sesqui_torch

#endif

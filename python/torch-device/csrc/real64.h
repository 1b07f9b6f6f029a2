// SPDX-License-Identifier: Apache-2.0
/* real64.h - float64 scalars that wait for a use.
 *
 * The library has no float64. torch's GradScaler computes the reciprocal of
 * its float32 scale in float64, and rounds it to float32. A scalar that was
 * cast to float64 therefore keeps its float32 source. The reciprocal, rounded
 * to float32, is then the float32 reciprocal of the source, with the same
 * bits: for a division, rounding to 53 bits first does not change the result
 * of rounding to 24 bits. If a program uses such a scalar in another way, it
 * is computed on the host. */
#ifndef SESQUI_TORCH_REAL64_H
#define SESQUI_TORCH_REAL64_H

#include "tensor.h"

namespace sesqui_torch
{

/* Cast a scalar from float32 to float64 or back without the host. */
bool real64_cast(const Tensor &out, const Tensor &x);
/* out = 1 / x for a scalar that waits. */
bool real64_reciprocal(const Tensor &out, const Tensor &x);
/* Make out wait for the same value as x. */
bool real64_share(const Tensor &out, const Tensor &x);
/* Write the value of a scalar that waits. */
void real64_compute(const Tensor &x);
/* The value of a scalar that waits, on the host. */
double real64_value(const Deferred &deferred);

} // namespace sesqui_torch

#endif

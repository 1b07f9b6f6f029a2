// SPDX-License-Identifier: Apache-2.0
/* conv_host.h - convolutions that the library does not have, on the CPU. */
#ifndef SESQUI_TORCH_CONV_HOST_H
#define SESQUI_TORCH_CONV_HOST_H

#include "call.h"

namespace sesqui_torch
{

Tensor convolution_on_host(Call &c);
void convolution_backward_on_host(Call &c, Tensor (&result)[3]);

} // namespace sesqui_torch

#endif

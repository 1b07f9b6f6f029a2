// SPDX-License-Identifier: Apache-2.0
/* conv_host.cpp - convolutions that the library does not have, on the CPU. */
#include "conv_host.h"

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

namespace sesqui_torch
{

Tensor convolution_on_host(Call &c)
{
    fallback_count("aten::convolution");
    std::optional<Tensor> bias;
    if (!c.none(2))
        bias = c.tensor(2).cpu();
    return at::convolution(c.tensor(0).cpu(), c.tensor(1).cpu(), bias,
                           c.list(3), c.list(4), c.list(5), c.flag(6),
                           c.list(7), c.integer(8))
        .to(c.device());
}

void convolution_backward_on_host(Call &c, Tensor (&result)[3])
{
    fallback_count("aten::convolution_backward");
    auto list = c.at(9).toBoolList();
    std::array<bool, 3> wanted = {list[0], list[1], list[2]};
    int64_t o = c.tensor(0).size(1);
    auto [dx, dw, db] = at::convolution_backward(
        c.tensor(0).cpu(), c.tensor(1).cpu(), c.tensor(2).cpu(), Ints(o),
        c.list(3), c.list(4), c.list(5), c.flag(6), c.list(7), c.integer(8),
        wanted);
    Tensor host[3] = {dx, dw, db};
    for (int i = 0; i < 3; i++)
        if (wanted[i])
            result[i] = host[i].to(c.device());
}

} // namespace sesqui_torch

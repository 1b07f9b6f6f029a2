// SPDX-License-Identifier: Apache-2.0
/* integer.cpp - operands of ops on integers. */
#include "integer.h"

#include <algorithm>

namespace sesqui_torch
{

using Wider = __int128;

static int64_t saturated(Wider v)
{
    if (v > std::numeric_limits<int64_t>::max())
        return std::numeric_limits<int64_t>::max();
    if (v < std::numeric_limits<int64_t>::min())
        return std::numeric_limits<int64_t>::min();
    return static_cast<int64_t>(v);
}

Bounds bounds_sum(Bounds a, Bounds b)
{
    if (a.empty() || b.empty())
        return Bounds();
    return {saturated(Wider(a.low) + b.low), saturated(Wider(a.high) + b.high)};
}

Bounds bounds_difference(Bounds a, Bounds b)
{
    if (a.empty() || b.empty())
        return Bounds();
    return {saturated(Wider(a.low) - b.high), saturated(Wider(a.high) - b.low)};
}

Bounds bounds_product(Bounds a, Bounds b)
{
    if (a.empty() || b.empty())
        return Bounds();
    Wider p[4] = {Wider(a.low) * b.low, Wider(a.low) * b.high,
                  Wider(a.high) * b.low, Wider(a.high) * b.high};
    return {saturated(*std::min_element(p, p + 4)),
            saturated(*std::max_element(p, p + 4))};
}

Bounds bounds_hull(Bounds a, Bounds b)
{
    a.include(b);
    return a;
}

static std::optional<Integer> integer_scalar(const Tensor &x,
                                             at::ScalarType common,
                                             c10::Device device)
{
    if (!at::isIntegralType(x.scalar_type(), true))
        return std::nullopt;
    int64_t v = x.item().toLong();
    Bounds bounds = {v, v};
    if (common == at::kByte || common == at::kBool) {
        if (v < 0 || v > 255)
            return std::nullopt;
        return Integer{constant(double(v), at::kByte, device), bounds};
    }
    if (!bounds.narrow())
        return std::nullopt;
    return Integer{constant(double(v), at::kInt, device), bounds};
}

std::optional<Integer> integer_operand(const Tensor &x, at::ScalarType common,
                                       c10::Device device)
{
    if (!is_here(x))
        return integer_scalar(x, common, device);
    switch (x.scalar_type()) {
    case at::kBool:
        return Integer{x, {0, 1}};
    case at::kByte:
        return Integer{x, {0, 255}};
    case at::kInt:
        return Integer{x,
                       {std::numeric_limits<int32_t>::min(),
                        std::numeric_limits<int32_t>::max()}};
    case at::kLong: {
        Tensor low = narrow(x);
        if (!low.defined())
            return std::nullopt;
        return Integer{low, block_of(x).bounds};
    }
    default:
        return std::nullopt;
    }
}

} // namespace sesqui_torch

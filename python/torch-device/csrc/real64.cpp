// SPDX-License-Identifier: Apache-2.0
/* real64.cpp - float64 scalars that wait for a use. */
#include "real64.h"
#include "copy.h"
#include "pointwise.h"

#include <ATen/EmptyTensor.h>

namespace sesqui_torch
{

/* A scalar that is its whole storage. */
static bool alone(const Tensor &x)
{
    return x.numel() == 1 && x.storage_offset() == 0 &&
           x.storage().nbytes() == sizeof(double);
}

static void wait_for(const Tensor &out, Deferred::Kind kind, Tensor source)
{
    block_of(out).bounds = Bounds::all();
    block_of(out).deferred.reset(new Deferred{kind, std::move(source)});
}

bool real64_cast(const Tensor &out, const Tensor &x)
{
    at::ScalarType from = x.scalar_type(), to = out.scalar_type();
    if (from == at::kFloat && to == at::kDouble && x.numel() == 1 &&
        alone(out)) {
        wait_for(out, Deferred::SAME, cloned(x));
        return true;
    }
    if (from != at::kDouble || to != at::kFloat || !block_of(x).deferred)
        return false;
    const Deferred &d = *block_of(x).deferred;
    if (d.kind == Deferred::SAME) {
        assign(out, d.source);
        return true;
    }
    Lane lane(out);
    pointwise({&out, &d.source}, [&](const Ref *t) {
        check(ssq_reciprocal(lane.queue, SSQ_UNARY(.x = t[1], .y = t[0])));
    });
    return true;
}

bool real64_reciprocal(const Tensor &out, const Tensor &x)
{
    const auto &d = block_of(x).deferred;
    if (!d || d->kind != Deferred::SAME || out.scalar_type() != at::kDouble ||
        !alone(out))
        return false;
    wait_for(out, Deferred::RECIPROCAL, d->source);
    return true;
}

bool real64_share(const Tensor &out, const Tensor &x)
{
    const auto &d = block_of(x).deferred;
    if (!d || out.scalar_type() != at::kDouble || !alone(out))
        return false;
    wait_for(out, d->kind, d->source);
    return true;
}

double real64_value(const Deferred &deferred)
{
    Tensor host = at::detail::empty_cpu(deferred.source.sizes(), at::kFloat);
    read(deferred.source, host, false);
    double v = *host.const_data_ptr<float>();
    return deferred.kind == Deferred::RECIPROCAL ? 1.0 / v : v;
}

void real64_compute(const Tensor &x)
{
    Block &block = block_of(x);
    if (!block.deferred)
        return;
    Tensor host = at::detail::empty_cpu({1}, at::kDouble);
    *host.mutable_data_ptr<double>() = real64_value(*block.deferred);
    block.deferred.reset();
    int64_t one = 1;
    write(alias(x, at::kDouble, one, one, 0), host, false);
}

} // namespace sesqui_torch

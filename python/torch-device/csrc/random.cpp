// SPDX-License-Identifier: Apache-2.0
/* random.cpp - random numbers and dropout. */
#include "elementwise.h"
#include "generator.h"

#include <torch/library.h>

namespace sesqui_torch
{

static Words words_for(Call &c, size_t generator, int64_t n)
{
    std::optional<at::Generator> g;
    if (!c.none(generator))
        g = c.at(generator).toGenerator();
    return generator_take(g, c.device(), n);
}

/* Fill x through a contiguous tensor of at most 6 dimensions. */
static void filled(const Tensor &x,
                   const std::function<ssq_status(const ssq_tensor *)> &f)
{
    if (x.numel() == 0)
        return;
    Tensor t = x.is_contiguous() ? x : fresh(x.sizes(), x.scalar_type(),
                                             x.device());
    {
        int64_t n = x.numel();
        Ref r(reshaped(t, n), OUT);
        check(f(r));
    }
    if (!t.is_same(x))
        assign(x, t);
}

static bool uniform(Call &c)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x))
        return false;
    Words w = words_for(c, 3, x.numel());
    filled(x, [&](const ssq_tensor *t) {
        return ssq_random_uniform(
            c.queue(), SSQ_RANDOM_UNIFORM(.x = t, .seed = w.seed,
                                          .offset = w.offset,
                                          .low = c.number(1),
                                          .high = c.number(2)));
    });
    c.result_of({0});
    return true;
}

static bool normal(Call &c)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x) || !(c.number(2) >= 0))
        return false;
    Words w = words_for(c, 3, x.numel());
    filled(x, [&](const ssq_tensor *t) {
        return ssq_random_normal(
            c.queue(), SSQ_RANDOM_NORMAL(.x = t, .seed = w.seed,
                                         .offset = w.offset,
                                         .mean = c.number(1),
                                         .std = c.number(2)));
    });
    c.result_of({0});
    return true;
}

static bool bernoulli(Call &c)
{
    const Tensor &x = c.tensor(0);
    double p = c.number(1);
    if (!dtype_of(x.scalar_type()) || !(p >= 0 && p <= 1))
        return false;
    Words w = words_for(c, 2, x.numel());
    filled(x, [&](const ssq_tensor *t) {
        return ssq_random_bernoulli(
            c.queue(), SSQ_RANDOM_BERNOULLI(.x = t, .seed = w.seed,
                                            .offset = w.offset, .p = p));
    });
    c.result_of({0});
    return true;
}

/* native_dropout(input, p, train) */
static bool dropout(Call &c)
{
    const Tensor &x = c.tensor(0);
    double p = c.number(1);
    if (!is_real(x) || !(p >= 0 && p <= 1) || (!c.none(2) && !c.flag(2)))
        return false;
    Tensor y = fresh(x.sizes(), x.scalar_type(), c.device());
    Tensor mask = fresh(x.sizes(), at::kBool, c.device());
    if (x.numel() > 0) {
        Words w = generator_take(std::nullopt, c.device(), x.numel());
        int64_t n = x.numel();
        Ref rx(reshaped(contiguous(x), n)), ry(reshaped(y, n), OUT);
        Ref rmask(reshaped(mask, n), OUT);
        check(ssq_dropout(c.queue(),
                          SSQ_DROPOUT(.x = rx, .y = ry, .mask = rmask,
                                      .seed = w.seed, .offset = w.offset,
                                      .p = p)));
    }
    c.results({y, mask});
    return true;
}

/* native_dropout_backward(grad_output, mask, scale) */
static bool dropout_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &mask = c.tensor(1);
    if (!is_real(dy) || mask.scalar_type() != at::kBool)
        return false;
    Tensor dx = fresh_like(dy), t = fresh_like(dy, at::kFloat);
    scale(c.queue(), t, dy, c.number(2));
    where(c.queue(), dx, mask, t, constant(0, at::kFloat, c.device()));
    c.result(dx);
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "uniform_", uniform);
    op(m, "normal_", normal);
    op(m, "bernoulli_.float", bernoulli);
    op(m, "native_dropout", dropout);
    op(m, "native_dropout_backward", dropout_backward);
}

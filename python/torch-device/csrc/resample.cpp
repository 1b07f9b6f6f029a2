// SPDX-License-Identifier: Apache-2.0
/* resample.cpp - linear interpolation and adaptive average pooling of images,
 * as products with small matrices: y = a x b^T for each image, with a for the
 * rows and b for the columns. The gradient is a^T dy b.
 *
 * The matrices depend on sizes only. They are computed on the host once, and
 * kept on the device. */
#include "resample.h"

#include <ATen/EmptyTensor.h>
#include <torch/library.h>

#include <cmath>
#include <map>
#include <tuple>

namespace sesqui_torch
{

using Weights = std::function<void(float *row, int64_t i)>;

/* A matrix [to, from]; row i has the weights of result i. */
static Tensor matrix_of(int64_t to, int64_t from, c10::Device device,
                        const Weights &weights)
{
    int64_t sizes[2] = {to, from};
    Tensor host = at::detail::empty_cpu(sizes, at::kFloat);
    float *p = host.mutable_data_ptr<float>();
    std::fill(p, p + to * from, 0.0f);
    for (int64_t i = 0; i < to; i++)
        weights(p + i * from, i);
    Tensor x = fresh(sizes, at::kFloat, device);
    write(x, host, true);
    return x;
}

Tensor averages(int64_t to, int64_t from, c10::Device device)
{
    using Key = std::tuple<c10::DeviceIndex, int64_t, int64_t>;
    static auto *all = new std::map<Key, Tensor>;
    Tensor &x = (*all)[{device.index(), to, from}];
    if (!x.defined())
        x = matrix_of(to, from, device, [&](float *row, int64_t i) {
            int64_t begin = i * from / to;
            int64_t end = ((i + 1) * from + to - 1) / to;
            for (int64_t j = begin; j < end; j++)
                row[j] = 1.0f / static_cast<float>(end - begin);
        });
    return x;
}

/* torch's positions: `step` elements of x for one of y, from the corners or
 * from the middles of elements. */
static Tensor linear(int64_t to, int64_t from, bool corners, double scale,
                     c10::Device device)
{
    using Key = std::tuple<c10::DeviceIndex, int64_t, int64_t, bool, double>;
    static auto *all = new std::map<Key, Tensor>;
    Tensor &x = (*all)[{device.index(), to, from, corners, scale}];
    if (x.defined())
        return x;
    float step = corners ? (to > 1 ? float(from - 1) / float(to - 1) : 0.0f)
                 : scale > 0 ? float(1.0 / scale)
                             : float(from) / float(to);
    x = matrix_of(to, from, device, [&](float *row, int64_t i) {
        float at = corners ? step * float(i)
                           : std::max(step * (float(i) + 0.5f) - 0.5f, 0.0f);
        int64_t j = std::min(static_cast<int64_t>(at), from - 1);
        float part = std::min(at - float(j), 1.0f);
        row[j] += 1 - part;
        row[std::min(j + 1, from - 1)] += part;
    });
    return x;
}

static void product(ssq_queue *q, const Tensor &d, const Tensor &a, bool ta,
                    const Tensor &b, bool tb)
{
    Ref ra(a), rb(b), rd(d, OUT);
    check(ssq_gemm_batched(q, SSQ_GEMM(.a = ra, .b = rb, .d = rd,
                                       .trans_a = ta, .trans_b = tb)));
}

/* Images as one batch. */
static Tensor images(const Tensor &x)
{
    int64_t h = x.size(-2), w = x.size(-1);
    int64_t sizes[3] = {x.numel() / (h * w), h, w};
    return reshaped(contiguous(x), sizes);
}

void resample(ssq_queue *q, const Tensor &y, const Tensor &x, const Tensor &a,
              const Tensor &b, bool backward)
{
    Tensor from = images(x);
    Tensor t = y.is_contiguous()
                   ? y
                   : fresh(y.sizes(), y.scalar_type(), y.device());
    Tensor to = images(t);
    int64_t sizes[3] = {from.size(0), from.size(1), to.size(2)};
    Tensor rows = fresh(sizes, at::kFloat, x.device());
    product(q, rows, from, false, b, !backward);
    product(q, to, a, backward, rows, false);
    if (!t.is_same(y))
        assign(y, t);
}

static double scale_of(Call &c, size_t i)
{
    return c.none(i) ? 0 : c.number(i);
}

/* upsample_bilinear2d(self, output_size, align_corners, scales.., out) */
static bool bilinear(Call &c)
{
    const Tensor &x = c.tensor(0);
    auto to = c.list(1);
    bool corners = c.flag(2);
    if (!is_real(x) || !is_real(c.tensor(5)) || x.numel() == 0)
        return false;
    int64_t sizes[4] = {x.size(0), x.size(1), to[0], to[1]};
    const Tensor &y = c.out(5, sizes);
    resample(c.queue(), y, x,
             linear(to[0], x.size(2), corners, scale_of(c, 3), c.device()),
             linear(to[1], x.size(3), corners, scale_of(c, 4), c.device()),
             false);
    c.result_of({5});
    return true;
}

/* (grad_output, output_size, input_size, align_corners, scales..,
 * grad_input) */
static bool bilinear_backward(Call &c)
{
    const Tensor &dy = c.tensor(0);
    auto to = c.list(1), from = c.list(2);
    bool corners = c.flag(3);
    if (!is_real(dy) || !is_real(c.tensor(6)) || dy.numel() == 0)
        return false;
    const Tensor &dx = c.out(6, from);
    resample(c.queue(), dx, dy,
             linear(to[0], from[2], corners, scale_of(c, 4), c.device()),
             linear(to[1], from[3], corners, scale_of(c, 5), c.device()),
             true);
    c.result_of({6});
    return true;
}

/* upsample_linear1d(self, output_size, align_corners, scales, out) */
static bool linear1d(Call &c)
{
    const Tensor &x = c.tensor(0);
    int64_t to = c.list(1)[0];
    if (!is_real(x) || !is_real(c.tensor(4)) || x.numel() == 0)
        return false;
    int64_t sizes[3] = {x.size(0), x.size(1), to};
    const Tensor &y = c.out(4, sizes);
    Tensor b = linear(to, x.size(2), c.flag(2), scale_of(c, 3), c.device());
    Tensor t = y.is_contiguous() ? y : fresh(sizes, y.scalar_type(), c.device());
    product(c.queue(), t, dense_rows(x), false, b, true);
    if (!t.is_same(y))
        assign(y, t);
    c.result_of({4});
    return true;
}

/* (grad_output, output_size, input_size, align_corners, scales, grad_input) */
static bool linear1d_backward(Call &c)
{
    const Tensor &dy = c.tensor(0);
    auto from = c.list(2);
    if (!is_real(dy) || !is_real(c.tensor(5)) || dy.numel() == 0)
        return false;
    const Tensor &dx = c.out(5, from);
    Tensor b = linear(c.list(1)[0], from[2], c.flag(3), scale_of(c, 4),
                      c.device());
    Tensor t = dx.is_contiguous() ? dx
                                  : fresh(from, dx.scalar_type(), c.device());
    product(c.queue(), t, contiguous(dy), false, b, false);
    if (!t.is_same(dx))
        assign(dx, t);
    c.result_of({5});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "upsample_bilinear2d.out", bilinear);
    op(m, "upsample_bilinear2d_backward.grad_input", bilinear_backward);
    op(m, "upsample_linear1d.out", linear1d);
    op(m, "upsample_linear1d_backward.grad_input", linear1d_backward);
}

// SPDX-License-Identifier: Apache-2.0
/* pool.cpp - pooling and nearest upsampling of images. */
#include "reduce.h"
#include "resample.h"

#include <torch/library.h>

namespace sesqui_torch
{

using Dims = c10::SmallVector<int64_t, 8>;

namespace
{
struct Pool {
    int64_t kernel[2], stride[2], padding[4], dilation[2] = {1, 1};
    bool ceil = false, count_padding = true, last = false;
    int64_t divisor = 0;
    ssq_layout layout() const
    {
        return last ? SSQ_LAYOUT_NHWC : SSQ_LAYOUT_NCHW;
    }
};
} // namespace

static void pair_of(int64_t (&to)[2], const std::vector<int64_t> &list)
{
    to[0] = list[0];
    to[1] = list.size() > 1 ? list[1] : list[0];
}

static Pool pool_of(const std::vector<int64_t> &kernel,
                    const std::vector<int64_t> &stride,
                    const std::vector<int64_t> &padding)
{
    Pool p;
    pair_of(p.kernel, kernel);
    pair_of(p.stride, stride.empty() ? kernel : stride);
    int64_t pad[2];
    pair_of(pad, padding);
    for (int i = 0; i < 4; i++)
        p.padding[i] = pad[i % 2];
    return p;
}

static int64_t pooled_size(const Pool &p, int64_t n, int i)
{
    int64_t reach = n + 2 * p.padding[i] - p.dilation[i] * (p.kernel[i] - 1) - 1;
    if (!p.ceil)
        return reach / p.stride[i] + 1;
    int64_t size = (reach + p.stride[i] - 1) / p.stride[i] + 1;
    return (size - 1) * p.stride[i] >= n + p.padding[i] ? size - 1 : size;
}

static Tensor batched(const Tensor &x)
{
    return x.dim() == 3 ? unsqueezed(x, 0) : x;
}

static bool channels_last(const Tensor &x)
{
    return x.dim() == 4 &&
           x.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
}

/* An image as the library sees it, if its rows are dense. */
static Tensor seen(const Tensor &x, bool last)
{
    int64_t order[4] = {0, 2, 3, 1};
    return last ? permuted(x, order) : x;
}

static Tensor image(const Tensor &x, bool last)
{
    return dense_rows(seen(batched(x), last));
}

/* A result that the library can write, in the layout; copied at the end. */
class Result
{
  public:
    Result(const Tensor &given, at::ScalarType type, bool last) : given_(given)
    {
        Tensor view = seen(batched(given), last);
        bool dense = view.is_contiguous() && given.scalar_type() == type;
        y = dense ? view : fresh(view.sizes(), type, given.device());
        Dims back{0, 3, 1, 2};
        to_given_ = last ? permuted(y, back) : y;
        copied_ = !dense;
    }
    void finish()
    {
        if (copied_)
            assign(batched(given_), to_given_);
    }
    /* For int64: the copy of positions is y, in int32. */
    const Tensor &in_order() const { return to_given_; }
    Tensor y;

  private:
    const Tensor &given_;
    Tensor to_given_;
    bool copied_;
};

static Dims pooled_sizes(const Pool &p, const Tensor &x)
{
    Dims sizes(x.sizes());
    size_t at = sizes.size() - 2;
    for (int i = 0; i < 2; i++)
        sizes[at + i] = pooled_size(p, x.size(-2 + i), i);
    return sizes;
}

/* max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil, out,
 * indices) */
static bool max_pool(Call &c)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x) || c.tensor(6).scalar_type() != x.scalar_type())
        return false;
    Pool p = pool_of(c.list(1), c.list(2), c.list(3));
    pair_of(p.dilation, c.list(4));
    p.ceil = c.flag(5);
    p.last = channels_last(x);
    Dims sizes = pooled_sizes(p, x);
    const Tensor &y = c.out(6, sizes), &at = c.out(7, sizes);
    if (y.numel() > 0) {
        Result to(y, x.scalar_type(), p.last), where(at, at::kInt, p.last);
        {
            Ref rx(image(x, p.last)), ry(to.y, OUT), rat(where.y, OUT);
            check(ssq_max_pool2d(
                c.queue(),
                SSQ_MAX_POOL2D(.x = rx, .y = ry, .argmax = rat,
                               .kernel = {p.kernel[0], p.kernel[1]},
                               .stride = {p.stride[0], p.stride[1]},
                               .padding = {p.padding[0], p.padding[1],
                                           p.padding[2], p.padding[3]},
                               .dilation = {p.dilation[0], p.dilation[1]},
                               .ceil_mode = p.ceil, .layout = p.layout())));
        }
        to.finish();
        Wide wide(at);
        assign(batched(wide.low), where.in_order());
        wide.finish({0, x.size(-1) * x.size(-2) - 1});
    }
    c.result_of({6, 7});
    return true;
}

/* max_pool2d_with_indices_backward(grad_output, self, kernel, stride, padding,
 * dilation, ceil, indices, grad_input) */
static bool max_pool_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1);
    Tensor at = narrow(c.tensor(7));
    if (!is_real(dy) || !is_real(c.tensor(8)) || !at.defined())
        return false;
    Pool p = pool_of(c.list(2), c.list(3), c.list(4));
    pair_of(p.dilation, c.list(5));
    p.ceil = c.flag(6);
    p.last = channels_last(x);
    const Tensor &dx = c.out(8, x.sizes());
    if (dx.numel() > 0) {
        Result to(dx, dx.scalar_type(), p.last);
        {
            Ref rdy(image(dy, p.last)), rat(image(at, p.last)), rdx(to.y, OUT);
            check(ssq_max_pool2d_backward(
                c.queue(),
                SSQ_MAX_POOL2D_BACKWARD(
                    .dy = rdy, .argmax = rat, .dx = rdx,
                    .kernel = {p.kernel[0], p.kernel[1]},
                    .stride = {p.stride[0], p.stride[1]},
                    .padding = {p.padding[0], p.padding[1], p.padding[2],
                                p.padding[3]},
                    .dilation = {p.dilation[0], p.dilation[1]},
                    .ceil_mode = p.ceil, .layout = p.layout())));
        }
        to.finish();
    }
    c.result_of({8});
    return true;
}

static void average(ssq_queue *q, const Pool &p, const Tensor &x,
                    const Tensor &y)
{
    Result to(y, y.scalar_type(), p.last);
    {
        Ref rx(image(x, p.last)), ry(to.y, OUT);
        check(ssq_avg_pool2d(
            q, SSQ_AVG_POOL2D(.x = rx, .y = ry,
                              .kernel = {p.kernel[0], p.kernel[1]},
                              .stride = {p.stride[0], p.stride[1]},
                              .padding = {p.padding[0], p.padding[1],
                                          p.padding[2], p.padding[3]},
                              .ceil_mode = p.ceil,
                              .count_include_pad = p.count_padding,
                              .divisor = p.divisor, .layout = p.layout())));
    }
    to.finish();
}

static void average_backward(ssq_queue *q, const Pool &p, const Tensor &dy,
                             const Tensor &dx)
{
    Result to(dx, dx.scalar_type(), p.last);
    {
        Ref rdy(image(dy, p.last)), rdx(to.y, OUT);
        check(ssq_avg_pool2d_backward(
            q, SSQ_AVG_POOL2D_BACKWARD(
                   .dy = rdy, .dx = rdx, .kernel = {p.kernel[0], p.kernel[1]},
                   .stride = {p.stride[0], p.stride[1]},
                   .padding = {p.padding[0], p.padding[1], p.padding[2],
                               p.padding[3]},
                   .ceil_mode = p.ceil, .count_include_pad = p.count_padding,
                   .divisor = p.divisor, .layout = p.layout())));
    }
    to.finish();
}

/* avg_pool2d(self, kernel, stride, padding, ceil, count_include_pad, divisor,
 * out) */
static bool avg_pool(Call &c)
{
    const Tensor &x = c.tensor(0);
    if (!is_real(x) || !is_real(c.tensor(7)))
        return false;
    Pool p = pool_of(c.list(1), c.list(2), c.list(3));
    p.ceil = c.flag(4);
    p.count_padding = c.flag(5);
    p.divisor = c.none(6) ? 0 : c.integer(6);
    p.last = channels_last(x);
    if (p.divisor < 0)
        return false;
    const Tensor &y = c.out(7, pooled_sizes(p, x));
    if (y.numel() > 0)
        average(c.queue(), p, x, y);
    c.result_of({7});
    return true;
}

/* avg_pool2d_backward(grad_output, self, kernel, .., divisor, grad_input) */
static bool avg_pool_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1);
    if (!is_real(dy) || !is_real(c.tensor(8)))
        return false;
    Pool p = pool_of(c.list(2), c.list(3), c.list(4));
    p.ceil = c.flag(5);
    p.count_padding = c.flag(6);
    p.divisor = c.none(7) ? 0 : c.integer(7);
    p.last = channels_last(x);
    if (p.divisor < 0)
        return false;
    const Tensor &dx = c.out(8, x.sizes());
    if (dx.numel() > 0)
        average_backward(c.queue(), p, dy, dx);
    c.result_of({8});
    return true;
}

/* Windows of one size, if the size of the result divides that of x. */
static bool adaptive(Pool &p, const Tensor &x, Ints to)
{
    for (int i = 0; i < 2; i++) {
        int64_t n = x.size(-2 + i);
        if (to[i] <= 0 || n == 0 || n % to[i] != 0)
            return false;
        p.kernel[i] = p.stride[i] = n / to[i];
    }
    for (int64_t &n : p.padding)
        n = 0;
    p.last = channels_last(x);
    return true;
}

static Tensor new_like(const Tensor &x, Ints sizes, bool last)
{
    if (!last)
        return fresh(sizes, x.scalar_type(), x.device());
    int64_t c = sizes[1], h = sizes[2], w = sizes[3];
    int64_t strides[4] = {c * h * w, 1, w * c, c};
    return fresh_strided(sizes, strides, x.scalar_type(), x.device());
}

static bool adaptive_pool(Call &c)
{
    const Tensor &x = c.tensor(0);
    std::vector<int64_t> to = c.list(1);
    Pool p;
    if (!is_real(x) || to.size() != 2 || x.numel() == 0 || to[0] <= 0 ||
        to[1] <= 0)
        return false;
    bool windows = adaptive(p, x, to);
    Dims sizes(x.sizes());
    sizes[sizes.size() - 2] = to[0];
    sizes[sizes.size() - 1] = to[1];
    Tensor y = new_like(x, sizes, channels_last(x));
    if (windows)
        average(c.queue(), p, x, y);
    else
        resample(c.queue(), y, x, averages(to[0], x.size(-2), c.device()),
                 averages(to[1], x.size(-1), c.device()), false);
    c.result(y);
    return true;
}

static bool adaptive_pool_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1);
    int64_t to[2] = {dy.size(-2), dy.size(-1)};
    Pool p;
    if (!is_real(dy) || !is_real(x) || dy.numel() == 0)
        return false;
    bool windows = adaptive(p, x, to);
    Tensor dx = new_like(x, x.sizes(), channels_last(x));
    if (windows)
        average_backward(c.queue(), p, dy, dx);
    else
        resample(c.queue(), dx, dy, averages(to[0], x.size(-2), c.device()),
                 averages(to[1], x.size(-1), c.device()), true);
    c.result(dx);
    return true;
}

/* x and y as [outer, n0, f0, n1, f1]: each element of x is repeated f times in
 * each dimension. */
static bool repeated(const Tensor &y, int64_t spatial, Ints small,
                     const std::vector<double> &scales, Dims &full, Dims &few)
{
    int64_t outer = y.size(0) * y.size(1);
    full = {outer};
    few = {outer};
    for (int64_t i = 0; i < spatial; i++) {
        int64_t n = small[2 + i], m = y.size(2 + i);
        if (n == 0 || m % n != 0 ||
            (scales[i] != 0 && scales[i] != double(m / n)))
            return false;
        full.push_back(n);
        full.push_back(m / n);
        few.push_back(n);
        few.push_back(1);
    }
    return true;
}

static std::vector<double> scales_of(Call &c, size_t first, int64_t n)
{
    std::vector<double> s;
    for (int64_t i = 0; i < n; i++)
        s.push_back(c.none(first + i) ? 0 : c.number(first + i));
    return s;
}

/* upsample_nearest(self, output_size, scales.., out) */
static bool upsample(Call &c, int64_t spatial)
{
    const Tensor &x = c.tensor(0);
    size_t last = c.size() - 1;
    std::vector<int64_t> to = c.list(1);
    Dims sizes{x.size(0), x.size(1)}, full, few;
    sizes.append(to.begin(), to.end());
    if (c.tensor(last).scalar_type() != x.scalar_type() || !is_real(x))
        return false;
    const Tensor &y = c.out(last, sizes);
    if (!repeated(y, spatial, x.sizes(), scales_of(c, 2, spatial), full, few))
        return false;
    Tensor t = y.is_contiguous()
                   ? y
                   : fresh(y.sizes(), y.scalar_type(), y.device());
    assign(reshaped(t, full), reshaped(x, few));
    if (!t.is_same(y))
        assign(y, t);
    c.result_of({last});
    return true;
}

/* upsample_nearest_backward(grad_output, output_size, input_size, scales..,
 * grad_input) */
static bool upsample_backward(Call &c, int64_t spatial)
{
    const Tensor &dy = c.tensor(0);
    size_t last = c.size() - 1;
    std::vector<int64_t> from = c.list(2);
    Dims full, few;
    if (!is_real(dy) || !is_real(c.tensor(last)))
        return false;
    const Tensor &dx = c.out(last, from);
    if (!repeated(dy, spatial, from, scales_of(c, 3, spatial), full, few))
        return false;
    Tensor t = dx.is_contiguous()
                   ? dx
                   : fresh(dx.sizes(), dx.scalar_type(), dx.device());
    Tensor terms = reshaped(dy, full);
    Axes axes(terms.dim(), false);
    for (int64_t i = 0; i < spatial; i++)
        axes[2 + 2 * i] = true;
    if (!reduce(c.queue(), ssq_sum, t, terms, axes))
        return false;
    if (!t.is_same(dx))
        assign(dx, t);
    c.result_of({last});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "max_pool2d_with_indices.out", max_pool);
    op(m, "max_pool2d_with_indices_backward.grad_input", max_pool_backward);
    op(m, "avg_pool2d.out", avg_pool);
    op(m, "avg_pool2d_backward.grad_input", avg_pool_backward);
    op(m, "_adaptive_avg_pool2d", adaptive_pool);
    op(m, "_adaptive_avg_pool2d_backward", adaptive_pool_backward);
    for (int64_t n : {1, 2}) {
        std::string name = "upsample_nearest" + std::to_string(n) + "d";
        op(m, (name + ".out").c_str(), [n](Call &c) { return upsample(c, n); });
        op(m, (name + "_backward.grad_input").c_str(),
           [n](Call &c) { return upsample_backward(c, n); });
    }
}

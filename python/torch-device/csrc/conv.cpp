// SPDX-License-Identifier: Apache-2.0
/* conv.cpp - convolutions of 1 and 2 dimensions, transposed ones, and their
 * gradients. Others run on the CPU. */
#include "conv_host.h"
#include "reduce.h"

#include <torch/library.h>

namespace sesqui_torch
{

using Dims = c10::SmallVector<int64_t, 8>;

namespace
{
/* The options of a convolution of images. */
struct Window {
    int64_t stride[2], padding[4], dilation[2], output_padding[2];
    int64_t groups;
    bool transposed, last; /* channels last */
    ssq_layout layout() const
    {
        return last ? SSQ_LAYOUT_NHWC : SSQ_LAYOUT_NCHW;
    }
};
} // namespace

/* Value i of the last two dimensions; one value is for all of them. */
static int64_t of_axis(const std::vector<int64_t> &list, size_t rank,
                       size_t i, int64_t missing)
{
    if (rank == 1)
        return i == 0 ? missing : list[0];
    return list.size() == 1 ? list[0] : list[i];
}

static Window window(size_t rank, const std::vector<int64_t> &stride,
                     const std::vector<int64_t> &padding,
                     const std::vector<int64_t> &dilation,
                     const std::vector<int64_t> &output_padding,
                     bool transposed, int64_t groups)
{
    Window w;
    for (size_t i = 0; i < 2; i++) {
        w.stride[i] = of_axis(stride, rank, i, 1);
        w.padding[i] = w.padding[i + 2] = of_axis(padding, rank, i, 0);
        w.dilation[i] = of_axis(dilation, rank, i, 1);
        w.output_padding[i] = of_axis(output_padding, rank, i, 0);
    }
    w.groups = groups;
    w.transposed = transposed;
    w.last = false;
    return w;
}

static bool channels_last(const Tensor &x)
{
    return x.dim() == 4 &&
           x.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
}

/* Images or filters as the library takes them: the last dimension is dense. */
static Tensor image(const Tensor &x_, bool last)
{
    Tensor x = x_.dim() == 3 ? unsqueezed(x_, 2) : x_;
    if (!last)
        return dense_rows(x);
    int64_t order[4] = {0, 2, 3, 1};
    Tensor view = permuted(x, order);
    return dense_rows(view);
}

/* A new image, and how the library sees it. */
static Tensor new_image(Ints sizes, at::ScalarType type, c10::Device device,
                        bool last)
{
    if (!last)
        return fresh(sizes, type, device);
    int64_t h = sizes[2], w = sizes[3], c = sizes[1];
    int64_t strides[4] = {h * w * c, 1, w * c, c};
    return fresh_strided(sizes, strides, type, device);
}

static Tensor seen(const Tensor &x_, bool last)
{
    Tensor x = x_.dim() == 3 ? unsqueezed(x_, 2) : x_;
    int64_t order[4] = {0, 2, 3, 1};
    return last ? permuted(x, order) : x;
}

static int64_t result_size(const Window &w, int64_t n, int64_t kernel, int i)
{
    int64_t extent = w.dilation[i] * (kernel - 1) + 1;
    if (w.transposed)
        return (n - 1) * w.stride[i] - 2 * w.padding[i] + extent +
               w.output_padding[i];
    return (n + 2 * w.padding[i] - extent) / w.stride[i] + 1;
}

static bool convolvable(const Tensor &x, const Tensor &w)
{
    return is_real(x) && x.scalar_type() == w.scalar_type() &&
           (x.dim() == 3 || x.dim() == 4) && is_here(x) && is_here(w);
}

static void convolve(Call &c, const Window &w, const Tensor &x,
                     const Tensor &filter, const Tensor &bias, const Tensor &y)
{
    Ref rx(image(x, w.last)), rw(image(filter, w.last));
    Ref rbias = ref_or_null(bias), ry(seen(y, w.last), OUT);
    if (w.transposed)
        check(ssq_conv_transpose2d(
            c.queue(),
            SSQ_CONV_TRANSPOSE2D(
                .x = rx, .w = rw, .bias = rbias, .y = ry,
                .stride = {w.stride[0], w.stride[1]},
                .padding = {w.padding[0], w.padding[1], w.padding[2],
                            w.padding[3]},
                .output_padding = {w.output_padding[0], w.output_padding[1]},
                .dilation = {w.dilation[0], w.dilation[1]},
                .groups = w.groups, .layout = w.layout())));
    else
        check(ssq_conv2d(
            c.queue(),
            SSQ_CONV2D(.x = rx, .w = rw, .bias = rbias, .y = ry,
                       .stride = {w.stride[0], w.stride[1]},
                       .padding = {w.padding[0], w.padding[1], w.padding[2],
                                   w.padding[3]},
                       .dilation = {w.dilation[0], w.dilation[1]},
                       .groups = w.groups, .layout = w.layout())));
}

/* convolution_overrideable(input, weight, bias, stride, padding, dilation,
 * transposed, output_padding, groups) */
static Tensor forward(Call &c)
{
    const Tensor &x = c.tensor(0), &f = c.tensor(1);
    if (!convolvable(x, f))
        return Tensor();
    size_t rank = x.dim() - 2;
    Window w = window(rank, c.list(3), c.list(4), c.list(5), c.list(7),
                      c.flag(6), c.integer(8));
    w.last = channels_last(x) || channels_last(f);
    Dims sizes{x.size(0), w.transposed ? f.size(1) * w.groups : f.size(0)};
    for (size_t i = 0; i < rank; i++)
        sizes.push_back(result_size(w, x.size(i + 2), f.size(i + 2),
                                    static_cast<int>(i + 2 - rank)));
    for (int64_t n : sizes)
        if (n < 0)
            return Tensor();
    Tensor y = new_image(sizes, x.scalar_type(), c.device(), w.last);
    if (y.numel() > 0)
        convolve(c, w, x, f, c.maybe(2), y);
    return y;
}

static void backward_data(Call &c, const Window &w, const Tensor &dy,
                          const Tensor &filter, const Tensor &dx)
{
    auto f = w.transposed ? ssq_conv_transpose2d_backward_data
                          : ssq_conv2d_backward_data;
    Ref rdy(image(dy, w.last)), rw(image(filter, w.last));
    Ref rdx(seen(dx, w.last), OUT);
    check(f(c.queue(),
            SSQ_CONV2D_BACKWARD_DATA(
                .dy = rdy, .w = rw, .dx = rdx,
                .stride = {w.stride[0], w.stride[1]},
                .padding = {w.padding[0], w.padding[1], w.padding[2],
                            w.padding[3]},
                .dilation = {w.dilation[0], w.dilation[1]},
                .groups = w.groups, .layout = w.layout())));
}

static void backward_weight(Call &c, const Window &w, const Tensor &x,
                            const Tensor &dy, const Tensor &dw,
                            const Tensor &db)
{
    auto f = w.transposed ? ssq_conv_transpose2d_backward_weight
                          : ssq_conv2d_backward_weight;
    Ref rx(image(x, w.last)), rdy(image(dy, w.last));
    Ref rdw(seen(dw, w.last), OUT), rdb = ref_or_null(db, OUT);
    check(f(c.queue(),
            SSQ_CONV2D_BACKWARD_WEIGHT(
                .x = rx, .dy = rdy, .dw = rdw, .db = rdb,
                .stride = {w.stride[0], w.stride[1]},
                .padding = {w.padding[0], w.padding[1], w.padding[2],
                            w.padding[3]},
                .dilation = {w.dilation[0], w.dilation[1]},
                .groups = w.groups, .layout = w.layout())));
}

static void backward_bias(Call &c, const Tensor &dy, const Tensor &db)
{
    Axes axes(dy.dim(), true);
    axes[1] = false;
    if (!reduce(c.queue(), ssq_sum, db, dy, axes))
        throw Refused("too many dimensions");
}

/* convolution_backward_overrideable(grad_output, input, weight, stride,
 * padding, dilation, transposed, output_padding, groups, output_mask) */
static bool backward(Call &c, Tensor (&result)[3])
{
    const Tensor &dy = c.tensor(0), &x = c.tensor(1), &f = c.tensor(2);
    if (!convolvable(x, f) || dy.scalar_type() != x.scalar_type())
        return false;
    Window w = window(x.dim() - 2, c.list(3), c.list(4), c.list(5), c.list(7),
                      c.flag(6), c.integer(8));
    auto wanted = c.at(9).toBoolList();
    w.last = channels_last(x) || channels_last(f);
    at::ScalarType type = x.scalar_type();
    if (wanted[0]) {
        result[0] = new_image(x.sizes(), type, c.device(), w.last);
        if (x.numel() > 0)
            backward_data(c, w, dy, f, result[0]);
    }
    int64_t o = dy.size(1);
    if (wanted[2])
        result[2] = fresh(o, type, c.device());
    if (wanted[1]) {
        result[1] = new_image(f.sizes(), type, c.device(), w.last);
        backward_weight(c, w, x, dy, result[1], result[2]);
    } else if (wanted[2]) {
        backward_bias(c, dy, result[2]);
    }
    return true;
}

static bool convolution(Call &c)
{
    Tensor y;
    try {
        y = forward(c);
    } catch (const Refused &) {
    }
    if (!y.defined())
        y = convolution_on_host(c);
    c.result(y);
    return true;
}

static bool convolution_backward(Call &c)
{
    Tensor r[3];
    bool done = false;
    try {
        done = backward(c, r);
    } catch (const Refused &) {
    }
    if (!done)
        convolution_backward_on_host(c, r);
    c.results({r[0], r[1], r[2]});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "convolution_overrideable", convolution);
    op(m, "convolution_backward_overrideable", convolution_backward);
}

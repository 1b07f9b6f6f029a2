// SPDX-License-Identifier: Apache-2.0
/* matmul.cpp - products of matrices. */
#include "elementwise.h"

#include <torch/library.h>

namespace sesqui_torch
{

/* The last two dimensions of x as a matrix of BLAS: rows or columns are dense.
 */
static bool is_matrix(const Tensor &x)
{
    int64_t m = x.size(-2), n = x.size(-1);
    int64_t down = x.stride(-2), right = x.stride(-1);
    if (m <= 1 || n <= 1)
        return true;
    return (right == 1 && down >= n) || (down == 1 && right >= m);
}

static Tensor matrix(const Tensor &x)
{
    return is_matrix(x) ? x : cloned(x);
}

struct Product {
    double alpha = 1, beta = 0;
    Tensor c, bias;
};

/* d = alpha a b + beta c + bias */
static void multiply(ssq_queue *q, const Tensor &d, const Tensor &a_,
                     const Tensor &b_, const Product &p)
{
    Tensor a = matrix(apart(a_, d)), b = matrix(apart(b_, d));
    Tensor to = d;
    if (!is_matrix(d) || same_place(a, d) || same_place(b, d))
        to = fresh(d.sizes(), d.scalar_type(), d.device());
    {
        Ref ra(a), rb(b), rd(to, OUT);
        Ref rc = ref_or_null(p.c.defined() ? apart(p.c, to) : p.c);
        Ref rbias = ref_or_null(p.bias);
        auto f = d.dim() > 2 ? ssq_gemm_batched : ssq_gemm;
        check(f(q, SSQ_GEMM(.a = ra, .b = rb, .c = rc, .bias = rbias,
                            .d = rd, .alpha = p.alpha, .beta = p.beta)));
    }
    if (!to.is_same(d))
        assign(d, to);
}

static bool multipliable(const Tensor &a, const Tensor &b, const Tensor &d)
{
    return is_real(a) && is_real(b) && is_real(d) &&
           a.scalar_type() == b.scalar_type() && is_here(a) && is_here(b);
}

static bool mm(Call &c)
{
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    if (!multipliable(a, b, c.tensor(2)))
        return false;
    int64_t rank = a.dim();
    auto sizes = rank == 2
                     ? std::vector<int64_t>{a.size(0), b.size(1)}
                     : std::vector<int64_t>{a.size(0), a.size(1), b.size(2)};
    const Tensor &d = c.out(2, sizes);
    if (d.numel() > 0)
        multiply(c.queue(), d, a, b, {});
    c.result_of({2});
    return true;
}

/* addmm and baddbmm */
static bool addmm(Call &c)
{
    const Tensor &self = c.tensor(0), &a = c.tensor(1), &b = c.tensor(2);
    if (!multipliable(a, b, c.tensor(5)) || !is_real(self) || !is_here(self) ||
        c.scalar(3).isComplex() || c.scalar(4).isComplex())
        return false;
    auto sizes = a.dim() == 2
                     ? std::vector<int64_t>{a.size(0), b.size(1)}
                     : std::vector<int64_t>{a.size(0), a.size(1), b.size(2)};
    const Tensor &d = c.out(5, sizes);
    Product p;
    p.beta = c.number(3);
    p.alpha = c.number(4);
    if (p.beta == 1 && self.dim() == 1 && self.size(0) == sizes.back() &&
        !overlaps(self, d) && !same_place(self, d)) {
        p.bias = self;
        p.beta = 0;
    } else if (p.beta != 0) {
        p.c = self;
    }
    if (d.numel() > 0)
        multiply(c.queue(), d, a, b, p);
    c.result_of({5});
    return true;
}

static bool addmv(Call &c)
{
    const Tensor &self = c.tensor(0), &a = c.tensor(1), &v = c.tensor(2);
    if (!multipliable(a, v, c.tensor(5)) || !is_real(self) ||
        !is_here(self) || c.scalar(3).isComplex() || c.scalar(4).isComplex())
        return false;
    const Tensor &d = c.out(5, a.size(0));
    Product p;
    p.beta = c.number(3);
    p.alpha = c.number(4);
    if (p.beta != 0)
        p.c = self.dim() == 0 ? self : unsqueezed(self, 1);
    if (d.numel() > 0)
        multiply(c.queue(), unsqueezed(d, 1), a, unsqueezed(v, 1), p);
    c.result_of({5});
    return true;
}

static bool dot(Call &c)
{
    const Tensor &a = c.tensor(0), &b = c.tensor(1);
    if (!multipliable(a, b, a) || a.dim() != 1 || a.sizes() != b.sizes())
        return false;
    int64_t sizes[2] = {1, 1};
    Tensor d = fresh(sizes, a.scalar_type(), c.device());
    multiply(c.queue(), d, unsqueezed(a, 0), unsqueezed(b, 1), {});
    c.result(reshaped(d, {}));
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "mm.out", mm);
    op(m, "bmm.out", mm);
    op(m, "addmm.out", addmm);
    op(m, "baddbmm.out", addmm);
    op(m, "addmv.out", addmv);
    op(m, "dot", dot);
    op(m, "vdot", dot);
}

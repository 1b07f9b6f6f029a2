// SPDX-License-Identifier: Apache-2.0
/* pointwise.cpp - an op on one element of each operand, for any shapes. */
#include "pointwise.h"

#include <algorithm>
#include <numeric>

namespace sesqui_torch
{

constexpr size_t most_operands = 6;
using Dims = c10::SmallVector<int64_t, 8>;

namespace
{
/* Dimensions that all operands share; stride 0 repeats elements. */
struct Space {
    size_t n;
    Dims sizes;
    Dims strides[most_operands];
    /* Repeat the first input where all inputs repeat: their shapes must
     * broadcast to that of the result. */
    c10::SmallVector<bool, 8> repeated;
    size_t repeats_first;
    size_t rank() const { return sizes.size(); }
};
} // namespace

static Space space_of(std::initializer_list<const Tensor *> operands)
{
    Space s;
    s.n = operands.size();
    const Tensor &out = **operands.begin();
    int64_t rank = out.dim();
    c10::SmallVector<int64_t, 8> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return out.stride(a) > out.stride(b);
    });
    for (int64_t d : order) {
        if (out.size(d) == 1)
            continue;
        s.sizes.push_back(out.size(d));
        size_t i = 0;
        for (const Tensor *x : operands) {
            int64_t e = d - (rank - x->dim());
            bool repeats = e < 0 || x->size(e) == 1;
            if (!repeats)
                TORCH_CHECK(x->size(e) == out.size(d), "sesqui: ",
                            described(*x), " cannot be broadcast to ",
                            described(out));
            s.strides[i++].push_back(repeats ? 0 : x->stride(e));
        }
    }
    return s;
}

static bool mergeable(const Space &s, size_t outer, size_t inner)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.strides[i][outer] != s.strides[i][inner] * s.sizes[inner])
            return false;
    return true;
}

static void merge(Space &s)
{
    size_t to = 0;
    for (size_t d = 1; d < s.rank(); d++) {
        if (mergeable(s, to, d)) {
            s.sizes[to] *= s.sizes[d];
        } else {
            to++;
            s.sizes[to] = s.sizes[d];
        }
        for (size_t i = 0; i < s.n; i++)
            s.strides[i][to] = s.strides[i][d];
    }
    if (s.rank() > 0) {
        s.sizes.resize(to + 1);
        for (size_t i = 0; i < s.n; i++)
            s.strides[i].resize(to + 1);
    }
}

static void mark_repeated(Space &s, size_t n_out)
{
    s.repeats_first = n_out;
    s.repeated.assign(s.rank(), n_out < s.n);
    for (size_t d = 0; d < s.rank(); d++)
        for (size_t i = n_out; i < s.n; i++)
            if (s.strides[i][d] != 0)
                s.repeated[d] = false;
}

/* The last `rank` dimensions of operand i, which begin at an offset. An input
 * with dimensions that repeat has size 1 there, unless it must be full. */
static Ref part(const Space &s, size_t i, const Tensor &x, int rank,
                int64_t offset, Access access, bool full)
{
    size_t first = s.rank() - rank;
    int64_t sizes[SSQ_MAX_RANK], strides[SSQ_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        int64_t stride = s.strides[i][first + d];
        bool repeats = full || (s.repeats_first == i && s.repeated[first + d]);
        sizes[d] = stride == 0 && !repeats ? 1 : s.sizes[first + d];
        strides[d] = stride;
    }
    /* An operand of one element is a scalar. */
    bool single = std::all_of(sizes, sizes + rank,
                              [](int64_t n) { return n == 1; });
    auto dtype = dtype_of(x.scalar_type());
    TORCH_CHECK(dtype.has_value(), "sesqui: the library has no tensors of ",
                x.scalar_type());
    return Ref(x, *dtype, single && access == IN ? 0 : rank, sizes, strides,
               (x.storage_offset() + offset) * x.element_size(), access);
}

void pointwise(std::initializer_list<const Tensor *> operands,
               c10::function_ref<void(const Ref *)> call, Shapes shapes,
               size_t n_out)
{
    const Tensor *const *x = operands.begin();
    if (x[0]->numel() == 0)
        return;
    Space s = space_of(operands);
    merge(s);
    mark_repeated(s, n_out);
    int rank = static_cast<int>(std::min<size_t>(s.rank(), SSQ_MAX_RANK));
    size_t outer = s.rank() - rank;
    Dims at(outer, 0);
    for (;;) {
        Ref refs[most_operands];
        for (size_t i = 0; i < s.n; i++) {
            int64_t offset = 0;
            for (size_t d = 0; d < outer; d++)
                offset += at[d] * s.strides[i][d];
            refs[i] = part(s, i, *x[i], rank, offset, i < n_out ? OUT : IN,
                           shapes == EQUAL);
        }
        call(refs);
        size_t d = outer;
        while (d > 0 && ++at[d - 1] == s.sizes[d - 1])
            at[--d] = 0;
        if (d == 0)
            return;
    }
}

} // namespace sesqui_torch

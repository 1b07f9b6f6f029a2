// SPDX-License-Identifier: Apache-2.0
/* index.cpp - embeddings, gather, scatter, and indexing by tensors. */
#include "index.h"
#include "elementwise.h"
#include "integer.h"

#include <torch/library.h>

namespace sesqui_torch
{

using Dims = c10::SmallVector<int64_t, 8>;

static Bounds known(const Tensor &x)
{
    if (x.scalar_type() == at::kLong)
        return block_of(x).bounds;
    if (x.scalar_type() == at::kByte || x.scalar_type() == at::kBool)
        return {0, 255};
    return {std::numeric_limits<int32_t>::min(),
            std::numeric_limits<int32_t>::max()};
}

void index_check(ssq_queue *q, const Tensor &x, const Tensor &narrow,
                 int64_t n, const char *op, int64_t ignore)
{
    Bounds b = known(x);
    if (b.empty() || (b.low >= 0 && b.high < n) || narrow.numel() == 0)
        return;
    TORCH_CHECK(n <= std::numeric_limits<int32_t>::max(), "sesqui: ", op, ": ",
                n, " positions do not fit in 32 bits");
    Tensor t = narrow.dim() <= SSQ_MAX_RANK ? narrow
                                            : reshaped(narrow, narrow.numel());
    Ref index(t);
    const ssq_tensor *record =
        device_at(x.device().index()).index_record(q, op);
    check(ssq_index_check(q, SSQ_INDEX_CHECK(.index = index, .record = record,
                                             .n = n,
                                             .ignore_index = ignore)));
}

/* Rows that are moved as they are: words of a dtype of the library. */
static Tensor row_words(const Tensor &x)
{
    return dtype_of(x.scalar_type()) ? x : words(x);
}

/* y[i..] = x[index[i]..]. x has rows, and y has the shape of index and then of
 * a row. The ranks may be too large for the library: rows are then flat. */
static void gather_rows(ssq_queue *q, const Tensor &y_, const Tensor &x_,
                        const Tensor &index_)
{
    if (y_.numel() == 0)
        return;
    Bounds before = block_of(y_).bounds, now = known(x_);
    Tensor x = row_words(x_), y = row_words(y_), index = index_;
    if (index.dim() + x.dim() - 1 > SSQ_MAX_RANK || x.dim() > SSQ_MAX_RANK) {
        int64_t n = x.size(0), m = index.numel();
        int64_t from[2] = {n, x.numel() / std::max<int64_t>(n, 1)};
        int64_t to[2] = {m, y.numel() / m};
        x = reshaped(contiguous(x), from);
        index = reshaped(index, m);
        Tensor t = reshaped(y, to);
        TORCH_CHECK(same_place(reshaped(t, y.sizes()), y),
                    "sesqui: the result has gaps");
        y = t;
    }
    {
        Ref rx(x), ri(index), ry(y, OUT);
        check(ssq_gather_rows(q, SSQ_GATHER_ROWS(.x = rx, .index = ri,
                                                 .y = ry)));
    }
    if (y_.scalar_type() == at::kLong) {
        now.include(before);
        now.include({0, 0}); /* the row of an index that is out of range */
        block_of(y_).bounds = now;
    }
}

static void scatter_rows(ssq_queue *q, const Tensor &dx_, const Tensor &dy_,
                         const Tensor &index_)
{
    if (dy_.numel() == 0)
        return;
    Tensor dx = dx_, dy = dy_, index = index_;
    if (index.dim() + dx.dim() - 1 > SSQ_MAX_RANK ||
        dx.dim() > SSQ_MAX_RANK) {
        int64_t n = dx.size(0), m = index.numel();
        int64_t to[2] = {n, dx.numel() / std::max<int64_t>(n, 1)};
        int64_t from[2] = {m, dy.numel() / m};
        dx = reshaped(dx, to);
        index = reshaped(index, m);
        dy = reshaped(contiguous(dy), from);
        TORCH_CHECK(same_place(reshaped(dx, dx_.sizes()), dx_),
                    "sesqui: the result has gaps");
    }
    Ref ry(dy), ri(index), rx(dx, OUT);
    check(ssq_scatter_add_rows(
        q, SSQ_SCATTER_ADD_ROWS(.dy = ry, .index = ri, .dx = rx)));
}

static bool is_index(const Tensor &x)
{
    at::ScalarType t = x.scalar_type();
    return is_here(x) && (t == at::kLong || t == at::kInt);
}

/* embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse) */
static bool embedding(Call &c)
{
    const Tensor &w = c.tensor(0), &i = c.tensor(1);
    if (!is_index(i) || w.dim() != 2)
        return false;
    Dims sizes(i.sizes());
    sizes.push_back(w.size(1));
    Tensor index = indices(i, "embedding");
    index_check(c.queue(), i, index, w.size(0), "embedding");
    Tensor y = fresh(sizes, w.scalar_type(), c.device());
    gather_rows(c.queue(), y, w, index);
    c.result(y);
    return true;
}

/* (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) */
static bool embedding_backward(Call &c)
{
    const Tensor &dy = c.tensor(0), &i = c.tensor(1);
    int64_t n = c.integer(2), padding = c.integer(3);
    if (!is_index(i) || !is_real(dy) || c.flag(4))
        return false;
    int64_t sizes[2] = {n, dy.size(-1)};
    Tensor dw = fresh(sizes, dy.scalar_type(), c.device());
    set_all(dw, 0);
    scatter_rows(c.queue(), dw, dy, indices(i, "embedding"));
    if (padding >= 0 && padding < n)
        set_all(selected(dw, 0, padding), 0);
    c.result(dw);
    return true;
}

/* A dimension first. */
static Tensor first(const Tensor &x, int64_t axis)
{
    Dims order;
    for (int64_t d = 0; d < x.dim(); d++)
        if (d != axis)
            order.push_back(d);
    order.insert(order.begin(), axis);
    return permuted(x, order);
}

/* index_select(self, dim, index[, out]) */
static bool index_select(Call &c)
{
    const Tensor &x = c.tensor(0), &i = c.tensor(2);
    if (!is_index(i) || x.dim() == 0 || i.dim() > 1)
        return false;
    int64_t axis = wrapped(c.integer(1), x.dim());
    Dims sizes(x.sizes());
    sizes[axis] = i.numel();
    bool given = c.size() == 4;
    if (given && c.tensor(3).scalar_type() != x.scalar_type())
        return false;
    Tensor y = given ? c.out(3, sizes)
                     : fresh(sizes, x.scalar_type(), c.device());
    Tensor index = reshaped(indices(i, "index_select"), i.numel());
    index_check(c.queue(), i, index, x.size(axis), "index_select");
    Tensor from = first(x, axis), to = first(y, axis);
    if (from.dim() > SSQ_MAX_RANK) {
        Tensor t = fresh(to.sizes(), x.scalar_type(), c.device());
        gather_rows(c.queue(), t, from, index);
        assign(to, t);
    } else {
        gather_rows(c.queue(), to, from, index);
    }
    if (given)
        c.result_of({3});
    else
        c.result(y);
    return true;
}

/* index_add(self, dim, index, source, alpha, out) */
static bool index_add(Call &c)
{
    const Tensor &x = c.tensor(0), &i = c.tensor(2), &source = c.tensor(3);
    if (!is_index(i) || x.dim() == 0 || i.dim() > 1 || !is_real(x) ||
        !is_real(source) || source.dim() != x.dim() ||
        x.dim() > SSQ_MAX_RANK || c.tensor(5).scalar_type() != x.scalar_type())
        return false;
    int64_t axis = wrapped(c.integer(1), x.dim());
    const Tensor &y = c.out(5, x.sizes());
    if (!y.is_same(x))
        assign(y, x);
    Tensor index = reshaped(indices(i, "index_add"), i.numel());
    index_check(c.queue(), i, index, x.size(axis), "index_add");
    Tensor terms = source;
    double alpha = c.number(4);
    if (alpha != 1) {
        terms = fresh(source.sizes(), at::kFloat, c.device());
        scale(c.queue(), terms, source, alpha);
    }
    scatter_rows(c.queue(), first(y, axis), first(apart(terms, y), axis),
                 index);
    c.result_of({5});
    return true;
}

/* The position in contiguous x of each element of index along an axis. */
static Tensor positions(ssq_queue *q, const Tensor &x, const Tensor &index,
                        int64_t axis)
{
    c10::Device device = x.device();
    Tensor at = fresh(index.sizes(), at::kInt, device);
    int64_t stride = 1;
    for (int64_t d = axis + 1; d < x.dim(); d++)
        stride *= x.size(d);
    binary(q, ssq_mul, at, index, constant(double(stride), at::kInt, device));
    stride = 1;
    for (int64_t d = x.dim() - 1; d >= 0; d--) {
        if (d != axis && index.size(d) > 1) {
            Dims sizes(x.dim(), 1);
            sizes[d] = index.size(d);
            Tensor step = fresh(sizes, at::kInt, device);
            binary(q, ssq_mul, step,
                   reshaped(counting(index.size(d), device), sizes),
                   constant(double(stride), at::kInt, device));
            binary(q, ssq_add, at, at, step);
        }
        stride *= x.size(d);
    }
    return at;
}

static bool along_axis(const Tensor &x, const Tensor &i)
{
    return is_index(i) && x.dim() == i.dim() && x.dim() > 0 &&
           x.numel() <= std::numeric_limits<int32_t>::max();
}

/* A scalar as a vector. */
static Tensor at_least_1d(const Tensor &x)
{
    return x.dim() == 0 ? unsqueezed(x, 0) : x;
}

/* gather(self, dim, index, sparse_grad, out) */
static bool gather(Call &c)
{
    Tensor x = at_least_1d(c.tensor(0)), i = at_least_1d(c.tensor(2));
    if (!along_axis(x, i) || c.tensor(4).scalar_type() != x.scalar_type())
        return false;
    int64_t axis = wrapped(c.integer(1), x.dim());
    const Tensor &given = c.out(4, c.tensor(2).sizes());
    Tensor y = at_least_1d(given);
    if (i.numel() > 0) {
        Tensor index = indices(i, "gather");
        index_check(c.queue(), i, index, x.size(axis), "gather");
        Tensor at = positions(c.queue(), x, index, axis);
        Tensor t = fresh(i.sizes(), x.scalar_type(), c.device());
        int64_t m = i.numel(), n = x.numel();
        gather_rows(c.queue(), reshaped(t, m), reshaped(contiguous(x), n),
                    reshaped(at, m));
        assign(y, t);
    }
    c.result_of({4});
    return true;
}

/* The part of src that index names. */
static Tensor same_part(const Tensor &src, const Tensor &index)
{
    Tensor t = src;
    for (int64_t d = 0; d < index.dim(); d++)
        t = sliced(t, d, 0, index.size(d));
    return t;
}

/* scatter_add(self, dim, index, src, out) */
static bool scatter_add(Call &c)
{
    Tensor x = at_least_1d(c.tensor(0)), i = at_least_1d(c.tensor(2));
    Tensor src = at_least_1d(c.tensor(3));
    if (!along_axis(x, i) || !is_real(x) || !is_real(src) ||
        src.dim() != i.dim() || c.tensor(4).scalar_type() != x.scalar_type())
        return false;
    int64_t axis = wrapped(c.integer(1), x.dim());
    Tensor y = at_least_1d(c.out(4, c.tensor(0).sizes()));
    Tensor to = y.is_contiguous() ? y : fresh(x.sizes(), x.scalar_type(),
                                              c.device());
    if (!same_place(to, x))
        assign(to, x);
    if (i.numel() > 0) {
        Tensor index = indices(i, "scatter_add");
        index_check(c.queue(), i, index, x.size(axis), "scatter_add");
        Tensor at = positions(c.queue(), x, index, axis);
        int64_t m = i.numel(), n = x.numel();
        Tensor terms = contiguous(same_part(apart(src, to), i));
        scatter_rows(c.queue(), reshaped(to, n), reshaped(terms, m),
                     reshaped(at, m));
    }
    if (!same_place(to, y))
        assign(y, to);
    c.result_of({4});
    return true;
}

/* If one index stands for a whole line of x, no element is written twice. Then
 * y is src at that index, otherwise x. */
static bool scatter_one(Call &c, const Tensor &value, size_t last)
{
    const Tensor &x = c.tensor(0), &i = c.tensor(2);
    int64_t axis = x.dim() > 0 ? wrapped(c.integer(1), x.dim()) : 0;
    if (!along_axis(x, i) || i.dim() > SSQ_MAX_RANK || i.size(axis) != 1 ||
        c.tensor(last).scalar_type() != x.scalar_type() ||
        !dtype_of(x.scalar_type()))
        return false;
    for (int64_t d = 0; d < x.dim(); d++)
        if (d != axis && i.size(d) != x.size(d))
            return false;
    const Tensor &y = c.out(last, x.sizes());
    if (y.numel() == 0)
        return false;
    Tensor index = indices(i, "scatter");
    index_check(c.queue(), i, index, x.size(axis), "scatter");
    Tensor mask = fresh(x.sizes(), at::kBool, c.device());
    {
        Ref ri(squeezed(index, axis)), rm(mask, OUT);
        check(ssq_one_hot(c.queue(),
                          SSQ_ONE_HOT(.index = ri, .y = rm,
                                      .axis = static_cast<int>(axis))));
    }
    where(c.queue(), y, mask, value, x);
    c.result_of({last});
    return true;
}

/* scatter(self, dim, index, src, out) */
static bool scatter_src(Call &c)
{
    const Tensor &x = c.tensor(0), &i = c.tensor(2), &src = c.tensor(3);
    if (src.scalar_type() != x.scalar_type() || src.dim() != i.dim() ||
        !is_here(src) || i.dim() == 0)
        return false;
    for (int64_t d = 0; d < i.dim(); d++)
        if (src.size(d) < i.size(d))
            return false;
    return scatter_one(c, same_part(src, i), 4);
}

/* scatter(self, dim, index, value, out) */
static bool scatter_value(Call &c)
{
    const Tensor &x = c.tensor(0);
    if (!dtype_of(x.scalar_type()) || c.scalar(3).isComplex())
        return false;
    at::ScalarType type = x.scalar_type();
    return scatter_one(c, constant(c.number(3), type, c.device()), 4);
}

namespace
{
/* x[.., i, j, ..]: integer tensors for neighbouring dimensions. */
struct Indexing {
    int64_t first = -1, count = 0;
    std::vector<Tensor> list; /* of the dimensions from first on */
    Dims sizes;               /* that they broadcast to */
};
} // namespace

static std::optional<Indexing> indexing(const Tensor &x,
                                        const c10::IValue &list)
{
    Indexing r;
    auto all = list.toOptionalTensorVector();
    for (size_t d = 0; d < all.size(); d++) {
        if (!all[d].has_value() || !all[d]->defined())
            continue;
        int64_t at = static_cast<int64_t>(d);
        if (!is_index(*all[d]) || (r.count > 0 && at != r.first + r.count))
            return std::nullopt;
        if (r.count == 0)
            r.first = at;
        r.count++;
        r.list.push_back(*all[d]);
        r.sizes = broadcast(r.sizes, all[d]->sizes());
    }
    if (r.count == 0 || x.numel() > std::numeric_limits<int32_t>::max())
        return std::nullopt;
    return r;
}

/* Negative indices count from the end. */
static Tensor from_start(ssq_queue *q, const Tensor &x, const Tensor &narrow,
                         int64_t n)
{
    if (known(x).empty() || known(x).low >= 0)
        return narrow;
    c10::Device device = x.device();
    Tensor y = fresh(narrow.sizes(), at::kInt, device);
    Tensor negative = fresh(narrow.sizes(), at::kBool, device);
    binary(q, ssq_add, y, narrow, constant(double(n), at::kInt, device));
    compare(q, ssq_lt, negative, narrow, constant(0, at::kInt, device));
    where(q, y, negative, y, narrow);
    return y;
}

/* All indices as one, into rows of the indexed dimensions. */
static Tensor row_index(ssq_queue *q, const Tensor &x, const Indexing &r)
{
    Tensor at;
    c10::Device device = x.device();
    for (int64_t k = 0; k < r.count; k++) {
        int64_t n = x.size(r.first + k);
        const Tensor &i = r.list[k];
        Tensor t = from_start(q, i, indices(i, "index"), n);
        bool as_given = known(i).empty() || known(i).low >= 0;
        index_check(q, as_given ? i : t, t, n, "index");
        if (!at.defined()) {
            at = t;
            continue;
        }
        Tensor sum = fresh(broadcast(at.sizes(), t.sizes()), at::kInt, device);
        Tensor row = fresh(at.sizes(), at::kInt, device);
        binary(q, ssq_mul, row, at, constant(double(n), at::kInt, device));
        binary(q, ssq_add, sum, row, t);
        at = sum;
    }
    return expanded(at, r.sizes);
}

/* The indexed dimensions first, and merged: rows. */
static Tensor rows_of(const Tensor &x, const Indexing &r)
{
    Dims order, sizes;
    int64_t rows = 1;
    for (int64_t d = r.first; d < r.first + r.count; d++) {
        order.push_back(d);
        rows *= x.size(d);
    }
    sizes.push_back(rows);
    for (int64_t d = 0; d < x.dim(); d++)
        if (d < r.first || d >= r.first + r.count) {
            order.push_back(d);
            sizes.push_back(x.size(d));
        }
    return reshaped(permuted(x, order), sizes);
}

/* The sizes of x[..], and the same with the index first. */
static void indexed_sizes(const Tensor &x, const Indexing &r, Dims &given,
                          Dims &rows)
{
    rows = r.sizes;
    for (int64_t d = 0; d < x.dim(); d++) {
        if (d == r.first)
            given.append(r.sizes.begin(), r.sizes.end());
        if (d < r.first || d >= r.first + r.count) {
            given.push_back(x.size(d));
            rows.push_back(x.size(d));
        }
    }
}

/* x[..] seen with the dimensions of the index first. */
static Tensor index_first(const Tensor &y, const Indexing &r)
{
    Dims order;
    int64_t n = static_cast<int64_t>(r.sizes.size());
    for (int64_t d = 0; d < n; d++)
        order.push_back(r.first + d);
    for (int64_t d = 0; d < y.dim(); d++)
        if (d < r.first || d >= r.first + n)
            order.push_back(d);
    return permuted(y, order);
}

/* index(self, indices, out) */
static bool index_tensor(Call &c)
{
    const Tensor &x = c.tensor(0);
    auto r = indexing(x, c.at(1));
    if (!r || c.tensor(2).scalar_type() != x.scalar_type())
        return false;
    Dims given, rows;
    indexed_sizes(x, *r, given, rows);
    const Tensor &y = c.out(2, given);
    if (y.numel() > 0) {
        Tensor at = row_index(c.queue(), x, *r);
        Tensor to = index_first(y, *r);
        bool direct = to.dim() <= SSQ_MAX_RANK - 1;
        Tensor t = direct ? to : fresh(rows, x.scalar_type(), c.device());
        gather_rows(c.queue(), t, rows_of(x, *r), at);
        if (!direct)
            assign(to, t);
    }
    c.result_of({2});
    return true;
}

/* _index_put_impl_(self, indices, values, accumulate, unsafe) */
static bool index_put(Call &c)
{
    const Tensor &x = c.tensor(0), &values = c.tensor(2);
    if (!c.flag(3) || !is_real(x) || !is_real(values) || !is_here(values))
        return false;
    auto r = indexing(x, c.at(1));
    if (!r)
        return false;
    Dims given, rows;
    indexed_sizes(x, *r, given, rows);
    Tensor at = row_index(c.queue(), x, *r);
    Tensor terms = index_first(expanded(apart(values, x), given), *r);
    Tensor to = rows_of(x, *r);
    scatter_rows(c.queue(), to, contiguous(terms), contiguous(at));
    /* reshaped() has made a copy, if the rows of x are not in order */
    if (!to.storage().is_alias_of(x.storage())) {
        Dims back;
        Dims order;
        for (int64_t d = r->first; d < r->first + r->count; d++)
            order.push_back(d);
        for (int64_t d = 0; d < x.dim(); d++)
            if (d < r->first || d >= r->first + r->count)
                order.push_back(d);
        Tensor view = permuted(x, order);
        assign(view, reshaped(to, view.sizes()));
    }
    c.result_of({0});
    return true;
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    using namespace sesqui_torch;
    op(m, "embedding", embedding);
    op(m, "embedding_dense_backward", embedding_backward);
    op(m, "index_select", index_select);
    op(m, "index_select.out", index_select);
    op(m, "index_add.out", index_add);
    op(m, "gather.out", gather);
    op(m, "scatter_add.out", scatter_add);
    op(m, "scatter.src_out", scatter_src);
    op(m, "scatter.value_out", scatter_value);
    op(m, "index.Tensor_out", index_tensor, true);
    op(m, "_index_put_impl_", index_put, true);
}

// SPDX-License-Identifier: Apache-2.0
/* copy.cpp - copies, casts and fills on the device.
 *
 * The library has no int64, float64 and complex numbers. Their elements are
 * copied as words of 32 bits. Casts to and from float64, and some of int64,
 * are made on the host. */
#include "copy.h"
#include "call.h"
#include "pointwise.h"
#include "real64.h"

#include <ATen/EmptyTensor.h>

#include <bit>
#include <cstring>

namespace sesqui_torch
{

using Dims = c10::SmallVector<int64_t, 8>;

Tensor words(const Tensor &x)
{
    int64_t size = x.element_size();
    at::ScalarType type = size == 1   ? at::kByte
                          : size == 2 ? at::kHalf
                                      : at::kInt;
    int64_t n = std::max<int64_t>(size / 4, 1);
    if (n == 1)
        return alias(x, type, x.sizes(), x.strides(), x.storage_offset());
    Dims sizes(x.sizes()), strides(x.strides());
    for (int64_t &s : strides)
        s *= n;
    sizes.push_back(n);
    strides.push_back(1);
    return alias(x, type, sizes, strides, x.storage_offset() * n);
}

/* One part of each element: word i of n. */
static Tensor part_of(const Tensor &x, at::ScalarType type, int64_t n,
                      int64_t i)
{
    Dims strides(x.strides());
    for (int64_t &s : strides)
        s *= n;
    return alias(x, type, x.sizes(), strides, x.storage_offset() * n + i);
}

static bool whole(const Tensor &x)
{
    return static_cast<size_t>(x.numel() * x.element_size()) >=
           x.storage().nbytes();
}

static void bounds_add(const Tensor &x, Bounds before, Bounds now)
{
    if (!whole(x))
        now.include(before);
    block_of(x).bounds = now;
}

Wide::Wide(const Tensor &x, bool in_place)
    : low(part_of(x, at::kInt, 2, 0)), x_(x), before_(block_of(x).bounds),
      in_place_(in_place)
{
}

void Wide::finish(Bounds now)
{
    Tensor high = part_of(x_, at::kInt, 2, 1);
    c10::Device device = x_.device();
    /* An op that reads what it replaces: the upper words are 0 already. */
    bool ready = in_place_ && now.low >= 0 && before_.low >= 0 &&
                 before_.narrow();
    if (x_.numel() > 0 && !ready) {
        if (now.low >= 0) {
            set_all(high, 0);
        } else if (now.high < 0) {
            set_all(high, -1);
        } else {
            Lane lane(x_);
            Tensor negative = fresh(x_.sizes(), at::kBool, device);
            Tensor zero = constant(0, at::kInt, device);
            Tensor ones = constant(-1, at::kInt, device);
            pointwise({&negative, &low, &zero}, [&](const Ref *t) {
                check(ssq_lt(lane.queue, SSQ_COMPARE(.a = t[1], .b = t[2],
                                                     .y = t[0])));
            });
            pointwise({&high, &negative, &ones, &zero}, [&](const Ref *t) {
                check(ssq_where(lane.queue,
                                SSQ_WHERE(.cond = t[1], .a = t[2], .b = t[3],
                                          .y = t[0])));
            });
        }
    }
    bounds_add(x_, before_, now);
}

static void copy_words(const Tensor &out, const Tensor &x)
{
    Lane lane(out);
    Tensor y = words(out), from = words(x);
    pointwise({&y, &from}, [&](const Ref *t) {
        check(ssq_copy(lane.queue, SSQ_COPY(.x = t[1], .y = t[0])));
    });
}

static void copy_same(const Tensor &out, const Tensor &x)
{
    Block &to = block_of(out), &from = block_of(x);
    Bounds before = to.bounds, now = from.bounds;
    if (from.deferred && real64_share(out, x))
        return;
    real64_compute(x);
    copy_words(out, x);
    if (out.scalar_type() == at::kLong)
        bounds_add(out, before, now);
}

static void cast_native(const Tensor &out, const Tensor &x)
{
    Lane lane(out);
    pointwise({&out, &x}, [&](const Ref *t) {
        check(ssq_cast(lane.queue, SSQ_CAST(.x = t[1], .y = t[0])));
    });
}

static void not_zero(const Tensor &out, const Tensor &x)
{
    Lane lane(out);
    Tensor zero = constant(0, x.scalar_type() == at::kBool ? at::kByte
                                                           : x.scalar_type(),
                           x.device());
    pointwise({&out, &x, &zero}, [&](const Ref *t) {
        check(ssq_ne(lane.queue, SSQ_COMPARE(.a = t[1], .b = t[2],
                                             .y = t[0])));
    });
}

static void cast_to_bool(const Tensor &out, const Tensor &x)
{
    if (x.scalar_type() != at::kLong) {
        not_zero(out, x);
        return;
    }
    Tensor high = fresh(x.sizes(), at::kBool, x.device());
    not_zero(out, part_of(x, at::kInt, 2, 0));
    not_zero(high, part_of(x, at::kInt, 2, 1));
    Lane lane(out);
    pointwise({&out, &out, &high}, [&](const Ref *t) {
        check(ssq_maximum(lane.queue, SSQ_BINARY(.a = t[1], .b = t[2],
                                                 .y = t[0])));
    });
}

static Bounds bounds_of(at::ScalarType type)
{
    switch (type) {
    case at::kBool:
        return {0, 1};
    case at::kByte:
        return {0, 255};
    case at::kHalf:
        return {-65504, 65504};
    default:
        return {std::numeric_limits<int32_t>::min(),
                std::numeric_limits<int32_t>::max()};
    }
}

/* Casts that the library's ops make with the values of torch. */
static bool cast_on_device(const Tensor &out, const Tensor &x)
{
    at::ScalarType from = x.scalar_type(), to = out.scalar_type();
    bool from_long = from == at::kLong;
    if (!from_long && !dtype_of(from))
        return false;
    if (to == at::kBool) {
        cast_to_bool(out, x);
        return true;
    }
    if (to == at::kLong) {
        if (from == at::kFloat || from == at::kBFloat16)
            return false; /* the value may need more than 32 bits */
        Wide wide(out);
        cast_native(wide.low, x);
        wide.finish(bounds_of(from));
        return true;
    }
    if (!dtype_of(to))
        return false;
    if (to == at::kByte && from != at::kBool) {
        /* modulo 256, which is the lowest byte */
        Tensor i = x;
        if (is_real(from)) {
            i = fresh_like(x, at::kInt);
            cast_native(i, x);
        }
        copy_words(out, part_of(i, at::kByte, i.element_size(), 0));
        return true;
    }
    if (from_long) {
        Tensor low = part_of(x, at::kInt, 2, 0);
        if (to == at::kInt)
            copy_words(out, low);
        else if (block_of(x).bounds.narrow())
            cast_native(out, low);
        else
            return false;
        return true;
    }
    cast_native(out, x);
    return true;
}

static void cast_on_host(const Tensor &out, const Tensor &x)
{
    fallback_count(std::string("copy ") + c10::toString(x.scalar_type()) +
                   " to " + c10::toString(out.scalar_type()));
    Tensor host = at::detail::empty_cpu(x.sizes(), x.scalar_type());
    read(x, host, false);
    write(out, host.to(out.scalar_type()).contiguous(), false);
}

void assign(const Tensor &out, const Tensor &x)
{
    if (out.numel() == 0)
        return;
    if (x.is_same(out) || same_place(x, out))
        return;
    Tensor from = apart(expanded(x, out.sizes()), out);
    if (from.scalar_type() == out.scalar_type())
        copy_same(out, from);
    else if (!real64_cast(out, from) && !cast_on_device(out, from))
        cast_on_host(out, from);
}

/* The bits of a number as words of an element. */
static void fill_words(const Tensor &out, const void *bits)
{
    int64_t size = out.element_size();
    int64_t word = size >= 4 ? 4 : 1;
    Lane lane(out);
    for (int64_t i = 0; i < size / word; i++) {
        int32_t value = 0;
        std::memcpy(&value, static_cast<const char *>(bits) + i * word, word);
        Tensor y = part_of(out, word == 4 ? at::kInt : at::kByte, size / word,
                           i);
        pointwise({&y}, [&](const Ref *t) {
            check(ssq_fill(lane.queue, SSQ_FILL(.x = t[0],
                                                .value = double(value))));
        });
    }
}

void set_all(const Tensor &out, const at::Scalar &value)
{
    if (out.numel() == 0)
        return;
    at::ScalarType type = out.scalar_type();
    if (is_real(type)) {
        Lane lane(out);
        double v = value.isComplex() ? value.toComplexDouble().real()
                                     : value.toDouble();
        pointwise({&out}, [&](const Ref *t) {
            check(ssq_fill(lane.queue, SSQ_FILL(.x = t[0], .value = v)));
        });
        return;
    }
    /* One element on the host, by the rules of torch. */
    Tensor one = at::detail::empty_cpu({}, type);
    one.fill_(value);
    Bounds before = block_of(out).bounds;
    fill_words(out, one.const_data_ptr());
    if (type == at::kLong) {
        int64_t v = *one.const_data_ptr<int64_t>();
        bounds_add(out, before, {v, v});
    }
}

Tensor cloned(const Tensor &x)
{
    Tensor y = fresh(x.sizes(), x.scalar_type(), x.device());
    assign(y, x);
    return y;
}

Tensor contiguous(const Tensor &x)
{
    return x.is_contiguous() ? x : cloned(x);
}

Tensor dense_rows(const Tensor &x)
{
    return x.dim() == 0 || x.size(-1) <= 1 || x.stride(-1) == 1 ? x : cloned(x);
}

Tensor cast(const Tensor &x, at::ScalarType type)
{
    if (x.scalar_type() == type)
        return x;
    Tensor y = fresh_like(x, type);
    assign(y, x);
    return y;
}

Tensor narrow(const Tensor &x)
{
    if (x.scalar_type() != at::kLong)
        return x;
    if (!block_of(x).bounds.narrow())
        return Tensor();
    return part_of(x, at::kInt, 2, 0);
}

Tensor indices(const Tensor &x, const char *op)
{
    at::ScalarType type = x.scalar_type();
    if (type == at::kInt)
        return x;
    if (type == at::kByte || type == at::kBool)
        return cast(x, at::kInt);
    TORCH_CHECK(type == at::kLong, "sesqui: ", op, ": indices are ",
                described(x), ", expected int64 or int32");
    Tensor low = narrow(x);
    if (low.defined())
        return low;
    Tensor host = at::detail::empty_cpu(x.sizes(), at::kLong);
    read(x, host, false);
    const int64_t *values = host.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < host.numel(); i++)
        TORCH_CHECK_INDEX(values[i] == static_cast<int32_t>(values[i]),
                          "sesqui: ", op, ": index ", values[i],
                          " at position ", i, " does not fit in 32 bits");
    Tensor y = fresh(x.sizes(), at::kInt, x.device());
    write(y, host.to(at::kInt), false);
    return y;
}

} // namespace sesqui_torch

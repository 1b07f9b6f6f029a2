// SPDX-License-Identifier: Apache-2.0
/* tensor.cpp - tensors of PyTorch as tensors of the library. */
#include "tensor.h"
#include "copy.h"
#include "real64.h"

#include <ATen/EmptyTensor.h>
#include <ATen/TensorUtils.h>

#include <sstream>

namespace sesqui_torch
{

std::optional<ssq_dtype> dtype_of(at::ScalarType type)
{
    switch (type) {
    case at::kFloat:
        return SSQ_F32;
    case at::kHalf:
        return SSQ_F16;
    case at::kBFloat16:
        return SSQ_BF16;
    case at::kInt:
        return SSQ_I32;
    case at::kByte:
    case at::kBool:
        return SSQ_U8;
    default:
        return std::nullopt;
    }
}

/* Elements that are not written as int64 can later be read as int64. */
static void block_written(Block &block)
{
    block.bounds = Bounds::all();
    block.deferred.reset();
}

Ref::Ref(const Tensor &x, Access access)
    : Ref(x, dtype_of(x.scalar_type()).value_or(SSQ_U8),
          static_cast<int>(x.dim()), x.sizes().data(), x.strides().data(),
          static_cast<uint64_t>(x.storage_offset()) * x.element_size(), access)
{
    TORCH_CHECK(dtype_of(x.scalar_type()).has_value(),
                "sesqui: the library has no tensors of ", x.scalar_type());
}

Ref::Ref(const Tensor &x, ssq_dtype dtype, int rank, const int64_t *sizes,
         const int64_t *strides, uint64_t offset_bytes, Access access)
{
    TORCH_CHECK(is_here(x), "sesqui: expected a tensor on the device, got one "
                "on ", x.device());
    Block &block = block_of(x);
    if (block.deferred)
        real64_compute(x);
    if (access == OUT)
        block_written(block);
    for (int i = 0; i < rank; i++)
        if (sizes[i] == 0) /* an empty tensor may begin after its memory */
            offset_bytes = 0;
    check(ssq_tensor_from_buffer(block.buffer, dtype, rank, sizes, strides,
                                 offset_bytes, &t_));
}

Ref ref_or_null(const Tensor &x, Access access)
{
    return x.defined() ? Ref(x, access) : Ref();
}

namespace
{
/* Allocation happens on the current device. */
class DeviceGuard
{
  public:
    explicit DeviceGuard(c10::Device device) : before_(device_current())
    {
        if (device.has_index() && device.index() != before_)
            device_exchange(device.index());
    }
    ~DeviceGuard() { device_exchange(before_); }

  private:
    c10::DeviceIndex before_;
};
} // namespace

static constexpr c10::DispatchKeySet key_set(c10::DispatchKey::PrivateUse1);

Tensor fresh(Ints sizes, at::ScalarType type, c10::Device device)
{
    DeviceGuard guard(device);
    return at::detail::empty_generic(sizes, allocator(), key_set, type,
                                     std::nullopt);
}

Tensor fresh_strided(Ints sizes, Ints strides, at::ScalarType type,
                     c10::Device device)
{
    DeviceGuard guard(device);
    return at::detail::empty_strided_generic(sizes, strides, allocator(),
                                             key_set, type);
}

Tensor fresh_like(const Tensor &x, at::ScalarType type)
{
    if (x.is_contiguous() || !x.is_non_overlapping_and_dense())
        return fresh(x.sizes(), type, x.device());
    return fresh_strided(x.sizes(), x.strides(), type, x.device());
}

Tensor fresh_like(const Tensor &x)
{
    return fresh_like(x, x.scalar_type());
}

/* Those of x, without the bits that conjugate or negate elements. */
static c10::DispatchKeySet view_keys(const Tensor &x)
{
    return x.key_set() - c10::DispatchKeySet({c10::DispatchKey::Conjugate,
                                              c10::DispatchKey::Negative});
}

Tensor alias(const Tensor &x, at::ScalarType type, Ints sizes, Ints strides,
             int64_t offset)
{
    Tensor y = at::detail::make_tensor<c10::TensorImpl>(
        c10::TensorImpl::VIEW, c10::Storage(x.storage()), view_keys(x),
        c10::scalarTypeToTypeMeta(type));
    y.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
    return y;
}

using Dims = c10::SmallVector<int64_t, 8>;

static Tensor described_as(const Tensor &x, Ints sizes, Ints strides,
                           int64_t offset)
{
    return alias(x, x.scalar_type(), sizes, strides, offset);
}

Tensor permuted(const Tensor &x, Ints axes)
{
    Dims sizes, strides;
    for (int64_t a : axes) {
        sizes.push_back(x.size(a));
        strides.push_back(x.stride(a));
    }
    return described_as(x, sizes, strides, x.storage_offset());
}

Tensor transposed(const Tensor &x, int64_t a, int64_t b)
{
    Dims sizes(x.sizes()), strides(x.strides());
    a = wrapped(a, x.dim());
    b = wrapped(b, x.dim());
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
    return described_as(x, sizes, strides, x.storage_offset());
}

Tensor unsqueezed(const Tensor &x, int64_t axis)
{
    axis = wrapped(axis, x.dim() + 1);
    Dims sizes(x.sizes()), strides(x.strides());
    int64_t stride = axis < x.dim() ? sizes[axis] * strides[axis] : 1;
    sizes.insert(sizes.begin() + axis, 1);
    strides.insert(strides.begin() + axis, stride);
    return described_as(x, sizes, strides, x.storage_offset());
}

Tensor squeezed(const Tensor &x, int64_t axis)
{
    axis = wrapped(axis, x.dim());
    Dims sizes(x.sizes()), strides(x.strides());
    sizes.erase(sizes.begin() + axis);
    strides.erase(strides.begin() + axis);
    return described_as(x, sizes, strides, x.storage_offset());
}

Tensor sliced(const Tensor &x, int64_t axis, int64_t start, int64_t length)
{
    Dims sizes(x.sizes());
    sizes[axis] = length;
    return described_as(x, sizes, x.strides(),
                        x.storage_offset() + start * x.stride(axis));
}

Tensor selected(const Tensor &x, int64_t axis, int64_t i)
{
    return squeezed(sliced(x, axis, i, 1), axis);
}

Tensor expanded(const Tensor &x, Ints sizes)
{
    if (x.sizes() == sizes)
        return x;
    Dims strides(sizes.size(), 0);
    int64_t lead = static_cast<int64_t>(sizes.size()) - x.dim();
    TORCH_CHECK(lead >= 0, "sesqui: ", described(x), " cannot be expanded to ",
                sizes);
    for (int64_t i = 0; i < x.dim(); i++) {
        if (x.size(i) == sizes[lead + i])
            strides[lead + i] = x.stride(i);
        else
            TORCH_CHECK(x.size(i) == 1, "sesqui: ", described(x),
                        " cannot be expanded to ", sizes);
    }
    return described_as(x, sizes, strides, x.storage_offset());
}

Tensor reshaped(const Tensor &x, Ints sizes)
{
    if (x.sizes() == sizes)
        return x;
    Dims to(sizes);
    std::optional<std::vector<int64_t>> strides =
        at::detail::computeStride(x.sizes(), x.strides(),
                                  std::vector<int64_t>(to.begin(), to.end()));
    if (strides.has_value())
        return described_as(x, to, *strides, x.storage_offset());
    return reshaped(contiguous(x), sizes);
}

Dims broadcast(Ints a, Ints b)
{
    size_t rank = std::max(a.size(), b.size());
    Dims sizes(rank, 1);
    for (size_t i = 0; i < rank; i++) {
        int64_t m = i < a.size() ? a[a.size() - 1 - i] : 1;
        int64_t n = i < b.size() ? b[b.size() - 1 - i] : 1;
        TORCH_CHECK(m == n || m == 1 || n == 1, "The size of tensor a (", m,
                    ") must match the size of tensor b (", n,
                    ") at non-singleton dimension ", rank - 1 - i,
                    "; the shapes are ", a, " and ", b);
        sizes[rank - 1 - i] = m == 1 ? n : m;
    }
    return sizes;
}

/* The bytes of a storage from the first element to the last one. */
static std::pair<int64_t, int64_t> extent(const Tensor &x)
{
    int64_t last = 0;
    for (int64_t i = 0; i < x.dim(); i++)
        last += (x.size(i) - 1) * x.stride(i);
    int64_t size = x.element_size();
    int64_t first = x.storage_offset();
    return {first * size, (first + last + 1) * size};
}

static bool same_storage(const Tensor &a, const Tensor &b)
{
    return a.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() ==
           b.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

bool same_place(const Tensor &a, const Tensor &b)
{
    return same_storage(a, b) && a.sizes() == b.sizes() &&
           a.strides() == b.strides() &&
           a.storage_offset() == b.storage_offset() &&
           a.scalar_type() == b.scalar_type();
}

bool overlaps(const Tensor &in, const Tensor &out)
{
    if (!in.defined() || !is_here(in) || in.numel() == 0 || out.numel() == 0 ||
        !same_storage(in, out))
        return false;
    if (in.sizes() == out.sizes() && in.strides() == out.strides() &&
        in.storage_offset() == out.storage_offset() &&
        in.element_size() == out.element_size())
        return false;
    auto [a, b] = extent(in);
    auto [c, d] = extent(out);
    return a < d && c < b;
}

Tensor apart(const Tensor &in, const Tensor &out)
{
    return overlaps(in, out) ? cloned(in) : in;
}

std::string described(const Tensor &x)
{
    std::ostringstream s;
    if (!x.defined())
        return "none";
    s << c10::toString(x.scalar_type()) << " " << x.sizes();
    if (!x.is_contiguous())
        s << " strides " << x.strides();
    if (!is_here(x))
        s << " on " << x.device();
    return s.str();
}

} // namespace sesqui_torch

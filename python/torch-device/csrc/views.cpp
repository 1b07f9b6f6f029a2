// SPDX-License-Identifier: Apache-2.0
/* views.cpp - allocation, views, and copies between devices. */
#include "call.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

namespace sesqui_torch
{

using Type = std::optional<at::ScalarType>;
using Layout = std::optional<c10::Layout>;
using Where = std::optional<c10::Device>;
using Format = std::optional<c10::MemoryFormat>;

namespace
{
/* What an error says of a copy. */
struct CopyContext final : Context {
    CopyContext(const Tensor &to, const Tensor &from) : to(to), from(from) {}
    std::string describe() const override
    {
        return "copy " + described(from) + " to " + described(to);
    }
    const Tensor &to, &from;
};
} // namespace

/* Memory exists on the current device if the device has no index. */
static c10::Device device_or_current(const Where &device)
{
    c10::DeviceIndex i = device.has_value() ? device->index() : -1;
    return c10::Device(device_type, device_at(i).index());
}

static Tensor empty(Ints sizes, Type type, Layout layout, Where device,
                    std::optional<bool>, Format format)
{
    TORCH_CHECK(c10::layout_or_default(layout) == c10::kStrided,
                "sesqui: tensors are strided, got layout ", *layout);
    at::ScalarType t = c10::dtype_or_default(type);
    c10::Device where = device_or_current(device);
    c10::DeviceIndex before = device_exchange(where.index());
    Tensor y;
    try {
        y = at::detail::empty_generic(
            sizes, allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
            t, format);
    } catch (...) {
        device_exchange(before);
        throw;
    }
    device_exchange(before);
    return y;
}

static Tensor empty_strided(Ints sizes, Ints strides, Type type, Layout layout,
                            Where device, std::optional<bool>)
{
    TORCH_CHECK(c10::layout_or_default(layout) == c10::kStrided,
                "sesqui: tensors are strided, got layout ", *layout);
    return fresh_strided(sizes, strides, c10::dtype_or_default(type),
                         device_or_current(device));
}

/* Bits that say that elements count as conjugated or negated. */
static Tensor plain(const Tensor &x)
{
    if (!is_here(x))
        return x.resolve_conj().resolve_neg();
    if (!x.is_conj() && !x.is_neg())
        return x;
    Tensor host = at::detail::empty_cpu(x.sizes(), x.scalar_type());
    read(contiguous(alias(x, x.scalar_type(), x.sizes(), x.strides(),
                          x.storage_offset())),
         host, false);
    if (x.is_conj())
        host = host.conj().resolve_conj();
    if (x.is_neg())
        host = host.neg();
    Tensor y = fresh(x.sizes(), x.scalar_type(), x.device());
    write(y, host.contiguous(), false);
    return y;
}

static void copy_to_host(const Tensor &x, const Tensor &to, bool non_blocking)
{
    if (x.scalar_type() == to.scalar_type() && x.sizes() == to.sizes() &&
        to.is_contiguous()) {
        read(x, to, non_blocking);
        return;
    }
    Tensor host = at::detail::empty_cpu(x.sizes(), x.scalar_type());
    read(x, host, false);
    to.copy_(host);
}

static void copy_to_device(const Tensor &x, const Tensor &to,
                           bool non_blocking)
{
    Tensor host = x.scalar_type() == to.scalar_type()
                      ? x
                      : x.to(to.scalar_type());
    write(to, host.expand_as(to).contiguous(), non_blocking);
}

static Tensor copy_from(const Tensor &self, const Tensor &to,
                        bool non_blocking)
{
    CopyContext context(to, self);
    if (to.numel() == 0)
        return to;
    Tensor x = plain(self);
    if (is_here(x) && is_here(to) && x.device() == to.device()) {
        assign(to, x);
    } else if (is_here(x) && is_here(to)) {
        Tensor host = at::detail::empty_cpu(x.sizes(), x.scalar_type());
        read(x, host, false);
        copy_to_device(host, to, false);
    } else if (is_here(x)) {
        copy_to_host(x, to, non_blocking);
    } else {
        copy_to_device(x, to, non_blocking);
    }
    return to;
}

static Tensor copy_from_and_resize(const Tensor &self, const Tensor &to)
{
    to.resize_(self.sizes());
    return copy_from(self, to, false);
}

static at::Scalar local_scalar_dense(const Tensor &x)
{
    CopyContext context(x, x);
    Tensor host = at::detail::empty_cpu(x.sizes(), x.scalar_type());
    read(plain(x), host, false);
    return host.item();
}

static Tensor as_strided(const Tensor &x, c10::SymIntArrayRef sizes,
                         c10::SymIntArrayRef strides,
                         std::optional<c10::SymInt> offset)
{
    std::optional<int64_t> at;
    if (offset.has_value())
        at = offset->expect_int();
    return at::native::as_strided_tensorimpl(
        x, C10_AS_INTARRAYREF_SLOW(sizes), C10_AS_INTARRAYREF_SLOW(strides),
        at);
}

static Tensor view(const Tensor &x, c10::SymIntArrayRef sizes)
{
    return at::native::view(x, C10_AS_INTARRAYREF_SLOW(sizes));
}

static Tensor reshape_alias(const Tensor &x, c10::SymIntArrayRef sizes,
                            c10::SymIntArrayRef strides)
{
    return at::native::_reshape_alias(x, C10_AS_INTARRAYREF_SLOW(sizes),
                                      C10_AS_INTARRAYREF_SLOW(strides));
}

static void storage_fit(const Tensor &x)
{
    if (x.numel() == 0)
        return;
    size_t bytes = at::detail::computeStorageNbytes(
        x.sizes(), x.strides(), x.element_size(), x.storage_offset());
    if (x.storage().nbytes() < bytes)
        storage_resize(x.storage(), bytes);
}

static const Tensor &resize(const Tensor &x, c10::SymIntArrayRef sizes,
                            Format format)
{
    Ints to = C10_AS_INTARRAYREF_SLOW(sizes);
    if (x.sizes() != to)
        x.unsafeGetTensorImpl()->set_sizes_contiguous(to);
    if (format.has_value())
        x.unsafeGetTensorImpl()->empty_tensor_restride(*format);
    storage_fit(x);
    return x;
}

static Tensor &set_storage_part(Tensor &x, at::Storage storage,
                                c10::SymInt offset, c10::SymIntArrayRef sizes,
                                c10::SymIntArrayRef strides)
{
    Ints to = C10_AS_INTARRAYREF_SLOW(sizes);
    Ints steps = C10_AS_INTARRAYREF_SLOW(strides);
    int64_t at = offset.expect_int();
    TORCH_CHECK(at >= 0, "sesqui: set_: storage offset ", at,
                " is negative");
    TORCH_CHECK(storage.device() == x.device(), "sesqui: set_: the tensor is "
                "on ", x.device(), ", the storage on ", storage.device());
    c10::TensorImpl *impl = x.unsafeGetTensorImpl();
    impl->set_storage_keep_dtype(std::move(storage));
    if (steps.empty() && !to.empty()) {
        impl->set_storage_offset(at);
        impl->set_sizes_contiguous(to);
    } else {
        impl->set_sizes_and_strides(to, steps, at);
    }
    storage_fit(x);
    return x;
}

static Tensor &set_storage(Tensor &x, at::Storage storage)
{
    int64_t n = static_cast<int64_t>(storage.nbytes() / x.element_size());
    return set_storage_part(x, std::move(storage), 0, {c10::SymInt(n)}, {});
}

static Tensor &set_tensor(Tensor &x, const Tensor &source)
{
    if (x.is_same(source))
        return x;
    return set_storage_part(x, source.storage(), source.sym_storage_offset(),
                            source.sym_sizes(), source.sym_strides());
}

static Tensor &set_none(Tensor &x)
{
    c10::Storage storage(c10::Storage::use_byte_size_t(), 0,
                         allocator()->allocate(0), allocator(), true);
    return set_storage_part(x, std::move(storage), 0, {c10::SymInt(0)}, {});
}

static bool is_set_to(const Tensor &x, const Tensor &y)
{
    return x.storage().unsafeGetStorageImpl() ==
               y.storage().unsafeGetStorageImpl() &&
           x.storage_offset() == y.storage_offset() &&
           x.sizes() == y.sizes() && x.strides() == y.strides();
}

/* `parameter.data = x` may move a parameter to or from the device. Without it
 * module.to() would make new parameters, and lose which ones are shared. */
static bool has_compatible_shallow_copy_type(const Tensor &x, const Tensor &y)
{
    auto dense = [](const Tensor &t) {
        return t.layout() == c10::kStrided &&
               t.key_set().has_any(c10::DispatchKeySet(c10::DispatchKey::Dense));
    };
    return dense(x) && dense(y);
}

static bool fill_scalar(Call &c)
{
    set_all(c.tensor(0), c.scalar(1));
    c.result_of({0});
    return true;
}

static bool fill_tensor(Call &c)
{
    const Tensor &value = c.tensor(1);
    TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value "
                "tensor but got tensor with ", value.dim(), " dimensions.");
    if (is_here(value))
        assign(c.tensor(0), value);
    else
        set_all(c.tensor(0), value.item());
    c.result_of({0});
    return true;
}

static bool zero(Call &c)
{
    set_all(c.tensor(0), 0);
    c.result_of({0});
    return true;
}

} // namespace sesqui_torch

using namespace sesqui_torch;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("empty.memory_format", TORCH_FN(sesqui_torch::empty));
    m.impl("empty_strided", TORCH_FN(sesqui_torch::empty_strided));
    m.impl("_copy_from", TORCH_FN(copy_from));
    m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
    m.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
    m.impl("as_strided", TORCH_FN(sesqui_torch::as_strided));
    m.impl("view", TORCH_FN(sesqui_torch::view));
    m.impl("_reshape_alias", TORCH_FN(reshape_alias));
    m.impl("resize_", TORCH_FN(resize));
    m.impl("set_.source_Storage", TORCH_FN(set_storage));
    m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_part));
    m.impl("set_.source_Tensor", TORCH_FN(set_tensor));
    m.impl("set_", TORCH_FN(set_none));
    m.impl("is_set_to", TORCH_FN(is_set_to));
    m.impl("_has_compatible_shallow_copy_type",
           TORCH_FN(has_compatible_shallow_copy_type));
    m.impl("unfold", TORCH_FN(at::native::unfold));
    m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
    m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
    op(m, "fill_.Scalar", fill_scalar);
    op(m, "fill_.Tensor", fill_tensor);
    op(m, "zero_", zero);
}

/* copy_from() reads these bits itself. By default PyTorch would clone the
 * tensor first, which calls it again. */
TORCH_LIBRARY_IMPL(aten, Conjugate, m)
{
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, Negative, m)
{
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

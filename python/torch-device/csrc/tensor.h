// SPDX-License-Identifier: Apache-2.0
/* tensor.h - tensors of PyTorch as tensors of the library.
 *
 *     Ref x(self), y(out, OUT);
 *     check(ssq_relu(lane.queue, SSQ_UNARY(.x = x, .y = y)));
 *
 * A Ref lives as long as the call. The library holds the memory longer, if
 * the work has not run yet. */
#ifndef SESQUI_TORCH_TENSOR_H
#define SESQUI_TORCH_TENSOR_H

#include "error.h"
#include "memory.h"

#include <optional>

namespace sesqui_torch
{

using at::Tensor;
using Ints = at::IntArrayRef;

enum Access { IN, OUT };

/* The matching dtype of the library, if there is one. */
std::optional<ssq_dtype> dtype_of(at::ScalarType type);

inline bool is_real(at::ScalarType t)
{
    return t == at::kFloat || t == at::kHalf || t == at::kBFloat16;
}
inline bool is_real(const Tensor &x)
{
    return is_real(x.scalar_type());
}
/* Integers of the library; bool is stored as them, but is not one. */
inline bool is_native_int(at::ScalarType t)
{
    return t == at::kInt || t == at::kByte;
}
inline bool is_here(const Tensor &x)
{
    return x.device().type() == device_type;
}

/* A tensor of the library over the memory of a tensor of PyTorch. */
class Ref
{
  public:
    Ref() = default;
    explicit Ref(const Tensor &x, Access access = IN);
    Ref(const Tensor &x, ssq_dtype dtype, int rank, const int64_t *sizes,
        const int64_t *strides, uint64_t offset_bytes, Access access = IN);
    Ref(Ref &&o) noexcept : t_(o.t_) { o.t_ = nullptr; }
    Ref &operator=(Ref &&o) noexcept
    {
        std::swap(t_, o.t_);
        return *this;
    }
    ~Ref() { ssq_tensor_destroy(&t_); }
    operator const ssq_tensor *() const { return t_; }

  private:
    ssq_tensor *t_ = nullptr;
};

/* A Ref, or nothing for an undefined tensor. */
Ref ref_or_null(const Tensor &x, Access access = IN);

/* New tensors on a device. */
Tensor fresh(Ints sizes, at::ScalarType type, c10::Device device);
Tensor fresh_strided(Ints sizes, Ints strides, at::ScalarType type,
                     c10::Device device);
/* With the sizes of x, and its strides if it has no gaps. */
Tensor fresh_like(const Tensor &x, at::ScalarType type);
Tensor fresh_like(const Tensor &x);

/* Another description of the memory of x; offset in elements of type. */
Tensor alias(const Tensor &x, at::ScalarType type, Ints sizes, Ints strides,
             int64_t offset);
/* Views, without a call to the dispatcher. */
Tensor permuted(const Tensor &x, Ints axes);
Tensor transposed(const Tensor &x, int64_t a, int64_t b);
Tensor unsqueezed(const Tensor &x, int64_t axis);
Tensor squeezed(const Tensor &x, int64_t axis);
Tensor sliced(const Tensor &x, int64_t axis, int64_t start, int64_t length);
Tensor selected(const Tensor &x, int64_t axis, int64_t i);
Tensor expanded(const Tensor &x, Ints sizes);
/* A view with other sizes, or a copy if the strides need one. */
Tensor reshaped(const Tensor &x, Ints sizes);
/* The size of each dimension that operands broadcast to. */
c10::SmallVector<int64_t, 8> broadcast(Ints a, Ints b);

/* True if both describe the same elements of the same memory. */
bool same_place(const Tensor &a, const Tensor &b);
/* True if an output shares memory with an input, but is not exactly it. */
bool overlaps(const Tensor &in, const Tensor &out);
/* in, or a copy of it if an op that writes out would destroy it. */
Tensor apart(const Tensor &in, const Tensor &out);

inline int64_t wrapped(int64_t axis, int64_t rank)
{
    return axis < 0 ? axis + std::max<int64_t>(rank, 1) : axis;
}

/* "f32 [2, 3]" and so on. */
std::string described(const Tensor &x);

} // namespace sesqui_torch

#endif

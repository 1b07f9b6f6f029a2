/* SPDX-License-Identifier: Apache-2.0 */
/* lend.hpp - tensors of PyTorch as tensors of sesqui: the same memory, no copy.
 *
 * To be taken over into other programs; it needs libtorch with CUDA. */
#ifndef EXAMPLES_TORCH_INTEROP_LEND_HPP
#define EXAMPLES_TORCH_INTEROP_LEND_HPP

#include <ATen/ATen.h>
#include <c10/cuda/CUDAStream.h>
#include <sesqui.h>
#include <sesqui/cuda.h>

#include <stdexcept>
#include <string>
#include <utility>

/** An error of sesqui's becomes an exception with its text. */
inline void check(ssq_status status)
{
    if (status != SSQ_OK)
        throw std::runtime_error(ssq_last_error());
}

/** A handle of sesqui's that is let go of with its owner. */
template <class T, void (*destroy)(T **)> class owned
{
  public:
    owned() = default;
    ~owned()
    {
        destroy(&handle_);
    }
    owned(owned &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr))
    {
    }
    owned(const owned &) = delete;
    owned &operator=(const owned &) = delete;
    owned &operator=(owned &&) = delete;
    T *get() const
    {
        return handle_;
    }
    /** For a call that makes one, once. */
    T **out()
    {
        return &handle_;
    }

  private:
    T *handle_ = nullptr;
};

inline ssq_dtype dtype_of(const at::Tensor &tensor)
{
    switch (tensor.scalar_type()) {
    case at::kHalf:
        return SSQ_F16;
    case at::kBFloat16:
        return SSQ_BF16;
    case at::kFloat:
        return SSQ_F32;
    case at::kInt:
        return SSQ_I32;
    default:
        throw std::invalid_argument(std::string("sesqui has no tensors of ") +
                                    c10::toString(tensor.scalar_type()));
    }
}

/** A tensor of sesqui's over one of PyTorch's. It keeps the storage alive, and
 *  each sees what the other writes, in the order of the stream that both work
 *  on. What is written here is no operation of autograd's: write where PyTorch
 *  would write under no_grad. */
class lent
{
  public:
    /** Of storage that lies on the device, whatever part of it the tensor is;
     *  PyTorch aligns storage to 512 bytes. */
    lent(ssq_device *device, const at::Tensor &tensor) : tensor_(tensor)
    {
        const size_t offset = static_cast<size_t>(tensor.storage_offset()) *
                              tensor.element_size();
        const auto begin =
            reinterpret_cast<uint64_t>(tensor.data_ptr()) - offset;
        owned<ssq_buffer, ssq_buffer_destroy> buffer; /* the tensor holds it */
        check(ssq_cuda_buffer_import(device, begin, tensor.storage().nbytes(),
                                     buffer.out()));
        check(ssq_tensor_from_buffer(
            buffer.get(), dtype_of(tensor), static_cast<int>(tensor.dim()),
            tensor.sizes().data(), tensor.strides().data(), offset,
            handle_.out()));
    }
    ssq_tensor *get() const
    {
        return handle_.get();
    }

  private:
    at::Tensor tensor_; /* outlives the handle */
    owned<ssq_tensor, ssq_tensor_destroy> handle_;
};

/** A queue over the stream that PyTorch works on now, in this thread: what
 *  either enqueues runs in the order of the calls. */
inline void queue_of_torch(ssq_device *device, ssq_queue **queue)
{
    check(ssq_cuda_queue_create(
        device, c10::cuda::getCurrentCUDAStream().stream(), queue));
}

#endif

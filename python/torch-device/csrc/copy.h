// SPDX-License-Identifier: Apache-2.0
/* copy.h - copies, casts and fills, also of dtypes that the library lacks. */
#ifndef SESQUI_TORCH_COPY_H
#define SESQUI_TORCH_COPY_H

#include "tensor.h"

namespace sesqui_torch
{

/* Copy on the device: out = x, cast to the dtype of out. x broadcasts. */
void assign(const Tensor &out, const Tensor &x);
/* Fill with a number, which is converted as in torch. */
void set_all(const Tensor &out, const at::Scalar &value);

/* x as words of a dtype that the library has, bit for bit. Elements of more
 * than 4 bytes have one more dimension. */
Tensor words(const Tensor &x);

Tensor cloned(const Tensor &x);     /* contiguous */
Tensor contiguous(const Tensor &x); /* x itself if it is */
/* x, or a copy if its last dimension is not dense. */
Tensor dense_rows(const Tensor &x);
Tensor cast(const Tensor &x, at::ScalarType type);

/* From host memory, which must be dense in the order of x. It is copied
 * before the call returns, or held until it has been read. */
void write(const Tensor &x, const Tensor &host, bool non_blocking);
/* Into dense host memory. */
void read(const Tensor &x, const Tensor &host, bool non_blocking);

/* A tensor of int64 as int32: the lower words of the same memory. Undefined
 * if the elements may not fit. Other dtypes are returned as they are. */
Tensor narrow(const Tensor &x);
/* The same, of indices. If it is not known that they fit, they are read. An
 * index that does not fit in 32 bits is an error. */
Tensor indices(const Tensor &x, const char *op);
/* Writes elements of int64 through their lower words:
 *
 *     Wide wide(out);
 *     .. ops that write wide.low, an int32 tensor
 *     wide.finish({0, n - 1});                 all values are 0 to n - 1 */
class Wide
{
  public:
    explicit Wide(const Tensor &x, bool in_place = false);
    const Tensor low;
    void finish(Bounds now);

  private:
    Tensor x_;
    Bounds before_;
    bool in_place_;
};

/* A tensor of one element on the device that is never written again. */
Tensor constant(double value, at::ScalarType type, c10::Device device);
/* int32 0 .. n - 1, or the longer one that exists. */
Tensor counting(int64_t n, c10::Device device);

} // namespace sesqui_torch

#endif

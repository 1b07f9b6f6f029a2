// SPDX-License-Identifier: Apache-2.0
/* memory.h - the memory of a storage, and what is known about its elements.
 *
 * The data pointer of a storage on this device is a Block. It is never
 * dereferenced by PyTorch. */
#ifndef SESQUI_TORCH_MEMORY_H
#define SESQUI_TORCH_MEMORY_H

#include "device.h"

#include <c10/core/Allocator.h>

#include <cstdint>
#include <limits>
#include <memory>

namespace sesqui_torch
{

/* All int64 elements that were written are in low .. high. If low > high,
 * none was written. */
struct Bounds {
    int64_t low = std::numeric_limits<int64_t>::max();
    int64_t high = std::numeric_limits<int64_t>::min();

    static Bounds all()
    {
        return {std::numeric_limits<int64_t>::min(),
                std::numeric_limits<int64_t>::max()};
    }
    bool empty() const { return low > high; }
    /* The elements fit in 32 bits. */
    bool narrow() const
    {
        return empty() || (low >= std::numeric_limits<int32_t>::min() &&
                           high <= std::numeric_limits<int32_t>::max());
    }
    void include(Bounds b)
    {
        low = std::min(low, b.low);
        high = std::max(high, b.high);
    }
};

/* A float64 value that is not written yet: a function of a float32 on the
 * device. See real64.cpp. */
struct Deferred {
    enum Kind { SAME, RECIPROCAL } kind;
    at::Tensor source; /* float32, one element */
};

struct Block {
    ssq_buffer *buffer = nullptr;
    Bounds bounds;
    std::unique_ptr<Deferred> deferred;
};

/* The allocator of tensors on this device. */
c10::Allocator *allocator();
/* Host memory that copies without blocking may use. */
c10::Allocator *pinned_allocator();
bool pinned(const void *p);

/* By the pointer, not its context: at::from_blob has no context. */
inline Block &block_of(const c10::Storage &storage)
{
    return *static_cast<Block *>(storage.data_ptr().get());
}

inline Block &block_of(const at::Tensor &x)
{
    return block_of(x.unsafeGetTensorImpl()->unsafe_storage());
}

/* Give a storage other memory, with as many of its bytes as fit. */
void storage_resize(const c10::Storage &storage, size_t bytes);

} // namespace sesqui_torch

#endif

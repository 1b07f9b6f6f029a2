// SPDX-License-Identifier: Apache-2.0
/* memory.cpp - allocation from the library's pool, and pinned host memory. */
#include "memory.h"
#include "error.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>

#include <map>

namespace sesqui_torch
{

static void block_free(void *p)
{
    auto *block = static_cast<Block *>(p);
    ssq_buffer_destroy(&block->buffer);
    delete block;
}

/* The buffers of the library come from its pool. They are returned to it when
 * the work that uses them has run, so no stream needs to be recorded. */
struct DeviceAllocator final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override
    {
        Device &device = device_at(-1);
        auto block = std::make_unique<Block>();
        check(ssq_buffer_create(device.handle(), bytes, &block->buffer));
        Block *p = block.release();
        return {p, p, &block_free, c10::Device(device_type, device.index())};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &block_free; }
    void copy_data(void *, const void *, size_t) const override
    {
        TORCH_CHECK(false, "sesqui: a raw pointer of the device cannot be "
                           "copied: use tensors");
    }
};

c10::Allocator *allocator()
{
    static DeviceAllocator *made = new DeviceAllocator;
    return made;
}

static std::mutex pinned_mutex;
static std::map<const char *, size_t> &pinned_blocks()
{
    static auto *made = new std::map<const char *, size_t>;
    return *made;
}

static void pinned_free(void *p)
{
    {
        std::lock_guard<std::mutex> lock(pinned_mutex);
        pinned_blocks().erase(static_cast<const char *>(p));
    }
    c10::GetCPUAllocator()->raw_deallocate(p);
}

struct PinnedAllocator final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override
    {
        c10::Device cpu(c10::DeviceType::CPU);
        if (bytes == 0)
            return {nullptr, nullptr, &c10::detail::deleteNothing, cpu};
        void *p = c10::GetCPUAllocator()->raw_allocate(bytes);
        std::lock_guard<std::mutex> lock(pinned_mutex);
        pinned_blocks()[static_cast<const char *>(p)] = bytes;
        return {p, p, &pinned_free, cpu};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &pinned_free; }
    void copy_data(void *to, const void *from, size_t n) const override
    {
        default_copy_data(to, from, n);
    }
};

c10::Allocator *pinned_allocator()
{
    static PinnedAllocator *made = new PinnedAllocator;
    return made;
}

bool pinned(const void *p)
{
    std::lock_guard<std::mutex> lock(pinned_mutex);
    auto &blocks = pinned_blocks();
    auto at = blocks.upper_bound(static_cast<const char *>(p));
    if (at == blocks.begin())
        return false;
    --at;
    return static_cast<const char *>(p) < at->first + at->second;
}

void storage_resize(const c10::Storage &storage, size_t bytes)
{
    c10::StorageImpl *impl = storage.unsafeGetStorageImpl();
    Lane lane(storage.device().index());
    c10::DeviceIndex before = device_exchange(lane.device.index());
    c10::DataPtr fresh = allocator()->allocate(bytes);
    device_exchange(before);
    auto *to = static_cast<Block *>(fresh.get_context());
    size_t common = std::min(bytes, impl->nbytes());
    if (common > 0) {
        Block &from = block_of(storage);
        to->bounds = from.bounds;
        to->deferred = std::move(from.deferred);
        int64_t n = static_cast<int64_t>(common);
        ssq_tensor *x = nullptr, *y = nullptr;
        check(ssq_tensor_from_buffer(from.buffer, SSQ_U8, 1, &n, nullptr, 0,
                                     &x));
        check(ssq_tensor_from_buffer(to->buffer, SSQ_U8, 1, &n, nullptr, 0,
                                     &y));
        ssq_status status = ssq_copy(lane.queue, SSQ_COPY(.x = x, .y = y));
        ssq_tensor_destroy(&x);
        ssq_tensor_destroy(&y);
        check(status);
    }
    impl->set_data_ptr_noswap(std::move(fresh));
    impl->set_nbytes(bytes);
}

} // namespace sesqui_torch

// SPDX-License-Identifier: Apache-2.0
/* transfer.cpp - copies between the device and host memory, and the tensors
 * that every op may need: constants and 0, 1, 2, ... */
#include "copy.h"
#include "real64.h"

#include <ATen/EmptyTensor.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>

namespace sesqui_torch
{

/* Host memory of at most this size is copied, so that nothing waits. */
constexpr int64_t staging_bytes = 1 << 20;

/* The bytes of a contiguous tensor. */
static Ref bytes_of(const Tensor &x, Access access)
{
    int64_t n = x.numel() * x.element_size();
    return Ref(x, SSQ_U8, 1, &n, nullptr,
               static_cast<uint64_t>(x.storage_offset()) * x.element_size(),
               access);
}

static Bounds host_bounds(const Tensor &host)
{
    Bounds b;
    const int64_t *v = host.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < host.numel(); i++)
        b.include({v[i], v[i]});
    return b;
}

static void write_dense(Lane &lane, const Tensor &x, const Tensor &host,
                        bool non_blocking)
{
    int64_t bytes = host.numel() * host.element_size();
    bool later = lane.device.props().asynchronous;
    Tensor from = host;
    bool kept = non_blocking && pinned(host.const_data_ptr());
    if (later && !kept && bytes <= staging_bytes) {
        from = at::detail::empty_cpu(host.sizes(), host.scalar_type());
        std::memcpy(from.mutable_data_ptr(), host.const_data_ptr(), bytes);
        kept = true;
    }
    Ref y = bytes_of(x, OUT);
    check(ssq_tensor_write(lane.queue, y, from.const_data_ptr(), bytes,
                           SSQ_U8));
    if (later && (kept || non_blocking))
        lane.device.hold(lane.queue, from);
    else if (later)
        check(ssq_queue_sync(lane.queue));
}

void write(const Tensor &x, const Tensor &host, bool non_blocking)
{
    if (x.numel() == 0)
        return;
    if (!x.is_contiguous()) {
        Tensor y = fresh(x.sizes(), x.scalar_type(), x.device());
        write(y, host, non_blocking);
        assign(x, y);
        return;
    }
    Lane lane(x);
    Bounds before = block_of(x).bounds;
    write_dense(lane, x, host, non_blocking);
    if (x.scalar_type() != at::kLong)
        return;
    Bounds now = host_bounds(host);
    if (static_cast<size_t>(x.numel()) * sizeof(int64_t) < x.storage().nbytes())
        now.include(before);
    block_of(x).bounds = now;
}

void read(const Tensor &x, const Tensor &host, bool non_blocking)
{
    if (x.numel() == 0)
        return;
    real64_compute(x);
    Tensor from = contiguous(x);
    Lane lane(x);
    Ref y = bytes_of(from, IN);
    check(ssq_tensor_read(lane.queue, y, host.mutable_data_ptr(),
                          host.numel() * host.element_size(), SSQ_U8));
    if (lane.device.props().asynchronous && non_blocking &&
        pinned(host.const_data_ptr()))
        lane.device.hold(lane.queue, host);
    else
        lane.device.sync(lane.queue);
}

namespace
{
struct Shared {
    std::map<std::pair<at::ScalarType, uint64_t>, Tensor> constants;
    Tensor counting;
};
} // namespace

/* Constants are few: factors of a model, and learning rates. */
constexpr size_t most_constants = 4096;

static Shared &shared_of(Device &device)
{
    static auto *all = new std::map<Device *, Shared>;
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    return (*all)[&device];
}

/* Other queues may use it at once. */
static void settle(Lane &lane)
{
    if (lane.device.stream_count() > 1)
        check(ssq_queue_sync(lane.queue));
}

Tensor constant(double value, at::ScalarType type, c10::Device device)
{
    Lane lane(device.index());
    Shared &shared = shared_of(lane.device);
    if (shared.constants.size() >= most_constants)
        shared.constants.clear();
    Tensor &x = shared.constants[{type, std::bit_cast<uint64_t>(value)}];
    if (!x.defined()) {
        x = fresh({}, type, c10::Device(device_type, lane.device.index()));
        set_all(x, value);
        settle(lane);
    }
    return x;
}

Tensor counting(int64_t n, c10::Device device)
{
    TORCH_CHECK(n <= std::numeric_limits<int32_t>::max(), "sesqui: ", n,
                " positions do not fit in 32 bits");
    Lane lane(device.index());
    Tensor &x = shared_of(lane.device).counting;
    if (!x.defined() || x.numel() < n) {
        int64_t size = std::max<int64_t>(1024, n + n / 2);
        size = std::min<int64_t>(size, std::numeric_limits<int32_t>::max());
        Tensor host = at::detail::empty_cpu({size}, at::kInt);
        int32_t *p = host.mutable_data_ptr<int32_t>();
        std::iota(p, p + size, 0);
        x = fresh({size}, at::kInt, device);
        write(x, host, true);
        settle(lane);
    }
    return sliced(x, 0, 0, n);
}

} // namespace sesqui_torch

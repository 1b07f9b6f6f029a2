// SPDX-License-Identifier: Apache-2.0
/* guard.cpp - devices, streams and events, as PyTorch asks for them. */
#include "error.h"
#include "generator.h"
#include "memory.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace sesqui_torch
{

static c10::Stream stream_of(c10::DeviceIndex i, c10::StreamId id)
{
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, i), id);
}

static ssq_event *event_of(void *p)
{
    return static_cast<ssq_event *>(p);
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return device_type; }
    c10::Device exchangeDevice(c10::Device d) const override
    {
        return c10::Device(device_type,
                           device_exchange(device_at(d.index()).index()));
    }
    c10::Device getDevice() const override
    {
        return c10::Device(device_type, device_current());
    }
    void setDevice(c10::Device d) const override { exchangeDevice(d); }
    void uncheckedSetDevice(c10::Device d) const noexcept override
    {
        device_exchange(d.index());
    }
    c10::DeviceIndex deviceCount() const noexcept override
    {
        return device_count();
    }

    c10::Stream getStream(c10::Device d) const override
    {
        c10::DeviceIndex i = device_at(d.index()).index();
        return stream_of(i, stream_current(i));
    }
    c10::Stream getDefaultStream(c10::Device d) const override
    {
        return stream_of(device_at(d.index()).index(), 0);
    }
    c10::Stream getStreamFromGlobalPool(c10::Device d, bool) const override
    {
        return getNewStream(d, 0);
    }
    c10::Stream getNewStream(c10::Device d, int) const override
    {
        Device &device = device_at(d.index());
        device.sync_all(); /* shared constants are written */
        return stream_of(device.index(), device.stream_create());
    }
    c10::Stream exchangeStream(c10::Stream s) const override
    {
        device_at(s.device_index()).queue(s.id());
        return stream_of(s.device_index(),
                         stream_exchange(s.device_index(), s.id()));
    }
    bool queryStream(const c10::Stream &s) const override
    {
        Device &device = device_at(s.device_index());
        std::lock_guard<std::recursive_mutex> lock(device.mutex);
        ssq_status status = ssq_queue_status(device.queue(s.id()));
        if (status != SSQ_ERR_NOT_READY)
            check(status);
        return status == SSQ_OK;
    }
    void synchronizeStream(const c10::Stream &s) const override
    {
        Device &device = device_at(s.device_index());
        std::lock_guard<std::recursive_mutex> lock(device.mutex);
        device.sync(device.queue(s.id()));
    }
    void synchronizeDevice(c10::DeviceIndex i) const override
    {
        device_at(i).sync_all();
    }

    void record(void **event, const c10::Stream &s, c10::DeviceIndex,
                c10::EventFlag) const override
    {
        Device &device = device_at(s.device_index());
        std::lock_guard<std::recursive_mutex> lock(device.mutex);
        ssq_event *e = event_of(*event);
        if (e == nullptr) {
            check(ssq_event_create(device.handle(), &e));
            *event = e;
        }
        check(ssq_event_record(e, device.queue(s.id())));
    }
    void block(void *event, const c10::Stream &s) const override
    {
        if (event == nullptr)
            return;
        Device &device = device_at(s.device_index());
        std::lock_guard<std::recursive_mutex> lock(device.mutex);
        check(ssq_queue_wait(device.queue(s.id()), event_of(event)));
    }
    bool queryEvent(void *event) const override
    {
        if (event == nullptr)
            return true;
        ssq_status status = ssq_event_query(event_of(event));
        if (status != SSQ_ERR_NOT_READY)
            check(status);
        return status == SSQ_OK;
    }
    void synchronizeEvent(void *event) const override
    {
        if (event != nullptr)
            check(ssq_event_sync(event_of(event)));
    }
    double elapsedTime(void *from, void *to, c10::DeviceIndex) const override
    {
        TORCH_CHECK(from != nullptr && to != nullptr,
                    "sesqui: both events must be recorded first");
        double seconds = 0;
        check(ssq_event_elapsed(event_of(from), event_of(to), &seconds));
        return seconds * 1e3;
    }
    void destroyEvent(void *event, c10::DeviceIndex) const noexcept override
    {
        ssq_event *e = event_of(event);
        ssq_event_destroy(&e);
    }
};

struct Hooks final : at::PrivateUse1HooksInterface {
    void init() const override {}
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return device_count() > 0; }
    bool hasPrimaryContext(c10::DeviceIndex i) const override
    {
        return device_at(i).opened();
    }
    c10::DeviceIndex deviceCount() const override { return device_count(); }
    c10::DeviceIndex getCurrentDevice() const override
    {
        return device_current();
    }
    void setCurrentDevice(c10::DeviceIndex i) const override
    {
        device_exchange(device_at(i).index());
    }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex i) const override
    {
        return device_exchange(device_at(i).index());
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex i) const override
    {
        return i < 0 ? device_current() : exchangeDevice(i);
    }
    const at::Generator &getDefaultGenerator(c10::DeviceIndex i) const override
    {
        return generator_default(i);
    }
    at::Generator getNewGenerator(c10::DeviceIndex i) const override
    {
        return generator_create(i);
    }
    at::Device getDeviceFromPtr(void *) const override
    {
        return c10::Device(device_type, device_current());
    }
    bool isPinnedPtr(const void *p) const override { return pinned(p); }
    at::Allocator *getPinnedMemoryAllocator() const override
    {
        return pinned_allocator();
    }
    void resizePrivateUse1Bytes(const c10::Storage &storage,
                                size_t bytes) const override
    {
        storage_resize(storage, bytes);
    }
};

static const bool hooks_registered = [] {
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    return true;
}();

} // namespace sesqui_torch

namespace c10::impl
{
using SesquiGuard = sesqui_torch::Guard;
C10_REGISTER_GUARD_IMPL(PrivateUse1, SesquiGuard);
} // namespace c10::impl

/* Storages are made by PyTorch itself, for example by torch.load. */
static const bool allocator_registered = [] {
    c10::SetAllocator(c10::DeviceType::PrivateUse1, sesqui_torch::allocator(),
                      1);
    return true;
}();

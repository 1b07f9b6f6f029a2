// SPDX-License-Identifier: Apache-2.0
/* device.cpp - the library's devices, as the devices of PyTorch. */
#include "device.h"
#include "error.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <new>
#include <pthread.h>

namespace sesqui_torch
{

/* Rows of the table of index checks: more ops than check indices. */
constexpr int64_t record_rows = 16;

static bool forked; /* this process is a child of fork */

struct Devices {
    std::vector<std::unique_ptr<Device>> all;
    std::string error; /* why there is none */
};

static std::vector<std::string> device_names()
{
    const char *value = std::getenv("SESQUI_TORCH_DEVICE");
    std::string text = value != nullptr && *value != '\0' ? value : "auto";
    std::vector<std::string> names;
    for (size_t begin = 0; begin <= text.size();) {
        size_t end = std::min(text.find(',', begin), text.size());
        std::string name = text.substr(begin, end - begin);
        name.erase(0, name.find_first_not_of(' '));
        name.erase(name.find_last_not_of(' ') + 1);
        if (!name.empty())
            names.push_back(name);
        begin = end + 1;
    }
    return names;
}

static Devices &devices();

static void fork_prepare()
{
    for (auto &d : devices().all)
        d->mutex.lock();
}

static void fork_parent()
{
    for (auto &d : devices().all)
        d->mutex.unlock();
}

/* The child's thread has another number, so it does not own the lock. */
static void fork_child()
{
    forked = true;
    for (auto &d : devices().all)
        new (&d->mutex) std::recursive_mutex;
}

static Devices &devices()
{
    /* Never destroyed: tensors can be freed later than static objects. */
    static Devices *made = [] {
        auto *d = new Devices;
        for (const std::string &name : device_names())
            d->all.push_back(std::make_unique<Device>(
                name, static_cast<c10::DeviceIndex>(d->all.size())));
        pthread_atfork(fork_prepare, fork_parent, fork_child);
        return d;
    }();
    return *made;
}

Device::Device(std::string name, c10::DeviceIndex index)
    : name_(std::move(name)), index_(index)
{
}

void Device::open()
{
    std::lock_guard<std::recursive_mutex> lock(mutex);
    if (handle_ != nullptr)
        return;
    ssq_device *made = nullptr;
    check(ssq_device_open(name_.c_str(), nullptr, &made));
    ssq_queue *queue = nullptr;
    ssq_status status = ssq_device_props_get(made, &props_);
    if (status == SSQ_OK)
        status = ssq_queue_create(made, nullptr, &queue);
    if (status != SSQ_OK)
        ssq_device_close(&made);
    check(status);
    queues_.push_back(queue);
    handle_ = made;
}

ssq_device *Device::handle()
{
    if (handle_ == nullptr)
        open();
    return handle_;
}

const ssq_device_props &Device::props()
{
    handle();
    return props_;
}

ssq_queue *Device::queue(c10::StreamId stream)
{
    handle();
    TORCH_CHECK(stream >= 0 && static_cast<size_t>(stream) < queues_.size(),
                "sesqui: stream ", stream, " of device ", name_,
                " does not exist (it has ", queues_.size(), ")");
    return queues_[stream];
}

c10::StreamId Device::stream_create()
{
    handle();
    std::lock_guard<std::recursive_mutex> lock(mutex);
    ssq_queue *queue = nullptr;
    check(ssq_queue_create(handle_, nullptr, &queue));
    queues_.push_back(queue);
    return static_cast<c10::StreamId>(queues_.size()) - 1;
}

void Device::hold(ssq_queue *queue, at::Tensor host)
{
    size_t kept = 0;
    for (auto &h : held_) {
        if (ssq_event_query(h.event) == SSQ_ERR_NOT_READY)
            std::swap(held_[kept++], h);
        else
            ssq_event_destroy(&h.event);
    }
    held_.resize(kept);
    ssq_event *event = nullptr;
    check(ssq_event_create(handle(), &event));
    held_.push_back({event, std::move(host)});
    check(ssq_event_record(event, queue));
}

const ssq_tensor *Device::index_record(ssq_queue *queue, const char *op)
{
    if (records_ == nullptr) {
        int64_t shape[2] = {record_rows, 4};
        check(ssq_tensor_create(handle(), SSQ_I32, 2, shape, &records_));
        check(ssq_fill(queue, SSQ_FILL(.x = records_)));
        record_values_.resize(record_rows * 4);
        for (int64_t i = 0; i < record_rows; i++) {
            ssq_tensor *row = nullptr, *flat = nullptr;
            int64_t four = 4;
            check(ssq_tensor_slice(records_, 0, i, i + 1, 1, &row));
            check(ssq_tensor_reshape(row, 1, &four, &flat));
            ssq_tensor_destroy(&row);
            record_rows_.push_back(flat);
        }
    }
    size_t i = 0;
    while (i < record_ops_.size() && record_ops_[i] != op &&
           i + 1 < record_rows)
        i++;
    if (i == record_ops_.size())
        record_ops_.push_back(op);
    records_pending_ = true;
    return record_rows_[i];
}

void Device::records_read(ssq_queue *queue)
{
    check(ssq_tensor_read(queue, records_, record_values_.data(),
                          record_values_.size() * sizeof(int32_t), SSQ_I32));
}

void Device::records_report()
{
    records_pending_ = false;
    for (size_t i = 0; i < record_ops_.size(); i++) {
        const int32_t *r = &record_values_[4 * i];
        if (r[0] == 0)
            continue;
        check(ssq_fill(queue(0), SSQ_FILL(.x = records_)));
        TORCH_CHECK_INDEX(false, "sesqui: ", record_ops_[i], ": index ", r[2],
                          " at position ", r[1],
                          " is out of range, expected 0 to ", r[3] - 1, " (",
                          r[0], " such indices since the last synchronization)");
    }
}

void Device::sync(ssq_queue *queue)
{
    bool checks = records_pending_;
    if (checks)
        records_read(queue);
    check(ssq_queue_sync(queue));
    if (checks)
        records_report();
}

void Device::sync_all()
{
    if (handle_ == nullptr)
        return;
    std::lock_guard<std::recursive_mutex> lock(mutex);
    for (ssq_queue *q : queues_)
        check(ssq_queue_sync(q));
    for (auto &h : held_)
        ssq_event_destroy(&h.event);
    held_.clear();
    if (records_pending_)
        sync(queues_[0]);
}

c10::DeviceIndex device_count()
{
    return static_cast<c10::DeviceIndex>(devices().all.size());
}

static thread_local c10::DeviceIndex current_device;
static thread_local std::vector<c10::StreamId> current_streams;

Device &device_at(c10::DeviceIndex i)
{
    if (i < 0)
        i = current_device;
    auto &all = devices().all;
    TORCH_CHECK(static_cast<size_t>(i) < all.size(), "sesqui: device \"sesqui:",
                static_cast<int>(i), "\" does not exist: SESQUI_TORCH_DEVICE "
                "lists ", all.size(), " devices");
    return *all[i];
}

c10::DeviceIndex device_current()
{
    return current_device;
}

c10::DeviceIndex device_exchange(c10::DeviceIndex i)
{
    return std::exchange(current_device, i);
}

c10::StreamId stream_current(c10::DeviceIndex i)
{
    return static_cast<size_t>(i) < current_streams.size() ? current_streams[i]
                                                           : 0;
}

c10::StreamId stream_exchange(c10::DeviceIndex i, c10::StreamId stream)
{
    if (static_cast<size_t>(i) >= current_streams.size())
        current_streams.resize(i + 1, 0);
    return std::exchange(current_streams[i], stream);
}

bool in_bad_fork()
{
    if (!forked)
        return false;
    for (auto &d : devices().all)
        if (d->opened() && d->props().asynchronous)
            return true;
    return false;
}

} // namespace sesqui_torch

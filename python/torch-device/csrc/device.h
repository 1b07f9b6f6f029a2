// SPDX-License-Identifier: Apache-2.0
/* device.h - the library's devices, as the devices of PyTorch.
 *
 * SESQUI_TORCH_DEVICE lists the devices: its first name is "sesqui:0", its
 * second one "sesqui:1". A device is opened when it is first used, and is
 * never closed: tensors may live until the process ends.
 *
 * Each device has a default queue (stream 0). Programs can create more. A
 * queue must be used by one thread at a time, so a Lane holds the device's
 * lock while it is used. */
#ifndef SESQUI_TORCH_DEVICE_H
#define SESQUI_TORCH_DEVICE_H

#define TORCH_ASSERT_ONLY_METHOD_OPERATORS
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <sesqui.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sesqui_torch
{

constexpr c10::DeviceType device_type = c10::DeviceType::PrivateUse1;

class Device
{
  public:
    Device(std::string name, c10::DeviceIndex index);

    /* The device, which the first call opens. Fails in a child of fork if the
     * parent has opened it and it has a driver. */
    ssq_device *handle();
    const ssq_device_props &props();
    bool opened() const { return handle_ != nullptr; }
    const std::string &name() const { return name_; }
    c10::DeviceIndex index() const { return index_; }

    /* The queue of a stream. */
    ssq_queue *queue(c10::StreamId stream);
    c10::StreamId stream_create();
    size_t stream_count() const { return queues_.size(); }

    /* Keep host memory until the work that reads or writes it has run. */
    void hold(ssq_queue *queue, at::Tensor host);
    /* Wait for a queue, then report class labels and indices that were out of
     * range as an error. */
    void sync(ssq_queue *queue);
    void sync_all();

    /* Where ssq_index_check counts for an op; read by sync(). */
    const ssq_tensor *index_record(ssq_queue *queue, const char *op);

    std::recursive_mutex mutex;

  private:
    void open();
    void records_read(ssq_queue *queue);
    void records_report();

    std::string name_;
    c10::DeviceIndex index_;
    ssq_device *handle_ = nullptr;
    ssq_device_props props_ = SSQ_DEVICE_PROPS_INIT;
    std::vector<ssq_queue *> queues_;
    struct Held {
        ssq_event *event;
        at::Tensor host;
    };
    std::vector<Held> held_;
    std::vector<std::string> record_ops_;
    ssq_tensor *records_ = nullptr;
    std::vector<ssq_tensor *> record_rows_;
    std::vector<int32_t> record_values_;
    bool records_pending_ = false;
};

c10::DeviceIndex device_count();
/* Device i; -1 is the current one. */
Device &device_at(c10::DeviceIndex i);
c10::DeviceIndex device_current();
c10::DeviceIndex device_exchange(c10::DeviceIndex i);
c10::StreamId stream_current(c10::DeviceIndex i);
c10::StreamId stream_exchange(c10::DeviceIndex i, c10::StreamId stream);
/* True in a child of fork that cannot use a device of its parent. */
bool in_bad_fork();

/* The current queue of a device, locked. */
class Lane
{
  public:
    explicit Lane(c10::DeviceIndex i)
        : device(device_at(i)), lock_(device.mutex),
          queue(device.queue(stream_current(device.index())))
    {
    }
    explicit Lane(const at::Tensor &x) : Lane(x.device().index()) {}

    Device &device;

  private:
    std::unique_lock<std::recursive_mutex> lock_;

  public:
    ssq_queue *const queue;
};

} // namespace sesqui_torch

#endif

// SPDX-License-Identifier: Apache-2.0
/* module.cpp - what torch.sesqui asks the extension: torch.ops.sesqui. */
#include "call.h"
#include "generator.h"

#include <torch/library.h>

namespace sesqui_torch
{

static int64_t count()
{
    return device_count();
}

static std::string device_name(int64_t i)
{
    return device_at(static_cast<c10::DeviceIndex>(i)).props().name;
}

static std::string device_description(int64_t i)
{
    return device_at(static_cast<c10::DeviceIndex>(i)).props().description;
}

static bool asynchronous(int64_t i)
{
    return device_at(static_cast<c10::DeviceIndex>(i)).props().asynchronous;
}

/* The host's processor does the work, maybe through a driver. */
static bool host_memory(int64_t i)
{
    return device_at(static_cast<c10::DeviceIndex>(i)).props().host_memory;
}

static c10::Dict<std::string, int64_t> memory(int64_t i)
{
    ssq_memory_info info = SSQ_MEMORY_INFO_INIT;
    Device &device = device_at(static_cast<c10::DeviceIndex>(i));
    check(ssq_device_memory(device.handle(), &info));
    c10::Dict<std::string, int64_t> d;
    d.insert("in_use", static_cast<int64_t>(info.in_use));
    d.insert("reserved", static_cast<int64_t>(info.reserved));
    d.insert("peak", static_cast<int64_t>(info.peak));
    d.insert("buffers", static_cast<int64_t>(info.buffers));
    return d;
}

static void memory_trim(int64_t i)
{
    ssq_device_trim(device_at(static_cast<c10::DeviceIndex>(i)).handle());
}

static int64_t submissions(int64_t i)
{
    Lane lane(static_cast<c10::DeviceIndex>(i));
    ssq_queue_stats stats = SSQ_QUEUE_STATS_INIT;
    check(ssq_queue_stats_get(lane.queue, &stats));
    return static_cast<int64_t>(stats.submissions);
}

static c10::Dict<std::string, int64_t> fallbacks()
{
    c10::Dict<std::string, int64_t> d;
    for (const auto &[name, n] : fallback_counts())
        d.insert(name, n);
    return d;
}

static std::vector<std::string> ops()
{
    return native_ops();
}

/* Handles for the package sesqui, as numbers: the library is the same one. */
static int64_t device_handle(int64_t i)
{
    return reinterpret_cast<int64_t>(
        device_at(static_cast<c10::DeviceIndex>(i)).handle());
}

/* An address in the library: another copy of it has other ones. */
static int64_t library()
{
    return reinterpret_cast<int64_t>(&ssq_version);
}

static int64_t queue_handle(int64_t i)
{
    return reinterpret_cast<int64_t>(
        Lane(static_cast<c10::DeviceIndex>(i)).queue);
}

/* A new tensor of the library over the memory of x; the caller owns it. */
static int64_t tensor_handle(const Tensor &x)
{
    auto dtype = dtype_of(x.scalar_type());
    TORCH_CHECK(dtype.has_value() && x.dim() <= SSQ_MAX_RANK, "sesqui: ",
                described(x), " cannot be a tensor of the library");
    ssq_tensor *t = nullptr;
    block_of(x).bounds = Bounds::all();
    check(ssq_tensor_from_buffer(
        block_of(x).buffer, *dtype, static_cast<int>(x.dim()),
        x.sizes().data(), x.strides().data(),
        static_cast<uint64_t>(x.storage_offset()) * x.element_size(), &t));
    return reinterpret_cast<int64_t>(t);
}

static at::Generator generator_of(int64_t i)
{
    return generator_default(static_cast<c10::DeviceIndex>(i));
}

static void seed_set(int64_t i, int64_t seed)
{
    at::Generator g = generator_of(i);
    std::lock_guard<std::mutex> lock(g.mutex());
    g.set_current_seed(static_cast<uint64_t>(seed));
}

static int64_t seed_get(int64_t i)
{
    return static_cast<int64_t>(generator_of(i).current_seed());
}

static Tensor rng_state(int64_t i)
{
    at::Generator g = generator_of(i);
    std::lock_guard<std::mutex> lock(g.mutex());
    return g.get_state();
}

static void rng_state_set(int64_t i, const Tensor &state)
{
    at::Generator g = generator_of(i);
    std::lock_guard<std::mutex> lock(g.mutex());
    g.set_state(state);
}

static void synchronize(int64_t i)
{
    device_at(static_cast<c10::DeviceIndex>(i)).sync_all();
}

} // namespace sesqui_torch

TORCH_LIBRARY_FRAGMENT(sesqui, m)
{
    using namespace sesqui_torch;
    m.def("device_count() -> int", TORCH_FN(count));
    m.def("device_name(int device) -> str", TORCH_FN(device_name));
    m.def("device_description(int device) -> str",
          TORCH_FN(device_description));
    m.def("asynchronous(int device) -> bool", TORCH_FN(asynchronous));
    m.def("host_memory(int device) -> bool", TORCH_FN(host_memory));
    m.def("in_bad_fork() -> bool", TORCH_FN(in_bad_fork));
    m.def("synchronize(int device) -> ()", TORCH_FN(synchronize));
    m.def("seed_set(int device, int seed) -> ()", TORCH_FN(seed_set));
    m.def("seed_get(int device) -> int", TORCH_FN(seed_get));
    m.def("rng_state(int device) -> Tensor", TORCH_FN(rng_state));
    m.def("rng_state_set(int device, Tensor state) -> ()",
          TORCH_FN(rng_state_set));
    m.def("memory(int device) -> Dict(str, int)", TORCH_FN(memory));
    m.def("memory_trim(int device) -> ()", TORCH_FN(memory_trim));
    m.def("submissions(int device) -> int", TORCH_FN(submissions));
    m.def("fallbacks() -> Dict(str, int)", TORCH_FN(fallbacks));
    m.def("fallbacks_reset() -> ()", TORCH_FN(fallback_reset));
    m.def("native_ops() -> str[]", TORCH_FN(ops));
    m.def("device_handle(int device) -> int", TORCH_FN(device_handle));
    m.def("queue_handle(int device) -> int", TORCH_FN(queue_handle));
    m.def("library() -> int", TORCH_FN(library));
    m.def("tensor_handle(Tensor x) -> int", TORCH_FN(tensor_handle));
}

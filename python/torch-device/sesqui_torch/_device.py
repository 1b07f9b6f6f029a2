# SPDX-License-Identifier: Apache-2.0
"""The module torch.sesqui: devices, streams, memory and random numbers."""

import torch

_C = torch.ops.sesqui
_INITIAL = {}


def _index(device=None):
    """The number of a device: None is the current one."""
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device if device >= 0 else current_device()
    device = torch.device(device)
    if device.type != "sesqui":
        raise ValueError(f"torch.sesqui: expected a device of sesqui, got {device}")
    return current_device() if device.index is None else device.index


# ---- devices ----

def is_available():
    return device_count() > 0


def is_initialized():
    return True


def init():
    """Do nothing: a device is opened when it is first used."""


def _lazy_init():
    init()


def device_count():
    return _C.device_count()


def current_device():
    return torch._C._accelerator_getDeviceIndex()


def set_device(device):
    torch._C._accelerator_setDeviceIndex(_index(device))


def get_device_name(device=None):
    """The library's name: "cpu", "opencl:0", ..."""
    return _C.device_name(_index(device))


def get_device_properties(device=None):
    """A dict: name, description of the driver, asynchronous, and host_memory, which is true if the
    host's processor does the work."""
    i = _index(device)
    return {"name": _C.device_name(i), "description": _C.device_description(i),
            "asynchronous": _C.asynchronous(i), "host_memory": _C.host_memory(i)}


class device:
    """Context manager: the current device is another one."""

    def __init__(self, device):
        self.index = _index(device)

    def __enter__(self):
        self.before = current_device()
        set_device(self.index)

    def __exit__(self, *_):
        set_device(self.before)


class device_of(device):
    """Context manager: the current device is that of a tensor."""

    def __init__(self, tensor):
        super().__init__(tensor.device if tensor.device.type == "sesqui" else None)


def synchronize(device=None):
    """Wait for all work of a device. Indices that were out of range raise an IndexError."""
    _C.synchronize(_index(device))


def _is_in_bad_fork():
    return _C.in_bad_fork()


# ---- streams and events ----

class Stream(torch.Stream):
    """A queue of a device."""

    def __new__(cls, device=None, priority=0, **kwargs):
        if kwargs:
            return super().__new__(cls, priority=priority, **kwargs)
        return super().__new__(cls, device=torch.device("sesqui", _index(device)),
                               priority=priority)


class _EventType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, torch.Event) and value.device.type == "sesqui"


class Event(metaclass=_EventType):
    """A point in the work of a queue: a torch.Event, whose functions accept no subclass."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False):
        return torch.Event(device=torch.device("sesqui", current_device()),
                           enable_timing=enable_timing, blocking=blocking,
                           interprocess=interprocess)


def current_stream(device=None):
    return torch._C._accelerator_getStream(_index(device))


def default_stream(device=None):
    i = _index(device)
    return torch.Stream(stream_id=0, device_index=i,
                        device_type=torch._C._autograd.DeviceType.PrivateUse1.value)


def set_stream(stream):
    torch._C._accelerator_setStream(stream)


class stream:
    """Context manager: work is enqueued on another queue."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.before = current_stream(self.stream.device)
            set_stream(self.stream)

    def __exit__(self, *_):
        if self.stream is not None:
            set_stream(self.before)


# ---- memory ----

def memory_stats(device=None):
    """A dict: allocated_bytes, reserved_bytes, peak_bytes, buffers."""
    d = _C.memory(_index(device))
    return {"allocated_bytes": d["in_use"], "reserved_bytes": d["reserved"],
            "peak_bytes": d["peak"], "buffers": d["buffers"]}


def memory_allocated(device=None):
    return _C.memory(_index(device))["in_use"]


def max_memory_allocated(device=None):
    return _C.memory(_index(device))["peak"]


def memory_reserved(device=None):
    return _C.memory(_index(device))["reserved"]


def empty_cache():
    """Return unused memory to the driver."""
    for i in range(device_count()):
        _C.memory_trim(i)


# ---- random numbers ----

def _generator(device=None):
    return torch._C._accelerator_getDefaultGenerator(_index(device)) \
        if hasattr(torch._C, "_accelerator_getDefaultGenerator") else default_generators[_index(device)]


class _Generators:
    def __getitem__(self, i):
        return torch._C._get_default_generator(torch.device("sesqui", i)) \
            if hasattr(torch._C, "_get_default_generator") else None

    def __len__(self):
        return device_count()


default_generators = _Generators()


def manual_seed(seed):
    _C.seed_set(current_device(), int(seed))


def manual_seed_all(seed):
    for i in range(device_count()):
        _C.seed_set(i, int(seed))


def seed():
    value = int(torch.empty((), dtype=torch.int64).random_().item())
    manual_seed(value)
    return value


def initial_seed(device=None):
    return _C.seed_get(_index(device))


def get_rng_state(device="sesqui"):
    return _C.rng_state(_index(device))


def set_rng_state(new_state, device="sesqui"):
    _C.rng_state_set(_index(device), new_state.cpu())


def get_rng_state_all():
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state_all(states):
    for i, state in enumerate(states):
        set_rng_state(state, i)


# ---- mixed precision ----

def get_amp_supported_dtype():
    return [torch.float16, torch.bfloat16]


def is_bf16_supported():
    return True


# ---- what the device does not run itself ----

def fallbacks():
    """Return a dict: how often each op ran on the CPU instead."""
    return dict(_C.fallbacks())


def reset_fallbacks():
    _C.fallbacks_reset()


def native_ops():
    """Names of the ops of aten that run on the device."""
    return sorted(_C.native_ops())


def submissions(device=None):
    """How many commands the current queue has handed to the device."""
    return _C.submissions(_index(device))


__all__ = [
    "Event", "Stream", "current_device", "current_stream", "default_stream", "device",
    "device_count", "device_of", "empty_cache", "fallbacks", "get_amp_supported_dtype",
    "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "init",
    "initial_seed", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "memory_allocated", "memory_reserved",
    "memory_stats", "native_ops", "reset_fallbacks", "seed", "set_device", "set_rng_state",
    "set_rng_state_all", "set_stream", "stream", "submissions", "synchronize",
]

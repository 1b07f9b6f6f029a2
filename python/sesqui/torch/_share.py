# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch as tensors of the library, in the same memory."""

import ctypes

import torch

from .._core import Device, Queue, Tensor, from_dlpack
from .._errors import InvalidError
from .._library import lib

_devices = {}


class _TorchQueue(Queue):
    """The default stream of a device of sesqui-torch, which owns it."""

    def __init__(self, device, handle):
        self._begin(device, handle)

    def __del__(self):
        pass


class _TorchDevice(Device):
    """A device of sesqui-torch, which owns it. The queue is the default stream."""

    def __init__(self, torch_device):
        ops = torch.ops.sesqui
        if ops.library() != ctypes.cast(lib.ssq_version, ctypes.c_void_p).value:
            raise InvalidError("sesqui.torch: the packages sesqui and sesqui-torch use two copies"
                               " of libsesqui: set SESQUI_LIBRARY to the path of the one that"
                               " sesqui-torch was built with")
        self._torch = torch_device
        self._handle = ctypes.c_void_p(ops.device_handle(torch_device.index))
        self._describe()
        with torch.sesqui.stream(torch.sesqui.default_stream(torch_device)):
            self._queue = _TorchQueue(self, ops.queue_handle(torch_device.index))

    def close(self):
        pass

    def __del__(self):
        pass

    def in_order(self):
        """Whether PyTorch's work goes to the same queue."""
        return torch.sesqui.current_stream(self._torch).stream_id == 0


def device_of(tensor):
    """The library's device for a tensor of PyTorch."""
    kind, index = tensor.device.type, tensor.device.index or 0
    if kind not in ("cpu", "cuda", "sesqui"):
        raise InvalidError(f"sesqui.torch: a tensor is on {tensor.device}, expected cpu, cuda or"
                           " sesqui")
    key = kind if kind == "cpu" else f"{kind}:{index}"
    if key not in _devices:
        _devices[key] = _TorchDevice(torch.device(key)) if kind == "sesqui" else Device(key)
    return _devices[key]


def share(tensor):
    """The memory of a PyTorch tensor as a tensor of the library."""
    device = device_of(tensor)
    if tensor.device.type == "sesqui":
        return Tensor(device, torch.ops.sesqui.tensor_handle(tensor.detach()))
    return from_dlpack(tensor.detach(), device, device.queue, copy=False)


def before(tensor):
    """Work that PyTorch has enqueued must come first."""
    if tensor.device.type == "cuda":
        torch.cuda.current_stream(tensor.device).synchronize()
    elif tensor.device.type == "sesqui" and not device_of(tensor).in_order():
        torch.sesqui.current_stream(tensor.device).synchronize()


def after(device):
    """PyTorch's work must come after the library's."""
    if device.props["asynchronous"] and not (isinstance(device, _TorchDevice)
                                             and device.in_order()):
        device.queue.sync()

# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch as tensors of the library, in the same memory."""

import torch

from .._core import Device, from_dlpack
from .._errors import InvalidError

_devices = {}


def device_of(tensor):
    """The library's device for a tensor of PyTorch."""
    kind = tensor.device.type
    if kind not in ("cpu", "cuda"):
        raise InvalidError(f"sesqui.torch: a tensor is on {tensor.device}, expected cpu or cuda")
    name = "cpu" if kind == "cpu" else f"cuda:{tensor.device.index or 0}"
    if name not in _devices:
        _devices[name] = Device(name)
    return _devices[name]


def share(tensor):
    """The memory of a PyTorch tensor as a tensor of the library."""
    device = device_of(tensor)
    return from_dlpack(tensor.detach(), device, device.queue, copy=False)


def before(tensor):
    """Work that PyTorch has enqueued must come first."""
    if tensor.device.type == "cuda":
        torch.cuda.current_stream(tensor.device).synchronize()


def after(device):
    """PyTorch's work must come after the library's."""
    if device.props["asynchronous"]:
        device.queue.sync()

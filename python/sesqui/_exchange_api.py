# SPDX-License-Identifier: Apache-2.0
"""DLPack's C exchange API for Tensor, if the compiled part of the package is there."""

import ctypes
import importlib.util
import os
import weakref

from . import _library
from ._core import Device, Tensor
from ._dlpack import import_struct, shared_cpu

_exported = weakref.WeakValueDictionary()  # number of a CUDA device: queue


def _find():
    """The compiled part: of this package, or of SESQUI_EXCHANGE, which must exist."""
    path = os.environ.get("SESQUI_EXCHANGE")
    if path:
        spec = importlib.util.spec_from_file_location("_exchange", path)
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made
    try:
        from . import _exchange

        return _exchange
    except ImportError:
        return None


def _from_address(address):
    """The tensor of a DLManagedTensorVersioned in host memory, which it owns then. Memory that
    would have to be copied is refused: a caller in C sees no warning."""
    device = shared_cpu(Device)
    handle, _ = import_struct(address, b"dltensor_versioned", device.queue, False)
    return Tensor(device, handle)


def _note_export(tensor):
    """Remember the queue of a CUDA tensor that a library in C has been given."""
    _exported[tensor.__dlpack_device__()[1]] = tensor.device.queue


def _stream(index):
    """The stream on which that library should work: of the tensor that it was given last, or 0,
    the default stream."""
    queue = _exported.get(index)
    return 0 if queue is None else queue.stream


def install():
    """Return whether Tensor has the exchange API now."""
    module = _find()
    if module is None:
        return False
    addresses = tuple(
        ctypes.cast(getattr(_library.lib, name), ctypes.c_void_p).value
        for name in ("ssq_tensor_create", "ssq_tensor_destroy", "ssq_tensor_to_dlpack",
                     "ssq_to_dlpack_args_init", "ssq_last_error"))
    module.install(Tensor, addresses, lambda: shared_cpu(Device)._handle.value, _from_address,
                   _note_export, _stream)
    return True

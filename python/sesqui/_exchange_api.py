# SPDX-License-Identifier: Apache-2.0
"""DLPack's C exchange API for Tensor, if the compiled part of the package is there."""

import ctypes
import importlib.util
import os

from . import _library
from ._core import Device, Tensor
from ._dlpack import shared_cpu
from ._library import call, constant, initial



def _find():
    """The compiled part: of this package, or of SESQUI_EXCHANGE."""
    path = os.environ.get("SESQUI_EXCHANGE")
    try:
        if not path:
            from . import _exchange

            return _exchange
        spec = importlib.util.spec_from_file_location("_exchange", path)
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made
    except ImportError:
        return None


def _from_address(address):
    """The tensor of a DLManagedTensorVersioned in host memory, which it owns then."""
    device = shared_cpu(Device)
    args = initial("ssq_from_dlpack_args")
    args.copy = constant("SSQ_DLPACK_COPY_IF_NEEDED")
    handle = ctypes.c_void_p()
    call("ssq_tensor_from_dlpack", device.queue._handle, address, ctypes.byref(args),
         ctypes.byref(handle))
    return Tensor(device, handle)


def install():
    """Return whether Tensor has the exchange API now."""
    module = _find()
    if module is None:
        return False
    addresses = tuple(
        ctypes.cast(getattr(_library.lib, name), ctypes.c_void_p).value
        for name in ("ssq_tensor_create", "ssq_tensor_destroy", "ssq_tensor_to_dlpack",
                     "ssq_to_dlpack_args_init", "ssq_last_error"))
    module.install(Tensor, addresses, lambda: shared_cpu(Device)._handle.value, _from_address)
    return True

# SPDX-License-Identifier: Apache-2.0
"""DLPack's C exchange API, called as a library in C calls it."""

import ctypes
import gc

import pytest

import sesqui
from sesqui._library import callback, struct

if not hasattr(sesqui.Tensor, "__dlpack_c_exchange_api__"):
    pytest.skip("the package has no compiled part: make python-shim", allow_module_level=True)

Managed = struct("DLManagedTensorVersioned")


def exchange():
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return struct("DLPackExchangeAPI").from_address(
        get(sesqui.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def python_call(kind, function):
    """A function that is called with the GIL held, and may set an exception."""
    d = callback(kind)
    return ctypes.PYFUNCTYPE(ctypes.c_int, *d._argtypes_)(
        ctypes.cast(function, ctypes.c_void_p).value)


def test_version():
    api = exchange()
    assert api.header.version.major == 1 and api.header.version.minor >= 3
    assert not api.header.prev_api


def test_there_and_back(cpu):
    api = exchange()
    x = cpu.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = ctypes.c_void_p()
    give = python_call("DLPackManagedTensorFromPyObjectNoSync",
                       api.managed_tensor_from_py_object_no_sync)
    take = python_call("DLPackManagedTensorToPyObjectNoSync",
                       api.managed_tensor_to_py_object_no_sync)
    assert give(id(x), ctypes.byref(out)) == 0
    dl = Managed.from_address(out.value)
    assert dl.dl_tensor.ndim == 2 and dl.dl_tensor.device.device_type == 1
    made = ctypes.c_void_p()
    assert take(out, ctypes.byref(made)) == 0
    y = ctypes.cast(made, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(y))
    assert y.tolist() == x.tolist()
    sesqui.ops.fill(x=x, value=7)
    assert y.tolist() == [[7, 7], [7, 7]]
    del x, y
    gc.collect()
    assert cpu.memory()["in_use"] == 0


def test_no_tensor():
    give = python_call("DLPackManagedTensorFromPyObjectNoSync",
                       exchange().managed_tensor_from_py_object_no_sync)
    out = ctypes.c_void_p()
    with pytest.raises((AttributeError, TypeError)):
        give(id("text"), ctypes.byref(out))


def test_allocator(cpu):
    allocate = callback("DLPackManagedTensorAllocator")(
        ctypes.cast(exchange().managed_tensor_allocator, ctypes.c_void_p).value)
    errors = []
    report = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)(
        lambda _user, kind, text: errors.append((kind, text)))
    like = struct("DLTensor")()
    shape = (ctypes.c_int64 * 2)(3, 5)
    like.device.device_type, like.ndim = 1, 2
    like.dtype.code, like.dtype.bits, like.dtype.lanes = 2, 16, 1
    like.shape = ctypes.cast(shape, ctypes.c_void_p)
    out = ctypes.c_void_p()
    assert allocate(ctypes.addressof(like), ctypes.addressof(out), None,
                    ctypes.cast(report, ctypes.c_void_p)) == 0
    dl = Managed.from_address(out.value)
    assert list((ctypes.c_int64 * 2).from_address(dl.dl_tensor.shape)) == [3, 5]
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
        ctypes.cast(dl.deleter, ctypes.c_void_p).value)(out)
    like.dtype.bits = 64
    assert allocate(ctypes.addressof(like), ctypes.addressof(out), None,
                    ctypes.cast(report, ctypes.c_void_p)) == -1
    assert errors and errors[0][0] == b"BufferError"

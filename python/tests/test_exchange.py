# SPDX-License-Identifier: Apache-2.0
"""DLPack's C exchange API, called as a library in C calls it."""

import ctypes
import gc

import pytest

import sesqui
from sesqui._library import callback, struct

# With SESQUI_EXCHANGE, as tests/api/python.sh sets it, an import without it fails.
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


def test_no_silent_copy():
    """A caller in C sees no warning, so that memory which must be copied is refused."""
    take = python_call("DLPackManagedTensorToPyObjectNoSync",
                       exchange().managed_tensor_to_py_object_no_sync)
    memory, shape = (ctypes.c_float * 3)(1, 2, 3), (ctypes.c_int64 * 1)(2)
    dl, made = Managed(), ctypes.c_void_p()
    dl.version.major, dl.dl_tensor.ndim, dl.dl_tensor.device.device_type = 1, 1, 1
    dl.dl_tensor.data = ctypes.addressof(memory)
    dl.dl_tensor.dtype.code, dl.dl_tensor.dtype.bits, dl.dl_tensor.dtype.lanes = 2, 32, 1
    dl.dl_tensor.shape = ctypes.cast(shape, ctypes.c_void_p)
    for flags, offset, text in ((1, 0, "read-only"), (0, 1, "1 bytes after")):
        dl.flags, dl.dl_tensor.byte_offset = flags, offset
        with pytest.raises(BufferError, match=text):
            take(ctypes.addressof(dl), ctypes.byref(made))


def test_stream_of_cuda(run_on_cuda):
    """An export does not wait, so that consumers must work on the tensor's stream."""
    run_on_cuda("""
import ctypes
import sesqui
from sesqui._library import struct

get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
api = struct("DLPackExchangeAPI").from_address(
    get(sesqui.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))
work_stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.c_void_p)(
    ctypes.cast(api.current_work_stream, ctypes.c_void_p).value)
give = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
    ctypes.cast(api.managed_tensor_from_py_object_no_sync, ctypes.c_void_p).value)


def stream_of(kind, index):
    out = ctypes.c_void_p(99)
    assert work_stream(kind, index, ctypes.byref(out)) == 0
    return out.value


assert stream_of(1, 0) is None and stream_of(2, 0) is None
for device in (sesqui.Device("cuda:0"), sesqui.Device("cuda:0")):
    x, out = device.tensor([1.0]), ctypes.c_void_p()
    assert give(id(x), ctypes.byref(out)) == 0
    dl = struct("DLManagedTensorVersioned").from_address(out.value)
    assert dl.dl_tensor.device.device_type == 2
    assert stream_of(2, 0) == device.queue.stream != 0
    assert stream_of(1, 0) is None and stream_of(2, 1) is None
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(dl.deleter)(out)
""")

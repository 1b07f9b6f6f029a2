# SPDX-License-Identifier: Apache-2.0
"""Tensors to and from other libraries share memory."""

import ctypes
import gc
import threading
import warnings

import numpy as np
import pytest

import sesqui


def test_to_numpy_shares(cpu):
    x = cpu.tensor(np.float32([[1, 2], [3, 4]]))
    a = np.from_dlpack(x)
    assert a.tolist() == [[1, 2], [3, 4]]
    sesqui.ops.fill(x=x, value=9)
    assert (a == 9).all()
    del x
    gc.collect()
    assert (a == 9).all()


def test_from_numpy_shares():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = sesqui.from_dlpack(a)
    a[0, 0] = 42
    assert x.tolist()[0][0] == 42
    y = sesqui.from_dlpack(a, copy=True)
    a[0, 0] = 1
    assert y.tolist()[0][0] == 42 and x.tolist()[0][0] == 1


def test_strides():
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    assert (sesqui.from_dlpack(a.T).numpy() == a.T).all()
    assert (sesqui.from_dlpack(a[::2, 1::2]).numpy() == a[::2, 1::2]).all()
    with pytest.raises(sesqui.UnsupportedError):
        sesqui.from_dlpack(a[::-1])


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex64", "int8", "uint16"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(sesqui.UnsupportedError):
        sesqui.from_dlpack(np.zeros(3, dtype))


def test_empty_and_scalar():
    assert sesqui.from_dlpack(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert sesqui.from_dlpack(np.array(5, np.float32)).item() == 5


def test_read_only_is_copied():
    a = np.ones(4, np.float32)
    a.flags.writeable = False
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("NumPy before 2.1 does not export it")
    with pytest.warns(sesqui.CopyWarning, match="read-only") as said:
        x = sesqui.from_dlpack(a)
    assert said[0].filename == __file__
    sesqui.ops.fill(x=x, value=2)
    assert (a == 1).all()
    with pytest.raises(BufferError, match="read-only"):
        sesqui.from_dlpack(a, copy=False)


def test_unaligned_is_copied(recwarn):
    a = np.zeros(17, np.uint8)[1:].view(np.float32)
    a[:] = [0, 1, 2, 3]
    with pytest.warns(sesqui.CopyWarning, match="not aligned"):
        x = sesqui.from_dlpack(a)
    with pytest.raises(BufferError, match="1 bytes after"):
        sesqui.from_dlpack(a, copy=False)
    recwarn.clear()
    y = sesqui.from_dlpack(a, copy=True)
    assert not recwarn.list
    a[:] = 7
    assert x.tolist() == y.tolist() == [0, 1, 2, 3]
    with warnings.catch_warnings():  # an error frees the copy, and the capsule is consumed
        warnings.simplefilter("error")
        with pytest.raises(sesqui.CopyWarning):
            sesqui.from_dlpack(a)


class Producer:
    """An array of another library: it records how it is asked, and says that it has copied."""

    def __init__(self, tensor):
        self.tensor, self.asked = tensor, None

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **asked):
        self.asked = asked
        return self.tensor.__dlpack__(max_version=(1, 0), copy=True)


def test_the_producer_copies(cpu):
    p = Producer(cpu.tensor([1.0, 2.0]))
    with pytest.warns(sesqui.CopyWarning, match="its library"):
        assert sesqui.from_dlpack(p).tolist() == [1, 2]
    assert p.asked == {"max_version": (1, 1)}  # no stream: it is on the CPU
    with pytest.raises(BufferError, match="was copied"):
        sesqui.from_dlpack(p, copy=False)
    assert p.asked["copy"] is False
    p.tensor = None
    gc.collect()
    assert cpu.memory()["in_use"] == 0


def test_unconsumed_capsule_releases_its_tensor(cpu):
    for version in (None, (1, 0)):
        x = cpu.empty((1000,))
        capsule = x.__dlpack__(max_version=version)
        del x
        gc.collect()
        assert cpu.memory()["in_use"] > 0
        del capsule
        gc.collect()
        assert cpu.memory()["in_use"] == 0


def test_capsule_that_a_consumer_refuses(cpu):
    """NumPy, which has no bfloat16, destroys the capsule while its exception is set."""
    x = cpu.tensor([1.0, 2.0], "bfloat16")
    with pytest.raises((BufferError, RuntimeError), match="dtype"):
        np.from_dlpack(x)
    del x
    gc.collect()
    assert cpu.memory()["in_use"] == 0


def test_capsule_that_outlives_the_interpreter(run_python):
    """Two are destroyed with the module sys, another's deleter is called when the process ends.
    Without the part in C, which would keep the package's functions alive."""
    run_python("""
import ctypes, sys, sesqui
from ctypes import pythonapi as python
x = sesqui.Device("cpu").tensor([1.0, 2.0])
sys.kept = [x.__dlpack__(), x.__dlpack__(max_version=(1, 0))]
capsule = x.__dlpack__()
get, name = python.PyCapsule_GetPointer, python.PyCapsule_SetName
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
name.argtypes = [ctypes.py_object, ctypes.c_char_p]
at = get(capsule, b"dltensor")
name(capsule, b"used_dltensor")
deleter = sesqui._library.struct("DLManagedTensor").from_address(at).deleter
ctypes.CDLL(None).__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(at), None)
""", "-X", "dev", PYTHONMALLOC="debug", SESQUI_EXCHANGE="")


def test_deleter_in_a_thread_without_the_interpreter(cpu):
    x = cpu.empty((1000,))
    capsule = x.__dlpack__()
    get, name = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_SetName
    at = get(capsule, b"dltensor")
    name(capsule, b"used_dltensor")
    deleter = sesqui._library.struct("DLManagedTensor").from_address(at).deleter
    del x, capsule
    gc.collect()
    assert cpu.memory()["in_use"] > 0
    # ctypes lets go of the interpreter's lock for the call
    thread = threading.Thread(target=ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter), args=(at,))
    thread.start()
    thread.join()
    assert cpu.memory()["in_use"] == 0


def test_capsule_is_consumed_once(cpu):
    capsule = cpu.tensor([1.0]).__dlpack__()
    x = sesqui.from_dlpack(capsule, cpu)
    assert x.item() == 1
    with pytest.raises(TypeError):
        sesqui.from_dlpack(capsule, cpu)
    with pytest.raises(TypeError):
        sesqui.from_dlpack(3, cpu)


def test_requests_that_cannot_be_met(cpu):
    x = cpu.tensor([1.0])
    for stream in (0, 1, 2, 3, -2, "1"):
        with pytest.raises(BufferError, match="stream is"):
            x.__dlpack__(stream=stream)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="copy needs a producer"):
        x.__dlpack__(copy=True, stream=-1)
    with sesqui.Device("guard") as guard:
        for export in ("__dlpack_device__", "__dlpack__"):
            with pytest.raises(BufferError):
                getattr(guard.tensor([1.0]), export)()


def test_broadcast(cpu):
    """Its elements share memory, which the struct of before DLPack 1.0 cannot say."""
    x = cpu.tensor([1.0]).broadcast_to((3,))
    with pytest.raises(BufferError, match="share memory"):
        x.__dlpack__()
    assert sesqui.from_dlpack(x, copy=True).tolist() == [1, 1, 1]
    assert sesqui.from_dlpack(x.__dlpack__(copy=True)).tolist() == [1, 1, 1]


def test_streams_of_cuda(run_on_cuda):
    """An array of CUDA's driver alone, whose values its stream writes only later."""
    run_on_cuda("""
import ctypes, threading, time
import sesqui
from sesqui._library import struct

cu = ctypes.CDLL("libcuda.so.1")
device = sesqui.Device("cuda:0")
gate = threading.Event()
wait = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: gate.wait(5) and None)


def need(name, *args):
    result = getattr(cu, name)(*args)
    assert result == 0, (name, result)


class Lent:
    def __init__(self, values):
        context, n = ctypes.c_void_p(), ctypes.sizeof(values)
        self.own, self.memory = ctypes.c_void_p(), ctypes.c_uint64()
        need("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        need("cuCtxPushCurrent_v2", context)
        need("cuStreamCreate", ctypes.byref(self.own), 1)
        need("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(n))
        need("cuMemcpyHtoDAsync_v2", self.memory, (ctypes.c_float * 2)(), ctypes.c_size_t(n),
             self.own)
        need("cuStreamSynchronize", self.own)
        need("cuLaunchHostFunc", self.own, wait, None)
        need("cuMemcpyHtoDAsync_v2", self.memory, values, ctypes.c_size_t(n), self.own)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None):
        event = ctypes.c_void_p()
        need("cuEventCreate", ctypes.byref(event), 2)
        need("cuEventRecord", event, self.own)
        need("cuStreamWaitEvent", ctypes.c_void_p(stream or 1), event, 0)
        self.stream, self.shape = stream, (ctypes.c_int64 * 1)(2)
        made = self.made = struct("DLManagedTensor")()
        made.dl_tensor.data, made.dl_tensor.ndim = self.memory.value, 1
        made.dl_tensor.device.device_type = 2
        made.dl_tensor.dtype.code, made.dl_tensor.dtype.bits, made.dl_tensor.dtype.lanes = 2, 32, 1
        made.dl_tensor.shape = ctypes.cast(self.shape, ctypes.c_void_p)
        new = ctypes.pythonapi.PyCapsule_New
        return new(ctypes.addressof(made), b"dltensor", None)


lent = Lent((ctypes.c_float * 2)(-3.0, 5.0))
x = sesqui.from_dlpack(lent, device)
y = device.empty((2,))
sesqui.ops.relu(x=x, y=y)
time.sleep(0.02)
assert not device.queue.idle(), "read before the values were there"
gate.set()
assert y.tolist() == [0, 5] and lent.stream == device.queue.stream

for stream in (None, -1, 1, 2, lent.own.value):
    y.__dlpack__(stream=stream)
for stream in (0, -2, 1.5):
    try:
        y.__dlpack__(stream=stream)
    except BufferError as error:
        assert f"stream is {stream}, " in str(error)
    else:
        raise AssertionError(stream)
""")


def test_a_producer_without_a_deleter():
    """DLPack permits NULL."""
    struct = sesqui._library.struct("DLManagedTensor")
    data = np.arange(3, dtype=np.float32)
    shape = (ctypes.c_int64 * 1)(3)
    made = struct()
    made.dl_tensor.data = data.ctypes.data
    made.dl_tensor.device.device_type = 1
    made.dl_tensor.ndim = 1
    made.dl_tensor.dtype.code, made.dl_tensor.dtype.bits, made.dl_tensor.dtype.lanes = 2, 32, 1
    made.dl_tensor.shape = ctypes.cast(shape, ctypes.c_void_p)
    new = ctypes.pythonapi.PyCapsule_New
    capsule = new(ctypes.addressof(made), b"dltensor", None)
    assert sesqui.from_dlpack(capsule, copy=True).tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8"])
def test_torch(cpu, dtype):
    torch = pytest.importorskip("torch")
    t = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    x = sesqui.from_dlpack(t)
    assert x.dtype == dtype and x.tolist() == t.tolist()
    t[0, 0] = 7
    assert x.tolist()[0][0] == 7
    back = torch.from_dlpack(x)
    assert back.dtype == t.dtype and back.data_ptr() == t.data_ptr()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8"])
def test_jax(cpu, dtype):
    jax = pytest.importorskip("jax")
    x = cpu.tensor(np.arange(6, dtype=np.float32).reshape(2, 3), dtype) if dtype in (
        "float32", "float16", "bfloat16") else cpu.tensor(np.arange(6, dtype=dtype).reshape(2, 3))
    a = jax.dlpack.from_dlpack(x)
    assert str(a.dtype) == dtype and np.asarray(a).astype(np.float32).ravel().tolist() == \
        [0, 1, 2, 3, 4, 5]
    back = sesqui.from_dlpack(a)
    assert back.dtype == dtype and back.tolist() == x.tolist()

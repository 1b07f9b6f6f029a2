# SPDX-License-Identifier: Apache-2.0
"""Tensors to and from other libraries share memory."""

import ctypes
import gc

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
    try:
        x = sesqui.from_dlpack(a)
    except BufferError:
        return  # NumPy before 2.1 does not export it
    sesqui.ops.fill(x=x, value=2)
    assert (a == 1).all()


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
    with pytest.raises(BufferError):
        x.__dlpack__(stream=3)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with sesqui.Device("guard") as guard, pytest.raises(BufferError):
        guard.tensor([1.0]).__dlpack_device__()


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

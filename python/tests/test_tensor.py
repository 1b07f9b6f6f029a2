# SPDX-License-Identifier: Apache-2.0
import gc

import numpy as np
import pytest

import sesqui
from sesqui import ops

DTYPES = ["float32", "float16", "int32", "uint8"]


def test_devices():
    names = [d["name"] for d in sesqui.devices()]
    assert {"cpu", "reference", "guard"} <= set(names)
    with pytest.raises(sesqui.NotFoundError, match="nowhere"):
        sesqui.Device("nowhere")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (2, 0, 3), (2, 1, 3, 1, 2, 2)])
def test_round_trip(device, dtype, shape):
    array = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
    x = device.tensor(array)
    assert x.shape == shape and x.dtype == dtype and x.size == array.size
    got = x.numpy()
    assert got.dtype == array.dtype and got.shape == shape and (got == array).all()
    assert np.array(x.tolist(), dtype).reshape(shape).tolist() == array.tolist()


def test_other_dtypes(device):
    assert device.tensor(np.arange(3)).dtype == "int32"
    assert device.tensor(np.arange(3.0)).dtype == "float32"
    assert device.tensor([True, False]).tolist() == [1, 0]
    assert device.tensor(np.array([True, False])).dtype == "uint8"
    assert device.tensor([[1, 2], [3, 4]]).dtype == "int32"
    assert device.tensor(1.5).item() == 1.5
    x = device.tensor(np.float32([1, 2.5]), "bfloat16")
    assert x.dtype == "bfloat16" and x.tolist() == [1, 2.5]
    assert x.numpy("float32").tolist() == [1, 2.5]


def test_values_are_refused(device):
    with pytest.raises(sesqui.InvalidError, match="2147483648"):
        device.tensor(np.array([2**31]))
    with pytest.raises(sesqui.InvalidError, match="int32"):
        device.tensor([2**40])
    with pytest.raises(sesqui.InvalidError, match="complex64"):
        device.tensor(np.zeros(2, np.complex64))
    with pytest.raises(sesqui.InvalidError, match="lengths"):
        device.tensor([[1, 2], [3]])
    with pytest.raises(sesqui.InvalidError, match=r"\(2,\), expected \(3,\)"):
        device.empty(3).write(np.zeros(2, np.float32))
    with pytest.raises(sesqui.InvalidError, match="-1 to 300"):
        device.empty(2, "uint8").write(np.array([-1, 300]))
    with pytest.raises(ValueError):
        device.empty((-1,))


def test_views(device):
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = device.tensor(a)
    for index in (0, -1, (1, 2), (slice(None), 1), (Ellipsis, 2), (0, slice(1, 3)),
                  (slice(0, 2), slice(None), slice(0, 4, 2)), (slice(5, 9),)):
        assert (x[index].numpy() == a[index]).all(), index
    assert (x.T.numpy() == a.T).all()
    assert (x.transpose(1, 0, 2).numpy() == a.transpose(1, 0, 2)).all()
    assert x.reshape(4, -1).shape == (4, 6)
    assert (x.reshape(24).numpy() == a.reshape(24)).all()
    assert len(x) == 2 and [v.shape for v in x] == [(3, 4)] * 2
    assert x[:, :1].broadcast_to((2, 3, 4)).numpy()[1, 2, 3] == a[1, 0, 3]
    for bad in (2, -3, (0, 0, 0, 0)):
        with pytest.raises(IndexError):
            x[bad]
    with pytest.raises(sesqui.InvalidError):
        x.reshape(5, -1)


def test_array_may_change_after_the_call(device):
    a = np.ones(1000, np.float32)
    x = device.tensor(a)
    a[:] = 7
    assert (x.numpy() == 1).all()


def test_memory_is_released(device):
    for _ in range(3):
        x = device.empty((1000, 1000))
        del x
    gc.collect()
    device.queue.sync()
    assert device.memory()["in_use"] == 0


def test_objects_outlive_their_device():
    device = sesqui.Device("cpu")
    x = device.tensor([1.0, 2.0])
    device.close()
    assert x.shape == (2,)


def test_ops(device):
    a = np.random.default_rng(1).normal(size=(5, 7)).astype(np.float32)
    x, y = device.tensor(a), device.empty((5, 7))
    ops.relu(x=x, y=y)
    assert (y.numpy() == np.maximum(a, 0)).all()
    ops.softmax(x=x, y=y, axis=0)
    assert np.allclose(y.numpy().sum(0), 1, atol=1e-6)
    s = device.empty((7,))
    ops.sum(x=x, y=s, axes=0)
    assert np.allclose(s.numpy(), a.sum(0), atol=1e-5)
    d = device.empty((5, 5))
    ops.gemm(a=x, b=x, d=d, trans_b=True, alpha=0.5)
    assert np.allclose(d.numpy(), 0.5 * a @ a.T, atol=1e-5)
    ops.fill(x=d, value=3)
    assert (d.numpy() == 3).all()


def test_ops_refuse(device):
    x = device.empty((2, 3))
    with pytest.raises(sesqui.InvalidError, match="did you mean axis"):
        ops.softmax(x=x, y=x, axs=1)
    with pytest.raises(sesqui.InvalidError, match="axis"):
        ops.softmax(x=x, y=x, axis=2)
    with pytest.raises(sesqui.InvalidError, match="no tensor"):
        ops.fill(value=1)
    with pytest.raises(ValueError, match="nchw"):
        ops.max_pool2d(x=x, y=x, layout="chwn")
    with pytest.raises(sesqui.InvalidError, match="expected a Tensor"):
        ops.softmax(x=3, y=x)
    with pytest.raises(sesqui.InvalidError, match="expected at most 6"):
        ops.sum(x=x, y=x, axes=range(7))


def test_explain(cpu):
    x = cpu.empty((16, 16), "bfloat16")
    said = sesqui.explain(x, x)
    assert said["m"] == 16 and said["implementation"]


def test_events(device):
    first, second = sesqui.Event(device.queue), sesqui.Event()
    x = device.tensor([1.0])
    ops.fill(x=x, value=2)
    second.record(device.queue)
    second.sync()
    assert device.queue.idle() and first.elapsed(second) >= 0


def test_safetensors(device, tmp_path):
    path = tmp_path / "x.safetensors"
    tensors = {"a": device.tensor(np.float32([[1, 2]])), "b": device.tensor([1, 2, 3])}
    sesqui.safetensors.write(path, tensors)
    file = sesqui.safetensors.File(path)
    assert sorted(file.keys()) == ["a", "b"] and file["a"] == ((1, 2), "float32")
    assert file.read("b", device).tolist() == [1, 2, 3]
    with pytest.raises(sesqui.NotFoundError):
        file["c"]


def test_values_that_a_field_cannot_hold(cpu):
    x, y = cpu.empty((2, 2)), cpu.empty((2, 2))
    with pytest.raises(sesqui.InvalidError, match="'no', expected True or False"):
        ops.gemm(a=x, b=x, d=y, trans_b="no")
    with pytest.raises(sesqui.InvalidError, match="4294967296"):
        ops.softmax(x=x, y=y, axis=2**32)
    with pytest.raises(TypeError):
        x[True]
    assert x[np.int64(1)].shape == (2,)


def test_tensors_leave_their_device_block():
    with sesqui.Device("cpu") as device:
        x = device.tensor([1.0, 2.0])
    assert x.tolist() == [1, 2]


def test_parameters_hold_their_memory(cpu):
    tape = sesqui.Tape(cpu)
    tape.begin()
    w = tape.param("w", (3, 4), init="ones")
    kept = tape.params.tensor("w")
    del w
    tape.begin()
    tape.params.remove("w")
    assert (kept.numpy() == 1).all()


def test_threads_write_at_the_same_time():
    import threading

    device, wrong = sesqui.Device("guard"), []

    def work(k):
        queue = sesqui.Queue(device)
        for _ in range(50):
            x = device.tensor(np.full(100, float(k)), queue=queue)
            if not (x.numpy(queue=queue) == k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong

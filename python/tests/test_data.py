# SPDX-License-Identifier: Apache-2.0
"""Readers, batches, and the examples."""

import gzip
import os
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest

import sesqui
from sesqui import data

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "examples")
DIGITS = os.path.join(HERE, "..", "..", "examples", "data", "digits.csv.gz")
FASHION = "/usr/share/datasets/fashion-mnist"


def idx(array, kind):
    head = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("dtype,kind", [("u1", 8), ("i1", 9), ("i2", 11), ("i4", 12), ("f4", 13),
                                        ("f8", 14)])
def test_idx(tmp_path, dtype, kind):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    (tmp_path / "plain").write_bytes(idx(array, kind))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(idx(array, kind)))
    for name in ("plain", "packed", "packed.gz"):
        got = data.read(tmp_path / name)
        assert got.dtype == array.dtype and (got == array).all()


@pytest.mark.parametrize("bad", [b"", b"\0\0\x07\x01\0\0\0\0", b"\0\0\x08\x02\0\0\0\x02",
                                 b"\0\0\x08\x01\0\0\0\x05abc", b"1,2\n3\n", b"<html>"])
def test_refused(tmp_path, bad):
    (tmp_path / "x").write_bytes(bad)
    with pytest.raises(sesqui.InvalidError, match="/x"):
        data.read(tmp_path / "x")
    with pytest.raises(sesqui.NotFoundError, match="nothing"):
        data.read(tmp_path / "nothing")


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "?",
                                   ">f4", ">i2"])
def test_npy(tmp_path, dtype):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    np.save(tmp_path / "x.npy", array)
    got = data.read(tmp_path / "x.npy")
    assert got.dtype == array.dtype.newbyteorder("=") and (got == array).all()


def test_csv(tmp_path):
    table = data.read(DIGITS)
    assert table.shape == (1797, 65) and table.max() == 16 and table.dtype == "float32"
    (tmp_path / "x").write_text("a;b\n1;2\n3;4\n")
    got = data.read(tmp_path / "x", separator=";", skip_rows=1, dtype="i32")
    assert got.dtype == "int32" and got.tolist() == [[1, 2], [3, 4]]


def test_batches(device):
    x, y = np.arange(20, dtype=np.uint8).reshape(10, 2), np.arange(10)
    b = data.Batches(device, x, y, batch=4, dtypes=["f16"], scale=[0.5], shuffle=True, seed=3)
    assert len(b) == 3
    epochs = []
    for _ in range(2):
        rows = []
        for images, labels in b:
            assert images.dtype == "float16" and labels.dtype == "int32"
            got, order = images.tolist(), labels.tolist()
            assert got == [[float(i), i + 0.5] for i in order]
            rows += order
        assert sorted(rows) == list(range(10))
        epochs.append(rows)
    assert epochs[0] != epochs[1]
    b.position = 0, 4
    assert b.position == (0, 4) and next(iter(b))[1].tolist() == epochs[0][4:8]
    only = data.Batches(device, y, batch=3, drop_last=True)
    assert [t.tolist() for t in only] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_batches_refused(cpu):
    x = np.zeros((3, 2), np.float32)
    with pytest.raises(sesqui.InvalidError, match="2 rows, expected 3"):
        data.Batches(cpu, x, x[:2], batch=1)
    with pytest.raises(sesqui.InvalidError, match="batch is 0"):
        data.Batches(cpu, x, batch=0)
    with pytest.raises(TypeError, match="complex64"):
        data.Batches(cpu, x.astype("complex64"), batch=1)
    with pytest.raises(TypeError, match="scale has 2"):
        data.Batches(cpu, x, batch=1, scale=[1, 2])
    with pytest.raises(TypeError, match="0 arrays"):
        data.Batches(cpu, batch=1)


def test_mean(device):
    mean = data.Mean(device)
    assert np.isnan(mean.read()[0])
    mean.add(device.tensor([2.0]), 3)
    mean.add(device.tensor([6.0]))
    assert mean.read() == (3.0, 4.0) and mean.poll() == (3.0, 4.0)
    mean.reset()
    mean.add_accuracy(device.tensor([[1.0, 2.0], [4.0, 3.0]]), device.tensor([1, 1]))
    assert mean.read() == (0.5, 2.0)


def run(name, *arguments):
    env = dict(os.environ, PYTHONPATH=os.path.join(HERE, ".."))
    return subprocess.run([sys.executable, os.path.join(EXAMPLES, name), *arguments], env=env,
                          capture_output=True, text=True, timeout=100)


def test_digits():
    said = run("digits.py", DIGITS, "cpu")
    assert said.returncode == 0, said.stderr + said.stdout
    accuracy = float(said.stdout.split("accuracy ")[1].split()[0])
    assert accuracy >= 92


def test_torch_amp_loop():
    said = run("torch_amp_loop.py", "cpu")
    assert said.returncode == 0, said.stderr
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in said.stdout.splitlines()]
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.skipif(not os.path.isdir(FASHION), reason="dataset-fashion-mnist is not installed")
def test_fastai_simple_cnn():
    said = run("fastai_simple_cnn.py", FASHION, "cpu")
    assert said.returncode == 0, said.stderr
    assert float(said.stdout.split("accuracy ")[1]) > 0.9


@pytest.mark.skipif(not os.path.isdir(FASHION), reason="dataset-fashion-mnist is not installed")
def test_keras_guide(cpu):
    """One step of the guide's model on few rows: whole, it takes minutes on a processor."""
    sys.path.insert(0, EXAMPLES)
    try:
        import keras_guide
    finally:
        sys.path.remove(EXAMPLES)
    import sesqui.functional as F

    x, y = keras_guide.read(FASHION, "t10k")
    trainer = sesqui.Trainer(cpu, policy="mixed_float16", optimizer="rmsprop", scaler="keras3",
                             lr=1e-3, alpha=0.9, eps=1e-7)
    losses = []
    for _ in range(3):
        t = trainer.begin()
        trainer.step(F.cross_entropy(keras_guide.model(t, x[:64]), target=y[:64]))
        losses.append(trainer.loss())
    assert np.isfinite(losses).all() and trainer.params["dense_2.weight"].shape == (4096, 4096)


def test_tool():
    from sesqui import tool

    assert "cpu" in tool.tool("devices")
    said = subprocess.run([sys.executable, "-m", "sesqui", "--version"], capture_output=True,
                          text=True, env=dict(os.environ, PYTHONPATH=os.path.join(HERE, "..")))
    assert said.returncode == 0 and "0.1" in said.stdout


def test_npz(tmp_path):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    y = np.array([1, -2], "int64")
    for save in np.savez, np.savez_compressed:
        save(tmp_path / "two.npz", x=x, y=y)
        assert (data.read(tmp_path / "two.npz", name="x") == x).all()
        assert (data.read(tmp_path / "two.npz", name="y") == y).all()
    with pytest.raises(ValueError, match="x, y"):
        data.read(tmp_path / "two.npz")
    with pytest.raises(sesqui.Error, match='"z"'):
        data.read(tmp_path / "two.npz", name="z")


def write_png(path, pixels):
    """An array of [height, width, 3] bytes."""
    height, width, _ = pixels.shape

    def chunk(name, content):
        crc = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", crc)

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def test_images(tmp_path):
    rng = np.random.default_rng(3)
    pictures = rng.integers(0, 256, (3, 5, 4, 3), dtype="uint8")
    for i, name in enumerate(("cat", "cat", "dög")):
        (tmp_path / name).mkdir(exist_ok=True)
        write_png(tmp_path / name / f"{i}.png", pictures[i])
    try:
        x, y, names = data.images(tmp_path)
    except sesqui.Error as e:
        if "libpng" not in str(e):
            raise
        pytest.skip("there is no libpng16")
    assert x.dtype == "uint8" and (x == pictures.transpose(0, 3, 1, 2)).all()
    assert y.tolist() == [0, 0, 1] and names == ["cat", "dög"]
    assert data.images(tmp_path, height=10, width=8, channels=1)[0].shape == (3, 1, 10, 8)
    assert (data.images(tmp_path / "cat", classes=False) == x[:2]).all()
    with pytest.raises(ValueError, match="channels is 2"):
        data.images(tmp_path, channels=2)

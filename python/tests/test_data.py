# SPDX-License-Identifier: Apache-2.0
"""Readers, batches, and the examples."""

import gzip
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

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
        got = data.read_idx(tmp_path / name)
        assert got.dtype == array.dtype and (got == array).all()


@pytest.mark.parametrize("bad", [b"", b"\0\0\x08", b"\x01\0\x08\x01\0\0\0\0", b"\0\0\x07\x01\0\0\0\0",
                                 b"\0\0\x08\x02\0\0\0\x02", b"\0\0\x08\x01\0\0\0\x05abc",
                                 b"\0\0\x08\x01\0\0\0\x01ab",
                                 b"\0\0\x08\x03" + b"\xff" * 12])
def test_idx_refused(tmp_path, bad):
    (tmp_path / "x").write_bytes(bad)
    with pytest.raises(ValueError, match="x: "):
        data.read_idx(tmp_path / "x")


def test_csv():
    table = data.read_csv(DIGITS)
    assert table.shape == (1797, 65) and table.max() == 16


def test_batches():
    x, y = np.arange(10), np.arange(10) * 2
    walk = list(data.batches(x, y, batch=4))
    assert [len(a) for a, _ in walk] == [4, 4, 2] and (walk[0][1] == [0, 2, 4, 6]).all()
    first = np.concatenate([a for a, _ in data.batches(x, y, batch=4, seed=1)])
    again = np.concatenate([a for a, _ in data.batches(x, y, batch=3, seed=1)])
    other = np.concatenate([a for a, _ in data.batches(x, y, batch=4, seed=1, epoch=1)])
    assert (first == again).all() and not (first == other).all()
    assert sorted(first) == sorted(other) == list(range(10))
    assert all((b == 2 * a).all() for a, b in data.batches(x, y, batch=4, seed=7))
    assert len(list(data.batches(x, batch=4, drop_last=True))) == 2
    with pytest.raises(ValueError, match="9 rows, expected 10"):
        list(data.batches(x, y[:9], batch=2))
    with pytest.raises(ValueError, match="batch is 0"):
        list(data.batches(x, batch=0))


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
    import sesqui
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

# SPDX-License-Identifier: Apache-2.0
"""Data sets in files, and batches of them."""

import gzip
import os
import struct

_IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def _read(path):
    path = os.fspath(path)
    if not os.path.exists(path) and os.path.exists(path + ".gz"):
        path += ".gz"
    with open(path, "rb") as file:
        data = file.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def read_idx(path):
    """Read a file of the IDX format (MNIST, Fashion-MNIST, EMNIST), gzip or plain, as an array.
    If the file does not exist, PATH.gz is read."""
    import numpy

    data = _read(path)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _IDX_TYPES:
        raise ValueError(f"{path}: it is not an IDX file")
    rank = data[3]
    if len(data) < 4 + 4 * rank:
        raise ValueError(f"{path}: it ends in its header")
    shape = struct.unpack(f">{rank}I", data[4: 4 + 4 * rank])
    dtype = numpy.dtype(_IDX_TYPES[data[2]])
    want = int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize
    if len(data) - 4 - 4 * rank != want:
        raise ValueError(f"{path}: its header promises {want} bytes, it has"
                         f" {len(data) - 4 - 4 * rank}")
    array = numpy.frombuffer(data, dtype, offset=4 + 4 * rank).reshape(shape)
    return array.astype(dtype.newbyteorder("="))


def read_csv(path, dtype="float32"):
    """Read a CSV file of numbers, gzip or plain, as an array of rank 2."""
    import numpy

    return numpy.loadtxt(_read(path).decode().splitlines(), dtype, delimiter=",", ndmin=2)


def batches(*arrays, batch, seed=None, epoch=0, drop_last=False):
    """Yield batches of rows of arrays that belong together.

        for x, y in data.batches(images, labels, batch=64, seed=1, epoch=epoch): ...

    With a seed rows are in an order that depends on the seed and the epoch alone. The last
    batch may be smaller.
    """
    import numpy

    n = len(arrays[0])
    for array in arrays:
        if len(array) != n:
            raise ValueError(f"batches: {len(array)} rows, expected {n} as in the first array")
    if batch < 1:
        raise ValueError(f"batches: batch is {batch}, expected at least 1")
    order = None if seed is None else numpy.random.default_rng([seed, epoch]).permutation(n)
    for at in range(0, n - batch + 1 if drop_last else n, batch):
        rows = slice(at, at + batch) if order is None else order[at: at + batch]
        part = tuple(array[rows] for array in arrays)
        yield part if len(part) > 1 else part[0]

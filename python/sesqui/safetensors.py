# SPDX-License-Identifier: Apache-2.0
"""Single tensors in safetensors files."""

import ctypes
import os

from ._core import Tensor
from ._library import call, initial, text_of
from ._tape import queue_of


_LONG = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "I32": "int32", "U8": "uint8"}


class File:
    """An open file. It behaves as a dict of names to (shape, dtype). A dtype that tensors do
    not have is named as in the file, for example "F8_E4M3".

        file = sesqui.safetensors.File("model.safetensors")
        w = file.read("fc1.weight", device)
    """

    def __init__(self, path):
        self._handle = ctypes.c_void_p()
        call("ssq_safetensors_open", os.fsencode(path), ctypes.byref(self._handle))

    def __len__(self):
        return call("ssq_safetensors_count", self._handle)

    def _info(self, i):
        info = initial("ssq_safetensors_info")
        call("ssq_safetensors_get", self._handle, i, ctypes.byref(info))
        return info

    def keys(self):
        return [text_of(self._info(i).name) for i in range(len(self))]

    def __iter__(self):
        return iter(self.keys())

    def __getitem__(self, name):
        info = initial("ssq_safetensors_info")
        call("ssq_safetensors_find", self._handle, name.encode(), ctypes.byref(info))
        dtype = text_of(info.dtype)
        return tuple(info.shape[: info.rank]), _LONG.get(dtype, dtype)

    def metadata(self, key):
        value = call("ssq_safetensors_metadata", self._handle, key.encode())
        return None if value is None else text_of(value)

    def read(self, name, where, dtype=None):
        """Read a tensor to a device, in its own dtype unless another one is given."""
        queue = queue_of(where)
        shape, own = self[name]
        made = Tensor.empty(queue.device, shape, dtype or own)
        call("ssq_safetensors_read", queue._handle, self._handle, name.encode(), None,
             made._handle)
        return made

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_handle", None):
            call("ssq_safetensors_close", byref(self._handle))


def write(path, tensors, queue=None):
    """Write a dict of names to tensors as one file."""
    names = (ctypes.c_char_p * max(len(tensors), 1))(*[n.encode() for n in tensors])
    handles = (ctypes.c_void_p * max(len(tensors), 1))(
        *[t._handle.value for t in tensors.values()])
    if queue is None:
        queue = next(iter(tensors.values())).device.queue
    call("ssq_safetensors_write", queue._handle, os.fsencode(path), len(tensors), names, handles)

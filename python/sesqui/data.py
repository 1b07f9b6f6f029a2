# SPDX-License-Identifier: Apache-2.0
"""Data sets in files, batches of their rows on a device, and running means.

    images, labels = data.read("train-images.gz"), data.read("train-labels.gz")
    batches = data.Batches(device, images, labels, batch=64, shuffle=True)
    for epoch in range(5):
        for x, y in batches:        # tensors on the device
            ...
"""

import ctypes
import os

from . import _library
from ._arguments import Arguments
from ._core import HOST_NAMES, Tensor, numpy_module
from ._errors import NotFoundError
from ._library import call, constant, initial
from ._tape import Var, queue_of


def _numpy_of(array):
    """The elements of an ssq_array, copied."""
    numpy = numpy_module()
    info = initial("ssq_array_info")
    call("ssq_array_info_get", array, ctypes.byref(info))
    name = next(n for n, c in HOST_NAMES.items() if constant(c) == info.dtype)
    made = numpy.empty(tuple(info.shape[: info.rank]), name)
    ctypes.memmove(made.ctypes.data, info.data, info.bytes)
    return made


def read(path, **options):
    """Read a file of IDX (MNIST), NPY, NPZ or CSV, plain or compressed by gzip, as an array.

    The contents decide about the format. If the file does not exist, PATH.gz is read. For NPZ
    name="x_train" says which array. For CSV the options are separator=";", skip_rows=1 and
    dtype="i32".
    """
    for text in ("separator", "name"):
        if isinstance(options.get(text), str):
            options[text] = options[text].encode()
    args, array = Arguments("ssq_array_read_args", options, "read"), ctypes.c_void_p()
    call("ssq_array_read", os.fsencode(path), ctypes.byref(args.struct), ctypes.byref(array))
    try:
        return _numpy_of(array)
    finally:
        call("ssq_array_destroy", ctypes.byref(array))


def images(folder, classes=True, **options):
    """Read a folder of PNG and JPEG files: an array of uint8 [n, channels, height, width].

    Each folder in it is a class. Returns (images, labels, names): labels are the classes of the
    images, as int32, and names those of the classes. classes=False: the images are in the folder
    itself, and only they are returned. With height=224, width=224 all are resized;
    channels=1 makes them grey.
    """
    args = Arguments("ssq_images_read_args", options, "images")
    pixels, labels = ctypes.c_void_p(), ctypes.c_void_p()
    call("ssq_images_read", os.fsencode(folder), ctypes.byref(args.struct), ctypes.byref(pixels),
         ctypes.byref(labels) if classes else None)
    try:
        if not classes:
            return _numpy_of(pixels)
        names = []
        while (name := call("ssq_array_class", labels, len(names))) is not None:
            names.append(os.fsdecode(name))
        return _numpy_of(pixels), _numpy_of(labels), names
    finally:
        call("ssq_array_destroy", ctypes.byref(pixels))
        call("ssq_array_destroy", ctypes.byref(labels))


def _array_of(x):
    """An ssq_array with a copy of a NumPy array."""
    numpy = numpy_module()
    x = numpy.ascontiguousarray(x)
    if x.dtype.name not in HOST_NAMES:
        raise TypeError(f"Batches: an array has dtype {x.dtype}, expected one of"
                        f" {', '.join(HOST_NAMES)}")
    array = ctypes.c_void_p()
    call("ssq_array_create", constant(HOST_NAMES[x.dtype.name]), x.ndim,
         (ctypes.c_int64 * max(x.ndim, 1))(*x.shape), x.ctypes.data, ctypes.byref(array))
    return array


class Batches:
    """Rows of arrays that belong together, as tensors on a device. A thread prepares them.

    Each `for` loop is one epoch. With shuffle=True each epoch has its own order, which depends
    on `seed` and the epoch alone. Other options are the fields of ssq_batches_args: batch,
    drop_last, prefetch, and a list with an entry for each array of dtypes, scale and shift.
    For example, scale=[1 / 255, 0] divides images and leaves labels as they are.

    The tensors are the same objects in each step, and are valid for work that is enqueued
    before the next one.
    """

    def __init__(self, where, *arrays, batch, dtypes=(), scale=(), shift=(), **options):
        self.queue = queue_of(where)
        self._handle, self._n = ctypes.c_void_p(), len(arrays)
        most = constant("SSQ_BATCH_ARRAYS")
        if not 1 <= self._n <= most:
            raise TypeError(f"Batches: {self._n} arrays, expected 1 to {most}")
        args = Arguments("ssq_batches_args", {"batch": batch, **options}, "Batches").struct
        for name, values in (("dtypes", dtypes), ("scale", scale), ("shift", shift)):
            if len(values) > self._n:
                raise TypeError(f"Batches: {name} has {len(values)} entries, expected at most"
                                f" {self._n}")
            for i, value in enumerate(values):
                number = _library.enum_value("ssq_dtype", value) if name == "dtypes" else value
                getattr(args, name)[i] = number
        made = [_array_of(x) for x in arrays]
        try:
            args.n = self._n
            args.arrays[: self._n] = [a.value for a in made]
            call("ssq_batches_create", self.queue._handle, ctypes.byref(args),
                 ctypes.byref(self._handle))
        finally:
            for array in made:
                call("ssq_array_destroy", ctypes.byref(array))
        self._known = {}  # handles of the batches' tensors: the tensors

    def __len__(self):
        return call("ssq_batches_count", self._handle)

    def _tensor(self, handle):
        if handle not in self._known:
            self._known[handle] = Tensor(self.queue.device, handle, owner=self)
        return self._known[handle]

    def __iter__(self):
        handles = (ctypes.c_void_p * self._n)()
        while True:
            try:
                call("ssq_batches_next", self._handle, handles)
            except NotFoundError:  # the epoch has ended
                return
            made = tuple(self._tensor(h) for h in handles)
            yield made if self._n > 1 else made[0]

    @property
    def position(self):
        """(epoch, row) of the next batch. Keep it with a checkpoint, and set it after a load."""
        p = initial("ssq_batches_position")
        call("ssq_batches_position_get", self._handle, ctypes.byref(p))
        return p.epoch, p.row

    @position.setter
    def position(self, value):
        p = initial("ssq_batches_position")
        p.epoch, p.row = value
        call("ssq_batches_position_set", self._handle, ctypes.byref(p))

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_handle", None):
            call("ssq_batches_destroy", byref(self._handle))


class Mean:
    """A weighted mean on the device: of losses, or of accuracies.

        mean.add(loss, rows)
        mean.add_accuracy(logits, labels, k=5)
        mean.poll()         # what has arrived, without waiting
        mean.read()         # waits
    """

    def __init__(self, where):
        self.queue = queue_of(where)
        self._handle = ctypes.c_void_p()
        call("ssq_metric_create", self.queue.device._handle, ctypes.byref(self._handle))

    def add(self, value, weight=1):
        """Add a tensor or value of one element."""
        value = value.tensor() if isinstance(value, Var) else value
        call("ssq_metric_add", self.queue._handle, self._handle, value._handle, weight)

    def add_accuracy(self, logits, target, k=1):
        """Add the top-k accuracy of the rows of logits, weighted by their number."""
        logits = logits.tensor() if isinstance(logits, Var) else logits
        call("ssq_metric_add_accuracy", self.queue._handle, self._handle, logits._handle,
             target._handle, k)

    def reset(self):
        call("ssq_metric_reset", self.queue._handle, self._handle)

    def _get(self, function, *first):
        mean, weight = ctypes.c_double(), ctypes.c_double()
        call(function, *first, self._handle, ctypes.byref(mean), ctypes.byref(weight))
        return mean.value, weight.value

    def poll(self):
        """Return (mean, weight) as far as they have arrived; NaN and 0 at first."""
        return self._get("ssq_metric_poll")

    def read(self):
        """Return (mean, weight). This waits for the queue."""
        return self._get("ssq_metric_read", self.queue._handle)

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_handle", None):
            call("ssq_metric_destroy", byref(self._handle))


__all__ = ["Batches", "Mean", "images", "read"]

# SPDX-License-Identifier: Apache-2.0
"""Devices, queues, events and tensors."""

import collections
import ctypes
import operator
import threading

from . import _library
from ._dlpack import export_capsule, import_capsule
from ._errors import InvalidError, NotReadyError
from ._library import as_dict, call, constant, enum_value, initial, text_of

# Host dtypes by the names that NumPy and array.typecode have for them.
HOST_NAMES = {
    "float32": "SSQ_F32", "float16": "SSQ_F16", "bfloat16": "SSQ_BF16", "int32": "SSQ_I32",
    "uint8": "SSQ_U8", "bool": "SSQ_BOOL", "int8": "SSQ_I8", "int64": "SSQ_I64",
    "uint32": "SSQ_U32", "float64": "SSQ_F64", "int16": "SSQ_I16", "uint16": "SSQ_U16",
}
# What a tensor of each host dtype is stored as, unless the caller names a dtype.
_STORED = {"float64": "float32", "int64": "int32", "uint32": "int32", "int16": "int32",
           "uint16": "int32", "int8": "int32", "bool": "uint8"}
_LONG = {constant("SSQ_F32"): "float32", constant("SSQ_F16"): "float16",
         constant("SSQ_BF16"): "bfloat16", constant("SSQ_I32"): "int32",
         constant("SSQ_U8"): "uint8"}
_C_TYPES = {"float32": ctypes.c_float, "int32": ctypes.c_int32, "uint8": ctypes.c_uint8}


def dtype_number(dtype):
    """Return the number of a dtype: "f16", "float16", numpy.float16 or a number."""
    if isinstance(dtype, int):
        return dtype
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if name is None:
        name = getattr(dtype, "__name__", str(dtype))
    if name in HOST_NAMES:
        return constant(HOST_NAMES[name])
    number = ctypes.c_int()
    call("ssq_dtype_from_name", name.encode(), ctypes.byref(number))
    return number.value


def dtype_name(number):
    """Return the long name of a dtype, for example "bfloat16"."""
    return _LONG.get(number, text_of(call("ssq_dtype_name", number)))


def _shape_array(shape):
    return (ctypes.c_int64 * max(len(shape), 1))(*shape)


def numpy_module():
    try:
        import numpy
    except ImportError:
        raise ImportError("sesqui: this needs NumPy; tolist() and from_list() do not") from None
    return numpy


def _bfloat16():
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes.bfloat16


def set_field(struct, name, kind, value, what):
    """Set a field of a struct. A value that the field cannot hold is refused."""
    if kind in ("_Bool", "bool") and value not in (True, False):
        raise InvalidError(f"{what}: {name} is {value!r}, expected True or False")
    try:
        setattr(struct, name, value)
    except TypeError:
        raise InvalidError(f"{what}: {name} is {value!r}, expected {kind}") from None
    if isinstance(value, int) and not isinstance(value, bool) and getattr(struct, name) != value:
        raise InvalidError(f"{what}: {name} is {value}, which {kind} cannot hold")


def set_options(options, values, what):
    """Set fields of a struct by name."""
    types = {f["name"]: f for f in _library.api["structs"][type(options).__name__]["fields"]}
    for name, value in values.items():
        if name not in types or name == "struct_size":
            known = ", ".join(n for n in types if n != "struct_size")
            raise InvalidError(f"{what}: there is no option {name}, expected one of {known}")
        kind = types[name]["type"]
        if kind in _library.api["enums"]:
            value = enum_value(kind, value)
        elif kind == "const char *" and isinstance(value, str):
            value = value.encode()
        set_field(options, name, kind, value, what)
    return options


class Device:
    """A device, opened by name: "auto", "cpu", "cuda:0", "vulkan:0", "opencl:0".

    Keyword arguments are the fields of ssq_device_options, for example memory_limit=2**30.
    """

    def __init__(self, name="auto", **options):
        self._handle = ctypes.c_void_p()
        self._queue = None
        set_options(o := initial("ssq_device_options"), options, "Device")
        call("ssq_device_open", name.encode(), ctypes.byref(o), ctypes.byref(self._handle))
        self._describe()

    def _describe(self):
        self.props = as_dict(self._fill("ssq_device_props", "ssq_device_props_get"))
        self.name = self.props["name"]
        self.backend = self.props["backend"]

    @staticmethod
    def list():
        """Return a dict for each device of this machine: name, backend, available, reason."""
        found = []
        for i in range(call("ssq_device_count")):
            entry = initial("ssq_device_entry")
            call("ssq_device_list", i, ctypes.byref(entry))
            found.append(as_dict(entry))
        return found

    def _fill(self, struct, get):
        filled = initial(struct)
        call(get, self._handle, ctypes.byref(filled))
        return filled

    @property
    def queue(self):
        """The queue that calls use if no other one is given. It is made at its first use."""
        if self._queue is None:
            self._queue = Queue(self)
        return self._queue

    def memory(self):
        """Return a dict: bytes in_use, reserved and peak, and the number of buffers."""
        return as_dict(self._fill("ssq_memory_info", "ssq_device_memory"))

    def verdict(self):
        """Return what `sesqui certify` found: a dict of passed and text."""
        return as_dict(self._fill("ssq_verdict", "ssq_device_verdict_get"))

    def trim(self):
        """Return unused memory to the driver."""
        call("ssq_device_trim", self._handle)

    def empty(self, shape, dtype="float32"):
        """Create a tensor that is not initialized."""
        return Tensor.empty(self, shape, dtype)

    def tensor(self, data, dtype=None, queue=None):
        """Create a tensor from an array, a list or a number."""
        return Tensor.from_data(self, data, dtype, queue)

    def __repr__(self):
        return f"sesqui.Device({self.name!r}: {self.props['description']})"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Release the device. Its tensors and queues stay usable."""
        if self._handle:
            self.queue  # tensors go on to use it
            call("ssq_device_close", ctypes.byref(self._handle))

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_handle", None):
            call("ssq_device_close", byref(self._handle))


class Queue:
    """A queue of a device. Work on it runs in order, and may run after the call."""

    def __init__(self, device):
        self._begin(device, None)
        call("ssq_queue_create", device._handle, None, ctypes.byref(self._handle))

    def _begin(self, device, handle):
        self.device = device
        self._lock = threading.Lock()  # of _keep
        self._keep = collections.deque()  # (event, memory that work before it reads)
        self._handle = ctypes.c_void_p(handle)

    def sync(self):
        """Wait until all work has run."""
        done = len(self._keep)
        call("ssq_queue_sync", self._handle)
        with self._lock:
            for _ in range(min(done, len(self._keep))):
                self._keep.popleft()

    @property
    def stream(self):
        """The address of the CUstream, on a CUDA device: torch.cuda.ExternalStream takes it."""
        stream = ctypes.c_void_p()
        call("ssq_cuda_queue_stream", self._handle, ctypes.byref(stream))
        return stream.value

    def _hold(self, memory):
        """Keep host memory until the work so far has run."""
        with self._lock:
            while self._keep and self._keep[0][0].reached():
                self._keep.popleft()
            self._keep.append((Event(self), memory))

    def idle(self):
        """Return whether all work has run, without waiting."""
        try:
            call("ssq_queue_status", self._handle)
        except NotReadyError:
            return False
        return True

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_handle", None):
            call("ssq_queue_destroy", byref(self._handle))


class Event:
    """A point in the work of a queue."""

    def __init__(self, queue=None):
        self._handle = ctypes.c_void_p()
        self._device = None
        if queue is not None:
            self.record(queue)

    def record(self, queue):
        if self._device is None:
            self._device = queue.device
            call("ssq_event_create", queue.device._handle, ctypes.byref(self._handle))
        call("ssq_event_record", self._handle, queue._handle)

    def wait(self, queue):
        """Make later work on the queue wait for this event."""
        call("ssq_queue_wait", queue._handle, self._handle)

    def sync(self):
        """Wait until the event has been reached."""
        call("ssq_event_sync", self._handle)

    def reached(self):
        """Return whether the event has been reached, without waiting."""
        try:
            call("ssq_event_query", self._handle)
        except NotReadyError:
            return False
        return True

    def elapsed(self, later):
        """Return the seconds from this event to a later one."""
        seconds = ctypes.c_double()
        call("ssq_event_elapsed", self._handle, later._handle, ctypes.byref(seconds))
        return seconds.value

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_handle", None):
            call("ssq_event_destroy", byref(self._handle))


class Tensor:
    """Elements of one dtype in the memory of a device.

    Tensors come from Device.tensor(), Device.empty() and from_dlpack(). Views, such as
    x[0], x.reshape(2, 3) and x.T, share memory.
    """

    def __init__(self, device, handle, owner=None):
        # owner: what owns the handle, if this object does not
        self.device = device
        self._handle = handle if isinstance(handle, ctypes.c_void_p) else ctypes.c_void_p(handle)
        self._owner = owner
        desc = initial("ssq_tensor_desc")
        call("ssq_tensor_desc_get", self._handle, ctypes.byref(desc))
        self.dtype = dtype_name(desc.dtype)
        self._dtype = desc.dtype
        self.shape = tuple(desc.shape[: desc.rank])
        self.strides = tuple(desc.strides[: desc.rank])  # elements
        self.offset = desc.offset  # bytes
        self.size = desc.elements
        self.contiguous = desc.contiguous

    @classmethod
    def empty(cls, device, shape, dtype="float32"):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        handle = ctypes.c_void_p()
        call("ssq_tensor_create", device._handle, dtype_number(dtype), len(shape),
             _shape_array(shape), ctypes.byref(handle))
        return cls(device, handle)

    @classmethod
    def from_data(cls, device, data, dtype=None, queue=None):
        if isinstance(data, Tensor):
            raise InvalidError("tensor: the data is a Tensor already")
        if not hasattr(data, "dtype") and not hasattr(data, "__array__"):
            return cls._from_list(device, data, dtype, queue)
        array = numpy_module().asarray(data)
        if array.dtype.name not in HOST_NAMES:
            raise InvalidError(f"tensor: the array has dtype {array.dtype},"
                               f" expected one of {', '.join(HOST_NAMES)}")
        if dtype is None:
            dtype = _STORED.get(array.dtype.name, array.dtype.name)
        made = cls.empty(device, array.shape, dtype)
        made.write(array, queue)
        return made

    @classmethod
    def _from_list(cls, device, data, dtype, queue):
        """Lists and numbers, without NumPy: by default int32 if all are int, else float32."""
        flat, shape = [], []
        level = data
        while isinstance(level, (list, tuple)):
            shape.append(len(level))
            level = level[0] if level else 0.0

        def take(part, depth):
            if depth == len(shape):
                flat.append(part)
                return
            if not isinstance(part, (list, tuple)) or len(part) != shape[depth]:
                raise InvalidError("tensor: the rows of the list have different lengths")
            for item in part:
                take(item, depth + 1)

        take(data, 0)
        whole = bool(flat) and all(isinstance(v, int) for v in flat)
        if whole and not all(-2**31 <= v < 2**31 for v in flat):
            raise InvalidError("tensor: an int does not fit int32")
        made = cls.empty(device, tuple(shape), dtype or ("int32" if whole else "float32"))
        host = ((ctypes.c_int32 if whole else ctypes.c_float) * max(len(flat), 1))(*flat)
        queue = queue or device.queue
        call("ssq_tensor_write", queue._handle, made._handle, host,
             4 * len(flat), constant("SSQ_I32" if whole else "SSQ_F32"))
        if device.props["asynchronous"]:
            queue._hold(host)
        return made

    def write(self, array, queue=None):
        """Copy an array into the tensor, and convert its dtype. The shape must be equal.

        The array may be changed directly after the call. Integers that the tensor's dtype
        does not have are refused.
        """
        numpy = numpy_module()
        array = numpy.asarray(array)
        if array.shape != self.shape:
            raise InvalidError(f"write: the array has shape {array.shape}, expected {self.shape}")
        if array.dtype.name not in HOST_NAMES:
            raise InvalidError(f"write: the array has dtype {array.dtype},"
                               f" expected one of {', '.join(HOST_NAMES)}")
        limits = {"int32": (-2**31, 2**31 - 1), "uint8": (0, 255)}
        if self.dtype in limits and array.dtype.kind in "iu" and array.size:
            low, high = limits[self.dtype]
            if int(array.min()) < low or int(array.max()) > high:
                raise InvalidError(f"write: {self.dtype} has {low} to {high}, the array has"
                                   f" {int(array.min())} to {int(array.max())}")
        # the device may read it after this call
        later, queue = self.device.props["asynchronous"], queue or self.device.queue
        array = numpy.array(array, order="C") if later else numpy.ascontiguousarray(array)
        call("ssq_tensor_write", queue._handle, self._handle, array.ctypes.data, array.nbytes,
             constant(HOST_NAMES[array.dtype.name]))
        if later:
            queue._hold(array)

    def numpy(self, dtype=None, queue=None):
        """Return a copy as a NumPy array. This waits for the queue.

        bfloat16 becomes ml_dtypes.bfloat16 if that package is installed, otherwise
        float32, which has the same values.
        """
        numpy = numpy_module()
        if dtype is None:
            dtype = self.dtype
            if dtype == "bfloat16":
                dtype = _bfloat16() or "float32"
        array = numpy.empty(self.shape, dtype)
        queue = queue or self.device.queue
        call("ssq_tensor_read", queue._handle, self._handle, array.ctypes.data, array.nbytes,
             constant(HOST_NAMES[array.dtype.name]))
        queue.sync()
        return array

    def tolist(self, queue=None):
        """Return the values as nested lists; a number for rank 0. This waits for the queue."""
        kind = _C_TYPES.get(self.dtype, ctypes.c_float)
        host = (kind * max(self.size, 1))()
        name = {ctypes.c_float: "SSQ_F32", ctypes.c_int32: "SSQ_I32", ctypes.c_uint8: "SSQ_U8"}
        queue = queue or self.device.queue
        call("ssq_tensor_read", queue._handle, self._handle, host,
             self.size * ctypes.sizeof(kind), constant(name[kind]))
        queue.sync()
        flat = list(host)[: self.size]
        if not self.shape:
            return flat[0]
        if 0 in self.shape[1:]:
            return _nested(self.shape)
        for n in reversed(self.shape[1:]):
            flat = [flat[i: i + n] for i in range(0, len(flat), n)]
        return flat

    def item(self, queue=None):
        """Return the value of a tensor of one element. This waits for the queue."""
        if self.size != 1:
            raise InvalidError(f"item: the tensor has {self.size} elements, expected 1")
        value = self.tolist(queue)
        while isinstance(value, list):
            value = value[0]
        return value

    def __float__(self):
        return float(self.item())

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("sesqui: __array__ copies; numpy.from_dlpack shares memory")
        return self.numpy(dtype)

    # ---- views ----

    def _view(self, function, *args):
        handle = ctypes.c_void_p()
        call(function, self._handle, *args, ctypes.byref(handle))
        return Tensor(self.device, handle)

    def reshape(self, *shape):
        """Return a view with another shape. One size may be -1."""
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        shape = whole_shape(shape, self.size)
        return self._view("ssq_tensor_reshape", len(shape), _shape_array(shape))

    def transpose(self, *axes):
        """Return a view with the axes in another order; without axes in reverse order."""
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        axes = axes or tuple(reversed(range(len(self.shape))))
        if len(axes) != len(self.shape):
            raise InvalidError(f"transpose: {len(axes)} axes, expected {len(self.shape)}")
        return self._view("ssq_tensor_transpose", (ctypes.c_int * max(len(axes), 1))(*axes))

    @property
    def T(self):
        return self.transpose()

    def broadcast_to(self, shape):
        """Return a view that repeats dimensions of size 1."""
        return self._view("ssq_tensor_broadcast", len(shape), _shape_array(shape))

    def __getitem__(self, index):
        view = self
        for axis, start, stop, step, drop in slices_of(index, self.shape):
            view = view._view("ssq_tensor_slice", axis, start, stop, step)
            if drop:
                view = view.reshape(view.shape[:axis] + view.shape[axis + 1:])
        return view

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    # ---- DLPack ----

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return export_capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        kinds = {"cpu": 1, "reference": 1, "cuda": 2, "opencl": 4, "vulkan": 7}
        if self.device.backend not in kinds:
            raise BufferError(f"{self.device.name}: no other library can use its memory")
        _, _, index = self.device.name.partition(":")
        return kinds[self.device.backend], int(index or 0)

    def __repr__(self):
        shape = ", ".join(map(str, self.shape))
        return f"sesqui.Tensor([{shape}], {self.dtype}, {self.device.name})"

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_owner", self) is None and self._handle:
            call("ssq_tensor_destroy", byref(self._handle))


def _nested(shape):
    return [] if len(shape) == 1 else [_nested(shape[1:]) for _ in range(shape[0])]


def whole_shape(shape, size):
    """Replace -1 in a shape by what the number of elements requires."""
    shape = list(shape)
    if shape.count(-1) > 1:
        raise InvalidError(f"reshape: {tuple(shape)} has -1 more than once")
    if -1 in shape:
        at, known = shape.index(-1), 1
        for n in shape[:at] + shape[at + 1:]:
            known *= n
        if known == 0 or size % known != 0:
            raise InvalidError(f"reshape: {size} elements have no shape {tuple(shape)}")
        shape[at] = size // known
    return tuple(shape)


def slices_of(index, shape):
    """Yield (axis, start, stop, step, drop) for an index such as x[0, 2:5, ..., ::2]."""
    index = index if isinstance(index, tuple) else (index,)
    if Ellipsis in index:
        at = index.index(Ellipsis)
        fill = (slice(None),) * (len(shape) - len(index) + 1)
        index = index[:at] + fill + index[at + 1:]
    if len(index) > len(shape):
        raise IndexError(f"{len(index)} indices, the rank is {len(shape)}")
    axis = 0
    for part, size in zip(index, shape):
        if isinstance(part, slice):
            if part != slice(None):
                start, stop, step = part.indices(size)
                if step < 1:
                    raise InvalidError(f"slice: the step is {step}, expected at least 1")
                yield axis, start, max(stop, start), step, False
            axis += 1
        elif not isinstance(part, bool) and hasattr(part, "__index__"):
            part = operator.index(part)
            at = part + size if part < 0 else part
            if not 0 <= at < size:
                raise IndexError(f"index {part} of {size} elements")
            yield axis, at, at + 1, 1, True
        else:
            raise TypeError(f"an index is an int, a slice or ..., not {type(part).__name__}")


def from_dlpack(x, device=None, queue=None, copy=None):
    """Return a tensor on the memory of another library's array, which is not copied.

    `device` must be able to use that memory: "cpu" for arrays of NumPy, of JAX and PyTorch
    on the CPU. On CUDA, later work of the queue waits for the other library's work.

    copy=True makes a copy. copy=None makes one, and warns with sesqui.CopyWarning, if the
    memory is read-only or not aligned to its element size. copy=False raises BufferError then.
    """
    return import_capsule(x, device, queue, copy, Tensor, Device)

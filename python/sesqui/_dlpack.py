# SPDX-License-Identifier: Apache-2.0
"""DLPack: tensors to and from other libraries, without a copy."""

import ctypes
import warnings

from . import _library
from ._errors import CopyWarning, InvalidError, UnsupportedError
from ._library import call, constant, initial

_VERSIONED = b"dltensor_versioned"
_UNVERSIONED = b"dltensor"
_USED = {_VERSIONED: b"used_dltensor_versioned", _UNVERSIONED: b"used_dltensor"}
_IMPORTS = {_VERSIONED: "ssq_tensor_from_dlpack",
            _UNVERSIONED: "ssq_tensor_from_dlpack_unversioned"}
_READ_ONLY, _IS_COPIED = 1, 2  # flags
_CPU, _CUDA, _CUDA_MANAGED = 1, 2, 13  # kinds of devices

_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_python.PyCapsule_IsValid.restype = ctypes.c_int
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.restype = ctypes.c_int
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

# It is in C: it may be called with an exception set, or while the interpreter ends.
_destructor = ctypes.cast(_library.lib.ssq_dlpack_capsule_release, ctypes.c_void_p)


def _check_stream(tensor, stream):
    """Refuse a stream that the array API does not have for the device."""
    if stream is None or stream == -1:
        return
    cuda = tensor.device.backend == "cuda"
    if not cuda or not isinstance(stream, int) or stream <= 0:
        expected = "None, -1, 1, 2 or the address of a stream" if cuda else "None"
        raise BufferError(f"sesqui: stream is {stream!r}, expected {expected} on"
                          f" {tensor.device.name}")


def export_capsule(tensor, stream, max_version, dl_device, copy):
    """What Tensor.__dlpack__ returns."""
    if dl_device is not None and tuple(dl_device) != tensor.__dlpack_device__():
        raise BufferError(f"sesqui: a tensor of {tensor.device.name} cannot be exported for the"
                          f" DLPack device {tuple(dl_device)}: copy it first")
    _check_stream(tensor, stream)
    versioned = max_version is not None and max_version[0] >= 1
    args = initial("ssq_to_dlpack_args")
    args.copy = bool(copy)
    queue = tensor.device.queue
    if stream != -1:
        args.producer = queue._handle
    pointer = ctypes.c_void_p()
    try:
        call("ssq_tensor_to_dlpack" if versioned else "ssq_tensor_to_dlpack_unversioned",
             tensor._handle, ctypes.byref(args), ctypes.byref(pointer))
    except (InvalidError, UnsupportedError) as error:
        raise BufferError(f"sesqui: {error}") from None
    if stream != -1:
        queue.sync()  # the work has run, so that every stream may use the tensor
    return _python.PyCapsule_New(pointer, _VERSIONED if versioned else _UNVERSIONED, _destructor)


def _capsule_of(x, queue, copy):
    """The capsule of an array, whose memory is ready for the queue."""
    if not hasattr(x, "__dlpack__"):
        return x  # a capsule, or PyCapsule_IsValid says that it is none
    order, request = {}, {"max_version": (1, 1)}
    if queue.device.backend == "cuda" and x.__dlpack_device__()[0] in (_CUDA, _CUDA_MANAGED):
        order["stream"] = queue.stream
    if copy is False:
        request["copy"] = False
    try:
        return x.__dlpack__(**order, **request)
    except TypeError:  # a producer from before DLPack 1.0
        return x.__dlpack__(**order)


def _struct_of(capsule):
    """The name of a capsule, the address of its struct, and the flags; None if it has none."""
    for name in _IMPORTS:
        if isinstance(capsule, type(_probe)) and _python.PyCapsule_IsValid(capsule, name):
            pointer = _python.PyCapsule_GetPointer(capsule, name)
            flags = 0
            if name == _VERSIONED:
                struct = _library.struct("DLManagedTensorVersioned").from_address(pointer)
                flags = struct.flags if struct.version.major == 1 else 0
            return name, pointer, flags
    return None


def import_struct(pointer, name, queue, copy):
    """Return the handle of a tensor that owns a struct, and whether the memory was copied."""
    args = initial("ssq_from_dlpack_args")
    args.copy = constant("SSQ_DLPACK_COPY_ALWAYS" if copy else
                         "SSQ_DLPACK_COPY_NEVER" if copy is False else
                         "SSQ_DLPACK_COPY_IF_NEEDED")
    copied = ctypes.c_bool()
    args.copied = ctypes.addressof(copied)
    handle = ctypes.c_void_p()
    try:
        call(_IMPORTS[name], queue._handle, pointer, ctypes.byref(args), ctypes.byref(handle))
    except InvalidError as error:
        raise BufferError(f"sesqui: {error}") from None
    return handle, copied.value


def import_capsule(x, device, queue, copy, tensor_class, device_class):
    """What sesqui.from_dlpack returns."""
    if device is None:
        kind = x.__dlpack_device__()[0] if hasattr(x, "__dlpack_device__") else _CPU
        if kind != _CPU:
            raise BufferError(f"sesqui: the array is on the DLPack device type {int(kind)}: name"
                              " the device, for example from_dlpack(x, Device('cuda:0'))")
        device = shared_cpu(device_class)
    queue = queue or device.queue
    capsule = _capsule_of(x, queue, copy)
    found = _struct_of(capsule)
    if found is None:
        raise TypeError("sesqui: from_dlpack needs an array with __dlpack__, or a DLPack capsule"
                        f" that was not consumed, not {type(x).__name__}")
    name, pointer, flags = found
    if copy is False and flags & _IS_COPIED:
        raise BufferError("sesqui: the array was copied by its library, and copy is False")
    handle, copied = import_struct(pointer, name, queue, copy)
    _python.PyCapsule_SetName(capsule, _USED[name])
    tensor = tensor_class(device, handle)
    if copy is None and (copied or flags & _IS_COPIED):
        why = ("its library did so" if not copied else
               "it is read-only" if flags & _READ_ONLY else
               "it is not aligned to its element size")
        warnings.warn(f"sesqui: from_dlpack has copied the array, because {why}: copy=True"
                      " permits this, copy=False makes it an error", CopyWarning, stacklevel=3)
    return tensor


_probe = _python.PyCapsule_New(1, b"sesqui", None)
_cpu = []


def shared_cpu(device_class):
    """The device that arrays in host memory are imported to by default."""
    if not _cpu:
        _cpu.append(device_class("cpu"))
    return _cpu[0]

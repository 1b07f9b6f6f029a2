# SPDX-License-Identifier: Apache-2.0
"""DLPack: tensors to and from other libraries, without a copy."""

import ctypes

from . import _library
from ._library import call, constant, initial

_VERSIONED = b"dltensor_versioned"
_UNVERSIONED = b"dltensor"
_USED = {_VERSIONED: b"used_dltensor_versioned", _UNVERSIONED: b"used_dltensor"}
_READ_ONLY = 1

_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_python.PyCapsule_IsValid.restype = ctypes.c_int
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.restype = ctypes.c_int
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
# The same calls for a destructor: it gets the capsule when nothing refers to it any more.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _python))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python))

_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _delete(pointer, struct):
    """Call the deleter of a struct, which may be NULL."""
    deleter = struct.from_address(pointer).deleter
    if deleter:
        _DELETER(deleter)(pointer)


def _make_destructor():
    versioned = _library.struct("DLManagedTensorVersioned")
    unversioned = _library.struct("DLManagedTensor")

    @ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    def destructor(capsule):  # of a capsule that nobody has consumed
        for name, struct in ((_VERSIONED, versioned), (_UNVERSIONED, unversioned)):
            if _is_valid(capsule, name):
                _delete(_get_pointer(capsule, name), struct)

    return destructor


_destructor = _make_destructor()


def export_capsule(tensor, stream, max_version, dl_device, copy):
    """What Tensor.__dlpack__ returns."""
    if dl_device is not None and tuple(dl_device) != tensor.__dlpack_device__():
        raise BufferError(f"sesqui: a tensor of {tensor.device.name} cannot be exported for the"
                          f" DLPack device {tuple(dl_device)}: copy it first")
    if stream not in (None, -1) and tensor.__dlpack_device__()[0] == 1:
        raise BufferError(f"sesqui: stream is {stream}, expected None on {tensor.device.name}")
    versioned = max_version is not None and max_version[0] >= 1
    args = initial("ssq_to_dlpack_args")
    args.copy = bool(copy)
    queue = tensor.device.queue
    if stream != -1:
        args.producer = queue._handle
    pointer = ctypes.c_void_p()
    call("ssq_tensor_to_dlpack" if versioned else "ssq_tensor_to_dlpack_unversioned",
         tensor._handle, ctypes.byref(args), ctypes.byref(pointer))
    if stream != -1:
        queue.sync()
    return _python.PyCapsule_New(pointer, _VERSIONED if versioned else _UNVERSIONED,
                                 ctypes.cast(_destructor, ctypes.c_void_p))


def _capsule_of(x):
    if not hasattr(x, "__dlpack__"):
        return x  # a capsule, or PyCapsule_IsValid says that it is none
    try:
        return x.__dlpack__(max_version=(1, 1))
    except TypeError:  # a producer from before DLPack 1.0
        return x.__dlpack__()


def import_capsule(x, device, queue, copy, tensor_class, device_class):
    """What sesqui.from_dlpack returns."""
    if device is None:
        kind = x.__dlpack_device__()[0] if hasattr(x, "__dlpack_device__") else 1
        if kind != 1:
            raise BufferError(f"sesqui: the array is on the DLPack device type {int(kind)}: name"
                              " the device, for example from_dlpack(x, Device('cuda:0'))")
        device = shared_cpu(device_class)
    queue = queue or device.queue
    args = initial("ssq_from_dlpack_args")
    args.copy = constant("SSQ_DLPACK_COPY_ALWAYS" if copy else
                         "SSQ_DLPACK_COPY_NEVER" if copy is False else
                         "SSQ_DLPACK_COPY_IF_NEEDED")
    capsule = _capsule_of(x)
    handle = ctypes.c_void_p()
    for name, import_call in ((_VERSIONED, "ssq_tensor_from_dlpack"),
                              (_UNVERSIONED, "ssq_tensor_from_dlpack_unversioned")):
        if not isinstance(capsule, type(_probe)) or not _python.PyCapsule_IsValid(capsule, name):
            continue
        pointer = _python.PyCapsule_GetPointer(capsule, name)
        if name == _VERSIONED:
            struct = _library.struct("DLManagedTensorVersioned").from_address(pointer)
            if struct.flags & _READ_ONLY and args.copy == constant("SSQ_DLPACK_COPY_NEVER"):
                raise BufferError("sesqui: the array is read-only: copy=True makes a copy")
            if struct.flags & _READ_ONLY:
                args.copy = constant("SSQ_DLPACK_COPY_ALWAYS")
        call(import_call, queue._handle, pointer, ctypes.byref(args), ctypes.byref(handle))
        _python.PyCapsule_SetName(capsule, _USED[name])
        return tensor_class(device, handle)
    raise TypeError("sesqui: from_dlpack needs an array with __dlpack__, or a DLPack capsule that"
                    f" was not consumed, not {type(x).__name__}")


_probe = _python.PyCapsule_New(1, b"sesqui", None)
_cpu = []


def shared_cpu(device_class):
    """The device that arrays in host memory are imported to by default."""
    if not _cpu:
        _cpu.append(device_class("cpu"))
    return _cpu[0]

# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments as the structs that the library's ops take."""

import ctypes
import difflib

from . import _library
from ._core import Tensor, set_field
from ._errors import InvalidError
from ._library import enum_value, initial

# The name of the count that belongs to an array: axes has n_axes.
_COUNTS = {"axes": "n_axes", "shape": "rank"}


class Arguments:
    """A struct of arguments, and what must live as long as it does."""

    def __init__(self, struct_name, values, op, device=None, queue=None):
        self.struct = initial(struct_name)
        self.keep = []
        self.tensors = []
        self._op, self._device, self._queue = op, device, queue
        name = type(self.struct).__name__
        self._fields = {f["name"]: f for f in _library.api["structs"][name]["fields"]}
        for key, value in values.items():
            self._set(key, value)

    def _set(self, key, value):
        field = self._fields.get(key)
        if field is None or key == "struct_size":
            close = difflib.get_close_matches(key, self._fields, 1)
            hint = f": did you mean {close[0]}?" if close else \
                f", expected one of {', '.join(n for n in self._fields if n != 'struct_size')}"
            raise InvalidError(f"{self._op}: there is no argument {key}{hint}")
        if value is None:
            return
        kind = field["type"]
        if kind == "const ssq_tensor *":
            value = self.tensor(key, value)._handle
        elif kind == "const ssq_tensor *const *":
            value = self._tensors(key, value)
        elif "count" in field and not isinstance(value, (str, bytes)):
            value = self._array(key, field, value)
        elif kind in _library.api["enums"]:
            value = enum_value(kind, value)
        elif _library.is_struct(kind):
            value = self._struct(key, kind, value)
        elif kind == "const char *":
            value = value.encode() if isinstance(value, str) else value
            self.keep.append(value)
        elif hasattr(value, "_handle"):
            self.keep.append(value)
            value = value._handle
        set_field(self.struct, key, kind, value, self._op)

    def tensor(self, key, value):
        """A tensor for a field: an array is copied to the device."""
        if not isinstance(value, Tensor):
            if self._device is None or not hasattr(value, "__array__"):
                raise InvalidError(f"{self._op}: {key} is {type(value).__name__}, expected a"
                                   " Tensor")
            value = Tensor.from_data(self._device, value, None, self._queue)
        self.keep.append(value)
        self.tensors.append(value)
        return value

    def _tensors(self, key, values):
        handles = [self.tensor(key, value)._handle.value for value in values]
        array = (ctypes.c_void_p * max(len(handles), 1))(*handles)
        self.keep.append(array)
        for count in ("n", "count"):
            if count in self._fields:
                setattr(self.struct, count, len(handles))
        return ctypes.cast(array, ctypes.c_void_p)

    def _array(self, key, field, value):
        """The elements of a short array: 2 for {2, 2}, (1, 2) for an array of two."""
        count = _COUNTS.get(key)
        if count in self._fields:
            value = (value,) if hasattr(value, "__index__") else tuple(value)
            if len(value) > field["count"]:
                raise InvalidError(f"{self._op}: {key} has {len(value)} elements, expected at most"
                                   f" {field['count']}")
            setattr(self.struct, count, len(value) if value else
                    _library.constant("SSQ_AXES_NONE") if count == "n_axes" else 0)
            value += (0,) * (field["count"] - len(value))
        elif hasattr(value, "__index__") or isinstance(value, float):
            value = (value,) * field["count"]
        elif len(value) * 2 == field["count"] and key == "padding":
            value = (value[0], value[1], value[0], value[1])
        if len(value) != field["count"]:
            raise InvalidError(f"{self._op}: {key} has {len(value)} elements, expected"
                               f" {field['count']}")
        return _library.field_type(field)(*value)

    def _struct(self, key, kind, value):
        """A struct within the struct: a dict of its fields, or the kind of an ssq_begin. Other
        fields keep their defaults."""
        made = getattr(self.struct, key)
        if kind == "ssq_begin" and isinstance(value, (str, int)):
            value = {"kind": value}
        if not isinstance(value, dict):
            raise InvalidError(f"{self._op}: {key} is {value!r}, expected a dict of the fields of"
                               f" {kind}")
        for name, item in value.items():
            field = next((f for f in _library.api["structs"][kind]["fields"]
                          if f["name"] == name), None)
            if field is None:
                raise InvalidError(f"{self._op}: {key} has no field {name}")
            if field["type"] in _library.api["enums"]:
                item = enum_value(field["type"], item)
            if isinstance(item, str):
                item = item.encode()
                self.keep.append(item)
            set_field(made, name, field["type"], item, f"{self._op}: {key}")
        return made


def docstring(function, struct_name):
    """The text of a header, and the fields of the struct as keyword arguments."""
    d = _library.api["functions"].get(function, {})
    lines = [d.get("doc", ""), ""]
    if struct_name:
        name = _library.api["aliases"].get(struct_name, struct_name)
        defaults = _library.api["structs"][name].get("defaults", {})
        lines.append("Keyword arguments:")
        for field in _library.api["structs"][name]["fields"]:
            if field["name"] == "struct_size":
                continue
            default = defaults.get(field["name"])
            note = "" if default in (None, "") else f" (default {default})"
            lines.append(f"    {field['name']}: {field['type']}{note}: {field['doc']}")
    return "\n".join(lines)

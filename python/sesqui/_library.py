# SPDX-License-Identifier: Apache-2.0
"""The library, and its functions and structs as api.json describes them."""

import ctypes
import json
import os

from ._errors import raise_status

_HERE = os.path.dirname(os.path.abspath(__file__))

_SCALARS = {
    "void": None,
    "char": ctypes.c_char,
    "_Bool": ctypes.c_bool,
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    "uintptr_t": ctypes.c_size_t,
    "int8_t": ctypes.c_int8,
    "uint8_t": ctypes.c_uint8,
    "int16_t": ctypes.c_int16,
    "uint16_t": ctypes.c_uint16,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
}


def _open_library():
    """Open the library of SESQUI_LIBRARY, of this package, or of the system."""
    path = os.environ.get("SESQUI_LIBRARY")
    packaged = os.path.join(_HERE, "lib", "libsesqui.so.0")
    if not path:
        path = packaged if os.path.exists(packaged) else "libsesqui.so.0"
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"sesqui: the library could not be opened: {error}. Install the wheel or the Debian"
            " package libsesqui0, or set SESQUI_LIBRARY to the path of libsesqui.so.0"
        ) from None


class _DlInfo(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def _library_path():
    info = _DlInfo()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    address = ctypes.cast(lib.ssq_version, ctypes.c_void_p)
    if not dladdr(address, ctypes.byref(info)):
        return ""
    return os.path.realpath(os.fsdecode(info.file))


def _read_api():
    """Read the description that belongs to the library."""
    path = _library_path()
    above = os.path.dirname(os.path.dirname(path))
    candidates = [
        os.environ.get("SESQUI_API", ""),
        os.path.join(_HERE, "api.json"),
        os.path.join(above, "share", "sesqui", "api.json"),  # PREFIX/lib
        os.path.join(os.path.dirname(above), "share", "sesqui", "api.json"),  # PREFIX/lib/TRIPLET
        os.path.join(above, "api.json"),  # BUILD/.libs
    ]
    for candidate in candidates:
        if candidate and os.path.exists(candidate):
            with open(candidate, encoding="utf-8") as file:
                return json.load(file)
    raise ImportError(f"sesqui: there is no api.json for {path}: it is installed as"
                      " PREFIX/share/sesqui/api.json, and SESQUI_API can name another one")


lib = _open_library()
lib.ssq_version.restype = ctypes.c_char_p
api = _read_api()
if lib.ssq_version().decode() != api["version"]:
    raise ImportError(f"sesqui: the library is {lib.ssq_version().decode()}, api.json describes"
                      f" {api['version']}")

_structs = {}
_functions = {}
_callbacks = {}


class Struct(ctypes.Structure):
    """Base of all structs of the library."""


def struct(name):
    """Return the ctypes class of a struct of the library."""
    name = api["aliases"].get(name, name)
    if name not in _structs:
        fields = [(f["name"], field_type(f)) for f in api["structs"][name]["fields"]]
        made = type(name, (Struct,), {"_fields_": fields, "__doc__": api["structs"][name]["doc"]})
        if ctypes.sizeof(made) != api["structs"][name]["size"]:
            raise ImportError(f"sesqui: {name} has {ctypes.sizeof(made)} bytes here,"
                              f" api.json says {api['structs'][name]['size']}")
        _structs[name] = made
    return _structs[name]


def is_struct(name):
    return name in api["structs"] or name in api["aliases"]


def field_type(field):
    kind = c_type(field["type"])
    return kind * field["count"] if "count" in field else kind


def c_type(text):
    """Return the ctypes class of a type in C, for example "const char *"."""
    text = text.strip()
    plain = text[6:] if text.startswith("const ") else text
    if plain.endswith("*"):
        return ctypes.c_char_p if text == "const char *" else ctypes.c_void_p
    if plain in _SCALARS:
        return _SCALARS[plain]
    if plain in api["enums"]:
        return ctypes.c_int
    if plain in api["callbacks"]:
        return callback(plain)
    return struct(plain)


def callback(name):
    """Return the ctypes class of a function that the library calls."""
    if name not in _callbacks:
        d = api["callbacks"][name]
        _callbacks[name] = ctypes.CFUNCTYPE(c_type(d["result"]),
                                            *[c_type(p["type"]) for p in d["params"]])
    return _callbacks[name]


def initial(name):
    """Return a struct with the library's defaults."""
    made = struct(name)()
    call(f"{name}_init", ctypes.byref(made), ctypes.sizeof(made))
    return made


def function(name):
    """Return a function of the library, with its argument types."""
    found = _functions.get(name)
    if found is None:
        d = api["functions"][name]
        found = getattr(lib, name)
        found.argtypes = [c_type(p["type"]) for p in d["params"]]
        found.restype = c_type(d["result"])
        _functions[name] = found
    return found


def call(name, *args):
    """Call a function. If it returns a status that is not SSQ_OK, raise it."""
    result = function(name)(*args)
    if api["functions"][name]["result"] == "ssq_status" and result != 0:
        raise_status(result, last_error())
    return result


def last_error():
    return (function("ssq_last_error")() or b"").decode("utf-8", "replace")


def constant(name):
    """Return the value of an SSQ_ constant."""
    if name in api["constants"]:
        return api["constants"][name]
    for d in api["enums"].values():
        for value in d["values"]:
            if value["name"] == name:
                return value["value"]
    raise KeyError(name)


def _short_names(name):
    """Map the constants of an enum to short names: SSQ_LAYOUT_NCHW to "nchw"."""
    values = api["enums"][name]["values"]
    prefix = os.path.commonprefix([v["name"] for v in values])
    prefix = prefix[: prefix.rfind("_") + 1]
    return {v["name"][len(prefix):].lower(): v["value"] for v in values}


_enums = {}


def enum_value(name, value):
    """Return the number of an enum's constant: 1, "nhwc" or "SSQ_LAYOUT_NHWC"."""
    if isinstance(value, int):
        return int(value)
    if name not in _enums:
        _enums[name] = _short_names(name)
    text = str(value)
    if text.startswith("SSQ_"):
        return constant(text)
    if text.lower() not in _enums[name]:
        raise ValueError(f"sesqui: {name} has no value {value!r}, expected one of"
                         f" {', '.join(_enums[name])}")
    return _enums[name][text.lower()]


def enum_name(name, value):
    """Return the short name of an enum's number, for example "nhwc"."""
    if name not in _enums:
        _enums[name] = _short_names(name)
    for text, number in _enums[name].items():
        if number == value:
            return text
    return str(value)


def text_of(value):
    """Return the text of a char array or of a const char *."""
    return (value or b"").decode("utf-8", "replace")


def as_dict(value):
    """Return a struct as a dict: texts as str, arrays as lists, without struct_size."""
    name = type(value).__name__
    made = {}
    for field in api["structs"][name]["fields"]:
        key, item = field["name"], getattr(value, field["name"])
        if key == "struct_size":
            continue
        if isinstance(item, bytes):
            item = text_of(item)
        elif isinstance(item, Struct):
            item = as_dict(item)
        elif isinstance(item, ctypes.Array):
            item = list(item)
        elif field["type"] in api["enums"]:
            item = enum_name(field["type"], item)
        made[key] = item
    return made

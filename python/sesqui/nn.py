# SPDX-License-Identifier: Apache-2.0
"""Layers: ops with their parameters, which are created at the first call.

    h = F.relu(nn.linear("fc1", x, 512))
    h = nn.conv2d("conv1", images, 32, 3, padding=1)

The first argument is the parameters' name. A layer of the same name uses the same parameters.
Other arguments have the names of the C structs, for example bias=False. There weight_init
takes the name of a rule, such as "kaiming_normal", or a dict of kind, gain and nonlinearity.
"""

import ctypes

from . import _library
from ._arguments import docstring
from ._core import Tensor
from ._library import call, enum_value
from ._tape import NO_VAR, CVar, Var, place, var_of
from .functional import options_of, result, struct_of, tape_of


def _convert(p, value, tape):
    kind = p["type"]
    if kind == "ssq_var":
        return NO_VAR if value is None else var_of(tape, value)._var
    if kind == "const ssq_tensor *":
        if not isinstance(value, Tensor):
            value = Tensor.from_data(tape.queue.device, value, None, tape.queue)
        tape._keep.append(value)
        return value._handle
    if kind == "const char *":
        return value.encode()
    if kind in _library.api["enums"]:
        return enum_value(kind, value)
    return value


def _make(name, function):
    params = _library.api["functions"][function]["params"][2:]  # without where and tape
    struct = struct_of(params)
    plain = [p for p in params if p["type"] != "ssq_var *" and not p["type"].endswith("_args *")]
    optional = {"h0": None, "c0": None, "layout": "nchw"}

    def layer(*values, tape=None, **arguments):
        values = list(values)
        if "width" in (p["name"] for p in plain) and "height" in (p["name"] for p in plain):
            # a square filter: conv2d("name", x, 32, 3)
            if len(values) == len(plain) - 1 and "width" not in arguments:
                values.append(values[-1])
        given = dict(zip((p["name"] for p in plain), values))
        if len(values) > len(plain):
            raise TypeError(f"{name}: {len(values)} arguments, expected {len(plain)}:"
                            f" {', '.join(p['name'] for p in plain)}")
        for p in plain:
            if p["name"] in arguments:
                given[p["name"]] = arguments.pop(p["name"])
            elif p["name"] not in given:
                if p["name"] not in optional:
                    raise TypeError(f"{name}: {p['name']} is missing")
                given[p["name"]] = optional[p["name"]]
        tape = tape or tape_of(given.values(), name)
        options = options_of(tape, struct, arguments, name)
        extra, passed = [], [place(), tape._handle]
        for p in params:
            if p["type"] == "ssq_var *":
                extra.append(CVar())
                passed.append(ctypes.byref(extra[-1]))
            elif p["type"].endswith("_args *"):
                passed.append(options)
            else:
                passed.append(_convert(p, given[p["name"]], tape))
        y = result(tape, call(function, *passed))
        return (y, *[Var(tape, v) for v in extra]) if extra else y

    layer.__name__ = layer.__qualname__ = name
    layer.__module__ = __name__
    layer.__doc__ = docstring(function, struct) + \
        f"\n\nArguments: {', '.join(p['name'] for p in plain)}."
    return layer


__all__ = []
for _name, _d in _library.api["functions"].items():
    if _d["header"] == "sesqui/nn.h":
        _short = _name[len("ssq_nn_"):-len("_at")]
        globals()[_short] = _make(_short, _name)
        __all__.append(_short)

# SPDX-License-Identifier: Apache-2.0
"""Every op of the library on tensors that the caller has made.

    y = device.empty(x.shape)
    ops.softmax(x=x, y=y, axis=-1)

Arguments have the names of the C structs: ops.gemm(a=x, b=w, d=y, trans_b=True). Results
are tensors that the caller gives. `queue` is the device's own queue unless it is given.
Calls return before the work has run; Tensor.numpy() waits.

sesqui.functional has the same ops with gradients, and makes the results itself.
"""

import ctypes

from . import _library
from ._arguments import Arguments, docstring
from ._core import dtype_name
from ._errors import InvalidError
from ._library import call

_OPS = {}  # name: (function of C, struct of its arguments)
for _name, _d in _library.api["functions"].items():
    _params = _d["params"]
    if _d["header"].startswith("sesqui/ops/") and len(_params) == 2 and \
            _params[0]["type"] == "ssq_queue *" and _params[1]["type"].endswith("_args *"):
        _OPS[_name[4:]] = (_name, _params[1]["type"][6:-2])

__all__ = sorted(_OPS)


def _make(name, function, struct):
    def op(*, queue=None, **arguments):
        made = Arguments(struct, arguments, name)
        if queue is None:
            if not made.tensors:
                raise InvalidError(f"{name}: no tensor is given")
            queue = made.tensors[0].device.queue
        call(function, queue._handle, ctypes.byref(made.struct))

    op.__name__ = op.__qualname__ = name
    op.__doc__ = docstring(function, struct)
    op.__module__ = __name__
    return op


for _name, (_function, _struct) in _OPS.items():
    globals()[_name] = _make(_name, _function, _struct)


def gemm_explain(*, queue=None, **arguments):
    """Return a dict: which implementation a product would use, and why no matrix units."""
    made = Arguments("ssq_gemm_args", arguments, "gemm_explain")
    if queue is None:
        queue = made.tensors[0].device.queue
    out = _library.initial("ssq_gemm_explanation")
    call("ssq_gemm_explain", queue._handle, ctypes.byref(made.struct), ctypes.byref(out))
    result = _library.as_dict(out)
    result["accumulator"] = dtype_name(out.accumulator)
    return result

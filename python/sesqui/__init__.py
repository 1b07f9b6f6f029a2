# SPDX-License-Identifier: Apache-2.0
"""Mixed-precision training on the devices that you own.

    import sesqui
    import sesqui.functional as F
    from sesqui import nn

    trainer = sesqui.Trainer("auto", policy="mixed_float16", lr=1e-3)
    for images, labels in batches:
        tape = trainer.begin()
        h = F.relu(nn.linear("fc1", tape.input(images), 512))
        trainer.step(F.cross_entropy(nn.linear("fc2", h, 10), target=labels))

The package calls the C library libsesqui. Its functions, structs and texts are those of the
library's headers.
"""

from . import _library
from ._core import Device, Event, Queue, Tensor, from_dlpack
from ._errors import CommError, CopyWarning, DeviceError, Error, FileError, InvalidError, \
    NotFoundError, NotReadyError, OutOfMemoryError, ScaleError, UnsupportedError
from ._tape import Params, Tape, Var
from . import amp, data, functional, nn, ops, safetensors
from .tool import certify, verify
from .trainer import Trainer
from . import _exchange_api

__version__ = _library.api["version"]
_exchange_api.install()


def devices():
    """Return a dict for each device of this machine: name, backend, available, reason."""
    return Device.list()


def explain(a, b, **arguments):
    """Return how a product of two tensors would run, and why it has no matrix units."""
    d = arguments.pop("d", None)
    if d is None:
        trans_a, trans_b = arguments.get("trans_a", False), arguments.get("trans_b", False)
        d = a.device.empty((a.shape[1 if trans_a else 0], b.shape[0 if trans_b else 1]), a.dtype)
    return ops.gemm_explain(a=a, b=b, d=d, **arguments)


__all__ = ["CommError", "CopyWarning", "Device", "DeviceError", "Error", "Event", "FileError",
           "InvalidError", "NotFoundError", "NotReadyError", "OutOfMemoryError", "Params", "Queue",
           "ScaleError", "Tape", "Tensor", "Trainer", "UnsupportedError", "Var", "amp", "certify",
           "data", "devices", "explain", "from_dlpack", "functional", "nn", "ops", "safetensors",
           "tool", "verify"]

# SPDX-License-Identifier: Apache-2.0
"""For PyTorch programs: a device, GradScaler with every preset, and optimizers that are one pass.

    import sesqui.torch                         # registers the device "sesqui"

    model = model.to("sesqui")                  # sesqui.torch.device_count(), synchronize(), ...

The device is in the package sesqui-torch. The rest of this module works with it, and without it
with PyTorch's own devices:

    from sesqui.torch import AdamW, GradScaler

    optimizer = AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler("pytorch", device="sesqui")   # or "megatron", "deepspeed", "apex", ...
    ...
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

Parameters and gradients stay PyTorch's: they are updated in place, without a copy. With an
optimizer of this module, the check for Inf and NaN, the unscaling, the clipping of the norm
and the update are done on the device, and a skipped step does not wait for the host.
"""

import importlib.util

from ._optimizer import SGD, Adam, AdamW
from ._scaler import GradScaler, _restore  # noqa: F401  a pickled GradScaler names _restore

MISSING = ("the package sesqui-torch is not installed, which has the PyTorch device: run"
           " `pip install --no-build-isolation ./python ./python/torch-device` in the source of"
           " libsesqui")

__all__ = ["Adam", "AdamW", "GradScaler", "SGD"]

if importlib.util.find_spec("sesqui_torch") is not None:
    import sesqui_torch
    from sesqui_torch import *  # noqa: F401,F403

    __all__ += sesqui_torch.__all__


def __getattr__(name):
    missing = "" if "sesqui_torch" in globals() or name.startswith("_") else f": {MISSING}"
    raise AttributeError(f"module 'sesqui.torch' has no attribute {name!r}{missing}")

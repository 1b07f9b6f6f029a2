# SPDX-License-Identifier: Apache-2.0
"""A PyTorch device: model.to("sesqui").

    import sesqui.torch                  # or only `import torch`, if it is installed

    model = model.to("sesqui")
    with torch.autocast("sesqui", dtype=torch.float16):
        loss = model(x.to("sesqui")).sum()

SESQUI_TORCH_DEVICE names the device of the library: "auto" (the default), "cpu", "opencl:0",
"vulkan:0", "cuda:0", or a list: its second name is "sesqui:1".
"""

import atexit
import ctypes
import glob
import importlib.util
import os
import sys
import time

import torch


def _load_library():
    """Load the library that the package sesqui uses, so that both share its devices."""
    path = os.environ.get("SESQUI_LIBRARY")
    spec = None if path else importlib.util.find_spec("sesqui")
    if spec is not None and spec.origin is not None:
        packaged = os.path.join(os.path.dirname(spec.origin), "lib", "libsesqui.so.0")
        path = packaged if os.path.exists(packaged) else None
    if path:
        ctypes.CDLL(path)


def _load():
    if "sesqui" in torch.__dict__:
        return
    _load_library()
    here = os.path.dirname(os.path.abspath(__file__))
    found = glob.glob(os.path.join(here, "_C*.so"))
    if not found:
        raise ImportError(f"sesqui_torch: the extension is not in {here}: build it with"
                          " `pip install --no-build-isolation ./python/torch-device`")
    torch.utils.rename_privateuse1_backend("sesqui")
    torch.ops.load_library(found[0])
    from . import _device

    torch._register_device_module("sesqui", _device)
    sys.modules["torch.sesqui"] = _device
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    from . import _compile

    _compile.register()
    atexit.register(_let_backward_end)


def _let_backward_end():
    """Wait until PyTorch's thread for the device has freed its last graph.

    backward() returns a moment before that. If Python ends in this moment, the thread asks for the
    interpreter's lock, which then ends the thread, and C++ aborts the process: "terminate called
    without an active exception". The thread can have the lock while this one sleeps.
    """
    time.sleep(0.02)


def _autoload():
    """For the entry point torch.backends: `import torch` calls it."""


_load()

from ._device import *  # noqa: E402,F401,F403
from ._device import __all__  # noqa: E402,F401

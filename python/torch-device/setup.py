# SPDX-License-Identifier: Apache-2.0
"""Builds the extension for the PyTorch and the libsesqui that are installed.

libsesqui is found by pkg-config. For a library that is not installed, set
SESQUI_INCLUDE to the folder of sesqui.h, and SESQUI_LIBRARY to the path of
libsesqui.so.0. MAX_JOBS is the number of files that are compiled at a time.
"""

import glob
import os
import shlex
import subprocess

# An installed sesqui_torch of another PyTorch must not stop this build.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import torch  # noqa: E402
from setuptools import setup  # noqa: E402
from torch.utils.cpp_extension import BuildExtension, CppExtension  # noqa: E402

TORCH = tuple(int(n) for n in torch.__version__.split("+")[0].split(".")[:2])
STANDARD = "gnu++20" if TORCH >= (2, 10) else "gnu++17"


def pkg_config(option):
    try:
        return shlex.split(subprocess.check_output(["pkg-config", option, "sesqui"], text=True))
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit("setup.py: pkg-config does not find sesqui: install libsesqui-dev, or set"
                         " SESQUI_INCLUDE and SESQUI_LIBRARY") from error


def library():
    """Flags of the compiler and of the linker."""
    include, path = os.environ.get("SESQUI_INCLUDE"), os.environ.get("SESQUI_LIBRARY")
    if include and path:
        return [f"-I{include}"], [path]
    return pkg_config("--cflags"), pkg_config("--libs")


compile_flags, link_flags = library()
os.chdir(os.path.dirname(os.path.abspath(__file__)))

setup(
    ext_modules=[
        CppExtension(
            "sesqui_torch._C",
            sorted(glob.glob("csrc/*.cpp")),
            extra_compile_args=["-O2", f"-std={STANDARD}", "-g0", "-fvisibility=hidden", "-Wall",
                                "-Wno-missing-field-initializers", *compile_flags],
            extra_link_args=[*link_flags, "-Wl,-O1"],
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
)

# SPDX-License-Identifier: Apache-2.0
"""Pack an installed tree and the package as one wheel for all Pythons.

usage: build_wheel.py PREFIX SOURCE OUT [SHIM]

PREFIX is where `make install` has put the library (PREFIX/lib, PREFIX/bin, PREFIX/share),
SOURCE the folder of this file. A module is left out, with its reason, if it needs a library
that a wheel must not contain or expect. Loaders of drivers (libOpenCL, libvulkan) are
expected: who has such a device has them. SHIM is the compiled part, if it was made.
SOURCE_DATE_EPOCH is the date of all files.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import zipfile

import stubs

# Of every Linux (manylinux), and what comes with a device's driver.
EXPECTED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libz.so.1",
            "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
LOADERS = {"libOpenCL.so.1", "libvulkan.so.1", "libcuda.so.1"}


def readelf(option, path):
    return subprocess.run(["readelf", option, path], check=True, capture_output=True,
                          text=True).stdout


def needed(path):
    return set(re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", path)))


def glibc(path):
    found = re.findall(r"GLIBC_2\.([0-9]+)", readelf("-V", path))
    return max(map(int, found), default=17)


def wheel_files(prefix, source, shim):
    """Yield (name in the wheel, path, executable)."""
    package = os.path.join(source, "sesqui")
    for folder in ("", "torch/"):
        for name in sorted(os.listdir(os.path.join(package, folder))):
            if name.endswith((".py", ".typed")):
                yield f"sesqui/{folder}{name}", os.path.join(package, folder, name), False
    if shim and os.path.exists(shim):
        yield "sesqui/_exchange.abi3.so", shim, True
    yield "sesqui/api.json", os.path.join(prefix, "share/sesqui/api.json"), False
    library = os.path.join(prefix, "lib/libsesqui.so.0")
    yield "sesqui/lib/libsesqui.so.0", os.path.realpath(library), True
    yield "sesqui/bin/sesqui", os.path.join(prefix, "bin/sesqui"), True
    modules = os.path.join(prefix, "lib/sesqui/0")
    for name in sorted(os.listdir(modules)):
        path = os.path.join(modules, name)
        more = needed(path) - EXPECTED - LOADERS
        if more:
            print(f"build_wheel: {name} is left out: it needs {', '.join(sorted(more))}")
            continue
        yield f"sesqui/lib/sesqui/0/{name}", path, True


def metadata(version, readme):
    return f"""Metadata-Version: 2.1
Name: sesqui
Version: {version}
Summary: Mixed-precision training on the devices that you own
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Description-Content-Type: text/markdown

{readme}"""


def main(prefix, source, out, shim=None):
    with open(os.path.join(prefix, "share/sesqui/api.json"), encoding="utf-8") as file:
        api = json.load(file)
    with open(os.path.join(source, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    files = list(wheel_files(prefix, source, shim))
    binaries = [path for name, path, executable in files if executable]
    level = max(glibc(path) for path in binaries)
    tag = f"py3-none-manylinux_2_{level}_{os.uname().machine}"
    name = f"sesqui-{api['version']}"
    info = f"{name}.dist-info"
    texts = {
        **{f"sesqui/{k}": v for k, v in stubs.make(api).items()},
        f"{info}/METADATA": metadata(api["version"], readme),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: sesqui build_wheel.py\n"
                         f"Root-Is-Purelib: false\nTag: {tag}\n",
        f"{info}/entry_points.txt": "[console_scripts]\nsesqui = sesqui.tool:main\n",
        f"{info}/top_level.txt": "sesqui\n",
    }
    date = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "1700000000")))[:6]
    record = []
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, f"{name}-{tag}.whl")
    with zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(where, data, executable=False):
            entry = zipfile.ZipInfo(where, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
            record.append(f"{where},sha256={digest.decode()},{len(data)}\n")

        for where, file_path, executable in files:
            with open(file_path, "rb") as file:
                add(where, file.read(), executable)
        for where, text in texts.items():
            add(where, text.encode())
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", date),
                       "".join(record) + f"{info}/RECORD,,\n")
    os.replace(path + ".new", path)
    print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB, glibc 2.{level} or later")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])

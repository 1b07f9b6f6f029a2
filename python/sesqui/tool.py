# SPDX-License-Identifier: Apache-2.0
"""The program `sesqui`: devices, verify, certify, bench, tune, support."""

import os
import shutil
import subprocess
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def path():
    """Return the path of the program of this package, or of the system."""
    packaged = os.path.join(_HERE, "bin", "sesqui")
    found = os.environ.get("SESQUI_TOOL") or \
        (packaged if os.path.exists(packaged) else shutil.which("sesqui"))
    if not found:
        raise FileNotFoundError("the program sesqui is not installed, and SESQUI_TOOL names none")
    return found


def tool(*args, check=True):
    """Run the program, and return what it printed."""
    run = subprocess.run([path(), *args], capture_output=True, text=True, errors="replace")
    if check and run.returncode != 0:
        raise RuntimeError(f"sesqui {' '.join(args)}: exit status {run.returncode}:"
                           f" {(run.stderr or run.stdout).strip()[-1000:]}")
    return run.stdout


def verify(*args):
    """Compare ops with the reference: verify("--device", "cpu")."""
    return tool("verify", *args)


def certify(*args):
    """Run all tables of ops on a device, and keep the verdict: certify("cpu")."""
    return tool("certify", *args)


def main():
    os.execv(path(), [path(), *sys.argv[1:]])

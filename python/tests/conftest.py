# SPDX-License-Identifier: Apache-2.0
"""Every test that takes `device` runs on each device that every build has."""

import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import sesqui  # noqa: E402


@pytest.fixture(params=["reference", "guard", "cpu"])
def device(request):
    with sesqui.Device(request.param) as opened:
        yield opened


@pytest.fixture
def cpu():
    with sesqui.Device("cpu") as opened:
        yield opened


@pytest.fixture
def run_python():
    """Run a program in a Python of its own, which must succeed."""
    def run(text, *options, **variables):
        environment = {**os.environ, **variables}
        folder = os.path.dirname(os.path.dirname(sesqui.__file__))
        environment["PYTHONPATH"] = os.pathsep.join(
            [folder, *filter(None, [environment.get("PYTHONPATH")])])
        done = subprocess.run([sys.executable, *options, "-c", text], env=environment, text=True,
                              capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    return run


@pytest.fixture
def run_on_cuda(run_python):
    """The same with the stand-in of CUDA's driver, which tests/api/python.sh names."""
    folder = os.environ.get("SESQUI_FAKECUDA")
    if not folder:
        pytest.skip("without the stand-in of CUDA's driver: see tests/api/python.sh")
    return lambda text: run_python(text, LD_LIBRARY_PATH=folder)

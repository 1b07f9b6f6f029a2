# SPDX-License-Identifier: Apache-2.0
"""Every test that takes `device` runs on each device that every build has."""

import os
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

# SPDX-License-Identifier: Apache-2.0
"""The device is registered once; every test begins with no op counted as on the CPU."""

import sys
import types
import unittest

import pytest
import torch

import sesqui_torch  # noqa: F401

try:
    import expecttest  # noqa: F401
except ImportError:  # PyTorch's test utilities import it; nothing of it is used here
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase


@pytest.fixture(autouse=True)
def counted():
    torch.sesqui.reset_fallbacks()
    torch.manual_seed(0)
    yield
    torch.sesqui.synchronize()

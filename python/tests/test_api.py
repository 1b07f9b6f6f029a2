# SPDX-License-Identifier: Apache-2.0
"""api.json against the library: every struct and every function of it can be used."""

import ctypes

import pytest

from sesqui import _library, ops
from sesqui._library import api, as_dict, initial, struct


def plain(value):
    """A default of api.json as as_dict() has it."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k != "struct_size"}
    return value


def compare(got, want, where):
    if isinstance(want, dict):
        for key, item in want.items():
            compare(getattr(got, key), item, f"{where}.{key}")
    elif isinstance(want, list):
        assert len(got) == len(want), where
        for a, b in zip(got, want):
            compare(a, b, where)
    elif want is None:
        assert not got, where
    elif isinstance(want, str):
        assert (got or b"").decode() == want, where
    elif isinstance(got, bytes):  # a character
        assert got[0] == want, where
    else:
        assert got == want, where


@pytest.mark.parametrize("name", [n for n in api["structs"] if "defaults" in api["structs"][n]])
def test_defaults(name):
    made = initial(name)
    compare(made, api["structs"][name]["defaults"], name)
    assert isinstance(as_dict(made), dict)


@pytest.mark.parametrize("name", list(api["structs"]))
def test_offsets(name):
    made = struct(name)
    for field in api["structs"][name]["fields"]:
        assert getattr(made, field["name"]).offset == field["offset"], field["name"]


def test_functions():
    for name in api["functions"]:
        assert ctypes.cast(_library.function(name), ctypes.c_void_p).value, name
        for p in api["functions"][name]["params"]:
            assert p["name"] and p["type"], name


def test_every_op_has_a_docstring():
    assert len(ops.__all__) > 150
    for name in ops.__all__:
        text = getattr(ops, name).__doc__
        assert "Keyword arguments:" in text, name


def test_size_of_another_version_is_refused():
    made = struct("ssq_gemm_args")()
    status = _library.function("ssq_gemm_args_init")(ctypes.byref(made), 8)
    assert status == 1 and "size is 8" in _library.last_error()

# SPDX-License-Identifier: Apache-2.0
"""torch.autocast("sesqui") by PyTorch's own lists of ops, those of its tests for CUDA.

As in PyTorch's tests, an op under autocast must have the expected dtype, and the bits of the op
without autocast on operands that are cast by hand.
"""

import collections.abc

import pytest
import torch
from torch.testing._internal.autocast_test_lists import AutocastTestLists

LISTS = AutocastTestLists("sesqui")
# Ops of cuDNN, and a method of Python 2.
SKIPPED = {"cudnn_convolution", "cudnn_convolution_transpose", "__div__"}
NN, LINALG = torch._C._nn, torch._C._linalg
CASES = [(kind, attribute, module) for kind, attribute, module in (
    ("lower", "torch_fp16", torch), ("lower", "nn_fp16", NN), ("lower", "linalg_fp16", LINALG),
    ("lower", "methods_fp16", None), ("float32", "torch_fp32", torch),
    ("float32", "nn_fp32", NN), ("float32", "methods_fp32", None),
    ("promote", "torch_need_autocast_promote", torch),
    ("builtin", "torch_expect_builtin_promote", torch),
    ("builtin", "methods_expect_builtin_promote", None))]


def cases():
    for kind, attribute, module in CASES:
        for i, case in enumerate(getattr(LISTS, attribute)):
            if case[0] in SKIPPED:
                continue
            for dtype in (torch.float16, torch.bfloat16):
                label = f"{attribute}-{i}-{case[0]}-{str(dtype)[6:]}"
                yield pytest.param(kind, module, case, dtype, id=label)


def cast(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, str) or not isinstance(value, collections.abc.Iterable):
        return value
    return type(value)(cast(v, dtype) for v in value)


def lowered(value, dtype):
    """The lists have float16 operands: the same in bfloat16."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype == torch.float16 else value
    if isinstance(value, str) or not isinstance(value, collections.abc.Iterable):
        return value
    return type(value)(lowered(v, dtype) for v in value)


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a.cpu().nan_to_num(), b.cpu().nan_to_num())
    if isinstance(a, collections.abc.Iterable):
        return all(same(x, y) for x, y in zip(a, b))
    return a == b


def functions(module, name):
    """The forms of an op: of the module, and of a tensor."""
    if module is not None and hasattr(module, name):
        yield getattr(module, name)
    if hasattr(torch.Tensor, name):
        yield lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


@pytest.mark.parametrize("kind, module, case, dtype", list(cases()))
def test_lists(kind, module, case, dtype):
    name, args = case[0], lowered(case[1], dtype)
    kwargs = case[2] if len(case) > 2 and isinstance(case[2], dict) else {}
    named = case[2] if len(case) > 2 and isinstance(case[2], torch.dtype) else None
    if isinstance(args, str):  # PyTorch's case of einsum has operands of another rank
        args, kwargs = ("bk,qk->bq", *case[2]), {}
    run_as = dtype if kind == "lower" else torch.float32
    result_type = named or run_as
    found = list(functions(module, name))
    assert found, f"no {name}"
    for function in found:
        with torch.autocast("sesqui", dtype=dtype):
            got = function(*args, **kwargs)
            with torch.autocast("sesqui", enabled=False):
                expected = function(*cast(args, run_as), **kwargs)
        if isinstance(got, torch.Tensor):
            assert got.dtype == result_type, f"{name} is {got.dtype}, expected {result_type}"
            if kind == "builtin":
                expected = expected.to(result_type)
        assert same(got, expected), f"{name} differs from the op on operands cast by hand"


def test_binary_cross_entropy_is_an_error():
    x, t = (torch.rand(8, 8, device="sesqui") for _ in range(2))
    with torch.autocast("sesqui", dtype=torch.float16):
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            torch.nn.functional.binary_cross_entropy(x, t)
    torch.nn.functional.binary_cross_entropy(x, t)


def test_every_list_of_the_header_is_that_of_cuda():
    """An op of PyTorch's lists that CUDA casts is cast here, too."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    ops = [n for n in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
           if n.startswith("aten::") and "cudnn" not in n
           and n != "aten::linalg_matrix_sqrth"]  # not in the lists that PyTorch publishes
    if not ops:
        pytest.skip("this PyTorch has no lists for CUDA")
    missing = [n for n in ops if not has(n, "AutocastPrivateUse1")]
    assert missing == []


def test_cache_and_nesting():
    w = torch.randn(4, 4, device="sesqui", requires_grad=True)
    x = torch.randn(4, 4, device="sesqui")
    with torch.autocast("sesqui", dtype=torch.bfloat16):
        a = x @ w
        with torch.autocast("sesqui", enabled=False):
            b = x @ w
        c = x @ w
    assert (a.dtype, b.dtype, c.dtype) == (torch.bfloat16, torch.float32, torch.bfloat16)
    (a.float().sum() + c.float().sum()).backward()
    assert w.grad.dtype == torch.float32
    assert torch.is_autocast_enabled("sesqui") is False

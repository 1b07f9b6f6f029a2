# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own samples of its ops (OpInfo), on the device and on PyTorch's CPU.

    python tests/torch/opinfo.py                      every op, float32, float16, bfloat16
    python tests/torch/opinfo.py --dtypes float32 nn.functional.gelu add
    python tests/torch/opinfo.py --expect tests/torch/ops.txt    the ops of that table
    python tests/torch/opinfo.py --write tests/torch/ops.txt     write such a table

Each sample runs forward and backward, and in place if the op has such a form. "exact" is the
result of PyTorch's CPU in float64 for the same operands. The bound of a result y with the machine
epsilon eps of its dtype is the largest of

    rtol * |exact| + atol     of torch.testing.assert_close for the dtype, or of the op's OpInfo
    4 * eps * max |exact|     the largest element of that result: sums whose terms cancel
    2 * max |cpu - exact|     the largest error of PyTorch's CPU in the same dtype

An op without a result in float64 is compared with PyTorch's CPU in the same dtype, within the
first bound. An op is "native" if no sample needed an op on the CPU, "cpu" otherwise: then other
samples of it may have run on the device, and all are compared.

A table has a line per op: its name, then for each dtype native, cpu, xfail (a sample fails, for
the reason after "#") or - (PyTorch's CPU does not run it). With --expect an op that differs from
its line fails, also an xfail that passes.
"""

import argparse
import collections
import os
import sys
import traceback
import types
import unittest
import warnings

import torch
from torch.testing import assert_close
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

import sesqui_torch  # noqa: F401

warnings.filterwarnings("ignore")
try:
    import expecttest  # noqa: F401
except ImportError:  # PyTorch's test utilities import it; nothing of it is used here
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

NAMES = ("float32", "float16", "bfloat16")
DTYPES = tuple(getattr(torch, name) for name in NAMES)

# Results that are random, not defined, or not values.
SKIPPED = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal",
    "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "uniform", "empty", "empty_like",
    "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "randperm", "resize_",
    "resize_as_", "svd_lowrank", "pca_lowrank", "to_sparse", "sparse.mm", "sparse.sampled_addmm",
    "torch.ops.aten._flash_attention_forward", "torch.ops.aten._efficient_attention_forward",
    "hash_tensor", "_philox_normal_", "_philox_uniform_",
    "tensor_split",  # its indices must be on the CPU
}

# For 16-bit operands, means and deviations are float32 here, as with PyTorch's CUDA.
FLOAT_STATISTICS = {
    "native_layer_norm", "native_group_norm", "native_batch_norm", "_native_batch_norm_legit",
    "_batch_norm_with_update",
}


def is_random(op, sample):
    """Samples with dropout."""
    if op.name == "nn.functional.scaled_dot_product_attention":
        return sample.kwargs.get("dropout_p", 0) > 0
    if op.name == "nn.functional.multi_head_attention_forward":
        return sample.args[9] > 0 and sample.kwargs.get("training", True)
    return False


def name_of(op):
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def again(x, device):
    """A copy of a tensor of the CPU, with the same strides and offset."""
    y = x.detach()
    if y.layout != torch.strided:
        return y.to(device)
    flat = torch.empty(0, dtype=y.dtype).set_(y.untyped_storage())
    flat = flat.clone() if device == "cpu" else flat.to(device)
    y = flat.as_strided(y.shape, y.stride(), y.storage_offset())
    return y.conj() if x.is_conj() else y


def copied(x):
    return again(x, "cpu").requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x


def move(x):
    """The same on the device."""
    if isinstance(x, torch.Tensor):
        return again(x, "sesqui").requires_grad_(x.requires_grad)
    if x == "cpu" or (isinstance(x, torch.device) and x.type == "cpu"):
        return torch.device("sesqui")
    return x


def widened(x):
    """The same in float64."""
    if isinstance(x, torch.Tensor) and x.is_floating_point():
        return x.detach().double().requires_grad_(x.requires_grad)
    return torch.float64 if x in DTYPES else x


def mapped(f, sample):
    return tree_map(f, (sample.input, tuple(sample.args), dict(sample.kwargs)))


def tensors(x):
    return [v for v in tree_flatten(x)[0] if isinstance(v, torch.Tensor)]


def run(function, arguments, seeds=None):
    """Results and gradients. seeds: the gradients of the results, made by the first call."""
    x, args, kwargs = arguments
    results = tensors(function(x, *args, **kwargs))
    inputs = [t for t in tensors(arguments) if t.requires_grad]
    outputs = [t for t in results if t.requires_grad]
    grads = []
    if inputs and outputs:
        if seeds is None:
            g = torch.Generator().manual_seed(7)
            seeds = [torch.randn(t.shape, generator=g).to(t.dtype) for t in outputs]
        grads = torch.autograd.grad(outputs, inputs, allow_unused=True,
                                    grad_outputs=[s.to(t.dtype).to(t.device)
                                                  for s, t in zip(seeds, outputs)])
    return [r.detach() for r in results], list(grads), seeds


def tolerance(op, dtype):
    """What PyTorch's OpInfo allows for an op in its own comparisons, or the default."""
    found = {}
    for d in op.decorators:
        if getattr(d, "cls_name", None) not in (None, "TestCommon") or \
                getattr(d, "test_name", None) not in (None, "test_compare_cpu"):
            continue
        for inner in getattr(d, "decorators", [d]):
            t = getattr(inner, "d", {}).get(dtype)
            if hasattr(t, "atol"):
                found = {"atol": t.atol, "rtol": t.rtol}
    return found


LIMITS = {}


def near(got, cpu, exact):
    """The second and the third bound, for the elements that are finite."""
    eps = torch.finfo(cpu.dtype).eps
    got, cpu = got.cpu().double(), cpu.double()
    finite = exact.isfinite() & cpu.isfinite()
    if got.shape != cpu.shape or not torch.equal(got.isfinite() & finite, finite) or \
            not torch.equal(got[~finite].nan_to_num(), cpu[~finite].nan_to_num()):
        return False
    got, cpu, exact = got[finite], cpu[finite], exact[finite]
    if got.numel() == 0:
        return True
    bound = max(4 * eps * exact.abs().max(), 2 * (cpu - exact).abs().max())
    return bool((got - exact).abs().max() <= bound)


def close(got, cpu, exact):
    """Compare two lists; exact is the list in float64, or None."""
    assert len(got) == len(cpu), f"{len(got)} results, expected {len(cpu)}"
    for i, (a, b) in enumerate(zip(got, cpu)):
        if a is None or b is None:
            if a is not b:
                zeros = a if a is not None else b
                assert not zeros.any(), f"result {i}: one is missing"
            continue
        try:
            assert_close(a.cpu(), b, equal_nan=True, **LIMITS)
        except AssertionError:
            e = exact[i] if exact is not None else None
            if e is None or e.dtype != torch.float64 or not b.is_floating_point() or \
                    (a.dtype != b.dtype and LIMITS.get("check_dtype", True)):
                raise
            if not near(a, b, e):
                assert_close(a.cpu(), e.to(b.dtype), equal_nan=True, **LIMITS)


def one(function, arguments):
    """Compare one sample; return False if PyTorch's CPU cannot run it."""
    try:
        cpu, cpu_grads, seeds = run(function, tree_map(copied, arguments))
    except Exception:  # noqa: BLE001
        return False
    exact = exact_grads = None
    try:
        exact, exact_grads, _ = run(function, tree_map(widened, arguments), seeds)
    except Exception:  # noqa: BLE001
        pass
    got, grads, _ = run(function, tree_map(move, arguments), seeds)
    close(got, cpu, exact)
    close(grads, cpu_grads, exact_grads)
    return True


def in_place(op, arguments):
    """The in-place form, without gradients."""
    function = op.inplace_variant
    if function is None or not isinstance(arguments[0], torch.Tensor):
        return
    plain = tree_map(lambda x: copied(x).detach() if isinstance(x, torch.Tensor) else x, arguments)
    one(lambda x, *args, **kwargs: function(x.clone(), *args, **kwargs), plain)


def sample_run(op, sample, more):
    """Run one sample; if more, also in place and with strides. Return 1 if it ran."""
    arguments = mapped(lambda x: x, sample)
    ran = one(op.op, arguments)
    if more:
        in_place(op, arguments)
        one(op.op, mapped(lambda x: x, sample.noncontiguous()))
    return int(ran)


def check(op, dtype, most):
    """Return (samples that ran, the ops on the CPU, the samples that failed with their errors)."""
    torch.sesqui.reset_fallbacks()
    LIMITS.clear()
    LIMITS.update(tolerance(op, dtype))
    if op.name in FLOAT_STATISTICS:
        LIMITS["check_dtype"] = False
    grad = dtype in op.supported_backward_dtypes("cpu") and op.supports_autograd
    torch.manual_seed(1)
    samples = [s for s in op.sample_inputs("cpu", dtype, requires_grad=grad)
               if not is_random(op, s)]
    if len(samples) > most:
        samples = [samples[int(i * len(samples) / most)] for i in range(most)]
    ran, failures = 0, []
    for i, sample in enumerate(samples):
        try:
            ran += sample_run(op, sample, i < 3)
        except Exception as error:  # noqa: BLE001
            failures.append((sample, error))
    return ran + len(failures), torch.sesqui.fallbacks(), failures


def describe(failure, full):
    sample, error = failure
    text = " ".join(str(error).split())
    if full:
        text = "".join(traceback.format_exception(error))
    shown = f" [{sample.summary()}]"
    return f"{type(error).__name__}: {text[:4000 if full else 160]}{shown[:4000 if full else 120]}"


def table_read(path):
    """Return {name: ({dtype: kind}, reason)}."""
    table = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            row, _, reason = line.partition("#")
            name, *kinds = row.split() or [""]
            if name:
                table[name] = dict(zip(NAMES, kinds)), reason.strip()
    return table


def table_write(path, rows, expected):
    with open(path, "w", encoding="utf-8") as file:
        file.write("# ops.txt - PyTorch's OpInfo samples on the device: see opinfo.py.\n"
                   f"# PyTorch {torch.__version__.split('+')[0]}, device"
                   f" {torch.sesqui.get_device_name()}\n"
                   f"# {'op':48s} {' '.join(f'{name:8s}' for name in NAMES)}\n")
        for name, kinds in sorted(rows.items()):
            shown = " ".join(f"{k:8s}" for k in kinds).replace("FAILED", "xfail ")
            reason = expected.get(name, ({}, ""))[1] or ("why?" if "xfail" in shown else "")
            file.write(f"{name:50s} {shown}{'# ' + reason if reason else ''}".rstrip() + "\n")


def verdict(kind, wanted):
    """Return passed, cpu, failed, xfail or unsupported for what was observed and expected."""
    if wanted is None:
        return {"FAILED": "failed", "native": "passed", "cpu": "cpu"}.get(kind, "unsupported")
    if kind == "FAILED" and wanted == "xfail":
        return "xfail"
    if kind != wanted:
        return "failed"
    return {"native": "passed", "cpu": "cpu"}.get(kind, "unsupported")


def op_run(op, name, options, wanted):
    """Check an op in one dtype; print what is wrong. Return its kind and its verdict."""
    dtype = getattr(torch, name)
    if dtype not in op.supported_dtypes("cpu"):
        return "-", verdict("-", wanted)
    ran, fallbacks, failures = check(op, dtype, options.samples)
    if failures:
        kind = "FAILED"
    elif ran == 0:
        kind = "-"
    else:
        kind = "cpu" if fallbacks else "native"
    result = verdict(kind, wanted)
    shown = f"# {name_of(op)} {name}: "
    if failures and result != "xfail":
        print(f"{shown}{len(failures)} of {ran} samples: {describe(failures[0], options.full)}",
              flush=True)
    elif result == "failed":
        print(f"{shown}{kind}, expected {wanted}: {fallbacks}", flush=True)
    elif fallbacks and options.ops:
        print(f"{shown}on the CPU: {fallbacks}", flush=True)
    return kind, result


def arguments_read():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--dtypes", default=",".join(NAMES))
    parser.add_argument("--samples", type=int, default=1000, help="most samples of an op")
    parser.add_argument("--expect", help="a table: what each op must be")
    parser.add_argument("--write", help="write a table to this file")
    parser.add_argument("--all", action="store_true", help="with --expect: also ops on the CPU")
    parser.add_argument("--full", action="store_true", help="print whole errors")
    return parser.parse_args()


def main():
    options = arguments_read()
    torch.set_num_threads(1)
    known = table_read(options.expect or options.write) \
        if options.expect or (options.write and os.path.exists(options.write)) else {}
    expected = known if options.expect else {}
    counts = {d: collections.Counter() for d in options.dtypes.split(",")}
    rows = {}
    for op in op_db:
        full = name_of(op)
        kinds, _ = expected.get(full, ({}, ""))
        if op.name in SKIPPED or (options.ops and not {full, op.name} & set(options.ops)):
            continue
        if expected and not options.all and not {"native", "xfail"} & set(kinds.values()):
            continue
        rows[full] = []
        for name in counts:
            kind, result = op_run(op, name, options, kinds.get(name))
            rows[full].append(kind)
            counts[name][result] += 1
        print(f"{full:50s} " + " ".join(f"{r:8s}" for r in rows[full]), flush=True)
    for name, count in counts.items():
        print(f"{name}: {count['passed']} passed, {count['failed']} failed,"
              f" {count['xfail']} expected to fail, {count['cpu']} passed with an op on the CPU,"
              f" {count['unsupported']} not supported")
    if options.write:
        table_write(options.write, rows, known)
    return 1 if any(count["failed"] for count in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

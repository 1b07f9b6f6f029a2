#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The workloads of bench by PyTorch, under the same names: see gpu.h.

usage: peer.py [--brief] [--cpu] [--seconds=S] [GROUP...]

Lines have the same columns; the implementation is "torch", or "compiled" for a
step under torch.compile. Each is what a user of PyTorch would write: fused
AdamW, GradScaler, clip_grad_norm_, autocast.
"""
import statistics
import sys
import time

import torch
import torch.nn.functional as F

BRIEF = "--brief" in sys.argv
CPU = "--cpu" in sys.argv
DEVICE = "cpu" if CPU else "cuda"
BATCHES = 5
SECONDS = next((float(a[len("--seconds="):]) for a in sys.argv
                if a.startswith("--seconds=")), 0.2)  # of a batch of runs


def sync():
    if not CPU:
        torch.cuda.synchronize()


def runs(fn, n):
    sync()
    began = time.perf_counter()
    for _ in range(n):
        fn()
    sync()
    return time.perf_counter() - began


def timed(name, impl, make, flops, nbytes):
    """Make a workload, time its runs, print its line."""
    try:
        fn = make()
        runs(fn, 1 if BRIEF else 3)
        n = 1 if BRIEF else max(1, int(SECONDS / (runs(fn, 1) + 1e-6)))
        seconds = statistics.median(runs(fn, n) / n for _ in range(BATCHES))
        print(f"{name}\t{impl}\t{seconds:.6g}\t{flops:.6g}\t{nbytes:.6g}")
    except Exception as error:  # out of memory, a torch that lacks it, ...
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        print(f"{name}\t{impl}\t-\t{flops:.6g}\t{nbytes:.6g}\t{reason}")
    sys.stdout.flush()
    if not CPU:
        torch.cuda.empty_cache()


def normal(*shape, dtype=torch.float16, std=1.0):
    return torch.randn(*shape, device=DEVICE, dtype=torch.float32).mul_(std).to(dtype)


def new_scaler():
    if hasattr(torch.amp, "GradScaler"):  # PyTorch 2.3
        return torch.amp.GradScaler(DEVICE)
    return torch.cuda.amp.GradScaler(enabled=not CPU)


def copy():
    rows, columns = (16, 64) if BRIEF else (16384, 16384)

    def make():
        x, y = normal(rows, columns), normal(rows, columns)
        return lambda: y.copy_(x)

    timed("copy", "torch", make, 0, 4 * rows * columns)


SHAPES = [
    ("cube", 1024, 1024, 1024),
    ("cube", 2048, 2048, 2048),
    ("cube", 4096, 4096, 4096),
    ("cube", 8192, 8192, 8192),
    ("cube", 16384, 16384, 16384),
    ("qkv", 8192, 3072, 1024),
    ("attention out", 8192, 1024, 1024),
    ("ffn up", 8192, 4096, 1024),
    ("ffn down", 8192, 1024, 4096),
    ("ffn up 4k", 4096, 16384, 4096),
    ("vocabulary", 2048, 50304, 1024),
    ("unaligned", 4095, 4093, 1023),
    ("unaligned n", 4096, 4095, 4096),
    ("batch 1", 1, 4096, 4096),
    ("batch 8", 8, 4096, 4096),
    ("batch 32", 32, 4096, 4096),
]
SHAPES_BRIEF = [("cube", 64, 64, 64), ("unaligned", 23, 17, 9)]


def gemm():
    # as the library promises: no partial sum in 16 bits
    for word in ("fp16", "bf16"):
        name = f"allow_{word}_reduced_precision_reduction"
        try:
            setattr(torch.backends.cuda.matmul, name, False)
        except AssertionError:  # of bf16 since PyTorch 2.0
            print(f"peer: this PyTorch has no {name}", file=sys.stderr)
    for dtype, word in ((torch.float16, "f16"), (torch.bfloat16, "bf16")):
        for what, m, n, k in SHAPES_BRIEF if BRIEF else SHAPES:

            def make(m=m, n=n, k=k, dtype=dtype):
                a, b = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
                d = torch.empty(m, n, device=DEVICE, dtype=dtype)
                return lambda: torch.matmul(a, b, out=d)

            timed(f"gemm {word} {what} {m}x{n}x{k}", "torch", make,
                  2 * m * n * k, 2 * (m * k + k * n + m * n))


def rows():
    n, columns = (8, 33) if BRIEF else (16384, 4096)
    elements = n * columns

    def softmax():
        x = normal(n, columns)
        return lambda: torch.softmax(x, -1)

    def softmax_backward():
        y, dy = torch.softmax(normal(n, columns), -1), normal(n, columns)
        return lambda: torch.ops.aten._softmax_backward_data(
            dy, y, -1, torch.float16)

    def norm():
        x, gamma, beta = normal(n, columns), normal(columns), normal(columns)
        return lambda: torch.ops.aten.native_layer_norm(
            x, [columns], gamma, beta, 1e-5)

    def norm_backward():
        x, dy = normal(n, columns), normal(n, columns)
        gamma, beta = normal(columns), normal(columns)
        _, mean, rstd = torch.ops.aten.native_layer_norm(
            x, [columns], gamma, beta, 1e-5)
        return lambda: torch.ops.aten.native_layer_norm_backward(
            dy, x, [columns], mean, rstd, gamma, beta, [True, True, True])

    timed(f"softmax f16 {n}x{columns}", "torch", softmax, 0, 4 * elements)
    timed(f"softmax backward f16 {n}x{columns}", "torch", softmax_backward, 0,
          6 * elements)
    timed(f"layer norm f16 {n}x{columns}", "torch", norm, 0, 4 * elements)
    timed(f"layer norm backward f16 {n}x{columns}", "torch", norm_backward, 0,
          6 * elements)

    n, classes = (8, 33) if BRIEF else (4096, 50257)

    def loss():
        x = normal(n, classes).requires_grad_()
        target = torch.arange(n, device=DEVICE) * 7919 % classes

        def run():
            x.grad = None
            F.cross_entropy(x, target).backward()

        return run

    timed(f"cross-entropy and gradient f16 {n}x{classes}", "torch", loss, 0,
          4 * n * classes)


def optimizer():
    sizes = ([("one", 1, 1000), ("many", 3, 100)] if BRIEF else
             [("one", 1, 100000000), ("many", 1000, 100000),
              ("one", 1, 1000000000), ("many", 1000, 1000000)])
    for what, n, size in sizes:

        def make(n=n, size=size):
            # PyTorch's way: float32 parameters, which autocast rounds again
            params = [torch.nn.Parameter(normal(size, dtype=torch.float32,
                                                std=0.02)) for _ in range(n)]
            adamw = torch.optim.AdamW(params, lr=1e-4, fused=True)
            scaler = new_scaler()
            loss = torch.ones(1, device=DEVICE)
            for p in params:
                p.grad = normal(size, dtype=torch.float32, std=0.01)

            def run():
                scaler.scale(loss)
                scaler.unscale_(adamw)
                torch.nn.utils.clip_grad_norm_(params, 1.0)
                scaler.step(adamw)
                scaler.update()

            return run

        timed(f"adamw, clip, scaler: {what} {n} of {size}", "torch", make, 0,
              30 * n * size)


def step():
    batch, size = (16, [24, 32, 32, 10]) if BRIEF else (8192,
                                                        [784, 4096, 4096, 10])
    flops = sum((4 if i == 0 else 6) * batch * size[i] * size[i + 1]
                for i in range(3))

    def make(compiled):
        net = torch.nn.Sequential(
            torch.nn.Linear(size[0], size[1]), torch.nn.ReLU(),
            torch.nn.Linear(size[1], size[2]), torch.nn.ReLU(),
            torch.nn.Linear(size[2], size[3])).to(DEVICE)
        adamw = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
        scaler = new_scaler()
        x = normal(batch, size[0], dtype=torch.float32)
        target = torch.arange(batch, device=DEVICE) * 7919 % size[3]
        dtype = torch.bfloat16 if CPU else torch.float16

        def forward():
            with torch.autocast(DEVICE, dtype=dtype):
                return F.cross_entropy(net(x), target)

        if compiled:
            forward = torch.compile(forward, mode="max-autotune")

        def run():
            adamw.zero_grad(set_to_none=True)
            scaler.scale(forward()).backward()
            scaler.step(adamw)
            scaler.update()

        return run

    name = f"step of a perceptron, batch {batch}"
    timed(name, "torch", lambda: make(False), flops, 0)
    if not BRIEF:
        timed(name, "compiled", lambda: make(True), flops, 0)


GROUPS = {"copy": copy, "rows": rows, "optimizer": optimizer, "gemm": gemm,
          "step": step}


def main():
    chosen = [a for a in sys.argv[1:] if not a.startswith("--")]
    for name, run in GROUPS.items():
        if not chosen or name in chosen:
            run()


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases of `sesqui bench` by PyTorch, as a user of PyTorch would write
them: a line of JSON for each line of standard input. See README.md.

usage: pytorch.py [--threads N] [--seconds S]
"""
import argparse
import ctypes
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
MOST, SHORTEST, LONGEST = 9, 0.002, 10  # as in tools/bench/workload.c
# Memory-bound ops walk through this many bytes of operands, so that
# none is in a cache when its turn comes.
BEYOND = 512 << 20


def normal(shape, dtype=torch.float32, std=1.0):
    return torch.randn(shape).mul_(std).to(dtype)


def gemm(dtype, sizes):
    m, n, k = sizes[:3]
    batch = sizes[3:]
    a = normal((*batch, m, k), DTYPES[dtype])
    b = normal((*batch, k, n), DTYPES[dtype])
    d = torch.empty((*batch, m, n), dtype=DTYPES[dtype])
    return lambda: torch.matmul(a, b, out=d)


def rotated(make, nbytes):
    """Runs of as many sets of operands as lie beyond the caches."""
    ring = [make() for _ in range(max(1, min(16, BEYOND // nbytes)))]
    place = [0]
    for one in ring:  # pages are made where they are first written
        one()

    def run():
        ring[place[0]]()
        place[0] = (place[0] + 1) % len(ring)

    return run


def unary(op, dtype, shape):
    functions = {
        # aten's relu.out makes a tensor and copies it
        "relu": lambda x, out: torch.clamp_min(x, 0, out=out),
        "exp": torch.ops.aten.exp.out,
        "gelu": torch.ops.aten.gelu.out, "tanh": torch.ops.aten.tanh.out,
        "sigmoid": torch.ops.aten.sigmoid.out, "silu": torch.ops.aten.silu.out,
    }

    def make():
        x, y = normal(shape, DTYPES[dtype]), torch.empty(shape,
                                                         dtype=DTYPES[dtype])
        return lambda: functions[op](x, out=y)

    return make


def memory(op, dtype, sizes):
    shape = tuple(sizes)
    elements = 1
    for s in sizes:
        elements *= s
    source, _, result = dtype.partition(":")
    kind = DTYPES[source]
    if op in ("copy", "cast"):
        def make():
            x = normal(shape, kind)
            y = torch.empty(shape, dtype=DTYPES[result or source])
            return lambda: y.copy_(x)
    elif op in ("add", "mul"):
        function = torch.add if op == "add" else torch.mul

        def make():
            x, z = normal(shape, kind), normal(shape, kind)
            y = torch.empty(shape, dtype=kind)
            return lambda: function(x, z, out=y)
    elif op == "gelu_backward":
        def make():
            x, dy = normal(shape, kind), normal(shape, kind)
            dx = torch.empty(shape, dtype=kind)
            return lambda: torch.ops.aten.gelu_backward.grad_input(
                dy, x, grad_input=dx)
    elif op == "softmax":
        def make():
            x, y = normal(shape, kind), torch.empty(shape, dtype=kind)
            return lambda: torch.ops.aten._softmax.out(x, -1, False, out=y)
    elif op == "softmax_backward":
        def make():
            y, dy = torch.softmax(normal(shape, kind), -1), normal(shape, kind)
            return lambda: torch.ops.aten._softmax_backward_data(
                dy, y, -1, kind)
    elif op == "layer_norm":
        def make():
            x = normal(shape, kind)
            gamma, beta = normal(shape[-1:], kind), normal(shape[-1:], kind)
            outs = torch.native_layer_norm(x, shape[-1:], gamma, beta, 1e-5)
            return lambda: torch.ops.aten.native_layer_norm.out(
                x, shape[-1:], gamma, beta, 1e-5, out0=outs[0], out1=outs[1],
                out2=outs[2])
    elif op == "layer_norm_backward":
        def make():
            x, dy = normal(shape, kind), normal(shape, kind)
            gamma, beta = normal(shape[-1:], kind), normal(shape[-1:], kind)
            _, mean, rstd = torch.ops.aten.native_layer_norm(
                x, shape[-1:], gamma, beta, 1e-5)
            return lambda: torch.ops.aten.native_layer_norm_backward(
                dy, x, shape[-1:], mean, rstd, gamma, beta,
                [True, True, True])
    elif op in ("sum", "max", "sum_rows"):
        def make():
            axis = 0 if op == "sum_rows" else 1
            x = normal(shape, kind)
            y = torch.empty(shape[1 - axis], dtype=kind)
            function = torch.amax if op == "max" else torch.sum
            return lambda: function(x, axis, out=y)
    elif op == "cross_entropy":
        def make():
            x = normal(shape, kind).requires_grad_()
            target = torch.arange(shape[0]) * 7919 % shape[1]

            def run():
                x.grad = None
                F.cross_entropy(x, target).backward()

            return run
    else:
        make = unary(op, dtype, shape)
    return rotated(make, elements * kind.itemsize * 2)


def pooled(op, x):
    aten, y = torch.ops.aten, F.max_pool2d(x, 2)
    if op == "avg_pool2d":
        return lambda: aten.avg_pool2d.out(x, 2, 2, out=y)
    index = torch.empty(y.shape, dtype=torch.int64)
    return lambda: aten.max_pool2d_with_indices.out(x, 2, out=y, indices=index)


def convolved(op, x, out, kernel):
    n, channels, side, _ = x.shape
    groups = channels if op == "depthwise" else 1
    w = normal((out, channels // groups, kernel, kernel), x.dtype)
    dy = normal((n, out, side, side), x.dtype)
    pad = kernel // 2
    if op == "conv2d_data":
        return lambda: torch.nn.grad.conv2d_input(x.shape, w, dy, padding=pad)
    if op == "conv2d_weight":
        return lambda: torch.nn.grad.conv2d_weight(x, w.shape, dy, padding=pad)
    return lambda: F.conv2d(x, w, padding=pad, groups=groups)


def images(op, dtype, sizes):
    kind = DTYPES[dtype]
    n, channels, side = sizes[:3]

    def make():
        x = normal((n, channels, side, side), kind)
        return pooled(op, x) if "pool" in op else convolved(op, x, *sizes[3:])

    return rotated(make, n * channels * side * side * kind.itemsize * 2)


def tokens(op, dtype, sizes):
    kind = DTYPES[dtype]
    if op == "attention":
        def make():
            q, k, v = (normal(sizes, kind) for _ in range(3))
            return lambda: F.scaled_dot_product_attention(q, k, v,
                                                          is_causal=True)

        n, heads, length, width = sizes
        return rotated(make, n * heads * length * width * kind.itemsize * 4)
    words, width, n = sizes

    def make():
        table, index = normal((words, width), kind), torch.arange(n) * 7919
        index, y = index % words, torch.empty((n, width), dtype=kind)
        # called by F.embedding; aten's embedding.out makes a tensor first
        return lambda: torch.index_select(table, 0, index, out=y)

    return rotated(make, (words + n) * width * kind.itemsize)


def optimizer(dtype, sizes):
    """A model in 16 bits with float32 masters: gradients are copied and
    unscaled, clipped, AdamW steps the masters, which are copied back."""
    size, tensors = sizes
    kind = DTYPES[dtype]
    masters = [torch.nn.Parameter(normal(size, std=0.02))
               for _ in range(tensors)]
    model = [p.detach().to(kind) for p in masters]
    grads = [normal(size, kind, 0.01) for _ in range(tensors)]
    for p in masters:
        p.grad = torch.empty(size)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    adamw = torch.optim.AdamW(masters, lr=1e-4, fused=True)
    loss = torch.ones(1)

    def run():
        scaler.scale(loss)
        torch._foreach_copy_([p.grad for p in masters], grads)
        scaler.unscale_(adamw)
        torch.nn.utils.clip_grad_norm_(masters, 1.0)
        scaler.step(adamw)
        scaler.update()
        torch._foreach_copy_(model, [p.detach() for p in masters])

    return run


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = torch.nn.LayerNorm(width)
        self.c_attn = torch.nn.Linear(width, 3 * width)
        self.proj = torch.nn.Linear(width, width)
        self.ln_2 = torch.nn.LayerNorm(width)
        self.c_fc = torch.nn.Linear(width, 4 * width)
        self.c_proj = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        n, l, width = x.shape
        parts = self.c_attn(self.ln_1(x)).view(n, l, 3 * self.heads, -1)
        q, k, v = parts.transpose(1, 2).chunk(3, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(n, l, width))
        h = F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh")
        return x + self.c_proj(h)


class Gpt(torch.nn.Module):
    def __init__(self, vocabulary, block, layers, heads, width):
        super().__init__()
        self.wte = torch.nn.Embedding(vocabulary, width)
        self.wpe = torch.nn.Embedding(block, width)
        self.h = torch.nn.ModuleList(
            Block(width, heads) for _ in range(layers))
        self.ln_f = torch.nn.LayerNorm(width)

    def forward(self, tokens):
        place = torch.arange(tokens.shape[1])
        x = self.wte(tokens) + self.wpe(place)
        for h in self.h:
            x = h(x)
        return F.linear(self.ln_f(x), self.wte.weight).flatten(0, 1)


def perceptron(*size):
    layers = []
    for i, o in zip(size, size[1:]):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def simple_cnn():
    def layer(i, o, norm):
        conv = torch.nn.Conv2d(i, o, 3, 2, 1, bias=not norm)
        more = [torch.nn.BatchNorm2d(o)] if norm else []
        return [conv, torch.nn.ReLU()] + more

    return torch.nn.Sequential(
        *layer(3, 16, True), *layer(16, 16, True), *layer(16, 2, False),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())


def train(op, dtype, sizes):
    """Forward under autocast, backward, unscale, clip, fused AdamW."""
    kind = DTYPES[dtype]
    batch, sizes = sizes[0], sizes[1:]
    if op == "mlp":
        net, classes = perceptron(*sizes), sizes[-1]
        x = normal((batch, sizes[0]), kind)
        rows = batch
    elif op == "cnn":
        net, classes, rows = simple_cnn(), 2, batch
        x = normal((batch, 3, sizes[0], sizes[0]), kind)
    else:
        block, layers, heads, width, classes = sizes
        net, rows = Gpt(classes, block, layers, heads, width), batch * block
        x = (torch.arange(rows) * 7919 % classes).view(batch, block)
    target = torch.arange(rows) * 7919 % classes
    adamw = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    scaler = torch.amp.GradScaler("cpu", enabled=dtype == "f16")

    def run():
        adamw.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=kind, enabled=dtype != "f32"):
            loss = F.cross_entropy(net(x), target)
        scaler.scale(loss).backward()
        scaler.unscale_(adamw)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(adamw)
        scaler.update()

    return run


def make_case(line):
    op, dtype, sizes = line.split()
    sizes = [int(s) for s in sizes.split("x")]
    if op == "gemm":
        return gemm(dtype, sizes)
    if op == "adamw":
        return optimizer(dtype, sizes)
    if op in ("attention", "embedding"):
        return tokens(op, dtype, sizes)
    if op.startswith("conv2d") or op == "depthwise" or op.endswith("pool2d"):
        return images(op, dtype, sizes)
    if op in ("mlp", "cnn", "gpt"):
        return train(op, dtype, sizes)
    return memory(op, dtype, sizes)


def seconds_of(run, times=1):
    began = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - began) / times


def measure(run, budget):
    """The first run warms up, the second says how many are timed; of what
    takes much longer than there is time, the first counts."""
    one = seconds_of(run)
    if one > 5 * budget and one > LONGEST:
        return [one]
    if one < LONGEST:
        one = seconds_of(run)
    most = budget / (one + 1e-9)
    times = int(SHORTEST / (one + 1e-7)) + 1 if one < SHORTEST else 1
    return [seconds_of(run, times)
            for _ in range(1 if most < 3 else min(MOST, int(most)))]


def answer(line, budget):
    said = {"device": "pytorch", "case": line}
    try:
        run = make_case(line)
        times = measure(run, budget)
        said |= {"runs": len(times), "median_s": statistics.median(times),
                 "min_s": min(times), "max_s": max(times)}
    except Exception as error:  # an op or a dtype that it lacks, no memory
        said["skipped"] = " ".join(f"{type(error).__name__}: {error}".split())
    return said


def keep_pages():
    """Tensors of up to 32 MiB, the most that glibc takes for it, get pages that
    others had: by itself it gives them back to the system now and then, and a
    convolution takes one time or two as its heap happens to lie."""
    trim, mmap = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
    allocator = ctypes.CDLL(None)
    allocator.mallopt(trim, 2_000_000_000)
    allocator.mallopt(mmap, 32 << 20)


def main():
    keep_pages()
    options = argparse.ArgumentParser()
    options.add_argument("--threads", type=int, default=0)
    options.add_argument("--seconds", type=float, default=1.0)
    o = options.parse_args()
    if o.threads > 0:
        torch.set_num_threads(o.threads)
    for line in sys.stdin:
        print(json.dumps(answer(line.strip(), o.seconds)), flush=True)


main()

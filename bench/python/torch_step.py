#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The step of an optimizer under a GradScaler: sesqui.torch beside PyTorch's fused AdamW.

usage: torch_step.py [MILLIONS [STEPS]]

Both step the same model, of transformer layers with MILLIONS of parameters in float32 (25),
in turn in one process. A step is scaler.step and scaler.update; gradients are given. With
clipping it is unscale_, clip_grad_norm_ and both; this module clips within the step.
Prints the median of STEPS (20) in milliseconds, and the ratio.
"""

import statistics
import sys
import time

import torch

import sesqui.torch as st

millions = float(sys.argv[1]) if len(sys.argv) > 1 else 25
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 20


def parameters():
    """Layers of width 512: matrices, biases and norms."""
    shapes = [(1536, 512), (1536,), (512, 512), (512,), (2048, 512), (2048,), (512, 2048), (512,),
              (512,), (512,)]
    made, count = [], 0
    while count < millions * 1e6:
        for shape in shapes:
            made.append(torch.nn.Parameter(torch.randn(shape) * 0.02))
            count += made[-1].numel()
    return made


def pipeline(ours, clip):
    params = parameters()
    if ours:
        opt = st.AdamW(params, lr=1e-4, clip_norm=1.0 if clip else 0.0)
        scaler = st.GradScaler("pytorch")
    else:
        opt = torch.optim.AdamW(params, lr=1e-4, fused=True)
        scaler = torch.amp.GradScaler("cpu")
    for p in params:
        p.grad = torch.randn_like(p) * 0.01
    grads = [p.grad for p in params]

    def step():
        scaler.scale(torch.ones(()))
        for p, g in zip(params, grads):
            if p.grad is None:
                p.grad = g
        begin = time.perf_counter()
        if clip and not ours:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(params, 1.0)
        scaler.step(opt)
        scaler.update()
        return 1e3 * (time.perf_counter() - begin)

    return step


print(f"{millions:g} M parameters, {torch.get_num_threads()} threads, torch {torch.__version__}")
for clip in (False, True):
    theirs, ours = pipeline(False, clip), pipeline(True, clip)
    for _ in range(3):
        theirs()
        ours()
    times = [(theirs(), ours()) for _ in range(steps)]
    a, b = (statistics.median(t[i] for t in times) for i in (0, 1))
    print(f"{'with clipping' if clip else 'step':14} torch {a:8.2f} ms  sesqui {b:8.2f} ms"
          f"  ratio {a / b:.2f}")

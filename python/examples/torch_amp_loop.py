#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.amp's loop: autocast, GradScaler, accumulation and clipping of the gradients.

usage: torch_amp_loop.py [DEVICE]
"""

import sys

import numpy as np

import sesqui
import sesqui.functional as F
from sesqui import amp, nn

rng = np.random.default_rng(1)
device = sesqui.Device(sys.argv[1] if len(sys.argv) > 1 else "auto")
tape = sesqui.Tape(device, policy="mixed_float16", seed=1)
scaler = amp.Scaler(device, "pytorch")


def model(x):
    for i in range(3):
        x = F.relu(nn.linear(f"{i}", x, 128))
    return nn.linear("3", x, 16)


optimizer = None
for step in range(200):
    for micro in range(2):  # gradients of two batches add up
        x = rng.normal(size=(64, 16)).astype("float32")
        tape.begin()
        loss = F.mse(model(tape.input(x)), target=np.sin(x)) / 2
        tape.backward(loss, scaler)
    if optimizer is None:
        optimizer = amp.Optimizer(device, "adamw", lr=2e-3, clip_norm=1.0)
        tape.params.optimize(optimizer)
    optimizer.step(scaler)  # unscale, clip, update; or skip
    scaler.update()
    tape.params.clean()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {2 * loss.item():.4f}, scale {scaler.scale:g}")

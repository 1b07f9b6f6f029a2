#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Handwritten digits, by a perceptron in mixed precision.

usage: digits.py [FILE [DEVICE]]
"""

import os
import sys

import sesqui
import sesqui.functional as F
from sesqui import data, nn

here = os.path.dirname(os.path.abspath(__file__))
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "digits.csv.gz")
table = data.read(path)
x, y = table[:, :64] / 16, table[:, 64].astype("int32")


def net(t, images):
    return nn.linear("fc2", F.relu(nn.linear("fc1", t.input(images), 128)), 10)


trainer = sesqui.Trainer(sys.argv[2] if len(sys.argv) > 2 else "auto", policy="mixed_float16",
                         optimizer="sgd", lr=0.2, momentum=0.9, seed=1)
batches = data.Batches(trainer.queue, x[:1500], y[:1500], batch=32, shuffle=True, seed=1)
trainer.schedule("lr", "cosine", base=0.2, total_steps=16 * len(batches))
for epoch in range(16):
    for images, labels in batches:
        t = trainer.begin()
        trainer.step(F.cross_entropy(net(t, images), target=labels))
    print(f"epoch {epoch + 1}: loss {trainer.loss():.4f}, scale {trainer.scaler.scale:g}")
right = net(trainer.evaluate(), x[1500:]).numpy().argmax(1) == y[1500:]
print(f"accuracy {100 * right.mean():.2f} % on {trainer.queue.device.name}")
sys.exit(0 if right.mean() >= 0.92 else 1)

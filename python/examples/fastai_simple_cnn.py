#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fastai: Learner(data, simple_cnn((3,16,16,2), bn=True)).to_fp16().fit_one_cycle(1, 3e-3).

usage: fastai_simple_cnn.py [FOLDER [DEVICE]]
"""

import sys

import sesqui
import sesqui.functional as F
from sesqui import data, nn

folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/datasets/fashion-mnist"


def read(folder, part):  # sneakers and boots
    x = data.read(f"{folder}/{part}-images-idx3-ubyte")[:, None] / 255
    y = data.read(f"{folder}/{part}-labels-idx1-ubyte")
    return x[(y == 7) | (y == 9)].astype("float32"), (y[(y == 7) | (y == 9)] == 9).astype("int32")


def simple_cnn(t, x):
    x = t.input(x).broadcast_to((x.shape[0], 3, 28, 28))
    for i, out in enumerate((16, 16, 2)):
        x = F.relu(nn.conv2d(f"{i}.conv", x, out, 3, stride=2, padding=1, bias=i == 2,
                             weight_init="kaiming_normal"))
        x = nn.batch_norm(f"{i}.bn", x) if i < 2 else x
    return F.global_avg_pool2d(x).reshape(-1, 2)


if __name__ == "__main__":
    x, y = read(folder, "train")
    learn = sesqui.Trainer(sys.argv[2] if len(sys.argv) > 2 else "auto", policy="mixed_float16",
                           scaler="fastai", beta2=0.99, eps=1e-5, weight_decay=0.01, lr=3e-3)
    batches = data.Batches(learn.queue, x, y, batch=64, shuffle=True)
    learn.schedule("lr", "one_cycle_fastai", base=3e-3, total_steps=len(batches), pct_start=0.25)
    for images, labels in batches:
        t = learn.begin()
        learn.step(F.cross_entropy(simple_cnn(t, images), target=labels))
    x, y = read(folder, "t10k")
    right = simple_cnn(learn.evaluate(), x).numpy().argmax(1) == y
    print(f"loss {learn.loss():.4f}  accuracy {right.mean():.4f}")

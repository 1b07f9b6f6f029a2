#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keras's guide to mixed precision: https://keras.io/api/mixed_precision/, on Fashion-MNIST.

usage: keras_guide.py [FOLDER [DEVICE]]
"""

import sys

import sesqui
import sesqui.functional as F
from sesqui import data, nn

folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/datasets/fashion-mnist"


def read(folder, part):
    images = data.read(f"{folder}/{part}-images-idx3-ubyte")
    labels = data.read(f"{folder}/{part}-labels-idx1-ubyte")
    return images.reshape(-1, 784).astype("float32") / 255, labels.astype("int32")


def model(t, x):
    keras = {"weight_init": "xavier_uniform", "bias_init": "zeros"}
    x = F.relu(nn.linear("dense_1", t.input(x), 4096, **keras))
    x = F.relu(nn.linear("dense_2", x, 4096, **keras))
    return nn.linear("predictions", x, 10, **keras)


if __name__ == "__main__":
    (x_train, y_train), (x_test, y_test) = read(folder, "train"), read(folder, "t10k")
    trainer = sesqui.Trainer(sys.argv[2] if len(sys.argv) > 2 else "auto",
                             policy="mixed_float16", optimizer="rmsprop", scaler="keras3",
                             lr=1e-3, alpha=0.9, eps=1e-7)
    train = data.Batches(trainer.queue, x_train, y_train, batch=8192, shuffle=True)
    for epoch in range(5):
        for x, y in train:
            t = trainer.begin()
            trainer.step(F.cross_entropy(model(t, x), target=y))
        print(f"epoch {epoch + 1}: loss {trainer.loss():.4f}")
    accuracy = data.Mean(trainer.queue)
    for x, y in data.Batches(trainer.queue, x_test, y_test, batch=1000):
        accuracy.add_accuracy(model(trainer.evaluate(), x), y)
    print(f"test accuracy: {accuracy.read()[0]:.4f}")

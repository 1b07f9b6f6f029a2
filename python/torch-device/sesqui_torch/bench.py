# SPDX-License-Identifier: Apache-2.0
"""Time training steps on the device and on PyTorch's CPU, side by side in one run.

    python -m sesqui_torch.bench                        all models, all modes
    python -m sesqui_torch.bench gpt --modes float32    some of them
    python -m sesqui_torch.bench op                     the host time of one small op
    SESQUI_TORCH_DEVICE=opencl:0 python -m sesqui_torch.bench mlp --steps 5

resnet18 is a ResNet-18 of the usual width at 64 x 64 pixels, gpt a GPT of nanoGPT's size for
characters (6 layers, width 384, 256 tokens), mlp three layers of 1024 with a batch of 256.
A step is forward, backward, clipping where the model uses it, and the optimizer's step. Each step
has a batch of its own: gradients of a batch that is known by heart are so small that arithmetic
with subnormal numbers is timed.

Each device has a process of its own, as in a user's program. The processes take turns, some steps
at a time, so that what else the machine does meets all. The first step of a turn does not count.
The table has the median of each, and PyTorch's time divided by the device's: above 1 the device is
faster. PyTorch's CPU runs twice: as it is, and with KEEP in its environment. Without, glibc gives
the memory of each large tensor back to the system, which has to clear it for the next one.
"""

import argparse
import multiprocessing
import os
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

import sesqui_torch  # noqa: F401
from sesqui_torch import demo


# Seconds before each turn. Threads look for more work for a while after their last, and would take
# a core from the other process.
REST = 0.05
# Steps of a turn that count.
TURN = 5
# Batches that a model has.
BATCHES = 32
# glibc keeps the memory of large tensors.
KEEP = {"MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TRIM_THRESHOLD_": "4000000000"}


class MLP(nn.Module):
    def __init__(self, inputs=784, width=1024, classes=10):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width),
                                    nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                    nn.Linear(width, classes))

    def forward(self, x):
        return self.layers(x)


def resnet_data(g):
    return torch.randn(16, 3, 64, 64, generator=g), torch.randint(10, (16,), generator=g)


def gpt_data(g):
    text = torch.randint(65, (4, 257), generator=g)
    return text[:, :-1], text[:, 1:]


def mlp_data(g):
    return torch.randn(256, 784, generator=g), torch.randint(10, (256,), generator=g)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3, fused=True)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=1e-4, fused=True)


MODELS = {
    "resnet18": (lambda: demo.ResNet18(width=64), resnet_data, F.cross_entropy, sgd, 0.0),
    "gpt": (lambda: demo.GPT(65, 256, 384, 6, 6), gpt_data, demo.word_loss, adamw, 1.0),
    "mlp": (MLP, mlp_data, F.cross_entropy, adamw, 0.0),
}


class Training:
    """One model on one device."""

    def __init__(self, name, device, dtype):
        make, data, self.loss_of, optimizer_of, self.clip = MODELS[name]
        torch.manual_seed(0)
        self.model = make().to(device)
        g = torch.Generator().manual_seed(1)
        self.batches = [tuple(v.to(device) for v in data(g)) for _ in range(BATCHES)]
        self.steps = 0
        self.optimizer = optimizer_of(self.model.parameters())
        self.device, self.dtype = device, dtype
        self.scaler = torch.amp.GradScaler(device, enabled=dtype == torch.float16)

    def step(self):
        """Return the seconds of one step, its loss read back."""
        x, target = self.batches[self.steps % BATCHES]
        self.steps += 1
        start = time.perf_counter()
        self.optimizer.zero_grad()
        with torch.autocast(self.device, dtype=self.dtype, enabled=self.dtype is not None):
            loss = self.loss_of(self.model(x), target)
        self.scaler.scale(loss).backward()
        if self.clip:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        loss.item()
        return time.perf_counter() - start


def serve(pipe, name, device, mode):
    """A process: train a model, as many steps as the pipe asks for, until it asks for 0."""
    try:
        run = Training(name, device, demo.MODES[mode])
        run.step()
    except RuntimeError as error:
        pipe.send(str(error).splitlines()[0][:80])
        return
    torch.sesqui.reset_fallbacks()
    pipe.send("")
    while steps := pipe.recv():
        run.step()
        pipe.send([run.step() for _ in range(steps)])
    pipe.send(torch.sesqui.fallbacks())


class Process:
    """A training in a process of its own."""

    def __init__(self, name, device, mode, environment):
        spawn = multiprocessing.get_context("spawn")
        self.pipe, other = spawn.Pipe()
        self.process = spawn.Process(target=serve, args=(other, name, device, mode))
        saved = dict(os.environ)
        os.environ.update(environment)
        self.process.start()
        os.environ.clear()
        os.environ.update(saved)
        other.close()
        self.times = []
        self.error = self.pipe.recv()

    def turn(self):
        time.sleep(REST)
        self.pipe.send(TURN)
        self.times += self.pipe.recv()

    def end(self):
        """Return the ops that ran on the CPU instead."""
        self.pipe.send(0)
        fallbacks = self.pipe.recv()
        self.process.join()
        return fallbacks

    def ms(self):
        return 1e3 * statistics.median(self.times)


def time_model(name, mode, steps, with_cpu):
    runs = {"sesqui": Process(name, "sesqui", mode, {})}
    if with_cpu:
        runs["PyTorch"] = Process(name, "cpu", mode, {})
        runs["PyTorch, memory kept"] = Process(name, "cpu", mode, KEEP)
    if runs["sesqui"].error:
        raise RuntimeError(runs["sesqui"].error)
    for label in [label for label, run in runs.items() if run.error]:
        print(f"{name:9s} {mode:9s} {label}: {runs.pop(label).error}")
    for _ in range(0, steps, TURN):
        for run in runs.values():
            run.turn()
    fallbacks = {label: run.end() for label, run in runs.items()}["sesqui"]
    own = runs.pop("sesqui").ms()
    line = f"{name:9s} {mode:9s} sesqui {own:9.2f} ms"
    for label, run in runs.items():
        line += f"   {label} {run.ms():9.2f} ms, ratio {run.ms() / own:6.2f}"
    if fallbacks:
        line += f"   on the CPU: {fallbacks}"
    print(line, flush=True)


def time_op(label, call, rounds=20, calls=500):
    """The least time of a round, in microseconds a call: the queue has room for one round."""
    best = float("inf")
    for _ in range(rounds):
        torch.sesqui.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - start)
    torch.sesqui.synchronize()
    print(f"{label:32s} {1e6 * best / calls:8.2f} us")


def time_ops():
    for device in "sesqui", "cpu":
        x, y = torch.ones(8, device=device), torch.ones(8, device=device)
        a = torch.ones(8, 8, device=device)
        time_op(f"add_ of 8 elements, {device}", lambda: x.add_(y))
        time_op(f"add of 8 elements, {device}", lambda: torch.add(x, y))
        time_op(f"mm of 8 x 8, {device}", lambda: torch.mm(a, a))
        time_op(f"softmax of 8 x 8, {device}", lambda: torch.softmax(a, 1))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m sesqui_torch.bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help=f"of {', '.join(MODELS)}, op; default: all")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--modes", default=",".join(demo.MODES), help="float32,float16,bfloat16")
    parser.add_argument("--no-cpu", action="store_true", help="do not run PyTorch's CPU")
    options = parser.parse_args(arguments)
    for name in options.what:
        if name not in MODELS and name != "op":
            parser.error(f"no model {name!r}, expected {', '.join(MODELS)} or op")
    print(f"device {torch.sesqui.get_device_name()}"
          f" ({torch.sesqui.get_device_properties()['description']}), PyTorch {torch.__version__},"
          f" {torch.get_num_threads()} threads, {options.steps} steps")
    for name in options.what or [*MODELS, "op"]:
        if name == "op":
            time_ops()
            continue
        for mode in options.modes.split(","):
            time_model(name, mode, options.steps, not options.no_cpu)


if __name__ == "__main__":
    main()

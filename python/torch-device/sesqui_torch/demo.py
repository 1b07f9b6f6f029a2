# SPDX-License-Identifier: Apache-2.0
"""Train five small models on the device and on PyTorch's CPU, side by side.

    python -m sesqui.torch.demo                   all models
    python -m sesqui.torch.demo gpt unet          some of them
    SESQUI_TORCH_DEVICE=vulkan:0 python -m sesqui.torch.demo --steps 20

The models are written here: a ResNet-18, a GPT, a BERT encoder, an LSTM language model and a
U-Net, in sizes that take seconds. The data is made from a fixed seed. Each model is trained in
float32 and under torch.autocast in float16 (with torch.amp.GradScaler) and bfloat16. The table
has the losses of both devices and the number of ops that ran on the CPU inside the steps.

With `--size small` a batch is a quarter. This is the default if the device is a driver that uses
the processor, such as PoCL or lavapipe.
"""

import argparse
import math
import time

import torch
import torch.nn.functional as F
from torch import nn

import sesqui_torch  # noqa: F401


# ---- a residual network ----

class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.short = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                       nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        return F.relu(y + self.short(x), inplace=True)


class ResNet18(nn.Module):
    def __init__(self, classes=10, width=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width),
                                  nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        layers, n = [], width
        for stage in range(4):
            outputs = width * 2 ** stage
            layers += [Block(n, outputs, 1 if stage == 0 else 2), Block(outputs, outputs, 1)]
            n = outputs
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(n, classes)

    def forward(self, x):
        y = F.adaptive_avg_pool2d(self.layers(self.stem(x)), 1)
        return self.head(torch.flatten(y, 1))


# ---- a GPT ----

class Attention(nn.Module):
    def __init__(self, width, heads, dropout=0.0):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.dropout = dropout

    def forward(self, x, causal):
        n, t, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (a.view(n, t, self.heads, width // self.heads).transpose(1, 2)
                   for a in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                           dropout_p=self.dropout if self.training else 0.0)
        return self.out(y.transpose(1, 2).contiguous().view(n, t, width))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x), True)
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, words=65, length=32, width=64, heads=4, layers=2):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(GptBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.words(tokens) + self.places(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


# ---- a BERT encoder, with a padding mask ----

class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def split(self, x):
        n, t, width = x.shape
        return x.view(n, t, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x, mask):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask
        y = F.softmax(scores, dim=-1) @ v
        y = self.out(y.transpose(1, 2).reshape(x.shape))
        x = self.norm1(x + y)
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, words=100, length=24, width=48, heads=4, layers=2):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.places, self.kinds = nn.Embedding(length, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.pooler, self.head = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, tokens):
        keep = tokens != 0
        mask = torch.where(keep, 0.0, -1e4)[:, None, None, :]
        places = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
        kinds = torch.zeros_like(tokens)
        x = self.norm(self.words(tokens) + self.places(places) + self.kinds(kinds))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(torch.tanh(self.pooler(x[:, 0])))


# ---- an LSTM language model ----

class LstmModel(nn.Module):
    def __init__(self, words=50, width=48, layers=2):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        y, _ = self.lstm(self.words(tokens))
        return self.head(y)


# ---- a U-Net ----

def double(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs),
                         nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1),
                         nn.GroupNorm(4, outputs), nn.SiLU())


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down1, self.down2 = double(1, width), double(width, 2 * width)
        self.bottom = double(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.join2 = double(4 * width, 2 * width)
        self.up1 = nn.Upsample(scale_factor=2)
        self.join1 = double(3 * width, width)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.avg_pool2d(b, 2))
        b = self.join2(torch.cat([self.up2(c), b], dim=1))
        a = self.join1(torch.cat([self.up1(b), a], dim=1))
        return self.head(a)


# ---- data, losses and optimizers ----

def sequences(words, n, length, generator):
    """Text in which a word depends on the one before it."""
    table = torch.randint(words, (words, 3), generator=generator)
    text = torch.randint(words, (n, 1), generator=generator)
    for _ in range(length):
        pick = torch.randint(3, (n, 1), generator=generator)
        text = torch.cat([text, table[text[:, -1:].squeeze(1)].gather(1, pick)], dim=1)
    return text


def resnet_data(g, n=32):
    y = torch.randint(10, (n,), generator=g)
    x = torch.randn(n, 3, 32, 32, generator=g) + y.view(-1, 1, 1, 1) * 0.1
    return x, y


def gpt_data(g, n=16):
    text = sequences(65, n, 32, g)
    return text[:, :-1], text[:, 1:]


def bert_data(g, n=16):
    x = torch.randint(1, 100, (n, 24), generator=g)
    for i in range(n):
        x[i, 12 + i % 12:] = 0
    return x, (x[:, 1] > 50).long()


def lstm_data(g, n=16):
    text = sequences(50, n, 20, g)
    return text[:, :-1], text[:, 1:]


def unet_data(g, n=8):
    x = torch.randn(n, 1, 32, 32, generator=g)
    return x, (F.avg_pool2d(x, 5, 1, 2) > 0).float()


def word_loss(y, target):
    return F.cross_entropy(y.reshape(-1, y.shape[-1]), target.reshape(-1))


MODELS = {
    "resnet18": (ResNet18, resnet_data, F.cross_entropy,
                 lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-4), 0.0),
    "gpt": (GPT, gpt_data, word_loss,
            lambda p: torch.optim.AdamW(p, lr=1e-3, betas=(0.9, 0.95), fused=True), 1.0),
    "bert": (Bert, bert_data, F.cross_entropy,
             lambda p: torch.optim.AdamW(p, lr=1e-3), 0.0),
    "lstm": (LstmModel, lstm_data, word_loss,
             lambda p: torch.optim.Adam(p, lr=3e-3), 1.0),
    "unet": (UNet, unet_data, F.binary_cross_entropy_with_logits,
             lambda p: torch.optim.Adam(p, lr=3e-3, fused=True), 0.0),
}

SMALL = {"resnet18": 8, "gpt": 4, "bert": 4, "lstm": 4, "unet": 2}  # the batch of --size small

MODES = {"float32": None, "float16": torch.float16, "bfloat16": torch.bfloat16}


def train(name, device, dtype, steps, channels_last=False, small=False):
    """Return the loss of each step, the seconds, and the ops that ran on the CPU."""
    make, data, loss_of, optimizer_of, clip = MODELS[name]
    torch.manual_seed(0)
    model = make()
    generator = torch.Generator().manual_seed(1)
    x, target = data(generator, SMALL[name]) if small else data(generator)
    model, x, target = model.to(device), x.to(device), target.to(device)
    if channels_last and x.dim() == 4:
        model, x = (v.to(memory_format=torch.channels_last) for v in (model, x))
    optimizer = optimizer_of(model.parameters())
    scaler = torch.amp.GradScaler(device, enabled=dtype == torch.float16, init_scale=2.0 ** 12)
    losses = []
    torch.sesqui.reset_fallbacks()
    start = time.perf_counter()
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=dtype, enabled=dtype is not None):
            loss = loss_of(model(x), target)
        scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    losses = torch.stack(losses).float().tolist()
    return losses, time.perf_counter() - start, torch.sesqui.fallbacks()


def arguments_read(arguments):
    parser = argparse.ArgumentParser(prog="python -m sesqui.torch.demo", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}; default: all")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--modes", default=",".join(MODES), help="float32,float16,bfloat16")
    parser.add_argument("--channels-last", action="store_true", help="images in channels_last")
    parser.add_argument("--size", choices=["small", "full"], help="of a batch; see above")
    parser.add_argument("--no-cpu", action="store_true", help="do not train on PyTorch's CPU")
    options = parser.parse_args(arguments)
    for name in options.models:
        if name not in MODELS:
            parser.error(f"no model {name!r}, expected {', '.join(MODELS)}")
    return options


def size_choose(options):
    """Print the device and the size; return whether it is small."""
    properties = torch.sesqui.get_device_properties()
    print(f"device {properties['name']} ({properties['description']}), {options.steps} steps")
    slow = properties["host_memory"] and properties["asynchronous"]
    if options.size is None and slow:
        print("batches are small (--size small): the driver of this device uses the processor")
    return options.size == "small" or (options.size is None and slow)


def main(arguments=None):
    options = arguments_read(arguments)
    small = size_choose(options)
    total = 0
    for name in options.models or MODELS:
        for mode in options.modes.split(","):
            rows = [("sesqui", "sesqui")] + ([] if options.no_cpu else [("torch cpu", "cpu")])
            for label, device in rows:
                try:
                    losses, seconds, fallbacks = train(name, device, MODES[mode], options.steps,
                                                       options.channels_last, small)
                except RuntimeError as error:
                    if device != "cpu":
                        raise
                    print(f"{name:9s} {mode:9s} {label:10s} {str(error).splitlines()[0][:80]}")
                    continue
                points = sorted({0, options.steps // 4, options.steps // 2, options.steps - 1})
                curve = " ".join(f"{losses[i]:9.5f}" for i in points)
                count = sum(fallbacks.values())
                note = f"  {count} on the CPU: {fallbacks}" if count and device != "cpu" else ""
                if device != "cpu":
                    total += count
                print(f"{name:9s} {mode:9s} {label:10s} {curve}  {seconds:6.2f} s{note}",
                      flush=True)
    print(f"ops that ran on the CPU inside the steps: {total}")
    return 0 if total == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())

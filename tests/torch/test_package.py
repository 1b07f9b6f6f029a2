# SPDX-License-Identifier: Apache-2.0
"""sesqui.torch's own optimizers and GradScaler on the device, beside the same on the CPU."""

import pickle

import pytest
import torch

sesqui = pytest.importorskip("sesqui")
st = pytest.importorskip("sesqui.torch")

OPTIMIZERS = {
    "adamw": lambda p: st.AdamW(p, lr=1e-2, clip_norm=1.0),
    "adam": lambda p: st.Adam(p, lr=1e-2, amsgrad=True),
    "sgd": lambda p: st.SGD(p, lr=1e-2, momentum=0.9, nesterov=True),
    "torch": lambda p: torch.optim.AdamW(p, lr=1e-2),
}


class Run:
    def __init__(self, device, optimizer, preset="pytorch,init_scale=1024,growth_interval=3"):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(),
                                         torch.nn.Linear(32, 3)).to(device)
        self.x = torch.randn(16, 8, generator=torch.Generator().manual_seed(3)).to(device)
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())
        self.scaler = st.GradScaler(preset, device=device)

    def step(self, bad=False):
        self.optimizer.zero_grad()
        y = self.model(self.x)
        loss = (y * y).mean() * (float("inf") if bad else 1.0)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return self.scaler.get_scale()

    def values(self):
        return [p.detach().cpu() for p in self.model.parameters()]


def assert_near(a, b):
    """A gradient differs by the rounding of its sums, at most 1e-4 of itself where terms cancel.
    12 steps of at most 0.01 each carry that into the values."""
    for x, y in zip(a, b):
        torch.testing.assert_close(x, y, rtol=0, atol=12 * 0.01 * 1e-4)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_are_the_cpus(optimizer):
    here, there = Run("sesqui", optimizer), Run("cpu", optimizer)
    for i in range(12):
        assert here.step(i == 5) == there.step(i == 5)
    assert_near(here.values(), there.values())
    assert here.scaler.state()["skipped"] == 1


@pytest.mark.parametrize("preset", ["megatron", "deepspeed", "apex", "keras3"])
def test_presets(preset):
    here, there = Run("sesqui", "adamw", preset), Run("cpu", "adamw", preset)
    for i in range(8):
        assert here.step(i in (2, 3)) == there.step(i in (2, 3))


def test_pickle_and_states():
    run, other = Run("sesqui", "adamw"), Run("sesqui", "adamw")
    for _ in range(4):
        run.step()
    copy = pickle.loads(pickle.dumps(run.scaler))
    assert copy.get_scale() == run.scaler.get_scale() == 2048.0
    other.scaler.load_state_dict(run.scaler.state_dict())
    other.model.load_state_dict(run.model.state_dict())
    other.optimizer.load_state_dict(run.optimizer.state_dict())
    for _ in range(3):
        assert run.step() == other.step()
    for x, y in zip(run.values(), other.values()):
        assert torch.equal(x, y)


def test_other_stream():
    """The library's queue is the default stream: the two wait for each other."""
    run, same = Run("sesqui", "adamw"), Run("sesqui", "adamw")
    stream = torch.sesqui.Stream()
    torch.sesqui.synchronize()
    for _ in range(5):
        same.step()
        with torch.sesqui.stream(stream):
            run.step()
    torch.sesqui.synchronize()
    for x, y in zip(run.values(), same.values()):
        assert torch.equal(x, y)


def test_tensors_of_two_devices():
    p, q = (torch.nn.Parameter(torch.ones(3, device=d)) for d in ("sesqui", "cpu"))
    p.grad, q.grad = torch.ones_like(p), torch.ones_like(q)
    optimizer = st.SGD([p, q], lr=0.1)
    with pytest.raises(sesqui.InvalidError, match="sesqui:0 and cpu"):
        optimizer.step()

# SPDX-License-Identifier: Apache-2.0
"""sesqui.torch beside PyTorch's own GradScaler and optimizers."""

import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import sesqui  # noqa: E402
import sesqui.torch as st  # noqa: E402
from sesqui import amp  # noqa: E402


def model(dtype=torch.float32):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(),
                               torch.nn.Linear(32, 3)).to(dtype)


X = torch.from_numpy(np.random.default_rng(5).normal(size=(16, 8)).astype(np.float32))


def loss_of(net, bad=False):
    y = net(X.to(next(net.parameters()).dtype)).float()
    return (y * y).mean() * (float("inf") if bad else 1.0)


OVERFLOWS = [0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("fused", [False, True])
def test_trace_is_torchs(fused):
    """The scale of every step has the bits of torch.amp.GradScaler's."""
    theirs_net, ours_net = model(), model()
    theirs_opt = torch.optim.SGD(theirs_net.parameters(), lr=0.01)
    ours_opt = (st.SGD if fused else torch.optim.SGD)(ours_net.parameters(), lr=0.01)
    settings = {"init_scale": 1000.0, "growth_factor": 1.7, "backoff_factor": 0.3,
                "growth_interval": 3}
    theirs = torch.amp.GradScaler("cpu", **settings)
    ours = st.GradScaler("pytorch", **settings)
    for bad in OVERFLOWS * 3:
        for net, opt, scaler in ((theirs_net, theirs_opt, theirs), (ours_net, ours_opt, ours)):
            opt.zero_grad()
            scaler.scale(loss_of(net, bad)).backward()
            scaler.step(opt)
            scaler.update()
        assert ours.get_scale() == theirs.get_scale()
    if not fused:
        for a, b in zip(ours_net.parameters(), theirs_net.parameters()):
            assert torch.equal(a, b)
    else:
        for a, b in zip(ours_net.parameters(), theirs_net.parameters()):
            assert torch.allclose(a, b, rtol=1e-5, atol=1e-6)
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    assert ours.state_dict() == pytest.approx(theirs.state_dict())


@pytest.mark.parametrize("preset", amp.presets())
def test_every_preset(preset):
    """The scaler's trace is that of the simulator."""
    net = model()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    scaler = st.GradScaler(preset)
    want, _ = amp.simulate(OVERFLOWS, preset)
    for bad, scale in zip(OVERFLOWS, want):
        assert scaler.get_scale() == scale
        opt.zero_grad()
        try:
            scaler.scale(loss_of(net, bad)).backward()
            scaler.step(opt)
            scaler.update()
        except sesqui.ScaleError:
            return  # a preset that gives up


def pairs():
    o = torch.optim
    yield "adamw", o.AdamW, st.AdamW, {"lr": 0.01, "weight_decay": 0.1}
    yield "adamw amsgrad", o.AdamW, st.AdamW, {"lr": 0.01, "amsgrad": True, "betas": (0.8, 0.9)}
    yield "adam", o.Adam, st.Adam, {"lr": 0.01, "weight_decay": 0.1, "eps": 1e-6}
    yield "sgd", o.SGD, st.SGD, {"lr": 0.1}
    yield "momentum", o.SGD, st.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True,
                                      "weight_decay": 0.01}
    yield "maximize", o.SGD, st.SGD, {"lr": 0.01, "momentum": 0.5, "dampening": 0.1,
                                      "maximize": True}


@pytest.mark.parametrize("name,theirs,ours,options", list(pairs()), ids=lambda v: str(v)[:20])
def test_optimizers(name, theirs, ours, options):
    a, b = model(), model()
    one, two = theirs(a.parameters(), **options), ours(b.parameters(), **options)
    addresses = [p.data_ptr() for p in b.parameters()]
    for _ in range(20):
        for net, opt in ((a, one), (b, two)):
            opt.zero_grad()
            loss_of(net).backward()
            opt.step()
    assert addresses == [p.data_ptr() for p in b.parameters()]
    for p, q in zip(a.parameters(), b.parameters()):
        assert torch.allclose(p, q, rtol=2e-5, atol=1e-6)


def test_groups_and_schedulers():
    def run(kind):
        net = model()
        opt = kind([{"params": list(net.parameters())[::2]},
                    {"params": list(net.parameters())[1::2], "lr": 0.001, "weight_decay": 0.5}],
                   lr=0.01)
        sched = torch.optim.lr_scheduler.StepLR(opt, 3, 0.5)
        for _ in range(10):
            opt.zero_grad(set_to_none=True)
            loss_of(net).backward()
            opt.step()
            sched.step()
        return list(net.parameters())
    for p, q in zip(run(torch.optim.AdamW), run(st.AdamW)):
        assert torch.allclose(p, q, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("set_to_none", [False, True])
def test_accumulation(set_to_none):
    a, b = model(), model()
    for net, opt in ((a, torch.optim.AdamW(a.parameters())), (b, st.AdamW(b.parameters()))):
        for i in range(12):
            if i % 3 == 0:
                opt.zero_grad(set_to_none=set_to_none)
            (loss_of(net) / 3).backward()
            if i % 3 == 2:
                opt.step()
    for p, q in zip(a.parameters(), b.parameters()):
        assert torch.allclose(p, q, rtol=2e-5, atol=1e-6)


def test_unscale_and_clip():
    a, b = model(), model()
    for net, kind, scaler in ((a, torch.optim.SGD, torch.amp.GradScaler("cpu")),
                              (b, st.SGD, st.GradScaler())):
        opt = kind(net.parameters(), lr=0.1)
        for _ in range(5):
            opt.zero_grad()
            scaler.scale(loss_of(net)).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.05)
            scaler.step(opt)
            scaler.update()
    for p, q in zip(a.parameters(), b.parameters()):
        assert torch.allclose(p, q, rtol=2e-5, atol=1e-6)


def test_clip_norm_is_in_the_step():
    a, b = model(), model()
    one, two = torch.optim.AdamW(a.parameters()), st.AdamW(b.parameters(), clip_norm=0.05)
    for _ in range(5):
        for net, opt in ((a, one), (b, two)):
            opt.zero_grad()
            loss_of(net).backward()
        torch.nn.utils.clip_grad_norm_(a.parameters(), 0.05)
        one.step()
        two.step()
    for p, q in zip(a.parameters(), b.parameters()):
        assert torch.allclose(p, q, rtol=1e-4, atol=1e-6)


def test_bfloat16_has_masters():
    """1,000 steps that are each too small for bfloat16 add up."""
    p = torch.ones(16, dtype=torch.bfloat16, requires_grad=True)
    opt = st.SGD([p], lr=1e-4)
    for _ in range(1000):
        opt.zero_grad()
        p.sum().backward()
        opt.step()
    assert abs(float(p[0].detach()) - 0.9) < 0.005


def test_state_dict():
    a, b = model(), model()
    one, two = st.AdamW(a.parameters()), st.AdamW(b.parameters())
    def steps(net, opt, n):
        for _ in range(n):
            opt.zero_grad()
            loss_of(net).backward()
            opt.step()
    steps(a, one, 3)
    b.load_state_dict(a.state_dict())
    two.load_state_dict(copy.deepcopy(one.state_dict()))
    steps(a, one, 3)
    steps(b, two, 3)
    for p, q in zip(a.parameters(), b.parameters()):
        assert torch.equal(p, q)


def test_misuse():
    net = model()
    opt, scaler = torch.optim.SGD(net.parameters(), lr=0.1), st.GradScaler()
    scaler.scale(loss_of(net)).backward()
    scaler.unscale_(opt)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(opt)
    scaler.step(opt)
    with pytest.raises(RuntimeError, match="step"):
        scaler.step(opt)
    scaler.update()
    with pytest.raises(AssertionError):
        scaler.update()
    off = st.GradScaler(enabled=False)
    assert off.get_scale() == 1 and off.scale(X) is X and off.state_dict() == {}


def test_autograd_sees_the_update():
    net = model()
    opt = st.SGD(net.parameters(), lr=0.1)
    loss = loss_of(net)
    loss.backward(retain_graph=True)
    opt.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_frozen_parameters_stay():
    """PyTorch skips a parameter without a gradient, weight decay included."""
    a = torch.nn.Parameter(torch.ones(2))
    b = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    c = torch.nn.Parameter(torch.ones(2))
    opt = st.AdamW([a, b, c], lr=0.1, weight_decay=0.5)
    a.grad = torch.ones(2)
    opt.step()
    assert torch.equal(b, torch.ones(2)) and b.grad is None and torch.equal(c, torch.ones(2))
    c.grad = torch.ones(2)
    a.grad = torch.ones(2)
    with pytest.raises(sesqui.InvalidError, match="had none in the first step"):
        opt.step()


def test_what_the_library_cannot_see_is_an_error():
    p = torch.nn.Parameter(torch.ones(4))
    opt = st.SGD([p], lr=0.1)
    for _ in range(2):
        p.grad = torch.ones(4)
        opt.step()
    opt.zero_grad()
    with pytest.raises(sesqui.InvalidError, match="no gradient in this step"):
        opt.step()
    p.grad = None
    with pytest.raises(sesqui.InvalidError, match="no gradient in this step"):
        opt.step()
    p.data = torch.full((4,), 7.0)
    p.grad = torch.ones(4)
    with pytest.raises(sesqui.InvalidError, match="replaced"):
        opt.step()
    half = torch.nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
    opt = st.SGD([half], lr=0.5)
    half.grad = torch.ones_like(half)
    opt.step()
    with torch.no_grad():
        half.fill_(5.0)
    half.grad = torch.ones_like(half)
    with pytest.raises(sesqui.InvalidError, match="reload_parameters"):
        opt.step()
    opt.reload_parameters()
    opt.step()
    assert half[0] == 4.5


def test_load_state_dict_then_another_rate():
    p = torch.nn.Parameter(torch.ones(4))
    opt = st.SGD([p], lr=0.1)
    p.grad = torch.ones(4)
    opt.step()
    opt.load_state_dict(copy.deepcopy(opt.state_dict()))
    opt.param_groups[0]["lr"] = 0.0
    p.grad = torch.ones(4)
    opt.step()
    assert torch.allclose(p, torch.full((4,), 0.9))
    theirs = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    p.grad = torch.ones(4)
    theirs.step()
    with pytest.raises(sesqui.InvalidError, match="another optimizer"):
        st.SGD([p], lr=0.1, momentum=0.9).load_state_dict(theirs.state_dict())


def test_hooks_and_getters():
    p = torch.nn.Parameter(torch.ones(4))
    opt, calls = st.SGD([p], lr=0.1), []
    opt.register_step_pre_hook(lambda *_: calls.append("before"))
    opt.register_step_post_hook(lambda *_: calls.append("after"))
    scaler = st.GradScaler("pytorch", growth_factor=3.0, backoff_factor=0.25, growth_interval=7)
    scaler.scale(p.sum()).backward()
    scaler.step(opt)
    scaler.update()
    assert calls == ["before", "after"]
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(),
            scaler.get_growth_interval()) == (3.0, 0.25, 7)
    off = st.GradScaler(enabled=False)
    off.set_growth_interval(3)
    assert off.state() == {"scale": 1.0}


def test_scale_takes_what_torch_takes():
    scaler = st.GradScaler("pytorch", init_scale=4.0)
    one = torch.ones(2)
    assert torch.equal(scaler.scale(one), 4 * one)
    nested = scaler.scale([one, (one, one)])
    assert isinstance(nested, list) and isinstance(nested[1], tuple)
    assert torch.equal(nested[1][1], 4 * one)
    assert torch.equal(scaler.scale({"a": one})["a"], 4 * one)
    many = scaler.scale(k * one for k in range(3))
    assert [t[0].item() for t in many] == [0, 4, 8]
    for wrong in (3, None, [one, 2.0]):
        with pytest.raises(ValueError, match="expected a tensor"):
            scaler.scale(wrong)


@pytest.mark.parametrize("setter", ["growth_factor", "backoff_factor", "growth_interval"])
def test_setters_are_torchs(setter):
    scalers = [torch.amp.GradScaler("cpu", init_scale=8.0), st.GradScaler(init_scale=8.0)]
    nets = [model(), model()]
    for scaler, net in zip(scalers, nets):
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        getattr(scaler, "set_" + setter)(2 if setter == "growth_interval" else 0.75
                                         if setter == "backoff_factor" else 3.0)
        for bad in OVERFLOWS:
            opt.zero_grad()
            scaler.scale(loss_of(net, bad)).backward()
            scaler.step(opt)
            scaler.update()
    assert scalers[0].get_scale() == scalers[1].get_scale()
    assert scalers[1].state_dict() == pytest.approx(scalers[0].state_dict())


@pytest.mark.parametrize("preset", ["pytorch", "megatron,hysteresis=3", "deepspeed"])
def test_pickle_continues(preset):
    p = torch.nn.Parameter(torch.ones(4))
    opt = torch.optim.SGD([p], lr=0.0)

    def run(scaler, steps):
        trace = []
        for bad in steps:
            opt.zero_grad()
            scaler.scale(p.sum() * (float("inf") if bad else 1.0)).backward()
            scaler.step(opt)
            scaler.update()
            trace.append(scaler.get_scale())
        return trace

    whole = run(st.GradScaler(preset, growth_interval=2), OVERFLOWS * 2)
    first = st.GradScaler(preset, growth_interval=2)
    trace = run(first, OVERFLOWS)
    for again in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert trace + run(again, OVERFLOWS) == whole
    scaler = st.GradScaler(preset)
    scaler.scale(p.sum()).backward()
    scaler.unscale_(opt)
    with pytest.raises(RuntimeError, match="update"):
        pickle.dumps(scaler)
    off = pickle.loads(pickle.dumps(st.GradScaler(enabled=False)))
    assert not off.is_enabled()


def test_device_is_missing(run_python):
    """Without sesqui-torch the module works, and the errors name what to install."""
    run_python("""
import sys
sys.modules["sesqui_torch"] = None
import sesqui.torch, sesqui.torch.demo
said = []
for run in (lambda: sesqui.torch.device_count(), lambda: sesqui.torch.demo.main([])):
    try:
        run()
    except (AttributeError, SystemExit) as error:
        said.append(str(error))
assert len(said) == 2 and all("pip install" in s and "torch-device" in s for s in said), said
assert sesqui.torch.__all__ == ["Adam", "AdamW", "GradScaler", "SGD"]
""", TORCH_DEVICE_BACKEND_AUTOLOAD="0")

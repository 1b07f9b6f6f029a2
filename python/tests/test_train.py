# SPDX-License-Identifier: Apache-2.0
"""Values, layers, trainers, scalers and optimizers."""

import numpy as np
import pytest

import sesqui
import sesqui.functional as F
from sesqui import amp, nn

rng = np.random.default_rng(3)
X = rng.normal(size=(64, 8)).astype(np.float32)
Y = np.int32(X.sum(1) > 0)


def net(x):
    return nn.linear("fc2", F.relu(nn.linear("fc1", x, 32)), 2)


def test_gradients(device):
    tape = sesqui.Tape(device)
    tape.begin()
    w = tape.param("w", (3, 4), init="normal")
    a = rng.normal(size=(5, 3)).astype(np.float32)
    loss = (tape.input(a) @ w * 2.0 - 1.0).square().mean()
    tape.backward(loss)
    value = tape.params["w"]
    y = a @ value * 2 - 1
    assert np.isclose(loss.item(), (y**2).mean(), rtol=1e-5)
    want = a.T @ (2 * y / y.size * 2)
    assert np.allclose(tape.params.grad("w").numpy(), want, atol=1e-5)


def test_operators(device):
    tape = sesqui.Tape(device)
    tape.begin(training=False)
    a, b = np.float32([[1, 2], [3, 4]]), np.float32([[5, 6], [7, 8]])
    x, y = tape.input(a), tape.input(b)
    for got, want in ((x + y, a + b), (x - 1, a - 1), (2 - x, 2 - a), (x * y, a * b),
                      (x / y, a / b), (1 / x, 1 / a), (x ** 2.0, a ** 2), (-x, -a), (x @ y, a @ b),
                      (x.T, a.T), (x[1], a[1]), (x[:, 0], a[:, 0]), (abs(-x), a),
                      (x.reshape(4), a.reshape(4)), (F.concat([x, y], 1), np.hstack([a, b])),
                      (x.sum(axes=1), a.sum(1)), (F.maximum(x, y), np.maximum(a, b))):
        assert np.allclose(got.numpy(), want, rtol=1e-6), want


def test_second_derivative(device):
    tape = sesqui.Tape(device)
    tape.begin()
    x = tape.input(np.float32([2.0])).watch()
    y = (x * x * x).sum()
    g, = tape.grad(y, [x], create_graph=True)
    h, = tape.grad(g.sum(), [x])
    assert g.item() == 12 and h.item() == 12


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_trainer(device, policy):
    t = sesqui.Trainer(device, policy=policy, lr=0.02, seed=1, accuracy=True)
    for _ in range(60):
        tape = t.begin()
        t.step(F.cross_entropy(net(tape.input(X)), target=Y))
    assert t.steps == 60
    tape = t.evaluate()
    right = net(tape.input(X)).numpy().argmax(1) == Y
    assert right.mean() > 0.95
    assert sorted(t.params) == ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"]
    assert t.params["fc1.weight"].shape == (32, 8)
    assert (t.scaler is not None) == (policy == "mixed_float16")


def test_a_mistyped_layer(cpu):
    t = sesqui.Trainer(cpu, lr=0.1)
    tape = t.begin()
    t.step(F.cross_entropy(net(tape.input(X)), target=Y))
    tape = t.evaluate()
    with pytest.raises(sesqui.NotFoundError, match=r"test_train.py:\d+.*did you mean"):
        nn.linear("fc3", tape.input(X), 32)


def test_bad_label(cpu):
    t = sesqui.Trainer(cpu, lr=0.1)
    tape = t.begin()
    with pytest.raises(sesqui.InvalidError, match="label 2"):
        t.step(F.cross_entropy(net(tape.input(X)), target=Y + 1))
        t.loss()


def test_errors_have_the_line(cpu):
    tape = sesqui.Tape(cpu)
    tape.begin()
    with pytest.raises(sesqui.InvalidError, match=r"test_train.py:\d+"):
        tape.input(X) @ tape.input(X)
    tape.begin()
    with pytest.raises(sesqui.InvalidError, match="no operand is a Var"):
        F.relu(X)
    with pytest.raises(TypeError, match="out is missing"):
        nn.linear("a", tape.input(X))
    old = tape.input(X)
    tape.begin()
    with pytest.raises(sesqui.InvalidError):
        F.relu(old)


def test_save_and_load(cpu, tmp_path):
    path = tmp_path / "run.safetensors"
    def make():
        return sesqui.Trainer(cpu, policy="mixed_float16", lr=0.02, optimizer="adamw")
    def steps(t, n):
        for _ in range(n):
            tape = t.begin()
            t.step(F.cross_entropy(net(tape.input(X)), target=Y))
    a, b = make(), make()
    steps(a, 5)
    a.save(path)
    steps(a, 5)
    b.params.allow("*")
    net(b.evaluate().input(X))
    b.load(path)
    assert b.steps == 5
    steps(b, 5)
    for name, value in a.params.items():
        assert (value == b.params[name]).all(), name
    with pytest.raises(sesqui.NotFoundError):
        b.load(tmp_path / "none")


def test_hooks(cpu):
    t, seen = sesqui.Trainer(cpu, lr=0.1), []

    @t.hook
    def watch(trainer, place, var):
        seen.append(place)
        if place == "backward_begin":
            assert var.shape == ()
        if place == "step_end" and trainer.steps == 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        for _ in range(5):
            tape = t.begin()
            t.step(F.cross_entropy(net(tape.input(X)), target=Y))
    assert seen[:2] == ["train_begin", "batch_begin"] and "backward_end" in seen
    assert t.steps == 2


def test_schedule_and_groups(cpu):
    t = sesqui.Trainer(cpu, lr=0.5, optimizer="sgd", momentum=0.9)
    t.group("*.bias", lr=0.0)
    t.schedule("lr", "cosine", base=0.5, total_steps=4)
    for _ in range(4):
        tape = t.begin()
        t.step(F.cross_entropy(net(tape.input(X)), target=Y))
    values = [amp.schedule_value(i, "cosine", base=0.5, total_steps=4) for i in range(5)]
    assert values[0] == 0.5 and values[3] == values[4] and sorted(values, reverse=True) == values
    t.set("momentum", 0.5)
    assert t.get("momentum") == 0.5


def test_options_are_refused():
    with pytest.raises(sesqui.InvalidError, match="did you mean policy"):
        sesqui.Trainer("cpu", policie="float32")
    with pytest.raises(sesqui.NotFoundError):
        sesqui.Trainer("cpu", policy="mixed_float8")
    with pytest.raises(sesqui.InvalidError, match="beta1"):
        sesqui.Trainer("cpu", beta1=2)
    with pytest.raises(sesqui.NotFoundError):
        sesqui.Trainer("cpu", scaler="nobody")


def test_scaler(device):
    assert len(amp.presets()) >= 24
    s = amp.Scaler(device, "pytorch", init_scale=1024)
    assert s.scale == 1024
    state = s.torch_state_dict()
    assert state["scale"] == 1024 and state["growth_interval"] == 2000
    state["scale"], state["_growth_tracker"] = 8.0, 7
    s.load_torch_state_dict(state)
    assert s.scale == 8 and s.state()["good"] == 7


def test_simulate():
    scales, actions = amp.simulate([0, 0, 1, 0], "pytorch", init_scale=8, growth_interval=2)
    assert scales == [8, 8, 16, 8] and actions == ["clean", "growth", "backoff", "clean"]
    for preset in amp.presets():
        assert len(amp.simulate([0, 1] * 20, preset)[0]) == 40


def test_optimizer(device):
    w, g = device.tensor(np.float32([1, 2, 3])), device.tensor(np.float32([1, 1, 1]))
    o = amp.Optimizer(device, "sgd", lr=0.5)
    o.add("w", w, g)
    o.step()
    assert w.tolist() == [0.5, 1.5, 2.5]
    blob = o.save()
    assert len(blob) > 0
    o.load(blob)
    sesqui.ops.fill(x=g, value=float("inf"))
    s = amp.Scaler(device, "pytorch")
    before = s.scale
    s.scale_grad(g, g)
    o.step(s)
    s.update()
    assert w.tolist() == [0.5, 1.5, 2.5] and s.scale == before / 2
    assert o.overflow()["name"] == "w"


def test_policy():
    assert amp.op_class("gemm") == "half" and amp.op_class("softmax", "float32")


def test_layers(cpu):
    tape = sesqui.Tape(cpu)
    tape.begin()
    images = tape.input(rng.normal(size=(2, 3, 8, 8)).astype(np.float32))
    h = nn.conv2d("c", images, 4, 3, padding=1, weight_init="kaiming_normal")
    assert h.shape == (2, 4, 8, 8)
    h = F.max_pool2d(nn.batch_norm("bn", h), kernel=2)
    assert h.shape == (2, 4, 4, 4)
    words = nn.embedding("e", np.int32([[1, 2, 3]]), 10, 16, tape=tape)
    assert words.shape == (1, 3, 16)
    assert nn.attention("a", words, 4, causal=True).shape == (1, 3, 16)
    y, h, c = nn.lstm("l", words, 5)
    assert y.shape == (1, 3, 5)
    assert nn.layer_norm("n", words).shape == words.shape
    assert "Keyword arguments" in nn.linear.__doc__


def test_params(cpu, tmp_path):
    p = sesqui.Params(cpu, "mixed_bfloat16", seed=5)
    tape = sesqui.Tape(cpu, p)
    tape.begin()
    nn.linear("fc", tape.input(X), 3)
    assert p.keys() == ["fc.weight", "fc.bias"] and "fc.weight" in p and "x" not in p
    assert p.tensor("fc.weight").dtype == "bfloat16"
    new = rng.normal(size=(3, 8)).astype(np.float32)
    p["fc.weight"] = new
    assert (p["fc.weight"] == new).all()
    with pytest.raises(sesqui.InvalidError, match=r"\(3, 8\)"):
        p["fc.weight"] = new.T
    p.save(tmp_path / "w.safetensors")
    p["fc.weight"] = new * 0
    p.load(tmp_path / "w.safetensors")
    assert (p["fc.weight"] == new).all()
    assert p.stats()["params"] == 2 and p.remove("*.bias") == 1


def test_initial_values_have_their_gain(cpu):
    """kaiming_normal has the gain of its nonlinearity, relu: the deviation is sqrt(2 / fan_in)."""
    tape = sesqui.Tape(cpu)
    tape.begin()
    x = tape.input(np.zeros((1, 400), np.float32))
    nn.linear("a", x, 500, weight_init="kaiming_normal", bias_init="zeros")
    nn.linear("b", x, 500, weight_init={"kind": "kaiming_normal", "nonlinearity": "linear"})
    assert abs(tape.params["a.weight"].std() - (2 / 400) ** 0.5) < 1e-3
    assert abs(tape.params["b.weight"].std() - (1 / 400) ** 0.5) < 1e-3
    assert (tape.params["a.bias"] == 0).all()
    with pytest.raises(sesqui.InvalidError, match="weight_init has no field knd"):
        nn.linear("c", x, 5, weight_init={"knd": 1})


def test_numbers_keep_the_dtype(device):
    tape = sesqui.Tape(device)
    tape.begin()
    x = tape.input(device.tensor(np.float16([1, 2])))
    for y in (x * 2, 2 * x, x + 1.5, 1 / x, F.maximum(x, 0)):
        assert y.dtype == "float16"
    assert (2 * x).numpy().tolist() == [2, 4]

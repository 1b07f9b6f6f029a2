# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch program expects of a device, beside its ops."""

import copy
import io
import os
import pickle
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEVICE = "sesqui"


def program(text, **environment):
    """Run a program of its own; return what it printed and its messages."""
    done = subprocess.run([sys.executable, "-c", "import torch, sesqui_torch\n" + text],
                          env={**os.environ, **environment}, capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))


# ---- views, strides and dtypes ----

def test_views_share_memory():
    x = torch.arange(24.).view(2, 3, 4).to(DEVICE)
    x[1, ::2] += 100
    x.transpose(0, 2)[1, 1, 0] = -7
    x.view(-1)[-1:].mul_(2)
    y = torch.arange(24.).view(2, 3, 4)
    y[1, ::2] += 100
    y.transpose(0, 2)[1, 1, 0] = -7
    y.view(-1)[-1:].mul_(2)
    assert torch.equal(x.cpu(), y)
    assert x[1].storage_offset() == 12 and x[1, 1:].storage_offset() == 16
    assert x.narrow(2, 1, 2).data_ptr() != 0
    assert x[1]._base is x


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32,
                                   torch.uint8, torch.int64, torch.bool, torch.float64])
def test_strides_and_offsets_survive_copies(dtype):
    base = torch.arange(60).to(dtype).to(DEVICE)
    view = base.as_strided((3, 4), (9, 2), 5)
    expected = base.cpu().as_strided((3, 4), (9, 2), 5)
    assert torch.equal(view.cpu(), expected)
    assert torch.equal(view.contiguous().cpu(), expected)
    assert torch.equal(view.t().clone().cpu(), expected.t())
    wide = base.as_strided((2, 2, 2, 2, 2), (1, 3, 5, 7, 11), 2).permute(4, 2, 0, 3, 1)
    flat = base.cpu().as_strided((2, 2, 2, 2, 2), (1, 3, 5, 7, 11), 2).permute(4, 2, 0, 3, 1)
    assert torch.equal(wide.contiguous().cpu(), flat)


@pytest.mark.parametrize("function", [
    F.relu, F.gelu, F.silu, torch.sigmoid, torch.tanh, F.elu, F.leaky_relu, F.softplus, F.glu,
    F.logsigmoid, F.mish, F.hardswish, F.celu, F.selu, lambda x: F.softmax(x, 1),
    lambda x: F.log_softmax(x, 1), lambda x: F.layer_norm(x, (6,)), lambda x: F.group_norm(x, 4),
    lambda x: F.max_pool2d(x, 2), lambda x: F.avg_pool2d(x, 2), lambda x: x.abs().sqrt(),
    lambda x: F.interpolate(x, scale_factor=2), lambda x: x.clamp(-0.5, 0.5),
    lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=str)
def test_gradient_without_strides(function, layout):
    """The gradient of sum() has stride 0 in all dimensions."""
    x = torch.randn(2, 8, 6, 6).to(memory_format=layout)
    grads = []
    for device in ("cpu", DEVICE):
        a = x.detach().to(device).requires_grad_()
        function(a).sum().backward()
        b = x.detach().to(device).requires_grad_()
        y = function(b)
        (y * y.detach().mean(-1, keepdim=True)).mean().backward()
        grads.append((a.grad.cpu(), b.grad.cpu()))
    torch.testing.assert_close(grads[1], grads[0], atol=2e-5, rtol=1e-4)


def test_expand_and_broadcast_copy():
    x = torch.randn(3, 1).to(DEVICE)
    y = torch.empty(3, 5, device=DEVICE)
    y.copy_(x)
    assert torch.equal(y.cpu(), x.cpu().expand(3, 5))
    assert x.expand(3, 5).stride() == (1, 0)


def test_channels_last():
    x = torch.randn(2, 8, 6, 6)
    conv = nn.Conv2d(8, 16, 3, padding=1)
    expected = conv(x)
    conv = conv.to(DEVICE, memory_format=torch.channels_last)
    y = conv(x.to(DEVICE, memory_format=torch.channels_last))
    assert y.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(y.cpu(), expected, atol=1e-5, rtol=1e-5)
    y.relu().sum().backward()
    assert F.relu(y).is_contiguous(memory_format=torch.channels_last)


def test_int64_is_faithful():
    values = torch.tensor([2 ** 40 + 1, -3, 2 ** 62, 7])
    x = values.to(DEVICE)
    assert torch.equal(x.cpu(), values)
    assert torch.equal((x + 1).cpu(), values + 1)
    assert torch.equal((x * 2 // 3).cpu(), values * 2 // 3)
    assert (x > 2 ** 35).cpu().tolist() == [True, False, True, False]
    assert x[2].item() == 2 ** 62
    assert torch.arange(5, device=DEVICE).dtype == torch.int64


def test_index_beyond_32_bits_is_refused():
    table = torch.randn(5, 2, device=DEVICE)
    index = torch.tensor([1, 2 ** 33])
    with pytest.raises((IndexError, RuntimeError)) as error:
        table[index.to(DEVICE)].cpu()
        torch.sesqui.synchronize()
    assert str(2 ** 33) in str(error.value) or "range" in str(error.value) \
        or "out of bounds" in str(error.value)


def test_index_out_of_range_is_reported():
    with pytest.raises(IndexError):
        F.embedding(torch.tensor([3, 9]).to(DEVICE), torch.randn(5, 2, device=DEVICE)).cpu()
    with pytest.raises(IndexError):
        F.nll_loss(torch.randn(2, 3, device=DEVICE), torch.tensor([0, 3]).to(DEVICE)).item()


def test_bool_and_float64():
    x = torch.tensor([0.1, 1e-300, -1e300], dtype=torch.float64)
    assert torch.equal(x.to(DEVICE).cpu(), x)
    assert torch.equal((x.to(DEVICE) * 3).cpu(), x * 3)
    m = torch.tensor([True, False, True]).to(DEVICE)
    assert (m & ~m).cpu().tolist() == [False] * 3
    assert (m | (m ^ m)).cpu().tolist() == [True, False, True]
    assert m.sum().item() == 2 and m.any().item() and not m.all().item()
    assert torch.equal(torch.arange(3.).to(DEVICE)[m].cpu(), torch.tensor([0., 2.]))


# ---- copies ----

def test_non_blocking_copies():
    host = torch.randn(1000).pin_memory(DEVICE)
    assert host.is_pinned()
    there = host.to(DEVICE, non_blocking=True)
    back = torch.empty(1000).pin_memory(DEVICE)
    back.copy_(there * 2, non_blocking=True)
    torch.sesqui.synchronize()
    assert torch.equal(back, host * 2)
    for _ in range(50):  # the source is released before the copy has to have run
        y = torch.full((4096,), 3.).to(DEVICE, non_blocking=True)
    assert y.sum().item() == 3 * 4096


def test_numpy_and_lists():
    x = torch.arange(4.).to(DEVICE)
    assert x.tolist() == [0, 1, 2, 3] and x.cpu().numpy().sum() == 6
    with pytest.raises(TypeError):
        x.numpy()


def test_pickle_save_load_deepcopy(tmp_path):
    model = network().to(DEVICE)
    weight = model[0].weight.detach()
    again = pickle.loads(pickle.dumps(weight))
    assert again.device.type == DEVICE and torch.equal(again.cpu(), weight.cpu())
    twin = copy.deepcopy(model)
    twin[0].weight.data.zero_()
    assert model[0].weight.abs().sum().item() > 0
    path = tmp_path / "model.pt"
    torch.save(model.state_dict(), path)
    for place in (None, "cpu", DEVICE, torch.device("sesqui:0"), {"sesqui:0": "cpu"}):
        state = torch.load(path, map_location=place)
        kind = "cpu" if place in ("cpu", {"sesqui:0": "cpu"}) else DEVICE
        assert {v.device.type for v in state.values()} == {kind}
        assert torch.equal(state["0.weight"].cpu(), weight.cpu())
    buffer = io.BytesIO()
    torch.save(torch.arange(3.), buffer)
    buffer.seek(0)
    assert torch.load(buffer, map_location=DEVICE).device.type == DEVICE


def test_shared_views_survive_save():
    x = torch.arange(6.).to(DEVICE)
    buffer = io.BytesIO()
    torch.save([x, x[2:4]], buffer)
    buffer.seek(0)
    a, b = torch.load(buffer)
    a[2] = 40
    assert b.tolist() == [40, 3]


# ---- programs around it ----

@pytest.mark.filterwarnings("ignore")
def test_compile_runs_as_eager():
    model = network().to(DEVICE)
    x = torch.randn(5, 6, device=DEVICE)
    y = torch.compile(model)(x)
    assert torch.equal(y.cpu(), model(x).cpu())
    y.sum().backward()
    assert model[0].weight.grad is not None


def test_loader_with_workers():
    data = TensorDataset(torch.arange(40.).view(40, 1), torch.arange(40))
    total = torch.zeros((), device=DEVICE)
    torch.ones(3, device=DEVICE).sum().item()  # the device is open when the workers start
    for x, y in DataLoader(data, batch_size=8, num_workers=2, pin_memory=True):
        total += x.to(DEVICE, non_blocking=True).sum() + y.to(DEVICE).sum()
    assert total.item() == 2 * 780


def test_exit_after_backward():
    """A program whose last statement is backward() ends well, each of ten times."""
    for _ in range(10):
        program("x = torch.randn(20, 20).to('sesqui').requires_grad_()\n(x @ x).sum().backward()")


def test_fork():
    out, _ = program("""
import os
x = torch.ones(3, device="sesqui") * 2
x.sum().item()
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    try:
        said = str((torch.ones(3, device="sesqui") * 2).sum().item())
    except Exception as e:
        said = "refused: " + str(e)
    os.write(w, (said + f" {torch.sesqui._is_in_bad_fork()}").encode())
    os._exit(0)
os.waitpid(pid, 0)
print(os.read(r, 1000).decode())
print(x.sum().item())
""")
    child, parent = out.splitlines()[0], out.splitlines()[-1]
    assert parent == "6.0"
    if torch.sesqui.get_device_name() == "cpu":
        assert child == "6.0 False"
    else:
        assert "fork" in child and "True" in child


def test_streams_and_events():
    x = torch.ones(1000, device=DEVICE)
    s = torch.sesqui.Stream()
    start, end = (torch.sesqui.Event(enable_timing=True) for _ in range(2))
    s.wait_stream(torch.sesqui.current_stream())
    with torch.sesqui.stream(s):
        assert torch.sesqui.current_stream() == s
        start.record()
        y = x * 2
        end.record()
    torch.sesqui.current_stream().wait_event(end)
    z = y + 1
    end.synchronize()
    assert end.query() and start.elapsed_time(end) >= 0
    assert z.sum().item() == 3000
    s.synchronize()
    torch.sesqui.synchronize()


def test_memory():
    before = torch.sesqui.memory_allocated()
    x = torch.empty(1 << 20, device=DEVICE)
    assert torch.sesqui.memory_allocated() >= before + (4 << 20)
    assert torch.sesqui.max_memory_allocated() >= before + (4 << 20)
    stats = torch.sesqui.memory_stats()
    assert set(stats) == {"allocated_bytes", "reserved_bytes", "peak_bytes", "buffers"}
    del x
    torch.sesqui.synchronize()
    torch.sesqui.empty_cache()
    assert torch.sesqui.memory_allocated() <= before + 4096


def test_random_numbers_repeat():
    def draw():
        return torch.cat([torch.rand(5, device=DEVICE), torch.randn(5, device=DEVICE),
                          F.dropout(torch.ones(9, device=DEVICE), 0.5)]).cpu()
    torch.manual_seed(5)
    a = draw()
    state = torch.sesqui.get_rng_state()
    b = draw()
    torch.sesqui.set_rng_state(state)
    assert torch.equal(draw(), b) and not torch.equal(a, b)
    torch.sesqui.manual_seed(5)
    assert torch.equal(draw(), a)
    assert torch.sesqui.initial_seed() == 5
    g = torch.Generator(device=DEVICE).manual_seed(3)
    c = torch.rand(4, generator=g, device=DEVICE)
    assert torch.equal(c.cpu(), torch.rand(4, generator=g.manual_seed(3), device=DEVICE).cpu())
    with torch.random.fork_rng(devices=[0], device_type=DEVICE):
        draw()
    assert torch.sesqui.get_rng_state().shape == state.shape


def test_second_device():
    name = torch.sesqui.get_device_name()
    out, _ = program("""
print(torch.sesqui.device_count())
a = torch.ones(3, device="sesqui:1") * 2
print(a.device, a.sum().item(), torch.sesqui.get_device_name(1))
b = a.to("sesqui:0")
print(b.device, b.sum().item())
with torch.sesqui.device(1):
    print(torch.ones(1, device="sesqui").device)
try:
    a + b
except RuntimeError as e:
    print(str(e))
try:
    torch.ones(1, device="sesqui:2")
except Exception as e:
    print(str(e))
""", SESQUI_TORCH_DEVICE=f"{name},cpu")
    lines = out.splitlines()
    assert lines[:4] == ["2", "sesqui:1 6.0 cpu", "sesqui:0 6.0", "sesqui:1"]
    assert "sesqui:0" in lines[4] and "sesqui:1" in lines[4] and "same device" in lines[4]
    assert "2" in lines[5]


# ---- training ----

def train(device, dtype=None, optimizer=torch.optim.SGD, steps=6, **options):
    model = network().to(device)
    g = torch.Generator().manual_seed(1)
    x = torch.randn(12, 6, generator=g).to(device)
    t = torch.randint(4, (12,), generator=g).to(device)
    opt = optimizer(model.parameters(), lr=0.05, **options)
    scaler = torch.amp.GradScaler(device, enabled=dtype == torch.float16, init_scale=256.)
    for _ in range(steps):
        opt.zero_grad()
        with torch.autocast(device, dtype=dtype or torch.float16, enabled=dtype is not None):
            loss = F.cross_entropy(model(x), t)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    return [p.detach().cpu() for p in model.parameters()], loss.detach()


@pytest.mark.parametrize("optimizer, options", [
    (torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.01}),
    (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    (torch.optim.Adam, {"weight_decay": 0.01}), (torch.optim.AdamW, {}),
    (torch.optim.Adam, {"amsgrad": True}), (torch.optim.Adagrad, {})],
    ids=lambda v: v.__name__ if isinstance(v, type) else "-".join(v) or "plain")
def test_fused_is_foreach(optimizer, options):
    for dtype in (None, torch.float16, torch.bfloat16):
        fused, _ = train(DEVICE, dtype, optimizer, fused=True, **options)
        foreach, _ = train(DEVICE, dtype, optimizer, foreach=True, **options)
        for a, b in zip(fused, foreach):
            torch.testing.assert_close(a, b, rtol=2e-5, atol=2e-6)
    assert torch.sesqui.fallbacks() == {}


def test_scaler_skips_without_the_host():
    """A step with Inf leaves the weights alone and halves the scale. Nothing waits before that."""
    model = network().to(DEVICE)
    opt = torch.optim.AdamW(model.parameters(), fused=True)
    scaler = torch.amp.GradScaler(DEVICE, init_scale=1024.)
    before = [p.detach().cpu().clone() for p in model.parameters()]
    x = torch.full((2, 6), 1e38, device=DEVICE)
    waits = count_waits(lambda: scaler_step(model, opt, scaler, x * 1e3))
    assert waits == []
    assert scaler.get_scale() == 512.
    for p, b in zip(model.parameters(), before):
        assert torch.equal(p.detach().cpu(), b)


def scaler_step(model, opt, scaler, x):
    opt.zero_grad()
    scaler.scale(model(x).sum()).backward()
    scaler.step(opt)
    scaler.update()


def count_waits(run):
    """The ops of a function that bring a value to the host."""
    from torch.utils._python_dispatch import TorchDispatchMode
    found = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            name = str(function)
            on_host = isinstance(result, torch.Tensor) and result.device.type == "cpu"
            from_here = any(isinstance(a, torch.Tensor) and a.device.type == DEVICE for a in args)
            if "local_scalar" in name or "is_nonzero" in name or (on_host and from_here):
                found.append(name)
            return result

    with Watch():
        run()
    return found


def test_clip_grad_norm_under_scaler():
    losses = []
    for device in ("cpu", DEVICE):
        model = network().to(device)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler(device, init_scale=64.)
        scaler.scale(model(torch.ones(3, 6, device=device)).square().sum()).backward()
        scaler.unscale_(opt)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(opt)
        scaler.update()
        losses.append((norm.item(), model(torch.ones(3, 6, device=device)).sum().item()))
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-5, atol=1e-5)


# ---- ops on the CPU, errors ----

def test_fallbacks_are_counted():
    x = torch.rand(4, 4, device=DEVICE) + torch.eye(4, device=DEVICE)
    y = torch.linalg.inv(x)
    torch.testing.assert_close((x @ y).cpu(), torch.eye(4), atol=1e-5, rtol=0)
    counts = torch.sesqui.fallbacks()
    assert counts and all("linalg" in name for name in counts)
    torch.sesqui.reset_fallbacks()
    assert torch.sesqui.fallbacks() == {}
    assert "mm.out" in torch.sesqui.native_ops()


def test_verbose_names_an_op_once():
    _, messages = program("""
x = torch.eye(3, device="sesqui")
for _ in range(3):
    torch.linalg.inv(x)
""", SESQUI_TORCH_VERBOSE="fallback")
    lines = [line for line in messages.splitlines() if line.startswith("sesqui: on the CPU")]
    assert lines and len(lines) == len(set(lines))


@pytest.mark.parametrize("run, words", [
    (lambda a, b: a @ b, ("mat1", "3x4", "5x6")),
    (lambda a, b: a + b, ("size",)),
    (lambda a, b: F.conv2d(b[None, None], a[None, None].half()), ("Float", "Half")),
    (lambda a, b: torch.linalg.cholesky(-torch.eye(3, device=DEVICE).half()),
     ("aten::linalg_cholesky_ex|linalg.cholesky", "Half")),
    (lambda a, b: a + a.cpu(), ("same device", "sesqui:0", "cpu")),
    (lambda a, b: torch.where(a > 0, a, a.cpu()), ("aten::where", "Float [3, 4]", "cpu")),
    (lambda a, b: a.view(5), ("shape", "invalid"))],
    ids=["mm", "add", "conv2d", "cholesky", "add-devices", "where-devices", "view"])
def test_errors_name_op_dtype_shapes(run, words):
    a, b = torch.randn(3, 4, device=DEVICE), torch.randn(5, 6, device=DEVICE)
    with pytest.raises(RuntimeError) as error:
        run(a, b)
    for word in words:
        assert any(w in str(error.value) for w in word.split("|")), str(error.value)


def test_zero_sizes_and_scalars():
    e = torch.empty(0, 3, device=DEVICE)
    assert (e + 1).shape == (0, 3) and e.sum().item() == 0 and (e @ e.t()).shape == (0, 0)
    s = torch.tensor(2., device=DEVICE)
    assert (s * 3 + 1).item() == 7 and bool(s > 1)


def test_names():
    assert torch.device("sesqui:0") == torch.ones(1, device=DEVICE).device
    assert torch.ones(1).sesqui().is_sesqui and nn.Linear(1, 1).sesqui().weight.is_sesqui
    assert torch.accelerator.current_accelerator().type == DEVICE
    assert torch.sesqui.is_available() and torch.get_device_module("sesqui") is torch.sesqui
    assert repr(torch.ones(2, device=DEVICE)) == "tensor([1., 1.], device='sesqui:0')"


def test_device_is_in_the_package():
    """`import sesqui.torch` registers the device, and keeps its own names."""
    out, _ = program("""
import sesqui.torch as st
print(st.device_count() == torch.sesqui.device_count(),
      (torch.ones(2, device="sesqui") * 3).sum().item())
print(st.GradScaler.__module__, [hasattr(st, n) for n in ("Adam", "SGD", "nothing")])
import sesqui.torch.demo
sesqui.torch.demo.main(["lstm", "--steps", "2", "--no-cpu", "--modes", "float32"])
""")
    lines = out.splitlines()
    assert lines[:2] == ["True 6.0", "sesqui.torch._scaler [True, True, False]"], out
    assert lines[-1] == "ops that ran on the CPU inside the steps: 0"

# SPDX-License-Identifier: Apache-2.0
"""For PyTorch programs: GradScaler with every preset, and optimizers that are one pass.

    from sesqui.torch import AdamW, GradScaler

    optimizer = AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler("pytorch")              # or "megatron", "deepspeed", "apex", ...
    ...
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

Parameters and gradients stay PyTorch's: they are updated in place, without a copy. With an
optimizer of this module, the check for Inf and NaN, the unscaling, the clipping of the norm
and the update are done on the device, and a skipped step does not wait for the host.
"""

import collections.abc
import ctypes

import torch

from . import amp
from ._core import Device, Tensor, from_dlpack
from ._errors import InvalidError
from ._library import call

_devices = {}


def _device_of(tensor):
    """The library's device for a tensor of PyTorch."""
    kind = tensor.device.type
    if kind not in ("cpu", "cuda"):
        raise InvalidError(f"sesqui.torch: a tensor is on {tensor.device}, expected cpu or cuda")
    name = "cpu" if kind == "cpu" else f"cuda:{tensor.device.index or 0}"
    if name not in _devices:
        _devices[name] = Device(name)
    return _devices[name]


def _share(tensor):
    """The memory of a PyTorch tensor as a tensor of the library."""
    device = _device_of(tensor)
    return from_dlpack(tensor.detach(), device, device.queue, copy=False)


def _before(tensor):
    """Work that PyTorch has enqueued must come first."""
    if tensor.device.type == "cuda":
        torch.cuda.current_stream(tensor.device).synchronize()


def _after(device):
    """PyTorch's work must come after the library's."""
    if device.props["asynchronous"]:
        device.queue.sync()


class GradScaler:
    """torch.amp.GradScaler with the loss-scale rule of any system, exactly.

    `preset` is a name of sesqui.amp.presets(), and may contain settings:
    "pytorch,init_scale=1024". Keyword arguments of torch.amp.GradScaler (init_scale,
    growth_factor, backoff_factor, growth_interval, enabled) and the fields of
    ssq_scaler_options are accepted, too. The scale is a tensor of PyTorch.
    """

    def __init__(self, preset="pytorch", *, device="cpu", enabled=True, **options):
        self._made = (preset, str(device), enabled, options)
        self._enabled = enabled
        self._device = torch.device(device)
        self._options = amp.scaler_options(preset.partition(",")[0], **options)
        if not enabled:
            return
        probe = torch.zeros(1, dtype=torch.float32, device=self._device)
        own = _device_of(probe)
        self._scaler = amp.Scaler(own, preset, **options)
        self._queue = own.queue
        handle = call("ssq_scaler_scale_tensor", self._scaler._handle)
        self._scale = torch.from_dlpack(Tensor(own, handle, owner=self._scaler)).reshape(())
        # what check() sees of optimizers that are not this module's: 0, or Inf
        self._flag = torch.zeros(1, dtype=torch.float32, device=self._device)
        self._shared_flag = _share(self._flag)
        self._shared_spare = own.empty((1,))
        self._used = False
        self._stages = {}

    def __reduce__(self):
        """For pickle and copy: the options and the whole state."""
        if not self._enabled:
            return _restore, (*self._made, None)
        if self._stages:
            raise RuntimeError("GradScaler: between unscale_() or step() and update() it cannot be"
                               " pickled or copied: call update() first")
        return _restore, (*self._made, self._scaler.save())

    # ---- as in PyTorch ----

    def is_enabled(self):
        return self._enabled

    def scale(self, outputs):
        """Multiply a tensor by the scale, or each tensor of a list, tuple, dict or other
        iterable. For other iterables, such as generators, an iterator is returned."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            self._use()
            return outputs * self._scale.to(outputs.device, non_blocking=True)
        if isinstance(outputs, dict):
            return type(outputs)((k, self.scale(v)) for k, v in outputs.items())
        if not isinstance(outputs, collections.abc.Iterable):
            raise ValueError("GradScaler.scale: outputs is a " + type(outputs).__name__ +
                             ", expected a tensor or an iterable of tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def _use(self):
        """Tell the library that a loss was scaled since the last update."""
        if not self._used:
            self._scaler.scale_grad(self._shared_flag, self._shared_spare)
            self._used = True

    def _grads(self, optimizer):
        return [p.grad for group in optimizer.param_groups for p in group["params"]
                if p.grad is not None]

    def _check(self, optimizer, inverse):
        """PyTorch's check and unscaling: was there an Inf or NaN?"""
        found = torch.zeros(1, dtype=torch.float32, device=self._device)
        lists = {}
        for grad in self._grads(optimizer):
            if grad.is_sparse:
                raise InvalidError("GradScaler: a gradient is sparse")
            if inverse is not None and grad.dtype == torch.float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            lists.setdefault((grad.device, grad.dtype), []).append(grad)
        for (device, _), grads in lists.items():
            at = torch.zeros(1, dtype=torch.float32, device=device)
            by = torch.ones(1, dtype=torch.float32, device=device) if inverse is None \
                else inverse.to(device)
            torch._amp_foreach_non_finite_check_and_unscale_(grads, at, by)
            found += at.to(self._device)
        if not lists:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        return found

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer by the scale, for example before clipping."""
        if not self._enabled:
            return
        stage = self._stages.get(id(optimizer))
        if stage is not None:
            raise RuntimeError("unscale_() has already been called on this optimizer since the"
                               " last update()." if stage[0] == "unscaled" else
                               "unscale_() is being called after step().")
        if isinstance(optimizer, _Fused):
            optimizer._unscale(self)
            self._stages[id(optimizer)] = ("unscaled", None)
            return
        inverse = self._scale.double().reciprocal().float()
        self._stages[id(optimizer)] = ("unscaled", self._check(optimizer, inverse))

    def step(self, optimizer, *args, **kwargs):
        """Step the optimizer, or skip the step if a gradient is Inf or NaN.

        With an optimizer of this module nothing waits for the result, and None is returned.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        stage = self._stages.get(id(optimizer))
        if stage is not None and stage[0] == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if isinstance(optimizer, _Fused):
            optimizer._pending = self._scaler
            try:
                optimizer.step(*args, **kwargs)
            finally:
                optimizer._pending = None
            self._stages[id(optimizer)] = ("stepped", None)
            return None
        if stage is None:
            self.unscale_(optimizer)
            stage = self._stages[id(optimizer)]
        found = stage[1]
        self._stages[id(optimizer)] = ("stepped", found)
        return None if found.item() else optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Grow or reduce the scale; or set it."""
        if not self._enabled:
            return
        if new_scale is not None:
            if isinstance(new_scale, torch.Tensor):
                new_scale = float(new_scale)
            self._scaler.update(new_scale)
        else:
            if not self._stages:
                raise AssertionError("No inf checks were recorded prior to update.")
            found = [s[1] for s in self._stages.values() if s[1] is not None]
            if found:
                total = torch.stack(found).sum()
                self._flag.copy_(torch.where(total > 0, torch.inf, 0.0))
                _before(self._flag)
                one = (ctypes.c_void_p * 1)(self._shared_flag._handle.value)
                call("ssq_scaler_check", self._queue._handle, self._scaler._handle, 1, one)
            self._scaler.update()
        _after(self._scaler.queue.device)
        self._stages.clear()
        self._used = False

    def get_scale(self):
        return self._scale.item() if self._enabled else 1.0

    def state(self):
        """Return a dict: scale, growths, backoffs, skipped, ..."""
        return self._scaler.state() if self._enabled else {"scale": 1.0}

    def _of_state(self, name):
        return self._scaler.torch_state_dict()[name] if self._enabled else \
            getattr(self._options, name)

    def get_growth_factor(self):
        return self._of_state("growth_factor")

    def get_backoff_factor(self):
        return self._of_state("backoff_factor")

    def get_growth_interval(self):
        return self._of_state("growth_interval")

    def _set(self, name, value):
        if self._enabled:
            self.load_state_dict({**self.state_dict(), name: value})
        else:
            setattr(self._options, name, value)

    def set_growth_factor(self, factor):
        self._set("growth_factor", factor)

    def set_backoff_factor(self, factor):
        self._set("backoff_factor", factor)

    def set_growth_interval(self, interval):
        if not self._enabled:
            self._set("growth_interval", interval)
            return
        call("ssq_scaler_set_growth_interval", self._queue._handle, self._scaler._handle, interval)

    def state_dict(self):
        """The state_dict of torch.amp.GradScaler."""
        return self._scaler.torch_state_dict() if self._enabled else {}

    def load_state_dict(self, state):
        if not self._enabled:
            return
        if not state:
            raise RuntimeError("The source state dict is empty, possibly because it was saved"
                               " from a disabled instance of GradScaler.")
        self._scaler.load_torch_state_dict(dict(state))
        _after(self._scaler.queue.device)


def _restore(preset, device, enabled, options, blob):
    """Make the GradScaler that __reduce__ describes."""
    made = GradScaler(preset, device=device, enabled=enabled, **options)
    if blob is not None:
        made._scaler.load(blob)
        _after(made._scaler.queue.device)
    return made


class _Fused(torch.optim.Optimizer):
    """An optimizer of the library over parameters of PyTorch."""

    _kind = None
    _names = {}  # options of PyTorch: of the library

    def __init__(self, params, defaults, clip_norm=0.0, **fixed):
        self._clip_norm, self._fixed = clip_norm, fixed
        self._optimizer = self._pending = None
        super().__init__(params, defaults)

    def _options(self, group):
        made = dict(self._fixed)
        if self._clip_norm:
            made["clip_norm"] = self._clip_norm
        for name, value in group.items():
            if name == "betas":
                made["beta1"], made["beta2"] = value
            elif name in self._names:
                made[self._names[name]] = value
        return made

    def _begin(self):
        """Give the library all parameters, or none."""
        try:
            self._add_all()
        except BaseException:
            self._optimizer = None
            raise

    def _add_all(self):
        """Give the library all parameters. Their gradients get memory that stays."""
        first = next((p for group in self.param_groups for p in group["params"]
                      if p.grad is not None), None)
        if first is None:
            raise InvalidError("sesqui.torch: no parameter has a gradient")
        own = _device_of(first)
        self._optimizer = amp.Optimizer(own, self._kind, **self._options(self.param_groups[0]))
        self._groups, self._bound, self._left = [], [], []
        for i, group in enumerate(self.param_groups):
            handle = None if i == 0 else self._optimizer.group(**self._options(group))
            self._groups.append((handle, self._hyper(group)))
            for k, p in enumerate(group["params"]):
                if not p.requires_grad or p.grad is None:
                    self._left.append((i, k, p))  # as PyTorch, which skips it
                    continue
                if p.device != first.device:
                    raise InvalidError(f"sesqui.torch: parameters are on {first.device} and"
                                       f" {p.device}: use an optimizer for each device")
                if not p.is_contiguous():
                    raise InvalidError("sesqui.torch: a parameter is not contiguous")
                grad = torch.zeros_like(p)
                self._optimizer.add(f"{i}.{k}", _share(p), _share(grad), handle)
                self._bound.append((p, grad))
        self._remember()
        self._zeroed = [None] * len(self._bound)

    def _hyper(self, group):
        made = self._options(group)
        return {k: made[k] for k in ("lr", "momentum", "beta1", "beta2", "eps", "weight_decay")
                if k in made}

    def _check(self):
        """Refuse what the library would not see. PyTorch skips a parameter without a gradient;
        the library updates all parameters in each step."""
        for i, k, p in self._left:
            if p.grad is not None:
                raise InvalidError(f"sesqui.torch: parameter {k} of group {i} has a gradient, and"
                                   " had none in the first step: make a new optimizer")
        for (p, grad), (address, dtype, version), zeroed in zip(self._bound, self._seen,
                                                               self._zeroed):
            shape = tuple(p.shape)
            if p.data_ptr() != address or p.dtype != dtype:
                raise InvalidError(f"sesqui.torch: the memory or dtype of a parameter of shape"
                                   f" {shape} was replaced: make a new optimizer")
            if p.grad is None or (p.grad is grad and grad._version == zeroed):
                raise InvalidError(f"sesqui.torch: a parameter of shape {shape} has no gradient in"
                                   " this step, and had one in the first: PyTorch's optimizer"
                                   " would skip it, this one cannot")
            if p._version != version and dtype != torch.float32:
                raise InvalidError(f"sesqui.torch: a parameter of shape {shape} was changed, and"
                                   " has a float32 master: call reload_parameters()")

    def reload_parameters(self):
        """Set the masters from 16-bit parameters that the program has changed."""
        if self._optimizer is not None:
            _before(self._bound[0][0])
            call("ssq_optimizer_model_to_master", self._optimizer.queue._handle,
                 self._optimizer._handle)
            _after(self._optimizer.queue.device)
            self._remember()

    def _remember(self):
        self._seen = [(p.data_ptr(), p.dtype, p._version) for p, _ in self._bound]

    def _prepare(self):
        """Bring hyper-parameters and gradients to where the library looks for them."""
        if self._optimizer is None:
            self._begin()
        self._check()
        for group, (handle, known) in zip(self.param_groups, self._groups):
            for hyper, value in self._hyper(group).items():
                if known.get(hyper) != value:
                    self._optimizer.set(hyper, value, handle)
                    known[hyper] = value
        copies, targets = [], []
        for p, grad in self._bound:
            if p.grad is grad:
                continue
            targets.append(grad)
            copies.append(p.grad)
            p.grad = grad
        if targets:
            torch._foreach_copy_(targets, copies)
        _before(self._bound[0][0])

    def _unscale(self, scaler):
        with torch.no_grad():
            self._prepare()
            self._optimizer.unscale(scaler._scaler)
            _after(self._optimizer.queue.device)

    def _step(self, scaler):
        with torch.no_grad():
            self._prepare()
            self._optimizer.step(scaler)
            _after(self._optimizer.queue.device)
            # autograd must know that the values have changed
            torch.autograd.graph.increment_version([p for p, _ in self._bound])
            self._remember()

    def step(self, closure=None):
        """Update all parameters."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        scaler, self._pending = self._pending, None
        self._step(scaler)
        return loss

    def zero_grad(self, set_to_none=False):
        """Set gradients to zero in place: the library keeps their memory.

        set_to_none=True is accepted; the next step then copies each gradient once more.
        """
        if set_to_none or self._optimizer is None:
            super().zero_grad(set_to_none=set_to_none)
            return
        other = [p.grad for p, grad in self._bound if p.grad is not None and p.grad is not grad]
        if other:
            torch._foreach_zero_(other)
        _before(self._bound[0][0])
        self._optimizer.zero_grad()
        _after(self._optimizer.queue.device)
        # a backward that reaches a gradient changes its version
        self._zeroed = [grad._version if p.grad is grad else None for p, grad in self._bound]

    def add_param_group(self, group):
        if self._optimizer is not None:
            raise InvalidError("sesqui.torch: parameters cannot be added after the first step")
        super().add_param_group(group)

    def state_dict(self):
        """The groups as in PyTorch, and the library's state as a tensor of bytes."""
        packed = super().state_dict()
        if self._optimizer is not None:
            blob = self._optimizer.save()
            packed["sesqui"] = torch.frombuffer(bytearray(blob), dtype=torch.uint8)
        return packed

    def load_state_dict(self, state):
        blob = state.get("sesqui")
        if blob is None and state.get("state"):
            raise InvalidError("sesqui.torch: the state is of another optimizer: its moments cannot"
                               " be loaded")
        super().load_state_dict({k: v for k, v in state.items() if k != "sesqui"})
        if blob is not None:
            if self._optimizer is None:
                for group in self.param_groups:  # the blob has all that had gradients
                    for p in group["params"]:
                        if p.requires_grad and p.grad is None:
                            p.grad = torch.zeros_like(p)
                self._begin()
            self._optimizer.load(bytes(blob.cpu().numpy()))
            self._groups = [(handle, {}) for handle, _ in self._groups]
            _after(self._optimizer.queue.device)


class AdamW(_Fused):
    """torch.optim.AdamW. 16-bit parameters get float32 masters; clip_norm clips the norm of
    all gradients, as torch.nn.utils.clip_grad_norm_ before the step."""

    _kind = "adamw"
    _names = {"lr": "lr", "eps": "eps", "weight_decay": "weight_decay", "amsgrad": "amsgrad",
              "maximize": "maximize"}

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2,
                 amsgrad=False, *, maximize=False, clip_norm=0.0, **options):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay, "amsgrad": amsgrad,
                                  "maximize": maximize}, clip_norm, **options)


class Adam(AdamW):
    """torch.optim.Adam: weight_decay is added to the gradient."""

    _kind = "adam"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                 amsgrad=False, *, maximize=False, clip_norm=0.0, **options):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize,
                         clip_norm=clip_norm, **options)


class SGD(_Fused):
    """torch.optim.SGD."""

    _kind = "sgd"
    _names = {"lr": "lr", "momentum": "momentum", "dampening": "dampening",
              "weight_decay": "weight_decay", "nesterov": "nesterov", "maximize": "maximize"}

    def __init__(self, params, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0,
                 nesterov=False, *, maximize=False, clip_norm=0.0, **options):
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening,
                                  "weight_decay": weight_decay, "nesterov": nesterov,
                                  "maximize": maximize}, clip_norm, **options)


__all__ = ["Adam", "AdamW", "GradScaler", "SGD"]

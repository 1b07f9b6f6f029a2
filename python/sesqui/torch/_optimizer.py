# SPDX-License-Identifier: Apache-2.0
"""Optimizers that check, unscale, clip and update in one pass."""

import torch

from .. import amp
from .._errors import InvalidError
from .._library import call
from ._share import after, before, device_of, share


class Fused(torch.optim.Optimizer):
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
        own = device_of(first)
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
                self._optimizer.add(f"{i}.{k}", share(p), share(grad), handle)
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
            before(self._bound[0][0])
            call("ssq_optimizer_model_to_master", self._optimizer.queue._handle,
                 self._optimizer._handle)
            after(self._optimizer.queue.device)
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
        before(self._bound[0][0])

    def _unscale(self, scaler):
        with torch.no_grad():
            self._prepare()
            self._optimizer.unscale(scaler._scaler)
            after(self._optimizer.queue.device)

    def _step(self, scaler):
        with torch.no_grad():
            self._prepare()
            self._optimizer.step(scaler)
            after(self._optimizer.queue.device)
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
        before(self._bound[0][0])
        self._optimizer.zero_grad()
        after(self._optimizer.queue.device)
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
            after(self._optimizer.queue.device)


class AdamW(Fused):
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


class SGD(Fused):
    """torch.optim.SGD."""

    _kind = "sgd"
    _names = {"lr": "lr", "momentum": "momentum", "dampening": "dampening",
              "weight_decay": "weight_decay", "nesterov": "nesterov", "maximize": "maximize"}

    def __init__(self, params, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0,
                 nesterov=False, *, maximize=False, clip_norm=0.0, **options):
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening,
                                  "weight_decay": weight_decay, "nesterov": nesterov,
                                  "maximize": maximize}, clip_norm, **options)

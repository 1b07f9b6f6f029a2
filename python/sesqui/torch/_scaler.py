# SPDX-License-Identifier: Apache-2.0
"""torch.amp.GradScaler with the loss-scale rule of any system."""

import collections.abc
import ctypes

import torch

from .. import amp, ops
from .._core import Tensor
from .._errors import InvalidError
from .._library import call
from ._optimizer import Fused
from ._share import after, before, device_of, share


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
        own = device_of(probe)
        self._scaler = amp.Scaler(own, preset, **options)
        self._queue = own.queue
        handle = call("ssq_scaler_scale_tensor", self._scaler._handle)
        self._own_scale = Tensor(own, handle, owner=self._scaler)
        if self._device.type == "sesqui":  # has no from_dlpack: a copy follows each change
            self._scale = probe.reshape(())
            self._shared_scale = share(probe)
            self._publish()
        else:
            self._shared_scale = None
            self._scale = torch.from_dlpack(self._own_scale).reshape(())
        # what check() sees of optimizers that are not this module's: 0, or Inf
        self._flag = torch.zeros(1, dtype=torch.float32, device=self._device)
        self._shared_flag = share(self._flag)
        self._shared_spare = own.empty((1,))
        self._used = False
        self._stages = {}

    def _publish(self):
        """Let PyTorch see a scale that has changed."""
        if self._shared_scale is not None:
            ops.copy(x=self._own_scale, y=self._shared_scale)
        after(self._queue.device)

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
        if isinstance(optimizer, Fused):
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
        if isinstance(optimizer, Fused):
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
                before(self._flag)
                one = (ctypes.c_void_p * 1)(self._shared_flag._handle.value)
                call("ssq_scaler_check", self._queue._handle, self._scaler._handle, 1, one)
            self._scaler.update()
        self._publish()
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
        self._publish()


def _restore(preset, device, enabled, options, blob):
    """Make the GradScaler that __reduce__ describes."""
    made = GradScaler(preset, device=device, enabled=enabled, **options)
    if blob is not None:
        made._scaler.load(blob)
        made._publish()
    return made

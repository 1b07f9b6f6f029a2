# SPDX-License-Identifier: Apache-2.0
"""Loss scaling, optimizers on plain tensors, schedules and policies."""

import ctypes

from . import _library
from ._core import Tensor, set_options
from ._library import as_dict, call, enum_name, enum_value, initial, text_of
from ._tape import queue_of

_OPTIONS = "ssq_scaler_options"


def presets():
    """Return the names of the loss-scale rules of other systems, for example "pytorch"."""
    names = []
    while True:
        name = call("ssq_scaler_preset_name", len(names))
        if name is None:
            return names
        names.append(text_of(name))


def scaler_options(preset="sesqui", **options):
    """Return the options of a preset as a struct, with changes by name."""
    made = initial(_OPTIONS)
    call("ssq_scaler_options_preset", preset.encode(), ctypes.byref(made))
    return set_options(made, options, "scaler_options")


def simulate(overflow, preset="sesqui", **options):
    """Return the scale of each step, and what happened, if `overflow` says which steps had an
    Inf or NaN.

        scales, actions = amp.simulate([0, 0, 1, 0], "pytorch", growth_interval=2)
    """
    made = scaler_options(preset, **options)
    n = len(overflow)
    flags = (ctypes.c_uint8 * max(n, 1))(*[bool(v) for v in overflow])
    scales = (ctypes.c_double * max(n, 1))()
    actions = (ctypes.c_int * max(n, 1))()
    call("ssq_scaler_simulate", ctypes.byref(made), None, n, flags, scales, actions)
    return list(scales)[:n], [enum_name("ssq_scale_action", a) for a in list(actions)[:n]]


class Scaler:
    """A dynamic loss scale, on the device.

        scaler = amp.Scaler(device, "pytorch", init_scale=1024)

    The preset's text may contain settings: "pytorch,init_scale=1024".
    """

    def __init__(self, where, preset="sesqui", *, _handle=None, _owner=None, **options):
        self.queue = queue_of(where)
        self._owner = _owner
        if _handle is not None:
            self._handle = ctypes.c_void_p(_handle)
            return
        self._handle = ctypes.c_void_p()
        made = scaler_options(preset, **options) if options else None
        call("ssq_scaler_create", self.queue.device._handle, preset.encode(),
             ctypes.byref(made) if made else None, ctypes.byref(self._handle))

    def state(self):
        """Return a dict: scale, growths, backoffs, skipped, ... This waits for the queue."""
        return self._state("ssq_scaler_state_get", self.queue._handle, self._handle)

    def poll(self):
        """Return the last state that has arrived, without waiting."""
        return self._state("ssq_scaler_poll", self._handle)

    def _state(self, function, *args):
        state = initial("ssq_scaler_state")
        call(function, *args, ctypes.byref(state))
        return as_dict(state)

    @property
    def scale(self):
        return self.state()["scale"]

    def scale_grad(self, x, y):
        """y = scale x, for a gradient x of a loss. Every step uses the scale first."""
        call("ssq_scaler_scale_grad", self.queue._handle, self._handle, x._handle, y._handle)

    def update(self, scale=None):
        """Grow or reduce the scale after a step; or set it."""
        if scale is None:
            call("ssq_scaler_update", self.queue._handle, self._handle)
        else:
            call("ssq_scaler_update_to", self.queue._handle, self._handle, float(scale))

    def torch_state_dict(self):
        """Return the state_dict of a torch.amp.GradScaler. This waits for the queue."""
        state = initial("ssq_torch_scaler_state")
        call("ssq_scaler_torch_save", self.queue._handle, self._handle, ctypes.byref(state))
        return as_dict(state)

    def save(self):
        """Return options and state as bytes. This waits for the queue."""
        return _blob("ssq_scaler_save", self.queue._handle, self._handle)

    def load(self, blob):
        """Continue from the bytes of save()."""
        call("ssq_scaler_load", self.queue._handle, self._handle, blob, len(blob))

    def load_torch_state_dict(self, state):
        """Continue from the state_dict of a torch.amp.GradScaler."""
        made = set_options(initial("ssq_torch_scaler_state"), state, "load_torch_state_dict")
        call("ssq_scaler_torch_load", self.queue._handle, self._handle, ctypes.byref(made))

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_owner", self) is None and self._handle:
            call("ssq_scaler_destroy", byref(self._handle))


class Optimizer:
    """An optimizer on tensors: masters in float32, fused updates, skipped steps.

        optimizer = amp.Optimizer(device, "adamw", lr=1e-3)
        optimizer.add("w", w, dw)
        optimizer.step(scaler)
    """

    def __init__(self, where, kind="adamw", **options):
        self.queue = queue_of(where)
        self._keep = []
        self._handle = ctypes.c_void_p()
        made = set_options(initial("ssq_optimizer_options"), options, "Optimizer")
        call("ssq_optimizer_create", self.queue.device._handle, kind.encode(), ctypes.byref(made),
             ctypes.byref(self._handle))

    def group(self, **options):
        """Create a group with other options, for add()."""
        made = set_options(initial("ssq_optimizer_options"), options, "group")
        group = ctypes.c_void_p()
        call("ssq_optimizer_group", self._handle, ctypes.byref(made), ctypes.byref(group))
        return group

    def add(self, name, param, grad, group=None):
        """Give the optimizer a parameter and its gradient, both tensors."""
        self._keep += [param, grad]
        call("ssq_optimizer_add", self._handle, name.encode(), param._handle, grad._handle, group)

    def step(self, scaler=None):
        """Update all parameters, or skip the step if a gradient is Inf or NaN."""
        call("ssq_optimizer_step", self.queue._handle, self._handle,
             scaler._handle if scaler else None)

    def unscale(self, scaler):
        call("ssq_optimizer_unscale", self.queue._handle, self._handle, scaler._handle)

    def check(self, scaler=None):
        call("ssq_optimizer_check", self.queue._handle, self._handle,
             scaler._handle if scaler else None)

    def zero_grad(self):
        call("ssq_optimizer_zero_grad", self.queue._handle, self._handle)

    def set(self, hyper, value, group=None):
        call("ssq_optimizer_set", self.queue._handle, self._handle, group,
             enum_value("ssq_hyper", hyper), value)

    def get(self, hyper, group=None):
        value = ctypes.c_double()
        call("ssq_optimizer_get", self._handle, group, enum_value("ssq_hyper", hyper),
             ctypes.byref(value))
        return value.value

    def schedule(self, hyper, kind, group=None, **options):
        made = schedule_struct(kind, options)
        call("ssq_optimizer_schedule", self.queue._handle, self._handle, group,
             enum_value("ssq_hyper", hyper), ctypes.byref(made[0]))

    def master(self, name, group=None):
        """The float32 master of a parameter as a tensor."""
        master = ctypes.c_void_p()
        call("ssq_optimizer_master", self._handle, group, name.encode(), ctypes.byref(master))
        return Tensor(self.queue.device, master, owner=self)

    def memory(self):
        """Return a dict: bytes of masters, moments and scratch."""
        report = initial("ssq_memory_report")
        call("ssq_optimizer_memory", self._handle, ctypes.byref(report))
        return as_dict(report)

    def overflow(self):
        """Return a dict: which tensor had the first Inf or NaN of the last check."""
        report = initial("ssq_overflow_report")
        call("ssq_optimizer_overflow", self.queue._handle, self._handle, ctypes.byref(report))
        return as_dict(report)

    def save(self):
        """Return the state as bytes. This waits for the queue."""
        return _blob("ssq_optimizer_save", self.queue._handle, self._handle)

    def load(self, blob):
        call("ssq_optimizer_load", self.queue._handle, self._handle, blob, len(blob))

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_handle", None):
            call("ssq_optimizer_destroy", byref(self._handle))


def _blob(function, queue, handle):
    needed = ctypes.c_size_t()
    status = _library.function(function)(queue, handle, None, 0, ctypes.byref(needed))
    if needed.value == 0 and status != 0:
        call(function, queue, handle, None, 0, ctypes.byref(needed))
    blob = ctypes.create_string_buffer(needed.value)
    call(function, queue, handle, blob, needed.value, ctypes.byref(needed))
    return blob.raw[: needed.value]


def schedule_struct(kind, options):
    """A schedule as a struct, and what must live as long as it does."""
    made = initial("ssq_schedule")
    keep = None
    table = options.pop("table", None)
    set_options(made, {"kind": kind, **options}, "schedule")
    if table is not None:
        keep = (ctypes.c_double * max(len(table), 1))(*table)
        made.table = ctypes.cast(keep, ctypes.c_void_p)
        made.total_steps = len(table)
    return made, keep


def schedule_value(t, kind, **options):
    """Return the value of a schedule at step t."""
    made, _keep = schedule_struct(kind, options)
    value = ctypes.c_double()
    call("ssq_schedule_value", ctypes.byref(made), t, ctypes.byref(value))
    return value.value


def op_class(op, policy=None):
    """Return how autocast treats an op: "half", "float32", "promote" or "any"."""
    found = ctypes.c_int()
    if policy is None:
        call("ssq_policy_op_class", op.encode(), ctypes.byref(found))
    else:
        call("ssq_policy_class", policy.encode(), op.encode(), ctypes.byref(found))
    return enum_name("ssq_op_class", found.value)


__all__ = ["Optimizer", "Scaler", "op_class", "presets", "scaler_options", "schedule_struct",
           "schedule_value", "simulate"]

# SPDX-License-Identifier: Apache-2.0
"""A training loop in two calls per step."""

import ctypes
import os

from . import _library
from ._arguments import Arguments
from ._core import set_options
from ._errors import Error, InvalidError
from ._library import as_dict, call, constant, enum_name, enum_value, initial
from ._tape import CVar, Params, Tape, Var, queue_of
from .amp import Scaler, schedule_struct

# ssq_trainer_hook
_HOOK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
                         ctypes.c_void_p)


class Trainer:
    """Owns parameters, a tape, an optimizer and a loss scaler.

        trainer = sesqui.Trainer("auto", policy="mixed_float16", lr=1e-3, weight_decay=0.01)
        for x, y in batches:
            tape = trainer.begin()
            loss = F.cross_entropy(net(tape.input(x)), target=y)
            trainer.step(loss)
        print(trainer.loss())

    Keyword arguments are the fields of ssq_trainer_args (policy, optimizer, scaler, accumulate,
    clip_value, replay, accuracy, ...) and of ssq_optimizer_options (lr, momentum, weight_decay,
    clip_norm, ...), and `seed` of the parameters.
    """

    def __init__(self, where="auto", *, seed=0, float32_gradients=False, scaler=None,
                 **arguments):
        self.queue = queue_of(where)
        self._hooks, self._scaler, self._hook_error = [], None, None
        options = {f["name"] for f in
                   _library.api["structs"]["ssq_optimizer_options"]["fields"]}
        optimizer = {k: arguments.pop(k) for k in list(arguments) if k in options - {"seed"}}
        source = arguments.pop("initial", None)  # .from is no name in Python
        made = Arguments("ssq_trainer_args", arguments, "Trainer")
        if source is not None:
            setattr(made.struct, "from", source._handle)
        set_options(made.struct.options, optimizer, "Trainer")
        set_options(made.struct.params, {"seed": seed, "float32_gradients": float32_gradients},
                    "Trainer")
        if scaler is False:
            scaler = "none"
        if isinstance(scaler, str):
            made.struct.scaler = scaler.encode()
        elif scaler is not None and not isinstance(scaler, Scaler):
            raise InvalidError(f"Trainer: scaler is {scaler!r}, expected a preset, a Scaler, False"
                               " for none, or None for the policy's")
        self._handle = ctypes.c_void_p()
        call("ssq_trainer_create", self.queue._handle, ctypes.byref(made.struct),
             ctypes.byref(self._handle))
        self.params = Params(self.queue, _borrowed=self, _optimizer=lambda: call(
            "ssq_trainer_optimizer", self._handle))
        if isinstance(scaler, Scaler):
            self.set_scaler(scaler)

    def _params_handle(self):
        return call("ssq_trainer_params", self._handle)

    def _tape(self, handle):
        tape = Tape(self.queue, _handle=handle, _owner=self)
        self._raise_hook_error()
        tape.check()
        return tape

    def begin(self):
        """Begin a pass for training, and return its tape."""
        return self._tape(call("ssq_trainer_begin", self._handle))

    def evaluate(self):
        """Begin a pass for evaluation, and return its tape. It creates no parameters."""
        return self._tape(call("ssq_trainer_evaluate", self._handle))

    def step(self, loss):
        """Run the backward pass, and update or skip on the last pass of an accumulation."""
        self._call("ssq_trainer_step", loss._var)

    def flush(self):
        """Step now, with the passes that the open accumulation has."""
        self._call("ssq_trainer_flush")

    def zero_grad(self):
        """Drop the passes that the open accumulation has."""
        self._call("ssq_trainer_zero_grad")

    def unscale(self):
        """Unscale the gradients, in a hook at "backward_end"."""
        self._call("ssq_trainer_unscale")

    def end(self):
        """End the training: parameters become float32."""
        self._call("ssq_trainer_end")

    def loss(self):
        """Return the mean loss since the last call. This waits for the queue."""
        mean = ctypes.c_double()
        call("ssq_trainer_loss", self._handle, ctypes.byref(mean))
        return mean.value

    def poll(self):
        """Return a dict of passes, steps, loss and accuracy that have arrived; never waits."""
        progress = initial("ssq_trainer_progress")
        call("ssq_trainer_poll", self._handle, ctypes.byref(progress))
        return as_dict(progress)

    @property
    def steps(self):
        """The number of steps, including skipped ones."""
        return call("ssq_trainer_steps", self._handle)

    @property
    def accumulated(self):
        """The number of passes in the open accumulation."""
        return call("ssq_trainer_accumulated", self._handle)

    @property
    def scaler(self):
        """The loss scaler, or None."""
        handle = call("ssq_trainer_scaler", self._handle)
        return Scaler(self.queue, _handle=handle, _owner=self) if handle else None

    def set_scaler(self, scaler):
        """Use another scaler; None: train without one."""
        self._scaler = scaler
        call("ssq_trainer_set_scaler", self._handle, scaler._handle if scaler else None)

    def group(self, pattern, **options):
        """Give the parameters that match other hyper-parameters: group("*.bias", lr=0.1)."""
        made = set_options(initial("ssq_optimizer_options"), options, "group")
        call("ssq_trainer_group", self._handle, pattern.encode(), ctypes.byref(made), None)

    def schedule(self, hyper, kind=None, **options):
        """Drive "lr" or "momentum" by a schedule: schedule("lr", "cosine", base=0.1,
        total_steps=100). Without a kind the schedule is removed."""
        made = schedule_struct(kind, options) if kind is not None else None
        self._schedule = made
        call("ssq_trainer_schedule", self._handle, enum_value("ssq_hyper", hyper),
             ctypes.byref(made[0]) if made else None)

    def set(self, hyper, value):
        """Set a hyper-parameter of the default group, for example set("lr", 0.1)."""
        call("ssq_optimizer_set", self.queue._handle, call("ssq_trainer_optimizer", self._handle),
             None, enum_value("ssq_hyper", hyper), value)

    def get(self, hyper):
        value = ctypes.c_double()
        call("ssq_optimizer_get", call("ssq_trainer_optimizer", self._handle), None,
             enum_value("ssq_hyper", hyper), ctypes.byref(value))
        return value.value

    def overflow(self):
        """Return a dict: which tensor had the first Inf or NaN of the last check."""
        report = initial("ssq_overflow_report")
        call("ssq_optimizer_overflow", self.queue._handle,
             call("ssq_trainer_optimizer", self._handle), ctypes.byref(report))
        return as_dict(report)

    def save(self, path):
        """Save the whole training to a file."""
        self._call("ssq_trainer_save", os.fsencode(path))

    def load(self, path):
        """Continue a training that save() has written."""
        self._call("ssq_trainer_load", os.fsencode(path))

    def notify(self, place):
        """Report an epoch or a validation to hooks: "epoch_begin", "validate_end", ..."""
        self._call("ssq_trainer_notify", enum_value("ssq_trainer_place", place))

    def hook(self, function):
        """Call function(trainer, place, var) at each place, for example "step_end".

        `var` is the output or the loss as a Var, or None. If the function returns a Var, it
        replaces it. An exception stops the call that reached the place. Usable as a decorator.
        """
        def called(_user, _trainer, place, var):
            try:
                given = None
                if var:
                    c_var = CVar.from_address(var)
                    tape = Tape(self.queue, _handle=ctypes.c_void_p(c_var.tape), _owner=self)
                    given = Var(tape, CVar.from_buffer_copy(c_var))
                answer = function(self, enum_name("ssq_trainer_place", place), given)
                if var and isinstance(answer, Var):
                    ctypes.memmove(var, ctypes.byref(answer._var), ctypes.sizeof(CVar))
                return 0
            except BaseException as error:
                self._hook_error = error
                status = error.status if isinstance(error, Error) else constant("SSQ_ERR_INVALID")
                text = f"hook {getattr(function, '__name__', '')}: {error}"
                # its result is the status that it was given, and no error of this call
                return _library.function("ssq_error_set")(status, text.encode()[:1000])

        c_hook = _HOOK(called)
        self._hooks.append(c_hook)
        call("ssq_trainer_hook_add", self._handle, ctypes.cast(c_hook, ctypes.c_void_p), None)
        return function

    def output(self, value):
        """Cast the model's output to float32, and pass it through hooks at "loss_begin"."""
        made = Var(value.tape, call("ssq_trainer_output", self._handle, value._var))
        self._raise_hook_error()
        return made

    def _raise_hook_error(self):
        error, self._hook_error = self._hook_error, None
        if error is not None:
            raise error

    def _call(self, function, *args):
        try:
            call(function, self._handle, *args)
        except Error as error:
            hook, self._hook_error = self._hook_error, None
            if hook is not None:
                raise hook from error
            raise

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_handle", None):
            call("ssq_trainer_destroy", byref(self._handle))


__all__ = ["Trainer"]

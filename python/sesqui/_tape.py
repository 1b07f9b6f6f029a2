# SPDX-License-Identifier: Apache-2.0
"""Parameters, tapes and their values: automatic differentiation."""

import ctypes
import os
import sys

from . import _library
from ._arguments import Arguments
from ._core import Device, Queue, Tensor, dtype_name, dtype_number, set_options, slices_of, \
    whole_shape
from ._errors import InvalidError, NotFoundError
from ._library import as_dict, call, initial, text_of

CVar = _library.struct("ssq_var")
_OWN = __name__.rpartition(".")[0] + "."
NO_VAR = CVar(None, 0, 0)  # an optional operand that is not given
_places = {}  # places in programs, which must live as long as a pass


def place():
    """The caller's file and line, as the library's messages name them."""
    frame = sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").startswith(_OWN):
        frame = frame.f_back
    key = (frame.f_code.co_filename, frame.f_lineno) if frame else ("?", 0)
    if key not in _places:
        _places[key] = f"{key[0]}:{key[1]}".encode()
    return _places[key]


def queue_of(where):
    """The queue of a Queue, of a Device, or of a device's name."""
    if isinstance(where, Queue):
        return where
    if isinstance(where, str):
        where = Device(where)
    if isinstance(where, Device):
        return where.queue
    raise InvalidError(f"expected a Device, a Queue or a name, not {type(where).__name__}")


def _held(device, handle):
    """A view that holds the memory of a tensor which the library owns."""
    borrowed = Tensor(device, handle, owner=device)
    return borrowed.transpose(*range(len(borrowed.shape))) if borrowed.shape else \
        borrowed.reshape(())


class Params:
    """Parameters by name. It behaves as a dict of names to NumPy arrays in float32.

        params["fc1.weight"]          # the master's values, if there is one
        params["fc1.bias"] = zeros
        for name, array in params.items(): ...
    """

    def __init__(self, where, policy=None, seed=0, float32_gradients=False, *, _borrowed=None,
                 _optimizer=None):
        self.queue = queue_of(where)
        self._owner, self._optimizer = _borrowed, _optimizer
        if _borrowed is not None:
            self._handle = _borrowed._params_handle()
            return
        self._handle = ctypes.c_void_p()
        options = set_options(initial("ssq_params_options"),
                              {"seed": seed, "float32_gradients": float32_gradients}, "Params")
        call("ssq_params_create", self.queue.device._handle,
             policy.encode() if policy else None, ctypes.byref(options),
             ctypes.byref(self._handle))

    def _optimizer_handle(self):
        return self._optimizer() if self._optimizer else None

    def __len__(self):
        return call("ssq_params_count", self._handle)

    def _info(self, name):
        info = initial("ssq_param_info")
        if isinstance(name, int):
            call("ssq_params_get", self._handle, name, ctypes.byref(info))
        else:
            call("ssq_params_find", self._handle, name.encode(), ctypes.byref(info))
        return info

    def keys(self):
        return [text_of(self._info(i).name) for i in range(len(self))]

    def __iter__(self):
        return iter(self.keys())

    def items(self):
        return [(name, self[name]) for name in self.keys()]

    def __contains__(self, name):
        try:
            self._info(name)
        except NotFoundError:
            return False
        return True

    def tensor(self, name):
        """The tensor that ops use, in the policy's dtype. The set owns it."""
        return _held(self.queue.device, self._info(name).tensor)

    def grad(self, name):
        """The gradient's tensor, or None. The set owns it."""
        grad = self._info(name).grad
        return _held(self.queue.device, grad) if grad else None

    def __getitem__(self, name):
        import numpy

        array = numpy.empty(self.tensor(name).shape, numpy.float32)
        call("ssq_params_read", self._handle, self.queue._handle, self._optimizer_handle(),
             name.encode(), array.ctypes.data, array.size)
        return array

    def __setitem__(self, name, value):
        import numpy

        array = numpy.ascontiguousarray(value, numpy.float32)
        shape = self.tensor(name).shape
        if array.shape != shape:
            raise InvalidError(f"{name}: the array has shape {array.shape}, expected {shape}")
        call("ssq_params_write", self._handle, self.queue._handle, self._optimizer_handle(),
             name.encode(), array.ctypes.data, array.size)

    def allow(self, pattern):
        """Allow all passes to create parameters whose names match; None: no name."""
        call("ssq_params_allow", self._handle, pattern.encode() if pattern else None)

    def remove(self, pattern):
        """Remove the parameters whose names match, and return their number."""
        removed = ctypes.c_size_t()
        call("ssq_params_remove", self._handle, pattern.encode(), ctypes.byref(removed))
        return removed.value

    def optimize(self, optimizer, pattern=None, group=None):
        """Give an optimizer the parameters whose names match; None: all."""
        self._optimizer = lambda: optimizer._handle
        optimizer._keep.append(self)
        call("ssq_params_optimize", self._handle, optimizer._handle,
             pattern.encode() if pattern else None, group)

    def clean(self):
        """Let the next backward begin the gradients anew, as torch's zero_grad."""
        call("ssq_params_clean", self._handle)

    def stats(self):
        """Return a dict: params, states, elements, bytes."""
        stats = initial("ssq_params_stats")
        call("ssq_params_stats_get", self._handle, ctypes.byref(stats))
        return as_dict(stats)

    def save(self, path, **options):
        """Write the parameters to a safetensors file, in float32."""
        self._file("ssq_params_save", path, options)

    def load(self, path, **options):
        """Read parameters of the same names from a safetensors file."""
        self._file("ssq_params_load", path, options)

    def _file(self, function, path, options):
        args = set_options(initial("ssq_params_file_args"), options, function[4:])
        args.optimizer = self._optimizer_handle()
        call(function, self._handle, self.queue._handle, os.fsencode(path),
             ctypes.byref(args))

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_owner", self) is None and self._handle:
            call("ssq_params_destroy", byref(self._handle))


class Tape:
    """Records ops on values and differentiates them backwards.

        tape = sesqui.Tape(device, policy="mixed_float16")
        tape.begin()
        loss = F.mse(nn.linear("fc", tape.input(x), 8), target=y)
        tape.backward(loss)
        tape.params.grad("fc.weight")
    """

    def __init__(self, where, params=None, policy=None, seed=0, *, _handle=None, _owner=None):
        self._owner = _owner
        if _handle is not None:
            self.queue, self.params, self._handle = _owner.queue, _owner.params, _handle
        else:
            self.queue = queue_of(where)
            self.params = Params(self.queue, policy, seed) if params is None else params
            self._handle = ctypes.c_void_p()
            call("ssq_tape_create", self.queue._handle, self.params._handle,
                 ctypes.byref(self._handle))
        self._keep = []

    def begin(self, training=True):
        """Begin a pass. Values of the last one become invalid."""
        self._keep = []
        call("ssq_tape_begin", self._handle, training)
        return self

    def check(self):
        """Raise the first error of this pass, if there was one."""
        call("ssq_tape_status", self._handle)

    def input(self, data):
        """A value without a gradient: a Tensor, or an array, which is copied."""
        if not isinstance(data, Tensor):
            data = Tensor.from_data(self.queue.device, data, None, self.queue)
        self._keep.append(data)
        return Var(self, call("ssq_var_input_at", place(), self._handle, data._handle))

    def param(self, name, shape, init="xavier_uniform", **options):
        """The parameter of a name, which is created at its first use."""
        made = Arguments("ssq_param_args", {"shape": shape, "init": init, **options}, "param")
        self._keep.append(made)
        return Var(self, call("ssq_var_param_at", place(), self._handle, name.encode(),
                              ctypes.byref(made.struct)))

    def backward(self, loss, scaler=None):
        """Add the gradients of loss to the parameters' gradients."""
        call("ssq_tape_backward", self._handle, loss._var, scaler._handle if scaler else None)

    def grad(self, loss, values, create_graph=False, allow_unused=False):
        """Return the gradients of loss with respect to values, as values of this pass."""
        args = initial("ssq_tape_grad_args")
        args.create_graph, args.allow_unused = create_graph, allow_unused
        vars_in = (CVar * len(values))(*[v._var for v in values])
        grads = (CVar * len(values))()
        call("ssq_tape_grad_at", place(), self._handle, loss._var, vars_in, len(values),
             ctypes.byref(args), grads)
        self.check()
        return [Var(self, CVar.from_buffer_copy(g)) if g.tape else None for g in grads]

    def scope(self, name):
        """Within `with tape.scope("block1"):` names begin with "block1."."""
        return _Scope(self, lambda: call("ssq_tape_push", self._handle, name.encode()),
                      lambda: call("ssq_tape_pop", self._handle))

    def no_grad(self):
        """Within `with tape.no_grad():` nothing is recorded."""
        return _Scope(self, lambda: call("ssq_tape_pause", self._handle),
                      lambda: call("ssq_tape_resume", self._handle))

    def autocast(self, policy):
        """Within `with tape.autocast("float32"):` ops follow another policy; None: none."""
        at = place()
        return _Scope(self, lambda: call("ssq_tape_autocast_push_at", at, self._handle,
                                         policy.encode() if policy else None),
                      lambda: call("ssq_tape_autocast_pop_at", at, self._handle))

    def stats(self):
        stats = initial("ssq_tape_stats")
        call("ssq_tape_stats_get", self._handle, ctypes.byref(stats))
        return as_dict(stats)

    def __del__(self, call=call, byref=ctypes.byref):
        if getattr(self, "_owner", self) is None and getattr(self, "_handle", None):
            call("ssq_tape_destroy", byref(self._handle))


class _Scope:
    def __init__(self, tape, enter, leave):
        self._tape, self._enter, self._leave = tape, enter, leave

    def __enter__(self):
        self._enter()
        return self._tape

    def __exit__(self, *_):
        self._leave()


class Var:
    """A value of a pass. sesqui.functional has the ops, which are also methods."""

    __slots__ = ("tape", "_var")
    __array_ufunc__ = None  # array + value is a value, not an array of values

    def __init__(self, tape, var):
        self.tape, self._var = tape, var

    @property
    def shape(self):
        rank = call("ssq_var_rank", self._var)
        self._live()
        return tuple(call("ssq_var_size", self._var, i) for i in range(rank))

    @property
    def dtype(self):
        return dtype_name(call("ssq_tensor_dtype", self._live()))

    def _live(self):
        handle = call("ssq_var_tensor", self._var)
        if not handle:
            self.tape.check()
            raise InvalidError("the value is not of the current pass")
        return handle

    def tensor(self):
        """The value's tensor. The tape owns it, and it is valid until the pass ends."""
        return _held(self.tape.queue.device, self._live())

    def numpy(self):
        """Return a copy as a NumPy array. This waits for the queue."""
        return self.tensor().numpy(queue=self.tape.queue)

    def item(self):
        return self.tensor().item(self.tape.queue)

    def detach(self):
        """The value without its gradient."""
        return Var(self.tape, call("ssq_var_detach_at", place(), self._var))

    def watch(self):
        """The value, with a gradient for Tape.grad."""
        return Var(self.tape, call("ssq_var_watch_at", place(), self._var))

    def cast(self, dtype):
        return Var(self.tape, call("ssq_var_cast_at", place(), self._var, dtype_number(dtype)))

    def reshape(self, *shape):
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        size = 1
        for n in self.shape:
            size *= n
        shape = whole_shape(shape, size)
        return Var(self.tape, call("ssq_var_reshape_at", place(), self._var, len(shape),
                                   (ctypes.c_int64 * max(len(shape), 1))(*shape)))

    def transpose(self, *axes):
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        axes = axes or tuple(reversed(range(len(self.shape))))
        return Var(self.tape, call("ssq_var_transpose_at", place(), self._var,
                                   (ctypes.c_int * max(len(axes), 1))(*axes)))

    @property
    def T(self):
        return self.transpose()

    def broadcast_to(self, shape):
        return Var(self.tape, call("ssq_var_broadcast_at", place(), self._var, len(shape),
                                   (ctypes.c_int64 * max(len(shape), 1))(*shape)))

    def __getitem__(self, index):
        value = self
        for axis, start, stop, step, drop in slices_of(index, self.shape):
            value = Var(self.tape, call("ssq_var_slice_at", place(), value._var, axis, start,
                                        stop, step))
            if drop:
                shape = value.shape
                value = value.reshape(shape[:axis] + shape[axis + 1:])
        return value

    def __repr__(self):
        return f"sesqui.Var({list(self.shape)}, {self.dtype})"


def var_of(tape, value, like=None):
    """A value, tensor, array or number as a Var of a tape. A number has the dtype of the Var
    `like`: as in PyTorch and NumPy, it does not decide about the result's dtype."""
    if isinstance(value, Var):
        return value
    if isinstance(value, (int, float)):
        dtype = "float32" if like is None else like.dtype
        return tape.input(Tensor.from_data(tape.queue.device, float(value), dtype, tape.queue))
    return tape.input(value)

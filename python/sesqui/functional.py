# SPDX-License-Identifier: Apache-2.0
"""Every op with a gradient, on values of a tape.

    import sesqui.functional as F
    y = F.softmax(F.relu(x), axis=-1)
    loss = F.cross_entropy(logits, target=labels)

The results are new values: their shape and dtype follow the op and the policy. Other
arguments have the names of the C structs, and arrays of NumPy may stand for tensors. An
error raises at once, with the line of the program.
"""

import ctypes

from . import _library
from ._arguments import Arguments, docstring
from ._errors import InvalidError
from ._library import call
from ._tape import NO_VAR, CVar, Var, place, var_of


def result(tape, made):
    """A new value, or the error that the tape has latched."""
    if not call("ssq_var_tensor", made):
        tape.check()
    return Var(tape, made)


def tape_of(values, name):
    for value in values:
        if isinstance(value, Var):
            return value.tape
    raise InvalidError(f"{name}: no operand is a Var; tape.input(x) makes one")


def struct_of(params):
    """The struct of options among the parameters of a function; None: it has none."""
    return next((p["type"][6:-2] for p in params if p["type"].endswith("_args *")), None)


def options_of(tape, struct, arguments, name):
    """Keyword arguments as a struct, which the tape keeps until the pass ends."""
    if struct is None:
        if arguments:
            raise TypeError(f"{name}: there is no argument {next(iter(arguments))}")
        return None
    made = Arguments(struct, arguments, name, tape.queue.device, tape.queue)
    tape._keep.append(made)
    return ctypes.byref(made.struct)


def _make(name, function, base):
    params = _library.api["functions"][function]["params"][1:]
    operands = [p["name"] for p in params if p["type"] == "ssq_var"]
    struct = struct_of(params)

    def op(*values, **arguments):
        if len(values) > len(operands):
            raise TypeError(f"{name}: {len(values)} operands, expected at most {len(operands)}:"
                            f" {', '.join(operands)}")
        given = dict(zip(operands, values))
        for operand in operands:
            if operand in arguments:
                given[operand] = arguments.pop(operand)
        if operands and given.get(operands[0]) is None:
            raise TypeError(f"{name}: {operands[0]} is missing")
        tape = tape_of(given.values(), name)
        like = next(v for v in given.values() if isinstance(v, Var))
        options = options_of(tape, struct, arguments, name)
        passed, extra = [place()], []
        for p in params:
            if p["type"] == "ssq_var":
                value = given.get(p["name"])
                passed.append(NO_VAR if value is None else var_of(tape, value, like)._var)
            elif p["type"] == "ssq_var *":
                extra.append(CVar())
                passed.append(ctypes.byref(extra[-1]))
            else:
                passed.append(options)
        y = result(tape, call(function, *passed))
        return (y, *[Var(tape, v) for v in extra]) if extra else y

    op.__name__ = op.__qualname__ = name
    op.__module__ = __name__
    more = f"\n\nOperands: {', '.join(operands)}." if operands else ""
    op.__doc__ = docstring(base, struct) + more
    return op


__all__ = []
for _name in _library.api["functions"]:
    if _library.api["functions"][_name]["header"] == "sesqui/vars.h":
        _short = _name[4:-7]  # ssq_relu_var_at is relu
        globals()[_short] = _make(_short, _name, f"ssq_{_short}")
        __all__.append(_short)


def concat(values, axis=0):
    """Join values along an axis."""
    values = list(values)
    tape = tape_of(values, "concat")
    array = (CVar * len(values))(*[var_of(tape, v)._var for v in values])
    return result(tape, call("ssq_var_concat_at", place(), array, len(values), axis))


def linear(x, weight, bias=None):
    """Multiply by a weight of shape [out, in], as torch.nn.functional.linear."""
    return gemm(x, weight, bias=bias, trans_b=True)  # noqa: F821


__all__ += ["concat", "linear"]


# ---- values have the ops as methods, and operators ----

def _operators():
    def binary(name):
        op = globals()[name]

        def forward(self, other):
            return op(self, other)

        def reflected(self, other):
            return op(var_of(self.tape, other, self), self)

        return forward, reflected

    for python, name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"),
                         ("pow", "pow")):
        forward, reflected = binary(name)
        setattr(Var, f"__{python}__", forward)
        setattr(Var, f"__r{python}__", reflected)
    Var.__neg__ = lambda self: neg(self)  # noqa: F821
    Var.__abs__ = lambda self: globals()["abs"](self)
    Var.__matmul__ = lambda self, other: matmul(self, other)
    Var.__rmatmul__ = lambda self, other: matmul(var_of(self.tape, other), self)
    for name in __all__:
        if not hasattr(Var, name) and name not in ("concat", "linear", "where"):
            setattr(Var, name, globals()[name])


def matmul(a, b):
    """Multiply matrices; more dimensions than two are a batch."""
    tape = tape_of((a, b), "matmul")
    a, b = var_of(tape, a), var_of(tape, b)
    if len(a.shape) > 2 or len(b.shape) > 2:
        return gemm_batched(a, b)  # noqa: F821
    return gemm(a, b)  # noqa: F821


__all__.append("matmul")
_operators()

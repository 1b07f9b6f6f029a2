# SPDX-License-Identifier: Apache-2.0
"""Type stubs of the modules whose functions are made from api.json.

usage: stubs.py API.JSON FOLDER      write FOLDER/ops.pyi, functional.pyi and nn.pyi
"""

import json
import os
import sys

HEAD = '''# Made by stubs.py: do not edit.
from typing import Any, Optional, Sequence, Union

from ._core import Queue, Tensor
from ._tape import Tape, Var

Operand = Union[Var, Tensor, float, Any]  # Any: an array of NumPy

'''
NUMBERS = {"float": "float", "double": "float", "bool": "bool", "_Bool": "bool",
           "const char *": "str"}


def python_type(field, api):
    kind = field["type"]
    if kind == "const ssq_tensor *":
        return "Optional[Tensor]"
    if kind.endswith("*const *"):
        return "Sequence[Tensor]"
    if kind in api["enums"]:
        return "Union[int, str]"
    if kind in NUMBERS:
        plain = NUMBERS[kind]
    elif kind.rstrip("_t").rstrip("0123456789") in ("int", "uint", "size", "unsigned"):
        plain = "int"
    else:
        return "Any"
    return f"Union[{plain}, Sequence[{plain}]]" if "count" in field else plain


def keywords(struct, api, leave=()):
    """The fields of a struct as keyword arguments."""
    name = api["aliases"].get(struct, struct)
    made = []
    for field in api["structs"][name]["fields"]:
        if field["name"] != "struct_size" and field["name"] not in leave:
            made.append(f"{field['name']}: {python_type(field, api)} = ...")
    return made


def signature(name, first, after, result, doc):
    arguments = ", ".join(first + (["*"] + after if after else []))
    doc = doc.replace("\\", "\\\\").replace('"""', "'''").replace("\n", "\n    ")
    return f'def {name}({arguments}) -> {result}:\n    """{doc}"""\n    ...\n\n'


def make(api):
    """Return a dict: file, text."""
    ops, functional, nn = [HEAD], [HEAD], [HEAD]
    for name, d in api["functions"].items():
        params = d["params"]
        struct = next((p["type"][6:-2] for p in params if p["type"].endswith("_args *")), None)
        if d["header"].startswith("sesqui/ops/") and len(params) == 2 and struct and \
                params[0]["type"] == "ssq_queue *":
            ops.append(signature(name[4:], [], ["queue: Optional[Queue] = ..."] +
                                 keywords(struct, api), "None", d["doc"]))
        elif d["header"] == "sesqui/vars.h":
            short = name[4:-7]
            operands = [p["name"] for p in params[1:] if p["type"] == "ssq_var"]
            several = any(p["type"] == "ssq_var *" for p in params)
            doc = api["functions"].get(f"ssq_{short}", {}).get("doc", "")
            functional.append(signature(
                short, [f"{operands[0]}: Operand"] +
                [f"{o}: Optional[Operand] = ..." for o in operands[1:]],
                keywords(struct, api, operands) if struct else [],
                "tuple" if several else "Var", doc))
        elif d["header"] == "sesqui/nn.h":
            first = []
            for p in params[2:]:
                kind = {"ssq_var": "Operand", "const char *": "str", "int64_t": "int",
                        "double": "float", "ssq_layout": "Union[int, str]",
                        "const ssq_tensor *": "Any"}.get(p["type"])
                if kind:
                    default = " = ..." if p["name"] in ("width", "h0", "c0", "layout") else ""
                    first.append(f"{p['name']}: {kind}{default}")
            several = any(p["type"] == "ssq_var *" for p in params)
            nn.append(signature(name[len("ssq_nn_"):-3], first, ["tape: Optional[Tape] = ..."] +
                                (keywords(struct, api) if struct else []),
                                "tuple" if several else "Var", d["doc"]))
    ops.append("def gemm_explain(*, queue: Optional[Queue] = ..., **arguments: Any) -> dict: ...\n")
    functional.append(
        "def concat(values: Sequence[Operand], axis: int = ...) -> Var: ...\n"
        "def linear(x: Operand, weight: Operand, bias: Optional[Operand] = ...) -> Var: ...\n"
        "def matmul(a: Operand, b: Operand) -> Var: ...\n")
    return {"ops.pyi": "".join(ops), "functional.pyi": "".join(functional),
            "nn.pyi": "".join(nn)}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as description:
        for file, text in make(json.load(description)).items():
            with open(os.path.join(sys.argv[2], file), "w", encoding="utf-8") as stub:
                stub.write(text)

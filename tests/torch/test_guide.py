# SPDX-License-Identifier: Apache-2.0
"""The table of ops in the guide is what the extension registers with PyTorch."""

import pathlib
import re

import torch

PAGE = pathlib.Path(__file__).parents[2] / "doc" / "guide" / "pytorch.md"

# What PyTorch calls to make tensors and views: not ops of a model.
BASE = {
    "_copy_from", "_copy_from_and_resize", "_has_compatible_shallow_copy_type",
    "_local_scalar_dense", "_reshape_alias", "as_strided", "empty", "empty_strided", "is_set_to",
    "resize_", "set_",
}

# Names in the guide, where the rule of name_of() does not find the name of a user.
NAMES = {
    "_amp_foreach_non_finite_check_and_unscale_": "GradScaler.unscale_",
    "_amp_update_scale_": "GradScaler.update",
    "_batch_norm_with_update": "batch_norm",
    "_fused_rms_norm": "rms_norm",
    "_native_batch_norm_legit": "batch_norm",
    "_scaled_dot_product_fused_attention": "scaled_dot_product_attention",
    "_thnn_fused_gru_cell": "gru_cell",
    "_thnn_fused_lstm_cell": "lstm_cell",
    "embedding_dense": "embedding",
    "log_sigmoid": "logsigmoid",
    "max_pool2d_with_indices": "max_pool2d",
}


def name_of(op):
    """Return the name of an op of aten in the guide, and whether it is a gradient."""
    op = op.replace("_overrideable", "")
    backward = re.search("_backward(_data|_impl)?$", op)
    op = op[:backward.start()] if backward else op
    op = op.removesuffix("_forward")
    if op in NAMES:
        return NAMES[op], bool(backward)
    if not backward and op.startswith("_fused_"):
        return op.strip("_"), False
    op = op.removesuffix("_").removesuffix("_kernel").removesuffix("_impl")
    return op.removeprefix("_").removeprefix("native_"), bool(backward)


def registered():
    """Return the ops, and those of them that have a gradient op."""
    forward, backward = set(), set()
    for full in torch._C._dispatch_get_registrations_for_dispatch_key("PrivateUse1"):
        space, _, op = full.partition("::")
        op = op.partition(".")[0]
        if space == "aten" and op not in BASE:
            name, gradient = name_of(op)
            (backward if gradient else forward).add(name)
    return forward, backward


def listed():
    """The same of the table: | group | ops with a gradient op | other ops |."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| group |"):].split("\n\n")[0]
    columns = [], []
    for row in table.splitlines()[2:]:
        for names, cell in zip(columns, row.strip("|").split("|")[1:3]):
            names += cell.replace(",", " ").split()
    return columns


def test_every_native_op_is_in_the_guide():
    forward, backward = registered()
    with_gradient, others = listed()
    assert sorted(with_gradient) == sorted(backward)
    assert sorted(others) == sorted(forward - backward)

# SPDX-License-Identifier: Apache-2.0
"""torch.compile on the device: a captured graph runs op by op, as without it.

TorchInductor makes code for CUDA and the CPU. A graph with a tensor of this device is handed to
Dynamo as it was captured, instead of to Inductor.
"""

import torch


def _is_here(value):
    if isinstance(value, torch.Tensor):
        return value.device.type == "sesqui"
    return isinstance(value, (str, torch.device)) and torch.device(value).type == "sesqui"


def _uses_device(graph_module, inputs):
    if any(isinstance(x, torch.Tensor) and _is_here(x) for x in inputs):
        return True
    for node in graph_module.graph.nodes:
        if "device" in node.kwargs and _is_here(node.kwargs["device"]):
            return True
    return any(_is_here(p) for p in graph_module.parameters()) or \
        any(_is_here(b) for b in graph_module.buffers())


def register():
    """Let torch.compile pass graphs of this device by Inductor."""
    wrapper = getattr(torch, "_TorchCompileInductorWrapper", None)
    if wrapper is None:
        return
    compile_graph = wrapper.__call__

    def call(self, model_, inputs_):
        if _uses_device(model_, inputs_):
            return model_.forward
        return compile_graph(self, model_, inputs_)

    wrapper.__call__ = call

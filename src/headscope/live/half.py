"""Weights in half precision: stored in 16 bits, and widened again when the page opens the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

LEAST = 256  # numbers from which on a tensor is worth it


def halve(path: Path) -> None:
    """Rewrite a single-precision ONNX file so that its large tensors are float16."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model: Any = onnx.load(str(path))
    graph = model.graph
    casts: list[Any] = []
    for tensor in graph.initializer:
        if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < LEAST:
            continue
        name = tensor.name
        values = numpy_helper.to_array(tensor).astype(np.float16)
        tensor.CopyFrom(numpy_helper.from_array(values, f"{name}:half"))
        casts.append(helper.make_node("Cast", [f"{name}:half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.save(model, str(path))

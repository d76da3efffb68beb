"""The model as a graph that a browser runs: tokens or pixels and head switches in, q, k, v, hidden
states and logits out.

Heads are switched by their queries. A query of zeros attends alike to every key it may see, which
is the edit that the app and `scope.without` make by default (mode "uniform").
"""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.capture.switch import switched
from headscope.errors import BadInput
from headscope.reading import Scope
from headscope.reading.predict import logits_in

ENCODERS = ("bert", "distilbert", "roberta", "electra")
DECODERS = ("gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "smollm3")
OF_PICTURES = ("vit", "deit")
OPSET = 20
NAME = "headscope-live"
HALVED = 256  # numbers from which on a tensor is kept in 16 bits
LARGEST = 2**15 - 1


@dataclass
class _Seen:
    """What the attention function meets on one pass, layer after layer."""

    switches: Tensor  # l h
    q: list[Tensor] = field(default_factory=list[Tensor])
    k: list[Tensor] = field(default_factory=list[Tensor])
    v: list[Tensor] = field(default_factory=list[Tensor])
    attention: list[Tensor] = field(default_factory=list[Tensor])
    layers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


_passing: list[_Seen] = []


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    **extras: Any,
) -> tuple[Tensor, Tensor | None]:
    """The family's own eager attention, with the queries of switched heads set to zero."""
    seen = _passing[-1]
    query = query * seen.switches[len(seen.q)][None, :, None, None]
    seen.q.append(query[0])
    seen.k.append(key[0])
    seen.v.append(value[0])
    eager: Any = sys.modules[type(module).__module__].eager_attention_forward  # pyright: ignore[reportAttributeAccessIssue]
    output, weights = eager(module, query, key, value, attention_mask, **extras)
    seen.attention.append(weights[0])
    window = extras.get("sliding_window")
    causal = bool(getattr(module, "is_causal", False))
    seen.layers.append(
        {
            "scaling": _scaling(module, query, extras),
            "softcap": extras.get("softcap"),
            "mask": _mask(causal, window),
        }
    )
    return output, weights


def _scaling(module: Any, query: Tensor, extras: dict[str, Any]) -> float:
    stated = extras.get("scaling") or getattr(module, "scaling", None)
    return float(query.shape[-1] ** -0.5 if stated is None else stated)


def _mask(causal: bool, window: int | None) -> str | dict[str, Any]:
    if not causal:
        return "none"
    return "causal" if window is None else {"window": window, "causal": True}


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, eager_mask)


class Graph(nn.Module):
    """One text or picture at a time, without padding; outputs in the order of `outputs`."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.model = scope.model
        self.eval()
        self.causal = scope.causal
        self.sees = family(scope) in OF_PICTURES
        given = getattr(scope.tokenizer, "model_input_names", ())
        self.types = scope.accepts("token_type_ids") and "token_type_ids" in given
        self.layers: list[dict[str, Any]] = []  # how the last pass scaled and masked each layer
        self.follows = hasattr(getattr(scope.model, "cls", None), "seq_relationship")

    @property
    def inputs(self) -> list[str]:
        if self.sees:
            return ["pixels", "switches"]
        return ["ids", *(["types"] if self.types else []), "positions", "switches"]

    @property
    def outputs(self) -> list[str]:
        return [
            "q",
            "k",
            "v",
            "attention",
            "hidden",
            "logits",
            *(["follows"] if self.follows else []),
        ]

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        named = dict(zip(self.inputs, given, strict=True))
        seen = _Seen(named["switches"])
        options: dict[str, Any] = {
            **({"pixel_values": named["pixels"]} if self.sees else {"input_ids": named["ids"]}),
            "output_hidden_states": True,
            "return_dict": True,
        }
        if self.types:
            options["token_type_ids"] = named["types"]
        if self.causal:
            options |= {"use_cache": False, "logits_to_keep": named["positions"]}
        self.layers = seen.layers
        _passing.append(seen)
        try:
            output = self.model(**options)
        finally:
            _passing.pop()
        hidden = torch.stack([state[0] for state in output.hidden_states])  # l+1 t d
        made = [torch.stack(each) for each in (seen.q, seen.k, seen.v, seen.attention)]
        return (*made, hidden, *self._said(output, named.get("positions")))

    def _said(self, output: Any, positions: Tensor | None) -> list[Tensor]:
        """Logits at the positions asked for (n words), or of classes; nothing where none are."""
        logits = logits_in(output)
        if logits is None:
            logits = output[0].new_zeros(1, 0)
        elif logits.dim() == 3:
            logits = logits[0] if self.causal else logits[0][positions]
        return [logits, *([output.seq_relationship_logits] if self.follows else [])]


def family(scope: Scope) -> str:
    return str(getattr(scope.model.config, "model_type", ""))


def check_family(scope: Scope) -> None:
    """Refuse, in a sentence, what the page cannot run."""
    name = family(scope)
    known = (*ENCODERS, *DECODERS, *OF_PICTURES)
    if name not in known:
        raise BadInput(
            f"A live page runs models of the families {', '.join(known)}; {scope.name} is of the "
            f"family {name or type(scope.model).__name__}. Use headscope app for it."
        )
    if name not in OF_PICTURES and not getattr(scope.tokenizer, "is_fast", False):
        raise BadInput(
            f"The tokenizer of {scope.name} has no tokenizer.json, which the page needs; "
            "load the model with its fast tokenizer."
        )
    if "Precompiled" in repr(getattr(_backend(scope), "normalizer", None)):
        raise BadInput(
            f"The tokenizer of {scope.name} normalises text by a table that the page's tokenizer "
            "has only in part, so that tokens could differ. Use headscope app for it."
        )


def _backend(scope: Scope) -> Any:
    return getattr(scope.tokenizer, "backend_tokenizer", None)


@contextlib.contextmanager
def _run_by_us(model: nn.Module) -> Generator[None]:
    _register()
    with switched(model.modules(), NAME):
        yield


def run_graph(graph: Graph, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """What the graph answers, computed by torch."""
    with torch.no_grad(), _run_by_us(graph.model):
        made = graph(*(given[name] for name in graph.inputs))
    return dict(zip(graph.outputs, made, strict=True))


def example(scope: Scope, tokens: int = 7) -> dict[str, Tensor]:
    """Inputs of the right shapes, every head on."""
    config = scope.model.config
    switches = torch.ones(config.num_hidden_layers, config.num_attention_heads)
    if family(scope) in OF_PICTURES:
        size = config.image_size
        sides = (size, size) if isinstance(size, int) else tuple(size)
        return {"pixels": torch.zeros(1, config.num_channels, *sides), "switches": switches}
    ids = torch.arange(1, tokens + 1)[None] % config.vocab_size
    return {
        "ids": ids,
        "types": torch.zeros_like(ids),
        "positions": torch.tensor([0, tokens - 1]),
        "switches": switches,
    }


@contextlib.contextmanager
def _quiet_exporter() -> Generator[None]:
    """Without the exporter's words about packages and axes that the graph does not use."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def write_graph(graph: Graph, scope: Scope, path: Path) -> None:
    """Write the model in single precision as ONNX."""
    given = example(scope)
    tokens, asked = torch.export.Dim("tokens", min=1), torch.export.Dim("asked", min=1)
    sizes = {"ids": {1: tokens}, "types": {1: tokens}, "positions": {0: asked}}
    with torch.no_grad(), _run_by_us(scope.model), _quiet_exporter():
        program = torch.onnx.export(
            graph,
            tuple(given[name] for name in graph.inputs),
            dynamo=True,
            opset_version=OPSET,
            input_names=graph.inputs,
            output_names=graph.outputs,
            dynamic_shapes=(tuple(sizes.get(name, {}) for name in graph.inputs),),
            verbose=False,
        )
    assert program is not None
    program.save(str(path), external_data=False)


def halve(path: Path) -> None:
    """Store the large tensors of a single-precision ONNX file in 16 bits.

    In half precision where that loses nothing, as of a model kept in it; else as whole numbers with
    a scale per output, which are four times as exact or more. The page widens them again when it
    opens the model.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model: Any = onnx.load(str(path))
    graph = model.graph
    widening: list[Any] = []
    multiplied = {node.input[1] for node in graph.node if node.op_type == "MatMul"}
    for tensor in list(graph.initializer):
        if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < HALVED:
            continue
        name, values = tensor.name, numpy_helper.to_array(tensor)
        # a scale for each output of a layer, and for each word
        stored, scale = _in_16_bits(values, -2 if name in multiplied and values.ndim > 1 else -1)
        tensor.CopyFrom(numpy_helper.from_array(stored, f"{name}:stored"))
        wide = name if scale is None else f"{name}:wide"
        widening.append(helper.make_node("Cast", [f"{name}:stored"], [wide], to=TensorProto.FLOAT))
        if scale is not None:
            graph.initializer.append(numpy_helper.from_array(scale, f"{name}:scale"))
            widening.append(helper.make_node("Mul", [wide, f"{name}:scale"], [name]))
    nodes = [*widening, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.save(model, str(path))


def _in_16_bits(
    values: NDArray[np.float32], axis: int
) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
    """Numbers of 16 bits; where half precision would lose, whole ones and their scale."""
    with np.errstate(over="ignore"):
        half = values.astype(np.float16)
    if np.array_equal(half.astype(np.float32), values):
        return half, None
    largest = np.abs(values).max(axis=axis, keepdims=True)
    scale = (np.where(largest > 0, largest, 1) / LARGEST).astype(np.float32)
    return np.rint(values / scale).astype(np.int16), scale

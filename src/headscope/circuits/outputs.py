"""What heads write: α·v·W_O per head, query and key, without a stored vector per edge.

A head's output at a query is Σ_j α_ij v_j W_h. α, v and W_h give every edge's vector, norm and
projection on demand, so that T × T × hidden numbers are never stored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture import Call, Kind
from headscope.capture.output_projection import head_norms, projection_module, weight_of
from headscope.errors import BadInput, HeadscopeError
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import only_here
from headscope.reading.ability import Ability
from headscope.reading.inputs.decoder_text import encode_both
from headscope.text.tokenise import need_one_text

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Text


@dataclass(frozen=True, repr=False)
class LayerOutputs:
    """One call: the weights and values of its heads, and the projection that writes them."""

    weights: Tensor  # h t s
    values: Tensor  # g s d
    projection: Tensor  # h d hidden
    bias: Tensor | None  # hidden, added once
    written: Tensor  # t hidden, the output of the model's projection

    def __repr__(self) -> str:
        queries, keys = self.weights.shape[1:]
        return f"<LayerOutputs: {self.heads} heads, {queries} queries, {keys} keys>"

    @property
    def heads(self) -> int:
        return self.projection.shape[0]

    @property
    def spread(self) -> Tensor:
        """h s d: the values each head reads, shared ones repeated."""
        return self.values.repeat_interleave(self.heads // self.values.shape[0], dim=0)

    @property
    def mixed(self) -> Tensor:
        """h t d: each head's output before the projection."""
        return self.weights @ self.spread

    def head(self, head: int) -> Tensor:
        """t hidden: what one head writes at every query."""
        return self.weights[head] @ self.spread[head] @ self.projection[head]

    def edge(self, head: int, query: int, key: int) -> Tensor:
        """hidden: what one head writes at a query from one key."""
        moved = self.spread[head, key] @ self.projection[head]
        return self.weights[head, query, key] * moved

    @property
    def norms(self) -> Tensor:
        """h s: ‖v_j W_h‖, the length of the vector the head would move from each key."""
        flat = self.projection.reshape(-1, self.projection.shape[-1])
        return head_norms(flat, self.values[None], self.heads)[0]

    @property
    def norm_weighted(self) -> Tensor:
        """h t s: ‖α_ij v_j W_h‖ (Kobayashi et al. 2020)."""
        return self.weights * self.norms[:, None]

    @property
    def total(self) -> Tensor:
        """t hidden: all heads, all keys, and the bias."""
        heads = torch.einsum("htd,hdm->tm", self.mixed, self.projection)
        return heads if self.bias is None else heads + self.bias


Outputs = Mapping[tuple[Kind, int], LayerOutputs]


def head_outputs(scope: Scope, text: Text, text_pair: Text | None = None) -> Outputs:
    """What every head writes on one text, by kind and layer.

    Parameters
    ----------
    scope
        The model.
    text
        The text.
    text_pair
        A second text, or what the decoder of an encoder–decoder reads.

    Returns
    -------
    Outputs
        By (kind, layer): vectors, norms and shares of what each head moves from key to query.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.circuits.head_outputs(hs.load(), "the cat sat")
    >>> found["encoder", 2].norms.shape
    torch.Size([8, 5])
    """
    return outputs_of(scope, one_text(scope, text, text_pair))


def one_text(scope: Scope, text: Text, text_pair: Text | None) -> Mapping[str, Tensor]:
    """The model's inputs; with two stacks, the decoder reads `text_pair`."""
    need_one_text(text)
    if scope.encoder_decoder:
        return encode_both(scope, [text], [text_pair])[0].inputs
    return scope.encode([text], [text_pair]).inputs


def outputs_of(scope: Scope, inputs: Mapping[str, Tensor]) -> Outputs:
    """The outputs for one example's model inputs."""
    if next(iter(inputs.values())).shape[0] != 1:
        raise BadInput("Give the inputs of one example: every tensor with a batch of 1.")
    WRITTEN.of(scope)
    found: dict[tuple[Kind, int], LayerOutputs] = {}
    waiting: dict[int, Call] = {}
    with stopped_safely(), contextlib.ExitStack() as undo:

        def note(call: Call) -> None:
            module = projection_of(scope, call)
            if id(module) not in waiting:
                handle = module.register_forward_hook(only_here(written))
                undo.callback(handle.remove)
            waiting[id(module)] = call

        def written(module: nn.Module, given: Any, output: Tensor) -> None:
            call = waiting[id(module)]
            found[call.kind, call.layer] = _of_call(call, module, output)

        scope.forward(inputs, note)
    return found


def projection_of(scope: Scope, call: Call) -> nn.Module:
    if call.v is None:
        raise HeadscopeError(
            f"{scope.name} does not expose its values, so what its heads write cannot be read key "
            "by key."
        )
    found = projection_module(scope.model, call.module, call.heads * call.v.shape[-1])
    if found is None:
        raise HeadscopeError(
            f"The output projection of {type(call.module).__name__} could not be found, so what "
            "its heads write cannot be read."
        )
    return found


def _read_projections(scope: Scope) -> None:
    _ = scope.description  # watches which module takes the heads' outputs

    def look(call: Call) -> None:
        projection_of(scope, call)

    for inputs in scope.trials:
        scope.forward(inputs, look)


WRITTEN = Ability(
    ("head_outputs", "mixing", "with_weightings"), "asked what its heads write", _read_projections
)


def _of_call(call: Call, module: nn.Module, output: Tensor) -> LayerOutputs:
    assert call.v is not None
    weight = weight_of(module).float()
    bias = getattr(module, "bias", None)
    return LayerOutputs(
        weights=call.weights[0].detach().float(),
        values=call.v[0].detach().float(),
        projection=weight.reshape(call.heads, -1, weight.shape[-1]),
        bias=None if bias is None else bias.detach().float(),
        written=output.reshape(-1, output.shape[-1]).detach().float(),
    )

"""Attention weighted by what it carries: a reading whose maps any view can draw in place of α.

norm    ‖α_ij v_j W_h‖: how much is moved, not only how hard is looked (Kobayashi et al. 2020)
logit   |α_ij v_j W_h · u|: how much of it lies along the direction u of a token's logit

Both are shown as shares of the largest number of the reading, and the reading says so.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.capture import Kind
from headscope.circuits.frozen_norm import tried
from headscope.circuits.logits.attribute import _solve
from headscope.circuits.logits.target import answer_labels, question
from headscope.circuits.outputs import LayerOutputs, head_outputs
from headscope.circuits.wiring import wiring
from headscope.edits.sweep.layers import hidden_of
from headscope.errors import BadInput, HeadscopeError
from headscope.reading.weights.layer import LayerAttention
from headscope.runs.interrupts import stopped_safely

if TYPE_CHECKING:
    from headscope.circuits.logits.target import Target
    from headscope.reading import Reading, Scope
    from headscope.text.tokenise import Text

By = Literal["norm", "logit"]


def weighted(
    scope: Scope,
    text: Text,
    text_pair: Text | None = None,
    *,
    by: By = "norm",
    target: Target = None,
    position: int | None = None,
) -> Reading:
    """A reading whose maps are weighted by what heads move, or move towards a token's logit."""
    if by not in ("norm", "logit"):
        raise BadInput(f"Attention is weighted by norm or by logit, not by {by!r}.")
    found = head_outputs(scope, text, text_pair)
    label = "norm of what is moved"
    factors = {place: layer.norms for place, layer in found.items()}
    if by == "logit":
        factors, names = _towards(scope, found, text, text_pair, target, position)
        label = f"part along the logit of {' over '.join(names)}"
    maps = {place: _map(found[place], factor) for place, factor in factors.items()}
    most = max(float(one.max()) for one in maps.values()) or 1.0
    reading = scope.read(text, text_pair, keep=("weights",))
    parts = {
        kind: dataclasses.replace(
            part,
            layers=tuple(
                LayerAttention(layer.layer, maps[kind, layer.layer] / np.float32(most))
                for layer in part.layers
                if (kind, layer.layer) in maps
            ),
        )
        for kind, part in reading.parts.items()
        if any(place[0] == kind for place in maps)
    }
    named = f"{reading.model}: {label}, 1 = {most:.3g}"
    return dataclasses.replace(reading, parts=parts, model=named)


def _map(layer: LayerOutputs, factor: Tensor) -> NDArray[np.float32]:
    return (layer.weights * factor[:, None].abs()).cpu().numpy().astype(np.float32)


def _towards(
    scope: Scope,
    found: Any,
    text: Text,
    text_pair: Text | None,
    target: Target,
    position: int | None,
) -> tuple[dict[tuple[Kind, int], Tensor], tuple[str, ...]]:
    """h s per layer: v_j W_h along the answer's direction, as the answering position has it."""
    asked = question(scope, text, text_pair, position)
    wired = wiring(scope)
    solved = _solve(scope, wired, asked, target)
    row = int(solved.rows[-1])
    factors: dict[tuple[Kind, int], Tensor] = {}
    for leaf, slope in zip(solved.traced.leaves, solved.slopes, strict=True):
        projection = None if leaf.module is None else wired.projections.get(id(leaf.module))
        if projection is None or slope is None:
            continue
        layer = found[projection.kind, projection.layer]
        back = layer.projection @ slope[0, row].float()  # h d
        factors[projection.kind, projection.layer] = (layer.spread @ back[:, :, None])[..., 0]
    return factors, answer_labels(scope, asked, solved.ids)


@stopped_safely()
@torch.no_grad()
def mixing(scope: Scope, text: Text, text_pair: Text | None = None) -> dict[int, NDArray[Any]]:
    """layer: t s, how much of each token is in each token after the attention block.

    Norms of Σ_h α_ij v_j W_h, with the residual x_i where i = j, through the norm that follows
    where there is one (Kobayashi et al. 2021). All heads of a layer together: the residual is of
    no single head.
    """
    wired = wiring(scope)
    entered: dict[int, Tensor] = {}
    norms: dict[int, list[tuple[nn.Module, Tensor]]] = {}
    handles: list[Any] = []
    for number, layer in enumerate(wired.stack.layers):

        def enter(module: nn.Module, args: Any, kwargs: Any, number: int = number) -> None:
            entered[number] = hidden_of(args[0] if args else kwargs["hidden_states"])[0].float()

        handles.append(layer.register_forward_pre_hook(enter, with_kwargs=True))
        for norm in (one for one in wired.norms if any(one is part for part in layer.modules())):

            def seen(module: nn.Module, given: Any, number: int = number) -> None:
                norms.setdefault(number, []).append((module, given[0][0].float()))

            handles.append(norm.register_forward_pre_hook(seen))
    try:
        found = head_outputs(scope, text, text_pair)
    finally:
        for handle in handles:
            handle.remove()
    own = {place[1]: layer for place, layer in found.items() if place[0] == wired.stack.kind}
    if not own:
        raise HeadscopeError(f"What the heads of {scope.name} move could not be read.")
    return {
        number: _mixed(layer, entered[number], norms.get(number, []))
        for number, layer in own.items()
    }


def _mixed(
    layer: LayerOutputs, residual: Tensor, norms: list[tuple[nn.Module, Tensor]]
) -> NDArray[Any]:
    moved = torch.einsum("hsd,hdm->hsm", layer.spread, layer.projection)
    summed = residual + layer.written
    after = next(
        (norm for norm, given in norms if given.shape == summed.shape
         and torch.allclose(given, summed, rtol=1e-3, atol=1e-4)), None,
    )  # fmt: skip
    rows: list[Tensor] = []
    for query in range(layer.weights.shape[1]):
        parts = torch.einsum("hs,hsm->sm", layer.weights[:, query], moved)
        parts[query] += residual[query]
        if after is not None:
            gain, _, centred = tried(after.forward, parts)
            whole = summed[query] - summed[query].mean() if centred else summed[query]
            parts = parts - parts.mean(-1, keepdim=True) if centred else parts
            parts = parts * gain / whole.square().mean().sqrt()
        rows.append(parts.norm(dim=-1))
    return torch.stack(rows).cpu().numpy()

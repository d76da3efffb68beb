"""Disable heads and layers: an edit that gives chosen heads other weights while the model runs.

The edit is a small frozen object. Called with a call it returns the replaced weights, or None
for layers it leaves alone, so edits compose by being applied one after another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.arguments import need_scope
from headscope.capture import Again, Call, Kind, Queries
from headscope.edits.modes import mode as find_mode
from headscope.edits.modes import without_maps
from headscope.errors import BadInput
from headscope.reading.ability import Ability
from headscope.reading.arguments import named_layers

if TYPE_CHECKING:
    from headscope.reading import Scope

MEAN_OUTPUT = "mean_output"  # replaces heads' outputs; all other modes replace weights
LARGE = 2**26  # larger maps, in bytes, are not made if other queries have the same effect


class Shape(Protocol):
    """The attributes of a model that name its heads; every scope has them."""

    @property
    def kinds(self) -> tuple[Kind, ...]: ...
    @property
    def layer_numbers(self) -> Mapping[Kind, tuple[int, ...]]: ...
    @property
    def heads(self) -> Mapping[Kind, int]: ...


class KeyValueHead(NamedTuple):
    """A key-value head, which edits of query heads refuse."""

    layer: int
    head: int


@dataclass(frozen=True)
class Disabled:
    """Chosen heads of one kind of attention get other weights."""

    kind: Kind
    heads: tuple[tuple[int, int], ...]  # (layer, head), sorted
    mode: str
    weights: object = None

    def __call__(self, call: Call) -> Tensor | Queries | Again | None:
        if call.kind != self.kind:
            return None
        # layers may have fewer heads than others (Swin's first stages)
        off = [head for layer, head in self.heads if layer == call.layer and head < call.heads]
        if not off:
            return None
        if call.map_bytes > LARGE:
            given = without_maps(self.mode, call, off, self.weights)
            if given is not None:
                return given
        instead = find_mode(self.mode, self.weights)(call, self.weights)
        chosen = torch.zeros(call.heads, dtype=torch.bool, device=call.weights.device)
        chosen[off] = True
        return torch.where(chosen[None, :, None, None], instead, call.weights)


def disable(
    shape: Shape,
    heads: Iterable[tuple[int, int]] | None = None,
    layers: Iterable[int] | None = None,
    mode: str = "uniform",
    kind: Kind | None = None,
    weights: object = None,
) -> Disabled:
    """The edit that disables these heads, given as (layer, head), and all heads of these layers.

    In a model with several kinds of attention, the default kind is the encoder's. `weights` without
    a mode are the weights to attend with.
    """
    kind = chosen_kind(shape, kind)
    if weights is not None and mode == "uniform":
        mode = "given"
    find_mode(mode, weights)
    off = {_known_head(shape, kind, head) for head in (() if heads is None else heads)}
    for layer in () if layers is None else layers:
        known = _known_layer(shape, kind, layer)
        off |= {(known, head) for head in range(shape.heads[kind])}
    if not off:
        raise BadInput("Say what to disable: heads=[(layer, head), ...] or layers=[...].")
    return Disabled(kind, tuple(sorted(off)), mode, weights)


def means_of(scope: Scope, texts: object) -> NDArray[np.float32]:
    """layer head size: heads' mean output over all tokens of some texts."""
    if not isinstance(texts, list) or not texts:
        raise BadInput("The mode mean_output takes the texts to average over: weights=[text, …].")
    plain = dataclasses.replace(scope, edits=())
    given = plain.activations(cast("list[str]", texts), ["attention.heads"])["attention.heads"]
    return given.mean(("text", "token")).to_numpy()


def chosen_kind(shape: Shape, kind: Kind | None) -> Kind:
    """The requested kind, or the model's first (the encoder's if it has one)."""
    if not hasattr(shape, "kinds"):
        need_scope(shape)
    if kind is None:
        return "encoder" if "encoder" in shape.kinds else shape.kinds[0]
    if kind not in shape.kinds:
        raise BadInput(
            f"This model has no {kind} attention; it has {' and '.join(shape.kinds)} attention."
        )
    return kind


def _known_layer(shape: Shape, kind: Kind, layer: object) -> int:
    known = shape.layer_numbers[kind]
    if not isinstance(layer, int) or isinstance(layer, bool) or layer not in known:
        raise BadInput(
            f"There is no {kind} layer {layer!r} that attends; this model's layers are "
            f"{named_layers(known)}."
        )
    return layer


def _known_head(shape: Shape, kind: Kind, head: object) -> tuple[int, int]:
    if not isinstance(head, tuple | list) or len(head) != 2:  # pyright: ignore[reportUnknownArgumentType]
        raise BadInput(f"Give a head as (layer, head), such as (2, 0), not {head!r}.")
    if isinstance(head, KeyValueHead):
        raise BadInput(
            f"{tuple(head)} is a key-value head of a budget; budget.query_heads(…) gives its "
            "query heads."
        )
    layer, number = head  # pyright: ignore[reportUnknownVariableType]
    known = _known_layer(shape, kind, layer)
    count = shape.heads[kind]
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < count:
        raise BadInput(f"There is no head {number!r}; layer {known} has heads 0 to {count - 1}.")
    return known, number


def _without_a_head(scope: Scope) -> None:
    for kind, numbers in scope.layer_numbers.items():
        without = scope.edited(Disabled(kind, ((numbers[0], 0),), "zero"))
        for inputs in scope.trials:
            without.forward(inputs)


DISABLED = Ability(("ablate", "without"), "run without some of its heads", _without_a_head)

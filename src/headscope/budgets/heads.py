"""Key-value heads, which a cache consists of; a group of query heads shares each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headscope.capture import Call
from headscope.edits.disable import Disabled
from headscope.errors import BadInput

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.reading import Scope

Head = tuple[int, int]  # (layer, key-value head)
BYTES = 2  # of a number in a cache of 16 bits


@dataclass(frozen=True)
class KeyValueHeads:
    """The key-value heads of a decoder, and the bytes of a token in each."""

    layers: tuple[int, ...]  # those that attend
    windows: tuple[int | None, ...]  # a layer's own window, where the model has one
    groups: int  # key-value heads of a layer
    per_group: int  # query heads that share one
    dim: int  # width of its keys and its values

    @property
    def every(self) -> tuple[Head, ...]:
        return tuple((layer, group) for layer in self.layers for group in range(self.groups))

    def open(self, kept: int) -> tuple[Head, ...]:
        """Heads that see more than `tokens`: the model itself restricts the others."""
        own = dict(zip(self.layers, self.windows, strict=True))
        return tuple(head for head in self.every if (own[head[0]] or kept + 1) > kept)

    def queries(self, group: int) -> tuple[int, ...]:
        """The query heads of a key-value head."""
        return tuple(range(group * self.per_group, (group + 1) * self.per_group))

    def edit(self, heads: Iterable[Head], sink: int, window: int) -> Disabled:
        """The edit that restricts these key-value heads to sink and window."""
        chosen = sorted((layer, q) for layer, group in heads for q in self.queries(group))
        return Disabled("decoder", tuple(chosen), "streaming", (sink, window))

    def memory(self, tokens: int, restricted: Iterable[Head], kept: int) -> int:
        """Bytes of a 16-bit cache for so many tokens, with some heads restricted to `kept`."""
        own: Mapping[int, int | None] = dict(zip(self.layers, self.windows, strict=True))
        few = set(restricted)
        held = 0
        for layer, group in self.every:
            most = min(tokens, own[layer] or tokens)
            held += min(most, kept) if (layer, group) in few else most
        return held * 2 * self.dim * BYTES


def key_value_heads(scope: Scope, inputs: Mapping[str, Tensor]) -> KeyValueHeads:
    """The key-value heads found in a pass over these inputs."""
    if "decoder" not in scope.kinds or scope.encoder_decoder:
        raise BadInput(f"A head budget needs a model that continues text; {scope.name} does not.")
    seen: dict[int, Call] = {}

    def note(call: Call) -> None:
        seen.setdefault(call.layer, call)

    scope.forward(inputs, note, lazy=True)
    calls = [seen[layer] for layer in sorted(seen)]
    first = calls[0]
    if first.k is None or any(
        call.k is None or call.k.shape[1::2] != first.k.shape[1::2] for call in calls
    ):
        raise BadInput(
            f"{scope.name} does not expose its keys, or its layers differ in key-value heads; "
            f"ablate its heads with mode='streaming' instead."
        )
    return KeyValueHeads(
        tuple(call.layer for call in calls),
        tuple(call.window for call in calls),
        first.groups,
        first.heads // first.groups,
        first.k.shape[-1],
    )

"""Edits in the spelling of the app's links, and in Python.

emphasis-decoder-3-5-4             all heads weigh tokens 3 and 4 four times as much
emphasis-decoder-3-5-4-1.0.2.3     heads 1-0 and 2-3 alone
weight-decoder-1.0-5-3-0.8         head 1-0 puts 0.8 of token 5's attention on token 3
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headscope.capture import Kind
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.reading import Scope

_KIND, _WHOLE, _NUMBER = "(encoder|decoder|cross)", r"(\d{1,6})", r"(\d{1,6}(?:\.\d{1,6})?)"
_EMPHASIS = re.compile(rf"emphasis-{_KIND}-{_WHOLE}-{_WHOLE}-{_NUMBER}(?:-([\d.]+))?")
_WEIGHT = re.compile(rf"weight-{_KIND}-{_WHOLE}\.{_WHOLE}-{_WHOLE}-{_WHOLE}-{_NUMBER}")


@dataclass(frozen=True)
class Emphasis:
    kind: Kind
    span: tuple[int, int]
    factor: float
    heads: tuple[tuple[int, int], ...] | None

    def on(self, scope: Scope) -> Scope:
        return scope.emphasise(self.span, heads=self.heads, factor=self.factor, kind=self.kind)

    def changes(self, kind: str, layer: int, head: int) -> bool:
        """Whether the head attends otherwise."""
        return self.kind == kind and (self.heads is None or (layer, head) in self.heads)


@dataclass(frozen=True)
class Weight:
    kind: Kind
    head: tuple[int, int]
    query: int
    key: int
    weight: float

    def changes(self, kind: str, layer: int, head: int) -> bool:
        """Whether the head attends otherwise."""
        return (self.kind, *self.head) == (kind, layer, head)


def read(spelled: str) -> Emphasis | Weight:
    """Parse one edit of a link."""
    if found := _WEIGHT.fullmatch(spelled):
        kind, layer, head, query, key, weight = found.groups()
        return Weight(kind, (int(layer), int(head)), int(query), int(key), float(weight))  # pyright: ignore[reportArgumentType]
    found = _EMPHASIS.fullmatch(spelled)
    numbers = [int(one) for one in (found[5] or "").split(".") if one] if found else []
    if found is None or len(numbers) % 2:
        raise BadInput(f"There is no edit {spelled[:80]!r}; take it from a link of the app.")
    heads = tuple(zip(numbers[::2], numbers[1::2], strict=True)) if found[5] else None
    return Emphasis(found[1], (int(found[2]), int(found[3])), float(found[4]), heads)  # pyright: ignore[reportArgumentType]


def edited(scope: Scope, spelled: Iterable[str]) -> Scope:
    """The scope with these edits; all weights set in one head are one edit."""
    by_head: dict[tuple[Kind, tuple[int, int]], list[tuple[int, int, float]]] = {}
    for one in map(read, spelled):
        if isinstance(one, Emphasis):
            scope = one.on(scope)
        else:
            by_head.setdefault((one.kind, one.head), []).append((one.query, one.key, one.weight))
    for (kind, head), weights in by_head.items():
        scope = scope.without(heads=[head], mode="weight", kind=kind, weights=tuple(weights))
    return scope

"""Emphasise a span: chosen heads attend to it more, or less, while the model reads and writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headscope.arguments import need_kind
from headscope.capture import Kind
from headscope.edits.disable import Disabled, chosen_kind, disable
from headscope.edits.modes import mode as find_mode
from headscope.errors import BadInput
from headscope.text.chat import Span, has_template

if TYPE_CHECKING:
    from headscope.reading import Scope

Stretch = str | Span | tuple[int, int]  # a part of the text, a named span, or tokens


def emphasis_edit(
    scope: Scope,
    span: Stretch,
    text: str | None,
    heads: Iterable[tuple[int, int]] | None,
    factor: float,
    kind: Kind | None,
) -> Disabled | None:
    """The edit; None if it changes nothing."""
    weights = (positions_of(scope, span, text, conversation=isinstance(span, Span)), factor)
    find_mode("emphasis", weights)
    kind = chosen_kind(scope, kind)
    if factor == 1:
        return None
    layers = scope.layer_numbers[kind] if heads is None else None
    return disable(scope, heads, layers, "emphasis", kind, weights)


def positions_of(
    scope: Scope, span: Stretch, text: str | None, *, conversation: bool = False
) -> tuple[int, ...]:
    """The tokens of a span: (start, stop) unchanged, or words found in the text.

    A chat template writes a conversation's special tokens itself, so none are added to its text.
    """
    if isinstance(span, tuple):
        start, stop = span if len(span) == 2 else (0, 0)
        if not (type(start) is int and type(stop) is int and 0 <= start < stop):
            raise BadInput(f"A span of tokens is (start, stop), such as (3, 6), not {span!r}.")
        return tuple(range(start, stop))
    if not isinstance(text, str):
        raise BadInput(
            "To give a span as words, also pass text=…; or give tokens as (start, stop)."
        )
    if isinstance(span, Span):
        start, stop = span.start, span.stop
        if stop > len(text):
            raise BadInput(
                f"The span ends at character {stop}, and the text has {len(text)}; pass the "
                "reading's own text, reading.texts[0]."
            )
    else:
        need_kind(span, str, "A span", "words of the text, or (start, stop)")
        start = text.find(span) if span else -1
        if start < 0:
            raise BadInput(f"{span!r} is not in the text; copy the words from it.")
        if text.find(span, start + 1) >= 0:
            raise BadInput(
                f"{span!r} occurs more than once in the text; give more of the words around it."
            )
        stop = start + len(span)
    added = not (conversation and has_template(scope.tokenizer))
    spans = scope.encode([text], add_special_tokens=added).tokens[0].spans
    found = tuple(
        at
        for at, (one, two) in enumerate(spans.tolist())
        if one < stop and two > start and two > one
    )
    if not found:
        raise BadInput("The span holds no token of the text; choose a longer one.")
    return found

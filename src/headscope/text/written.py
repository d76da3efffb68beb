"""Tokens as spelled in their text, with everything between them."""

from __future__ import annotations

import unicodedata

from headscope.text.spelling import TokenClass
from headscope.text.tokens import Tokens

_OPENING = ("(", "[", "{", "“", '"', "'")


def written(tokens: Tokens) -> tuple[str, ...]:
    """One string per token: joined, a sentence's strings are its text up to the last token.

    A special token is its own string; of tokens that share a character, the first has it; tokens
    without a known text are spelled with a space before each new word.
    """
    found: list[str] = []
    sentence, reached = -1, 0
    for at in range(len(tokens)):
        start, end = int(tokens.spans[at, 0]), int(tokens.spans[at, 1])
        own = int(tokens.segments[at])
        if start < 0 or own >= len(tokens.texts):
            found.append(_spelled(tokens, at))
            continue
        if own != sentence:
            sentence, reached = own, 0
        found.append(tokens.texts[own][reached:end])
        reached = max(reached, end)
    return tuple(found)


def _spelled(tokens: Tokens, at: int) -> str:
    label = tokens.labels[at]
    if tokens.classes[at] < TokenClass.PUNCTUATION:
        return label
    label = label.removeprefix("##")
    joined = unicodedata.east_asian_width(label[:1] or " ") in ("W", "F")  # written without spaces
    stop = tokens.classes[at] == TokenClass.PUNCTUATION and not label.startswith(_OPENING)
    return label if at == 0 or tokens.continues[at] or stop or joined else f" {label}"

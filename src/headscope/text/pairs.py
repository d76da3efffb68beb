"""What a text may be: a string, a list of words, or a pair of either as a tuple."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headscope.errors import BadInput

Text = str | Sequence[str]


def split_pairs(
    texts: Any, pairs: Sequence[Text | None] | None
) -> tuple[list[Text], list[Text | None]]:
    """First and second sentences; a tuple of two texts is a pair, wherever texts are taken."""
    if isinstance(texts, str):
        raise BadInput("Give a list of texts; for one text use scope.read(text).")
    if not isinstance(texts, Iterable):
        raise BadInput(f"Give a list of texts, not {type(texts).__name__}.")
    texts = list(texts)
    seconds: list[Text | None] = [None] * len(texts) if pairs is None else list(pairs)
    if len(seconds) != len(texts):
        raise BadInput(f"There are {len(texts)} texts but {len(seconds)} second sentences.")
    firsts: list[Text] = []
    for place, text in enumerate(texts):
        if not isinstance(text, tuple):
            firsts.append(text)
            continue
        if len(text) != 2:
            raise BadInput(
                f"A tuple is a pair of two texts, and this one holds {len(text)}; "
                "give the words of a text as a list."
            )
        if seconds[place] is not None:
            raise BadInput("This text is a pair already; leave text_pair out.")
        firsts.append(text[0])
        seconds[place] = text[1]
    return firsts, seconds

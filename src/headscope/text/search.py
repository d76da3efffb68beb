"""Where tokens stand in a text, for tokenizers that do not say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.text.vocabulary import labels_of, spelling_of


def search(
    tokenizer: Any, ids: list[int], texts: tuple[str, ...]
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Each token's sentence (-1 for specials) and span: it is looked for after the one before."""
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    sentence = np.full(len(ids), -1, dtype=np.int8)
    spans = np.full((len(ids), 2), -1, dtype=np.int32)
    number, place = 0, 0
    spelled = spelling_of(tokenizer, ids)
    labels = labels_of(tokenizer, spelled)
    for at, (token, label, token_id) in enumerate(zip(spelled, labels, ids, strict=True)):
        if token_id in special:
            written = texts[number].find(token, place)
            if written >= 0:  # somebody wrote it in the text
                place = written + len(token)
            elif at > 0 and sentence[at - 1] >= 0 and number + 1 < len(texts):
                number, place = number + 1, 0
            continue
        text = _lowered(texts[number])
        spelled_out = label.removeprefix("##").lower()
        start = text.find(spelled_out, place)
        if start >= 0:
            place = start + len(spelled_out)
            spans[at] = start, place
        else:  # part of a character, or unknown: what comes next is looked for from here again
            start = min(place, max(len(text) - 1, 0))
            spans[at] = start, min(start + 1, len(text))
        sentence[at] = number
    return sentence, spans


def _lowered(text: str) -> str:
    """In lower case, unless that changes its length (İ becomes two characters)."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text

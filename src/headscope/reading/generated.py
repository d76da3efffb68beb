"""Tokens of text a model wrote itself, placed in that text."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.models.spelling import readable
from headscope.models.tokenise import _classes, _spelling
from headscope.models.tokens import TokenClass, Tokens
from headscope.models.words import word_spans, words_of_spans


def tokens_of_ids(tokenizer: Any, ids: list[int]) -> Tokens:
    """Each token's span is what it adds to the decoded text.

    Tokenising the decoded text again may cut it differently than the model did, so the ids stay
    and the text is grown one token at a time.
    """
    spelled = tuple(_spelling(tokenizer, ids))
    classes = _classes(tokenizer, ids, spelled)
    spans = np.full((len(ids), 2), -1, dtype=np.int32)
    content = [place for place in range(len(ids)) if classes[place] >= TokenClass.PUNCTUATION]
    text = ""
    for count, place in enumerate(content, start=1):
        grown = _decode(tokenizer, [ids[other] for other in content[:count]])
        start = min(len(text), max(len(grown) - 1, 0))
        while start < len(grown) - 1 and grown[start].isspace():
            start += 1
        spans[place] = start, len(grown)
        text = grown
    return Tokens(
        text=spelled,
        labels=tuple(readable(token) for token in spelled),
        ids=np.array(ids, dtype=np.int64),
        classes=classes,
        segments=np.zeros(len(ids), dtype=np.int8),
        words=words_of_spans(spans, word_spans(text), 0),
        spans=spans,
        texts=(text,),
        word_texts=tuple(text[start:end] for start, end in word_spans(text)),
    )


def _decode(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, clean_up_tokenization_spaces=False))

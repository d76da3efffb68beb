"""Tokens of text that a model wrote itself, with their spans in that text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.text.spelling import TokenClass, Vocabulary
from headscope.text.tokens import Tokens
from headscope.text.words import word_spans, words_of_spans


def tokens_of_ids(tokenizer: Any, ids: list[int]) -> Tokens:
    """Tokens from ids; each token's span is what it adds to the decoded text.

    Tokenising the decoded text again may give other tokens, so the ids stay and the text is built
    one token at a time.
    """
    numbers = np.array(ids, dtype=np.int64)
    vocabulary = Vocabulary(tokenizer, numbers)
    classes = vocabulary.classes(numbers, np.zeros(1, dtype=np.int64))
    spans = np.full((len(ids), 2), -1, dtype=np.int32)
    words = np.full(len(ids), -1, dtype=np.int32)
    word_texts: list[str] = []
    text = ""
    for run in _runs(classes):
        own, of_text = _grown(tokenizer, [ids[place] for place in run])
        found = word_spans(of_text)
        spans[run] = own + len(text)
        words[run] = words_of_spans(own, found, len(word_texts))
        word_texts += [of_text[start:end] for start, end in found]
        text += of_text
    return Tokens(
        spellings=vocabulary.spelled(numbers),
        labels=vocabulary.labels(numbers),
        ids=numbers,
        classes=classes,
        segments=np.zeros(len(ids), dtype=np.int8),
        word_ids=words,
        spans=spans,
        texts=(text,),
        word_texts=tuple(word_texts),
    )


def _runs(classes: NDArray[np.int8]) -> list[list[int]]:
    """Runs of tokens between special ones; no word crosses a special token."""
    runs: list[list[int]] = [[]]
    for place, kind in enumerate(classes):
        if kind >= TokenClass.PUNCTUATION:
            runs[-1].append(place)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _grown(tokenizer: Any, ids: list[int]) -> tuple[NDArray[np.int32], str]:
    """The text of some tokens, and each token's span in it."""
    spans = np.zeros((len(ids), 2), dtype=np.int32)
    text = ""
    for place in range(len(ids)):
        grown = _decode(tokenizer, ids[: place + 1])
        start = min(len(text), max(len(grown) - 1, 0))
        while start < len(grown) - 1 and grown[start].isspace():
            start += 1
        spans[place] = start, len(grown)
        text = grown
    # a cut character may be longer than its replacement
    return np.minimum(spans, len(text)), text


def _decode(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, clean_up_tokenization_spaces=False))

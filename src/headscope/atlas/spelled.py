"""Tokens by their ids, as people read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.text.vocabulary import vocabulary_of


class Spelled:
    """Asks a tokenizer once for each token."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._labels: dict[int, str] = {}

    def __call__(self, ids: Any) -> list[str]:
        numbers: list[int] = np.asarray(ids, dtype=np.int64).tolist()
        new = np.array([n for n in set(numbers) if n not in self._labels], dtype=np.int64)
        if len(new):
            labels = vocabulary_of(self._tokenizer, new).labels(new)
            self._labels.update(zip(new.tolist(), labels, strict=True))
        return [self._labels[n] for n in numbers]

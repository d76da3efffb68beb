"""Tokens by their ids, as people read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.text.vocabulary import Vocabulary


class Spelled:
    """Asks a tokenizer once for each token."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._labels = np.zeros(0, dtype=object)
        self._met = np.zeros(0, dtype=bool)

    def __call__(self, ids: Any) -> list[str]:
        numbers = np.asarray(ids, dtype=np.int64)
        missing = int(numbers.max(initial=-1)) + 1 - len(self._met)
        if missing > 0:
            self._met = np.pad(self._met, (0, missing))
            self._labels = np.append(self._labels, np.zeros(missing, dtype=object))
        new = np.unique(numbers[~self._met[numbers]])
        if len(new):
            self._labels[new] = Vocabulary(self._tokenizer, new).labels(new)
            self._met[new] = True
        return self._labels[numbers].tolist()

"""Tokens by their ids, as people read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.text.vocabulary import vocabulary_of


class Spelled:
    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, ids: Any) -> list[str]:
        numbers = np.asarray(ids, dtype=np.int64)
        return list(vocabulary_of(self._tokenizer, numbers).labels(numbers)) if len(numbers) else []

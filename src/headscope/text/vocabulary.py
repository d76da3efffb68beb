"""What is known of a token by its number alone: spelling, label, class."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.text.spelling import is_punctuation, readable, spells_bytes
from headscope.text.token_class import TokenClass

# GPT-2 has one token for both roles: at the start it begins, elsewhere it ends
_EITHER = max(TokenClass) + 1

_readable = lru_cache(maxsize=2**18)(readable)  # about one vocabulary
_is_punctuation = lru_cache(maxsize=2**18)(is_punctuation)


class Vocabulary:
    """The part of a tokenizer's vocabulary that some texts use."""

    def __init__(self, tokenizer: Any, ids: NDArray[np.int64]) -> None:
        self._met = np.unique(ids)
        self.unknown: int | None = tokenizer.unk_token_id
        met: list[int] = self._met.tolist()
        spelled = spelling_of(tokenizer, met)
        labels = labels_of(tokenizer, spelled)
        self._spelled = dict(zip(met, spelled, strict=True))
        self._labels = dict(zip(met, labels, strict=True))
        self._classes = np.array(stored_classes(tokenizer, met, labels), dtype=np.int8)

    def spelled(self, ids: NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(map(self._spelled.__getitem__, ids.tolist()))

    def labels(self, ids: NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(map(self._labels.__getitem__, ids.tolist()))

    def classes(self, ids: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int8]:
        """Classes of the tokens of several texts; `starts` are the positions where texts begin."""
        classes = self._classes[np.searchsorted(self._met, ids)]
        either = classes == _EITHER
        if either.any():
            classes[either] = TokenClass.SEP
            begins = starts[starts < len(ids)]
            classes[begins[either[begins]]] = TokenClass.CLS
        return classes


def labels_of(tokenizer: Any, spelled: Sequence[str]) -> tuple[str, ...]:
    of_bytes = spells_bytes(tokenizer)
    return tuple(_readable(token, of_bytes) for token in spelled)


def spelling_of(tokenizer: Any, ids: list[int]) -> list[str]:
    tokens = tokenizer.convert_ids_to_tokens(ids)
    return [
        token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token)
        for token in tokens
    ]


def stored_classes(tokenizer: Any, ids: list[int], labels: Sequence[str]) -> list[int]:
    """The class of each token wherever it stands; 5 where that depends on its position."""
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    beginnings = {tokenizer.cls_token_id, tokenizer.bos_token_id}
    endings = {tokenizer.sep_token_id, tokenizer.eos_token_id}

    def of(token_id: int, label: str) -> int:
        if token_id not in special:
            return TokenClass.PUNCTUATION if _is_punctuation(label) else TokenClass.WORD
        if token_id in beginnings:
            return _EITHER if token_id in endings else TokenClass.CLS
        return TokenClass.SEP if token_id in endings else TokenClass.SPECIAL

    return [of(token_id, label) for token_id, label in zip(ids, labels, strict=True)]

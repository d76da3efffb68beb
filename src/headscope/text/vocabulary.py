"""What is known of a token by its number alone: spelling, label, class. Kept per tokenizer.

Only numbers that were met are looked up, so that a large vocabulary costs nothing at first.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from headscope.text.spelling import is_punctuation, readable, spells_bytes
from headscope.text.tokens import STOPS, TokenClass

_UNMET = -1
# GPT-2 has one token for both roles: at the start it begins, elsewhere it ends
_EITHER = max(TokenClass) + 1


class Vocabulary:
    """Tables by token number. Holds no tokenizer, so that tables die with theirs."""

    def __init__(self) -> None:
        self._spelled: dict[int, str] = {}
        self._labels: dict[int, str] = {}
        self._classes = np.full(0, _UNMET, dtype=np.int8)
        self._stops = np.zeros(0, dtype=bool)
        self.unknown: int | None = None  # the token that stands for what is in no vocabulary
        self._lock = threading.Lock()

    def meet(self, tokenizer: Any, ids: NDArray[np.int64]) -> None:
        """Look up the numbers that were never met before."""
        if not len(ids):
            return
        with self._lock:
            self.unknown = tokenizer.unk_token_id
            missing = int(ids.max()) + 1 - len(self._classes)
            if missing > 0:
                self._classes = np.pad(self._classes, (0, missing), constant_values=_UNMET)
                self._stops = np.pad(self._stops, (0, missing))
            new: list[int] = np.unique(ids[self._classes[ids] == _UNMET]).tolist()
            if not new:
                return
            spelled = spelling_of(tokenizer, new)
            labels = labels_of(tokenizer, spelled)
            self._spelled.update(zip(new, spelled, strict=True))
            self._labels.update(zip(new, labels, strict=True))
            self._stops[new] = [label in STOPS for label in labels]
            self._classes[new] = _classes(tokenizer, new, labels)

    def spelled(self, ids: NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(map(self._spelled.__getitem__, ids.tolist()))

    def labels(self, ids: NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(map(self._labels.__getitem__, ids.tolist()))

    def stops(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self._stops[ids]

    def classes(self, ids: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int8]:
        """Classes of the tokens of several texts; `starts` are the places where a text begins."""
        classes = self._classes[ids]
        either = classes == _EITHER
        if either.any():
            classes[either] = TokenClass.SEP
            begins = starts[starts < len(ids)]
            classes[begins[either[begins]]] = TokenClass.CLS
        return classes


_KEPT: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Vocabulary]] = WeakKeyDictionary()


def vocabulary_of(tokenizer: Any, ids: NDArray[np.int64]) -> Vocabulary:
    """The tokenizer's tables, with these numbers in them; new ones when its tokens changed."""
    state = (
        len(tokenizer),
        spells_bytes(tokenizer),
        *_special(tokenizer),
        *map(frozenset, _roles(tokenizer)),
    )
    try:
        kept = _KEPT.get(tokenizer)
        if kept is None or kept[0] != state:
            kept = _KEPT[tokenizer] = (state, Vocabulary())
        vocabulary = kept[1]
    except TypeError:  # a tokenizer that cannot be a key
        vocabulary = Vocabulary()
    vocabulary.meet(tokenizer, ids)
    return vocabulary


def labels_of(tokenizer: Any, spelled: Sequence[str]) -> tuple[str, ...]:
    of_bytes = spells_bytes(tokenizer)
    return tuple(readable(token, of_bytes) for token in spelled)


def spelling_of(tokenizer: Any, ids: list[int]) -> list[str]:
    tokens = tokenizer.convert_ids_to_tokens(ids)
    return [
        token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token)
        for token in tokens
    ]


def _special(tokenizer: Any) -> list[int]:
    return sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})


def _roles(tokenizer: Any) -> tuple[set[int], set[int]]:
    """The tokens that begin a text, and those that end one."""
    beginnings = {tokenizer.cls_token_id, tokenizer.bos_token_id} - {None}
    endings = {tokenizer.sep_token_id, tokenizer.eos_token_id} - {None}
    return beginnings, endings


def _classes(tokenizer: Any, ids: list[int], labels: Sequence[str]) -> list[int]:
    special = set(_special(tokenizer))
    beginnings, endings = _roles(tokenizer)

    def of(token_id: int, label: str) -> int:
        if token_id not in special:
            return TokenClass.PUNCTUATION if is_punctuation(label) else TokenClass.WORD
        if token_id in beginnings:
            return _EITHER if token_id in endings else TokenClass.CLS
        return TokenClass.SEP if token_id in endings else TokenClass.SPECIAL

    return [of(token_id, label) for token_id, label in zip(ids, labels, strict=True)]

"""A fast tokenizer without transformers: its compiled part, and the few numbers texts are cut by.

Importing transformers takes seconds, which every process that prepares text would pay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.text.encodings import Encodings, encode_batch

KNOWN = (
    "pad_token_id", "unk_token_id", "cls_token_id", "bos_token_id", "sep_token_id", "eos_token_id",
    "all_special_ids", "model_input_names", "truncation_side", "split_special_tokens",
)  # fmt: skip
TRIED: tuple[tuple[str, str | None], ...] = (
    ("The cat sat on the mat, and a dog ran; it's 3,141.59!", None),
    ("", "Ein Käse\u00a0ist kein  Brot\n\t…"),
    ("unbelievably 日本語 🙂 [MASK] </s> <|endoftext|>", "antidisestablishmentarianism"),
)


class BackendTokenizer:
    """Answers to what `headscope.text` and `headscope.corpus` ask of a tokenizer."""

    is_fast = True
    pad_token_id: int | None
    all_special_ids: list[int]
    model_input_names: list[str]
    truncation_side: str
    split_special_tokens: bool

    def __init__(self, tokenizer: Any) -> None:
        self.backend_tokenizer: Any = tokenizer.backend_tokenizer
        self._size = len(tokenizer)
        for name in KNOWN:
            setattr(self, name, getattr(tokenizer, name))

    def __len__(self) -> int:
        return self._size

    def __call__(
        self,
        texts: str | Sequence[str],
        pairs: str | Sequence[str] | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: bool = False,
        max_length: int | None = None,
        verbose: bool = False,
    ) -> _Read:
        backend = self.backend_tokenizer
        backend.no_padding()
        if truncation:
            backend.enable_truncation(max_length, direction=self.truncation_side)
        else:
            backend.no_truncation()
        single = isinstance(texts, str)
        if single:
            given: Any = [(texts, pairs)] if pairs else [texts]
        else:
            given = list(texts) if pairs is None else list(zip(texts, pairs, strict=True))
        found = backend.encode_batch(given, add_special_tokens=add_special_tokens)
        return _Read(found, single, "token_type_ids" in self.model_input_names)

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        return self.backend_tokenizer.num_special_tokens_to_add(pair)

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self.backend_tokenizer.id_to_token(int(one)) for one in ids]


class _Read:
    """What a call gives."""

    def __init__(self, encodings: list[Any], single: bool, has_types: bool) -> None:
        self.encodings = encodings
        self._single, self._has_types = single, has_types

    def __contains__(self, name: str) -> bool:
        return name != "token_type_ids" or self._has_types

    def __getitem__(self, name: str) -> Any:
        assert name == "input_ids"
        every = [one.ids for one in self.encodings]
        return every[0] if self._single else every


def alone(tokenizer: Any) -> BackendTokenizer | None:
    """The tokenizer without transformers; None where some texts show that it does more."""
    if not tokenizer.is_fast or getattr(tokenizer, "backend_tokenizer", None) is None:
        return None
    if any(not hasattr(tokenizer, name) for name in KNOWN):
        return None
    found = BackendTokenizer(tokenizer)
    try:
        same = all(
            _same(_tried(tokenizer, limit, special), _tried(found, limit, special))
            for limit in (None, 9)
            for special in (True, False)
        )
        same = same and all(
            found.num_special_tokens_to_add(pair) == tokenizer.num_special_tokens_to_add(pair)
            for pair in (False, True)
        )
        some = list(range(min(64, len(found))))
        return found if same and list(tokenizer.convert_ids_to_tokens(some)) == (
            found.convert_ids_to_tokens(some)
        ) else None  # fmt: skip
    except Exception:  # whatever a tokenizer raises here, it is not one to be taken apart
        return None


def _tried(tokenizer: Any, limit: int | None, special: bool) -> Encodings:
    firsts, seconds = [first for first, _ in TRIED], [second for _, second in TRIED]
    return encode_batch(tokenizer, firsts, seconds, limit=limit, add_special_tokens=special)


def _same(one: Encodings, other: Encodings) -> bool:
    if (one.types is None) != (other.types is None):
        return False
    arrays = [
        (one.lengths, other.lengths), (one.ids, other.ids), (one.sentence, other.sentence),
        (one.spans, other.spans), (one.types, other.types),
    ]  # fmt: skip
    return all(a is None or np.array_equal(a, b) for a, b in arrays)  # pyright: ignore

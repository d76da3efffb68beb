"""A tokenizer is taken apart from transformers only where it reads the same without."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from headscope.text.backend_alone import alone
from headscope.text.tokenise import tokenised
from tests.text.tokenizers import LINES, TOKENIZERS, byte_level


@pytest.mark.parametrize("sort", TOKENIZERS)
@pytest.mark.parametrize("limit", [None, 11])
def test_texts_are_read_the_same_without_transformers(sort: str, limit: int | None) -> None:
    tokenizer = TOKENIZERS[sort]()
    light = alone(tokenizer)
    if not tokenizer.is_fast:
        assert light is None
        return
    assert light is not None
    pairs = [LINES[-1 - n] if n % 2 else None for n in range(len(LINES))]
    options: Any = {"truncate": limit is not None, "max_tokens": limit}
    inputs, tokens = tokenised(tokenizer, LINES, pairs, **options)
    again, found = tokenised(pickle.loads(pickle.dumps(light)), LINES, pairs, **options)
    assert all(np.array_equal(inputs[name], again[name]) for name in inputs | again)
    for one, other in zip(tokens, found, strict=True):
        for name in ("ids", "classes", "segments", "word_ids", "spans", "stops"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert one.labels == other.labels


class Shouting(PreTrainedTokenizerFast):
    def __call__(self, text: Any, *others: Any, **options: Any) -> Any:
        loud = text.upper() if isinstance(text, str) else [one.upper() for one in text]
        return super().__call__(loud, *others, **options)


def test_a_tokenizer_that_does_more_is_not_taken_apart() -> None:
    assert alone(Shouting(tokenizer_object=byte_level().backend_tokenizer)) is None

"""Texts tokenised all at once give what they give one by one, to the last bit."""

from __future__ import annotations

import functools
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from headscope.errors import BadInput, HeadscopeError, TextTooLong
from headscope.text.tokenise import Batch, tokenise
from headscope.text.tokens import Tokens
from headscope.text.words import word_spans
from tests.text import one_by_one
from tests.text.test_alignment import PIECES, TEXTS
from tests.text.tokenizers import LINES, TOKENIZERS, byte_level
from tests.tiny import tiny_tokenizer


@functools.cache
def unigram() -> Any:
    pieces = sorted({letter for line in LINES for letter in line} | {"▁the", "▁I", "▁", "ou", "st"})
    inner = Tokenizer(models.Unigram([("<unk>", 0.0), *((p, -1.0 / len(p)) for p in pieces)], 0))
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>")


@functools.cache
def gpt2() -> Any:
    """Byte level without trimmed offsets: spans begin with blanks."""
    inner = Tokenizer.from_str(byte_level().backend_tokenizer.to_str())
    inner.post_processor = processors.ByteLevel(trim_offsets=False)
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|endoftext|>")


@functools.cache
def digits() -> Any:
    inner = Tokenizer.from_str(byte_level().backend_tokenizer.to_str())
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    inner.normalizer = normalizers.NFC()
    inner.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=True)
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|endoftext|>")


SORTS = {**TOKENIZERS, "unigram": unigram, "GPT-2": gpt2, "digits": digits}
each_tokenizer = pytest.mark.parametrize("sort", SORTS)
QUICK = settings(max_examples=40, deadline=None, derandomize=True)
WORDS = st.lists(PIECES, min_size=0, max_size=6)
ROWS = st.lists(
    st.tuples(st.one_of(TEXTS, WORDS), st.one_of(st.none(), st.just(""), TEXTS, WORDS)),
    min_size=1,
    max_size=5,
)
ARRAYS = ("ids", "classes", "segments", "word_ids", "spans")
STRINGS = ("spellings", "labels", "word_texts")


def outcome(way: Any, *given: Any, **options: Any) -> Batch | tuple[type, str]:
    try:
        return way(*given, **options)
    except HeadscopeError as error:
        return type(error), str(error)


def check_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert found == wanted
        return
    assert isinstance(found, Batch), found
    assert list(found.inputs) == list(wanted.inputs)
    for name, tensor in wanted.inputs.items():
        assert found.inputs[name].dtype == tensor.dtype
        assert torch.equal(found.inputs[name], tensor), name
    for mine, its in zip(found.tokens, wanted.tokens, strict=True):
        check_same_tokens(mine, its)


def check_same_tokens(mine: Tokens, its: Tokens) -> None:
    assert mine.texts == its.texts and len(mine) == len(its)
    for name in ARRAYS:
        assert getattr(mine, name).dtype == getattr(its, name).dtype
        np.testing.assert_array_equal(getattr(mine, name), getattr(its, name), err_msg=name)
    assert mine.is_truncated == one_by_one.was_cut(its)
    np.testing.assert_array_equal(
        mine.stops,
        [
            label in (".", ",") and "unk" not in text.lower()
            for label, text in zip(its.labels, its.spellings, strict=True)
        ],
    )
    for name in STRINGS:
        assert getattr(mine, name) == getattr(its, name), name


@each_tokenizer
@QUICK
@given(
    rows=ROWS,
    most=st.sampled_from([None, 6, 9, 16, 40]),
    truncate=st.booleans(),
    specials=st.booleans(),
)
def test_a_batch_equals_its_texts_one_by_one(sort, rows, most, truncate, specials):
    given = (SORTS[sort](), [first for first, _ in rows], [second for _, second in rows])
    options = {"max_tokens": most, "truncate": truncate, "add_special_tokens": specials}
    check_same(
        outcome(tokenise, *given, **options), outcome(one_by_one.tokenise, *given, **options)
    )


@each_tokenizer
def test_truncation_of_pairs_of_every_shape(sort):
    long = "the cat sat on a mat 12 345 and I bought fresh strawberries ".split() * 3
    rows = [
        (" ".join(long[:a]), " ".join(long[:b])) for a in range(1, 20, 3) for b in range(1, 30, 4)
    ]
    for most in (7, 8, 20, 33):
        given = (SORTS[sort](), [a for a, _ in rows], [b for _, b in rows])
        options = {"max_tokens": most, "truncate": True}
        check_same(tokenise(*given, **options), one_by_one.tokenise(*given, **options))


@QUICK
@given(text=st.text(max_size=40) | TEXTS)
def test_words_of_a_text_equal_those_found_letter_by_letter(text):
    assert word_spans(text) == one_by_one.word_spans(text)


def test_the_first_fault_of_a_batch_is_told():
    tokenizer = tiny_tokenizer()
    with pytest.raises(TextTooLong, match="has 12 tokens"):
        tokenise(tokenizer, ["cat " * 10, " ", "\ud800"], max_tokens=5)
    with pytest.raises(BadInput, match="empty"):
        tokenise(tokenizer, ["cat", " ", "cat " * 10], max_tokens=5)
    with pytest.raises(BadInput, match="half a character"):
        tokenise(tokenizer, ["cat", "a \ud800"])
    with pytest.raises(BadInput, match="at least one"):
        tokenise(tokenizer, [])


def test_tokens_added_later_are_known():
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tiny_tokenizer().backend_tokenizer.to_str()),
        unk_token="[UNK]",
    )
    for change in (
        lambda: None,
        lambda: tokenizer.add_tokens(["strawberry-cake"]),
        lambda: tokenizer.add_special_tokens({"sep_token": "store"}),
        lambda: tokenizer.add_special_tokens({"bos_token": "store"}),
    ):
        change()
        given = (tokenizer, ["a strawberry-cake store", "store"])
        check_same(tokenise(*given), one_by_one.tokenise(*given))


def test_tokens_are_pickled_cropped_and_replaced_with_their_strings():
    given = (
        tiny_tokenizer(),
        ["I went to the store.", ["the", "cat", "sat"]],
        ["At the store", None],
    )
    for wanted in one_by_one.tokenise(*given).tokens:
        for make in (
            lambda tokens: pickle.loads(pickle.dumps(tokens)),
            lambda tokens: tokens.crop(3),
            lambda tokens: replace(tokens, texts=tokens.texts),
            lambda tokens: pickle.loads(pickle.dumps(tokens.crop(4))).crop(3),
        ):
            for found in tokenise(*given).tokens:
                if found.texts == wanted.texts:
                    check_same_tokens(make(found), make(wanted))

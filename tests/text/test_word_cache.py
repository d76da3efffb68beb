"""Words remembered give the tokens that a tokenizer makes of whole texts, whatever they hold."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from headscope.text import word_cache as remembered
from headscope.text.encode import token_spans
from headscope.text.encodings import encode_batch
from headscope.text.word_cache import encode_cached
from tests.text.test_batched import SORTS
from tests.text.tokenizers import byte_level
from tests.tiny import tiny_tokenizer

# what could join a word to its neighbour, or be counted in two ways
LETTERS = [
    *"abDz'.,12_½²٣",
    *(" ", " ", " ", " ", "  ", "\n", "\t", "\u00a0", "\u3000", "\x1c", "\x1f", "\x85", "\u2028"),
    *("\u0301", "e\u0301", "\u0345", "\u200b", "\u200d", "\ufeff", "\x00", "\ufffd", "\U000e0041"),
    *("我", "👩‍👩‍👧‍👦", "👍🏽", "İ", "ß", "Σ", "ﬁ", "ｱ", "ﾞ", "각", "ᄀ", "ᅡ", "\u0e33", "ּ"),
    *("the", "ing", "store", "'s", "don't", "[", "<"),
]
DIVISIBLE = ("word pieces", "GPT-2", "digits")


def texts(chance: random.Random, count: int) -> list[str]:
    return ["".join(chance.choices(LETTERS, k=chance.randrange(15))) for _ in range(count)]


@pytest.mark.parametrize("sort", DIVISIBLE)
def test_remembered_words_equal_whole_texts(sort, monkeypatch):
    monkeypatch.setattr(remembered, "MOST", 500)  # forget now and then
    tokenizer, chance = SORTS[sort](), random.Random(0)
    for _ in range(300):
        firsts = texts(chance, 8)
        seconds = [chance.choice([None, "", *texts(chance, 2)]) for _ in firsts]
        options = {
            "limit": chance.choice([None, 5, 6, 7, 12]),
            "add_special_tokens": chance.choice([True, False]),
        }
        found = encode_cached(tokenizer, firsts, seconds, **options)
        wanted = encode_batch(tokenizer, firsts, seconds, **options)
        assert found is not None, "this tokenizer reads word by word"
        for name in ("lengths", "ids", "sentence", "types"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
        inside = wanted.sentence >= 0
        np.testing.assert_array_equal(found.spans[inside], wanted.spans[inside])


@pytest.mark.parametrize("sort", [s for s in SORTS if "in Python" not in s])
def test_counts_and_spans_equal_the_tokenizers_own(sort):
    tokenizer, given = SORTS[sort](), texts(random.Random(1), 400)
    counts, spans = token_spans(tokenizer, given)
    own = tokenizer(given, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    assert counts.tolist() == [len(of_text) for of_text in own]
    assert spans.tolist() == [list(span) for of_text in own for span in of_text]


@pytest.mark.parametrize("sort", [s for s in SORTS if s not in DIVISIBLE])
def test_tokenizers_that_may_join_words_are_left_alone(sort):
    assert encode_cached(SORTS[sort](), ["the cat"], [None]) is None


def test_a_tokenizer_changed_in_any_part_is_learnt_anew():
    inner = Tokenizer.from_str(tiny_tokenizer().backend_tokenizer.to_str())
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]")
    own = tokenizer.backend_tokenizer

    def change(name, part):
        return lambda: setattr(own, name, part)

    text = "The cat-store bought STORE the-dog"
    for step in (
        lambda: None,
        change("normalizer", normalizers.BertNormalizer(lowercase=False)),
        change("pre_tokenizer", pre_tokenizers.WhitespaceSplit()),
        lambda: tokenizer.add_special_tokens({"additional_special_tokens": ["store"]}),
        change("normalizer", normalizers.Replace("o", "a")),
    ):
        step()
        counts, spans = token_spans(tokenizer, [text])
        wanted = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        assert spans.tolist() == [list(span) for span in wanted["offset_mapping"]]
        assert counts.tolist() == [len(wanted["input_ids"])]
        found = encode_cached(tokenizer, [text], [None], add_special_tokens=False)
        assert found is None or found.ids.tolist() == wanted["input_ids"]


def test_dropout_is_not_remembered():
    inner = Tokenizer.from_str(byte_level().backend_tokenizer.to_str())
    inner.post_processor = None
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner)
    assert encode_cached(tokenizer, ["the cat"], [None]) is not None
    model = tokenizer.backend_tokenizer.model
    model.dropout = 0.5
    assert encode_cached(tokenizer, ["the cat"], [None]) is None

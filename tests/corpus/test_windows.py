"""A document longer than a model reads is cut into windows, and all of it is measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.corpus.text.documents import Document
from headscope.corpus.text.segments import segments, windows
from headscope.errors import BadInput
from tests.text.tokenizers import byte_level
from tests.tiny import tiny_scope, tiny_tokenizer

WORDS = "the cat sat on a mat and strawberries ran to the store".split()


def long_text(words: int, seed: int = 0) -> str:
    chance = np.random.default_rng(seed)
    return " ".join(chance.choice(WORDS, words))


@pytest.mark.parametrize("make", [tiny_tokenizer, byte_level])
@pytest.mark.parametrize("room", [7, 30])
def test_windows_hold_every_word_once_and_never_more_than_fits(make, room) -> None:
    tokenizer, text = make(), long_text(700)
    found = list(windows(text, tokenizer, room, at_once=3))  # the text takes several blocks
    assert " ".join(found).split() == text.split()
    counts = [len(tokenizer(one, add_special_tokens=False)["input_ids"]) for one in found]
    assert max(counts) <= room
    assert np.mean(counts) > room * 0.3


def test_a_stride_makes_windows_overlap() -> None:
    tokenizer = tiny_tokenizer()
    text = " ".join(["cat", "dog", "mat", "the"] * 10)  # a token each
    found = [one.split() for one in windows(text, tokenizer, 10, stride=4, spare=0)]
    starts = [text.split()[4 * number : 4 * number + 10] for number in range(len(found))]
    assert found == starts
    assert found[-1][-1] == "the" and len(found) == 9


def test_a_survey_measures_all_of_a_long_document_and_says_what_it_read() -> None:
    scope = tiny_scope("BertForMaskedLM")
    text = long_text(900)
    whole = hs.survey(scope, [text, "a cat sat ."], ["entropy"], max_tokens=32, progress=False)
    pieces = list(windows(text, scope.tokenizer, 30))
    assert whole.metadata["segments"] == len(pieces) + 1
    assert whole.metadata["documents"] == 2
    assert whole.metadata["truncated"] == whole.metadata["unread characters"] == 0
    given = hs.survey(
        scope, [*pieces, "a cat sat ."], ["entropy"], max_tokens=32, progress=False,
        segments="documents",
    )  # fmt: skip
    pd.testing.assert_frame_equal(whole.table, given.table, check_exact=True)
    first = hs.survey(
        scope, [text], ["entropy"], max_tokens=32, segments="documents", progress=False
    )
    assert first.metadata["truncated"] == 1
    assert first.metadata["unread characters"] > 0.9 * len(text)


def test_pairs_are_not_cut_and_a_stride_has_to_fit() -> None:
    tokenizer = tiny_tokenizer()
    short = Document("the cat", "a dog")
    (one,) = segments([short], "windows", tokenizer, longest=16)
    assert (one.text, one.pair) == ("the cat", "a dog")
    with pytest.raises(BadInput, match="stride= is 1 to 14 tokens here, the size of a window"):
        list(segments([Document(long_text(99))], "windows", tokenizer, longest=16, stride=99))
    with pytest.raises(BadInput, match="'windows', whole 'documents' or sentence 'pairs'"):
        list(segments([short], "words", tokenizer, longest=16))

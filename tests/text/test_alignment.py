"""Tokens, words and characters stay aligned, whatever people write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from headscope.errors import BadInput
from headscope.reading.word_level import word_starts, words_of
from headscope.text.of_ids import tokens_of_ids
from headscope.text.spelling import TokenClass
from headscope.text.tokenise import tokenise
from headscope.text.tokens import Tokens
from headscope.text.words import word_spans
from tests.text.tokenizers import TOKENIZERS, byte_level, sentence_piece

PIECES = st.one_of(
    st.sampled_from(
        [
            *("the", "strawberries", "it's", "don’t", "naïve", "e\u0301cole", "3.14", "a_b", "C++"),
            *("👩‍👩‍👧‍👦", "😀", "👍🏽", "🇩🇪", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"),
            *("שָׁלוֹם", "مرحبا", "עולם", "\u202eabc\u202c"),
            *("我喜欢草莓", "。", "ありがとう", "カタカナ", "한국어", "नमस्ते", "สวัสดี"),
            *("zero\u200bwidth", "\u200b", "\u200d", "\ufeff", "soft\u00adhyphen", "\u00a0"),
            *("a" * 200, "supercalifragilistic" * 8, "-" * 30, "[SEP]", "</s>", "▁", "Ġ", "##x"),
            *(".", ",", "?!", "…", "“quoted”", "\n", "\t", "  ", "\x00", "\x1f", "\ud800"),
        ]
    ),
    st.text(max_size=6),
)
TEXTS = st.lists(PIECES, min_size=1, max_size=8).map(" ".join)
QUICK = settings(max_examples=60, deadline=None, derandomize=True)


each_tokenizer = pytest.mark.parametrize("sort", TOKENIZERS)


def read(tokenizer: Any, text: str, pair: str | None = None) -> Tokens | None:
    """The tokens; None where the text is refused, which must be in a sentence."""
    try:
        return tokenise(tokenizer, [text], [pair]).tokens[0]
    except BadInput as error:
        assert str(error).endswith(".")
        return None


@each_tokenizer
@QUICK
@example(text="I went to the store.", pair="At the store, I bought fresh strawberries.")
@example(text="👩‍👩‍👧‍👦", pair="שלום")
@example(text="", pair="only the second")
@given(text=TEXTS, pair=st.one_of(st.none(), TEXTS))
def test_every_token_has_its_place(sort: str, text: str, pair: str | None) -> None:
    if sort == "characters, in Python":
        assume("\x00" not in f"{text}{pair}")  # it means padding there
    tokens = read(TOKENIZERS[sort](), text, pair)
    if tokens is None:
        return
    check(tokens, *(one for one in (text, pair) if one is not None))


def check(tokens: Tokens, *texts: str) -> None:
    count = len(tokens)
    assert count == len(tokens.labels) == len(tokens.ids) == len(tokens.classes)
    assert count == len(tokens.segments) == len(tokens.word_ids) == len(tokens.spans)
    assert all(tokens.labels), "no label is empty"
    assert set(tokens.segments.tolist()) <= set(range(len(texts)))
    assert (np.diff(tokens.segments) >= 0).all(), "sentence B follows sentence A"
    special = tokens.spans[:, 0] < 0
    assert (tokens.spans[special] == -1).all()
    assert (tokens.word_ids[special] == -1).all()
    for number, text in enumerate(texts):
        inside = (tokens.segments == number) & ~special
        spans, words = tokens.spans[inside], tokens.word_ids[inside]
        assert (spans[:, 0] >= 0).all()
        assert (spans[:, 0] <= spans[:, 1]).all()
        assert (spans[:, 1] <= len(text)).all(), "spans lie in the text"
        assert (np.diff(spans[:, 0]) >= 0).all(), "tokens stand in the order of the text"
        assert (np.diff(words) >= 0).all(), "words stand in order"
        if text.strip():
            assert (words >= 0).all(), "every token of a text belongs to a word"
    assert tokens.word_ids.max(initial=-1) < len(tokens.word_texts)
    check_words(tokens)


def check_words(tokens: Tokens) -> None:
    """Words cover the tokens in order, each token once."""
    starts = word_starts(tokens)
    assert starts[0] == 0
    assert (np.diff(starts) > 0).all()
    whole = words_of(tokens)
    assert len(whole) == len(starts)
    assert all(whole.labels)
    numbers = whole.word_ids[whole.word_ids >= 0]
    assert (np.diff(numbers) > 0).all(), "a word appears once"


@QUICK
@given(TEXTS)
def test_words_cover_every_letter_once(text: str) -> None:
    spans = word_spans(text)
    covered = [place for start, end in spans for place in range(start, end)]
    assert covered == [place for place, letter in enumerate(text) if not letter.isspace()]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's well-known.", ["It's", "well", "-", "known", "."]),
        ("don’t  stop", ["don’t", "stop"]),
        ("我喜欢草莓。", ["我", "喜", "欢", "草", "莓", "。"]),
        ("👩‍👩‍👧‍👦 👍🏽!", ["👩‍👩‍👧‍👦", "👍🏽", "!"]),
        ("e\u0301cole", ["e\u0301cole"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("zero\u200bwidth", ["zero\u200bwidth"]),
        ("नमस्ते", ["नमस्ते"]),
    ],
)
def test_words_are_what_people_call_words(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in word_spans(text)] == words


@each_tokenizer
@QUICK
@given(words=st.lists(PIECES.filter(lambda word: word.strip()), min_size=1, max_size=6))
def test_given_words_come_back_whole(sort: str, words: list[str]) -> None:
    if sort == "characters, in Python":
        assume("\x00" not in "".join(words))
    try:
        tokens = tokenise(TOKENIZERS[sort](), [words]).tokens[0]
    except BadInput:
        return
    assert tokens.word_texts == tuple(words)
    check(tokens, " ".join(words))


@QUICK
@given(st.lists(st.integers(0, 319), min_size=1, max_size=30))
def test_generated_tokens_have_places_too(ids: list[int]) -> None:
    """Any ids a model may write, cut characters included."""
    for tokenizer in (byte_level(), sentence_piece()):
        tokens = tokens_of_ids(tokenizer, ids)
        assert tokens.ids.tolist() == ids
        text = tokens.texts[0]
        content = tokens.classes >= TokenClass.PUNCTUATION
        spans = tokens.spans[content]
        assert (spans[:, 0] >= 0).all()
        assert (spans[:, 1] <= len(text)).all()
        assert (np.diff(spans[:, 0]) >= 0).all()
        assert (np.diff(tokens.word_ids[content]) >= 0).all()
        check_words(tokens)


@each_tokenizer
def test_classes_and_segments_of_a_pair(sort: str) -> None:
    tokens = tokenise(TOKENIZERS[sort](), ["the cat ."], ["a dog"]).tokens[0]
    content = tokens.classes >= TokenClass.PUNCTUATION
    assert (tokens.spans[content] >= 0).all()
    assert (tokens.spans[~content] == -1).all()
    assert set(tokens.segments[content].tolist()) == {0, 1}
    marks = [label for label, kind in zip(tokens.labels, tokens.classes, strict=True) if kind == 3]
    assert marks == ["."]


def test_an_emoji_cut_into_bytes_is_one_word() -> None:
    tokens = tokenise(byte_level(), ["hi 🦄 you"]).tokens[0]
    of_emoji = tokens.word_ids == 1
    assert of_emoji.sum() > 1
    assert {tuple(span) for span in tokens.spans[of_emoji].tolist()} == {(3, 4)}
    assert all(tokens.labels)

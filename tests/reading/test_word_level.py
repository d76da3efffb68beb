"""Words instead of pieces: sums over keys, means or first pieces over queries."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import headscope as hs
from tests.tiny import tiny_model

TEXT = "i bought fresh strawberries at the store ."


def pieces_of_words(reading: hs.Reading) -> list[list[int]]:
    """Token places of each word, straight from the tokens: `##` goes on."""
    groups: list[list[int]] = []
    for place, token in enumerate(reading.tokens):
        if token.startswith("##"):
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


@pytest.mark.parametrize("mode", ["mean", "first"])
def test_word_level_by_hand(tiny_bert: hs.Scope, mode: str) -> None:
    reading = tiny_bert.read(TEXT)
    words = reading.words(mode=mode)
    groups = pieces_of_words(reading)
    assert any(len(group) > 1 for group in groups)
    weights = reading.attention.values
    for row, queries in enumerate(groups):
        chosen = queries if mode == "mean" else queries[:1]
        for column, keys in enumerate(groups):
            block = weights[:, :, chosen][:, :, :, keys]
            expected = block.sum(axis=-1).mean(axis=-1)
            found = words.attention.values[:, :, row, column]
            np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("mode", ["mean", "first"])
@pytest.mark.parametrize("fixture", ["tiny_bert", "tiny_gpt2", "tiny_t5"])
def test_rows_still_sum_to_one(fixture: str, mode: str, request) -> None:
    scope: hs.Scope = request.getfixturevalue(fixture)
    words = scope.read(TEXT, "fresh strawberries").words(mode=mode)
    for part in words.parts.values():
        np.testing.assert_allclose(part.attention.sum("key"), 1, atol=1e-5)


def test_words_are_spelled_as_in_the_text(tiny_bert: hs.Scope) -> None:
    words = tiny_bert.read("I bought Fresh Strawberries.", "The store").words()
    assert words.tokens == (
        *("[CLS]", "I", "bought", "Fresh", "Strawberries", ".", "[SEP]"),
        *("The", "store", "[SEP]"),
    )
    part = words.part()
    assert list(part.query.segments) == [0] * 7 + [1] * 3
    spans = [tuple(span) for span in part.query.spans]
    assert spans[4] == (15, 27)
    assert spans[8] == (4, 9)
    assert part.why_no_qk is not None


def test_given_words_are_kept_together(tiny_bert: hs.Scope) -> None:
    given = ["i", "bought", "strawberries.", "at"]
    reading = tiny_bert.read(given)
    words = reading.words()
    assert words.tokens == ("[CLS]", *given, "[SEP]")
    pair = tiny_bert.read(given, ["the", "store."]).words()
    assert pair.tokens[-3:] == ("the", "store.", "[SEP]")


def test_a_token_that_covers_several_words_is_labelled_with_all_of_them() -> None:
    from tests.text.tokenizers import byte_level

    tokenizer = copy.deepcopy(byte_level())
    tokenizer.add_tokens(["...", "--"])
    model = tiny_model("GPT2LMHeadModel", n_positions=64)
    model.resize_token_embeddings(len(tokenizer))
    words = hs.load(model, tokenizer).read("the store... and -- two").words()
    assert words.tokens == ("the", "store", "...", "and", "--", "two")


def test_words_of_several_pieces_are_the_same_when_they_are_spelled_alike(
    tiny_bert: hs.Scope,
) -> None:
    words = tiny_bert.read("strawberries and straw and strawberries").words().part().query
    ids = dict(zip(range(len(words)), words.ids.tolist(), strict=True))
    assert ids[1] == ids[5] and ids[1] != ids[3] and ids[2] == ids[4]

"""Labels are what a person would write."""

from __future__ import annotations

import pytest

from headscope.text.spelling import joined, listed, readable, spells_bytes, unlisted
from headscope.text.tokenise import tokenise
from tests.text.tokenizers import TOKENIZERS, byte_level


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("##berries", "##berries"),
        ("Ġstore", "store"),
        ("▁store", "store"),
        ("▁", "▁"),
        ("Ġ", "␣"),
        ("Ċ", "⏎"),
        ("Ã©", "é"),
        ("ĠðŁĺĢ", "😀"),
        ("ĠðŁ", "\\x20\\xf0\\x9f"),
        ("château", "château"),
        ("[CLS]", "[CLS]"),
        ("a\x00b", "a\\x00b"),
    ],
)
def test_labels_from_the_token_alone(token: str, label: str) -> None:
    assert readable(token) == label


def test_vocabularies_of_bytes_are_known() -> None:
    found = {name for name, make in TOKENIZERS.items() if spells_bytes(make())}
    assert found == {"byte level", "RoBERTa"}
    assert readable("¦", of_bytes=True) == "\\xa6"
    assert readable("¦", of_bytes=False) == "¦"
    assert readable("Ġakkademja", of_bytes=False) == "Ġakkademja", "a letter of Maltese"


def test_a_listed_word_shows_the_space_before_it() -> None:
    tokenizer = byte_level()
    ids = tokenizer("the store", add_special_tokens=False)["input_ids"]
    both = [tokenizer.convert_tokens_to_ids(token) for token in ("t", "Ġt", "Ġ", "Ċ")]
    assert listed(tokenizer, both) == ("t", "␣t", "␣", "⏎")
    assert [unlisted(one) for one in listed(tokenizer, both)] == ["t", " t", "␣", "⏎"]
    shown = listed(tokenizer, ids)
    assert "".join(map(unlisted, shown)) == "the store"
    pieces = TOKENIZERS["sentence pieces"]()
    spaced = listed(pieces, pieces("the store", add_special_tokens=False)["input_ids"])
    assert [unlisted(one)[0] for one in spaced if one[0] == "␣"] == [" ", " "]
    plain = TOKENIZERS["word pieces"]()
    assert listed(plain, plain("the cat", add_special_tokens=False)["input_ids"]) == ("the", "cat")


def test_punctuation_in_bytes_is_punctuation() -> None:
    tokens = tokenise(byte_level(), ["我 。"]).tokens[0]
    whole = [
        kind for label, kind in zip(tokens.labels, tokens.classes, strict=True) if label == "。"
    ]
    assert all(kind == 3 for kind in whole)


@pytest.mark.parametrize(
    ("labels", "word"),
    [
        (["straw", "##berries"], "strawberries"),
        (["␣", "19", "55"], "1955"),
        (["▁", "7"], "7"),
        (["␣"], "␣"),  # a space alone is all there is
        (["\\x20\\xe5", "\\xa5", "\\x88"], "奈"),
        (["\\xf0\\x9f", "\\x8d"], "\\xf0\\x9f\\x8d"),  # no whole letter
        (["\\", "x", "41"], "\\x41"),  # written so in the text
        (["\\x0c"], "\\x0c"),
    ],
)
def test_pieces_are_joined_to_the_word_of_the_text(labels: list[str], word: str) -> None:
    assert joined(labels) == word

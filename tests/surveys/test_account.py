"""After a run one is told how much text was read, what was cut, and what was left out."""

from __future__ import annotations

import pytest

import headscope as hs
from headscope.surveys.table import account
from tests.tiny import tiny_scope

quiet = {"progress": False}


def test_what_the_model_cannot_read_and_what_was_asked_for_are_told_apart(tiny_bert):
    long = " ".join(["the cat sat"] * 100)  # 300 tokens, and the model reads 128
    whole = {"segments": "documents", **quiet}
    by_model = account(hs.survey(tiny_bert, [long], ["entropy"], **whole).metadata)
    asked = account(hs.survey(tiny_bert, [long], ["entropy"], max_tokens=32, **whole).metadata)
    assert "longer than the model reads (128 tokens)" in by_model[1]
    assert "longer than was asked for (32 tokens)" in asked[1]
    # 30 of 300 words come before the separator, 126 without a limit
    assert "90% of the text was not read" in asked[1] and "58% of the text" in by_model[1]
    assert any("Most of the text" in sentence for sentence in asked)


def test_whole_texts_need_no_warning(tiny_bert):
    found = hs.survey(tiny_bert, ["the cat sat", "a dog"], ["entropy"], **quiet)
    assert account(found.metadata) == ["2 documents gave 2 segments, 9 tokens in all."]


def test_a_file_in_one_piece_is_questioned(tiny_bert, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("the cat sat . " * 4000)
    found = hs.survey(tiny_bert, path, ["entropy"], segments="documents", **quiet)
    assert "--layout lines" in account(found.metadata)[-1]


def test_documents_of_one_sentence_are_counted_where_pairs_are_made(tiny_bert):
    texts = ["The cat sat.", "The cat sat. A dog ran."]
    found = hs.survey(tiny_bert, texts, ["entropy"], segments="pairs", bad_data="refuse", **quiet)
    assert "1 document of one sentence" in account(found.metadata)[1]


def test_patterns_say_it_too():
    found = hs.patterns(tiny_scope("BertModel"), ["the cat sat"] * 3, segments="documents", **quiet)
    assert found.metadata["account"] == ["3 documents gave 3 segments, 15 tokens in all."]


def test_a_limit_counts_the_documents_it_reads_not_those_cut_ahead_of_it(tiny_bert) -> None:
    texts = ["the cat sat on the mat " * 2, "a dog ran", "he said that it was red"]
    found = hs.survey(tiny_bert, texts, ["entropy"], max_tokens=12, limit=3, progress=False)
    assert account(found.metadata)[0].startswith("2 documents gave 3 segments, ")


def test_documents_of_one_sentence_are_told_from_a_wrong_path(tiny_bert):
    with pytest.raises(hs.BadInput, match=r"two sentences.*--segments documents"):
        hs.survey(tiny_bert, ["the cat sat"] * 3, ["entropy"], segments="pairs", progress=False)

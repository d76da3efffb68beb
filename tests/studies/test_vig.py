"""The study of the seven patterns: complete on any model, and right where the truth is known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headscope as hs
from headscope.cli import build
from tests.studies.words import identifiers

SECTIONS = (
    "Next word", "Previous word", "Identical or related words",
    "Identical or related words in the other sentence", "Words predictive of the word",
    "Delimiters", "Bag of words",
)  # fmt: skip


@pytest.fixture(scope="module")
def report(tiny_bert):
    return hs.studies.vig(tiny_bert, limit=4)


def test_every_pattern_has_its_section_scores_and_reason(report) -> None:
    titles = [section.title for section in report.sections]
    assert [title for title in titles if title in SECTIONS] == list(SECTIONS)
    for name in ("next_word", "previous_word", "delimiter", "bag_of_words"):
        assert len(report.tables[name]) == 5
        assert "neuron" in report.tables[f"{name}_neurons"].columns
    text = report.html()
    assert "Position-aware neurons" in text and "Sentence-sign neurons" in text
    assert "srcdoc" in text and text.count("<iframe") >= 7


def test_every_head_stands_as_a_point_with_the_places_behind_its_scores(report) -> None:
    views = [piece for section in report.sections for piece in section.pieces]
    [page] = [piece.page for piece in views if getattr(piece, "name", "") == "atlas"]
    assert '"view":"atlas"' in page and '"panels"' in page.replace("'", '"')
    for name in ("next_word", "previous_word", "bag_of_words"):
        examples = report.tables[f"{name}_examples"]
        assert examples["example"].str.contains("[[", regex=False).all()
        assert examples["value"].is_monotonic_decreasing


def test_titles_and_columns_are_words(report) -> None:
    assert identifiers(report) == set()


def test_the_posts_claims_stand_beside_what_was_found(report) -> None:
    claims = report.tables["claims"]
    said = dict(zip(claims["claim"], claims["published"], strict=True))
    assert said["A head shows the pattern “next word”"] == "head 2-0"
    assert said["A head shows the pattern “previous word”"] == "head 6-11"
    assert said["A head shows the pattern “delimiters”"] == "head 7-3"
    assert said["A head shows the pattern “bag of words”"] == "head 0-0"
    assert claims["agrees"].isin([True, False]).all()


def test_a_random_model_is_not_said_to_show_patterns(report) -> None:
    # a random head may lean to one token by chance, but not to a word's neighbour
    labelled = set(report.tables["labels"]["label"])
    assert not labelled & {"next word", "previous word", "rest of the word"}


def test_the_counts_of_the_summary_add_up_to_those_of_the_tables() -> None:
    """Two heads with three labels: a head may show several patterns."""
    from types import SimpleNamespace

    import pandas as pd

    from headscope.studies.vig.study import _summary

    held = [(0, "next_word"), (0, "delimiter_sep1"), (3, "next_word")]
    rows = [
        {
            "kind": "encoder",
            "layer": 1,
            "head": head,
            "pattern": name,
            "labelled": (head, name) in held,
        }
        for head in range(4)
        for name in ("next_word", "delimiter_sep1", "bag_of_words")
    ]
    found = SimpleNamespace(scores=pd.DataFrame(rows), corpus=SimpleNamespace(pairs=[1] * 7))
    said = _summary(found)
    assert said.startswith("2 of 4 heads earn a label on 7 sentence pairs.")
    total = int(re.search(r"They earn (\d+) labels", said)[1])
    assert total == sum(map(int, re.findall(r"\((\d+)\)", said))) == len(held)
    assert "_" not in said


def test_the_page_needs_no_network_and_says_how_it_was_made(report) -> None:
    text = report.html()
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
    for part in ("Versions: python", "headscope study vig", "key-permutation", "48 sentence pairs"):
        assert part.split(" ")[0] in text
    assert "Jesse Vig" in text


def test_a_model_that_only_looks_back_is_told_what_is_left_out(tiny_llama) -> None:
    report = hs.studies.vig(tiny_llama, limit=4)
    text = report.html()
    assert "this model looks only back" in text
    assert "sink" in report.tables and "next_word" not in report.tables


def test_misuse_on_the_command_line_is_one_sentence(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments, message in [
        (["study", "nobody"], "There is no study 'nobody'"),
        (["study", "vig", "-o", "r.pdf"], "written as .html"),
        (["study", "vig", "--data", "nowhere"], "no file or folder nowhere"),
    ]:
        result = CliRunner().invoke(build(), arguments)
        assert result.exit_code != 0
        assert message in str(result.exception)
    assert not list(tmp_path.iterdir())

"""A reading's numbers are the survey's of that text alone, at any length."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import headscope as hs
from headscope.patterns.as_statistics import pattern_measures
from headscope.patterns.labels import quick_labels, quick_table, why_not_scored
from headscope.reading import LayerAttention
from headscope.reading.collecting.collector import Interrupted, interruptible
from headscope.statistics.of_reading import reading_values
from headscope.text.tokens import Tokens
from headscope.views.shared.numbers import table_of

PAIR = ("I went to the store. It was red.", "At the store, I bought the fresh strawberries.")


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_llama", "tiny_deberta", "tiny_t5"])
@pytest.mark.parametrize("keep", [("weights", "q", "k"), ("q", "k")])
def test_every_number_is_that_of_a_survey_of_the_text_alone(name, keep, request):
    scope = request.getfixturevalue(name)
    if keep == ("q", "k") and not scope.description.reads_qk:
        pytest.skip("its q and k cannot be read")
    reading = scope.read(*PAIR, keep=keep)
    survey = hs.survey(scope, [PAIR], "all", progress=False)
    checked = 0
    for kind, part in reading.parts.items():
        for measure, values in reading_values(part).items():
            rows = survey.table[
                (survey.table["measure"] == measure) & (survey.table["kind"] == kind)
            ]
            if rows.empty or measure.split(":")[0] in ("induction", "duplicate_token"):
                continue  # a survey reads those on repeated random tokens
            np.testing.assert_allclose(
                values[rows["layer"], rows["head"]], rows["value"], atol=2e-5, err_msg=measure
            )
            checked += 1
    assert checked >= 20


def test_previous_and_next_word_stay_in_a_sentence_and_confidence_leaves_separators_out(tiny_bert):
    reading = tiny_bert.read(*PAIR)
    part = reading.part()
    weights, table = reading.attention.values, table_of(reading)
    content, segments = part.query.content, part.query.segments
    both = content[:-1] & content[1:] & (segments[:-1] == segments[1:])
    before = np.diagonal(weights, -1, 2, 3)[..., both].mean(-1)
    np.testing.assert_allclose(table.columns["previous_word"], before, atol=1e-5)
    after = np.diagonal(weights, 1, 2, 3)[..., both].mean(-1)
    np.testing.assert_allclose(table.columns["next_word"], after, atol=1e-5)
    asking = np.array([label != "[SEP]" for label in part.query.labels])
    sure = weights[:, :, asking].max(-1).mean(-1)
    np.testing.assert_allclose(table.columns["confidence"], sure, atol=1e-5)


def test_attention_across_two_sentences_has_a_column_of_its_own(tiny_bert):
    reading = tiny_bert.read(*PAIR)
    weights, segments = reading.attention.values, reading.part().query.segments
    across = (weights * (segments[:, None] != segments[None, :])).sum(-1).mean(-1)
    built = hs.head_map(reading, column="cross_sentence")
    columns = {c["name"]: c for c in built.data.header["table"]["columns"]}
    assert columns["cross_sentence"]["title"] == "other sentence"
    assert "same_word_other" in columns
    np.testing.assert_allclose(table_of(reading).columns["cross_sentence"], across, atol=1e-5)


def test_a_text_of_thousands_of_tokens_is_labelled_without_whole_maps(tiny_llama, monkeypatch):
    """The same table as from whole maps, with blocks of a few rows; no map is ever made."""
    text = " ".join(["the cat sat on the mat and the dog ran"] * 12)
    whole = quick_table(tiny_llama.read(text, keep=("weights",), truncate=True))
    lean = tiny_llama.read(text, keep=("q", "k"), truncate=True)

    made: list[int] = []
    own = LayerAttention.scores_on

    def counted(self, device, queries, keys):
        scores = own(self, device, queries, keys)
        made.append(scores.numel())
        return scores

    monkeypatch.setattr(LayerAttention, "scores_on", counted)
    monkeypatch.setattr("headscope.statistics.kernels.of_layers.MOST", 4096)
    found = quick_table(lean)
    assert made and max(made) <= 4096
    assert len(found) == len(whole) > 0
    np.testing.assert_allclose(found["score"], whole["score"], atol=1e-5)
    assert (
        quick_labels(lean).columns.tolist()
        == quick_labels(tiny_llama.read("a cat")).columns.tolist()
    )


def test_measuring_ends_when_it_is_called_off(tiny_llama, monkeypatch):
    part = tiny_llama.read("the cat sat on the mat " * 9, keep=("q", "k"), truncate=True).part()
    called_off, own, made = threading.Event(), LayerAttention.scores_on, []

    def counted(self, device, queries, keys):
        made.append(queries)
        called_off.set()
        return own(self, device, queries, keys)

    monkeypatch.setattr(LayerAttention, "scores_on", counted)
    monkeypatch.setattr("headscope.statistics.kernels.of_layers.MOST", 512)
    with interruptible(called_off), pytest.raises(Interrupted):
        reading_values(part)
    assert len(made) == 1
    assert reading_values(part)  # and it can be asked again


def test_patterns_that_were_not_measured_are_said_not_to_have_been():
    even = np.full((2, 2, 3, 3), 1 / 3, np.float32)
    known = hs.Reading.from_attention(even, ["a", "b", "a"])
    assert why_not_scored(known.part()) is None
    np.testing.assert_allclose(table_of(known).columns["same_word"], 1 / 3, atol=1e-6)
    patches = hs.Reading.from_attention(even, Tokens.plain(["0", "1", "2"]).with_ids([-1] * 3))
    assert "not measured" in (why_not_scored(patches.part()) or "")
    assert quick_table(patches).empty
    assert "previous_word" not in table_of(patches).columns


def test_pattern_measures_are_statistics_of_the_scope(tiny_bert):
    assert {s.name for s in pattern_measures(tiny_bert)} >= {"same_word", "same_word:null"}

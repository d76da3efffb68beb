"""Patterns over a corpus: the survey's streaming gives what the maps themselves give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.errors import BadInput
from headscope.patterns.map_scores import score_maps
from headscope.patterns.pattern import patterns as known_patterns
from headscope.statistics.features.grid import grid_of

PAIRS = [
    ("i went to the store .", "at the store , i bought fresh straw ##berries ."),
    ("the cat sat on the mat .", "the dog ran to the cat ."),
    ("he said that it was one red house .", "she bought the house in the green tree ."),
]


@pytest.mark.parametrize("family", ["tiny_bert", "tiny_llama"])
def test_a_streamed_score_is_the_mean_over_documents_of_the_maps_own(family: str, request) -> None:
    scope = request.getfixturevalue(family)
    texts = PAIRS if not scope.causal else [" ".join(pair) for pair in PAIRS]
    survey = hs.survey(scope, texts, hs.pattern_measures(scope), progress=False)
    readings = [scope.read(*([one] if isinstance(one, str) else one)) for one in texts]
    checked = 0
    for name, pattern in known_patterns().items():
        if name not in survey.statistics or pattern.needs_likeness or pattern.source != "corpus":
            continue
        by_hand = []
        for reading in readings:
            part = reading.part()
            n = len(part.query)
            maps = torch.from_numpy(part.attention.values.reshape(1, -1, n, n))
            scores = score_maps(pattern, maps, grid_of([part.query], causal=part.causal))
            assert scores is not None
            by_hand.append([scores.score[0].numpy(), scores.null[0].numpy()])
        score, null = np.nanmean(np.array(by_hand), axis=0)
        assert survey.map(name).values.ravel() == pytest.approx(score, abs=1e-5, nan_ok=True)
        found = survey.map(f"{name}:null").values.ravel()
        assert found == pytest.approx(null, abs=1e-5, nan_ok=True)
        checked += 1
    assert checked >= 4


def test_top_ranks_heads_by_a_pattern_and_labels_survive_saving(minilm, tmp_path: Path) -> None:
    texts = [("I went to the store.", "At the store, I bought fresh strawberries."), *PAIRS] * 3
    survey = hs.survey(minilm, texts, hs.pattern_measures(minilm), progress=False)
    top = survey.top("previous_word", 1)
    assert (int(top["layer"][0]), int(top["head"][0])) == (0, 2)
    survey.save(tmp_path / "s.parquet")
    again = hs.Survey.load(tmp_path / "s.parquet")
    pd.testing.assert_frame_equal(hs.labels(survey), hs.labels(again))
    first = hs.labels(survey).iloc[0]
    assert (first["layer"], first["head"], first["label"]) == (0, 2, "previous word")


@pytest.mark.slow
def test_repeated_tokens_find_an_induction(smollm2) -> None:
    names = ["induction", "duplicate_token"]
    survey = hs.survey(smollm2, ["a b"], hs.pattern_measures(smollm2, names), progress=False)
    assert survey.top("induction", 1)["value"][0] > 0.5


def test_a_survey_without_patterns_says_what_to_do(tiny_bert) -> None:
    survey = hs.survey(tiny_bert, ["the cat sat ."], ["entropy"], progress=False)
    with pytest.raises(BadInput, match=r"pattern_measures"):
        hs.labels(survey)


def test_patterns_a_model_cannot_show_are_not_measured(tiny_bert, tiny_llama) -> None:
    of_bert = {measure.name for measure in hs.pattern_measures(tiny_bert)}
    of_llama = {measure.name for measure in hs.pattern_measures(tiny_llama)}
    assert "next_word" in of_bert and "next_word" not in of_llama
    assert "sink" in of_llama and "sink" not in of_bert
    assert {"previous_word", "related_word"} <= of_bert & of_llama


def test_the_bundled_labels_are_the_bundled_models(request) -> None:
    frame = hs.bundled_labels()
    scope = hs.load()
    assert set(frame.columns) >= {
        "kind",
        "layer",
        "head",
        "pattern",
        "score",
        "lift",
        "null",
        "label",
    }
    assert frame["layer"].max() < scope.layers["encoder"]
    best = frame.sort_values("score", ascending=False).iloc[0]
    reading = scope.read("I went to the store.", "At the store, I bought fresh strawberries.")
    here = hs.quick_labels(reading)
    same = here[(here["layer"] == best["layer"]) & (here["head"] == best["head"])]
    assert best["pattern"] in set(same["pattern"])


def test_induction_needs_no_corpus(tiny_llama, tiny_bert, tmp_path: Path) -> None:
    found = hs.patterns(tiny_llama, output=tmp_path / "found.csv")
    assert set(found.measures) == {"induction", "duplicate_token"}
    among = hs.patterns(tiny_llama, ["the cat sat on the mat ."] * 3, progress=False)
    for name in found.measures:  # the same random tokens as beside a corpus
        np.testing.assert_allclose(found.map(name), among.map(name), atol=1e-6)
    assert len(pd.read_csv(tmp_path / "found.csv")) == len(found.table)
    with pytest.raises(BadInput, match="limit= need a corpus"):
        hs.patterns(tiny_llama, limit=3)
    with pytest.raises(BadInput, match="continues text; give a corpus"):
        hs.patterns(tiny_bert)

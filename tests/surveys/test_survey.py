"""A survey: its table, its file, its pictures, and the words for what went wrong."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.errors import BadInput, HeadscopeError
from headscope.statistics.accumulator import BootstrapAccumulator, Moments
from headscope.surveys.reducers import _moments

TEXTS = [
    "I went to the store. The cat sat on the mat.",
    "At the store, I bought fresh strawberries.",
    "red green blue house tree",
    "the dog ran to the house, and the cat sat",
] * 5


@pytest.fixture(scope="module")
def found(tiny_bert):
    return hs.survey(tiny_bert, TEXTS, distances=True, interval=0.9, progress=False)


def test_mean_and_spread_taken_on_a_device_are_those_taken_here():
    values = torch.rand(2, 9, 3, dtype=torch.float64)
    values[1, :4, 0], values[1, :, 2] = torch.nan, torch.nan
    for of, known in zip(values, _moments(values), strict=True):
        here, there = Moments(3), Moments(3)
        for _ in range(2):
            here.add(np.arange(9), of.numpy())
            there.merge(Moments.known(*known.numpy()))
        for name, array in here.arrays().items():
            np.testing.assert_allclose(there.arrays()[name], array, rtol=1e-14, err_msg=name)


def test_the_table_is_tidy(found):
    columns = ["kind", "layer", "head", "measure", "value", "error", "count", "low", "high"]
    assert list(found.table.columns) == columns
    assert not found.table.duplicated(["kind", "layer", "head", "measure"]).any()
    assert (found.table.groupby("measure").size() == 8).all()
    assert found.table["count"].max() == len(TEXTS)


def test_top_gives_the_largest_and_map_all(found):
    top = found.top("previous_word", 3)
    values = found.map("previous_word")
    assert values.shape == (2, 4)
    assert top["value"].is_monotonic_decreasing and len(top) == 3
    assert top["value"][0] == values.max()
    first = top.iloc[0]
    assert values[first["layer"], first["head"]] == first["value"]


def test_a_file_opens_without_us_and_comes_back_whole(found, tmp_path):
    path = tmp_path / "s.parquet"
    found.save(path)
    plain = pd.read_parquet(path)
    pd.testing.assert_frame_equal(plain, found.table)
    again = hs.Survey.load(path)
    assert again.metadata == json.loads(json.dumps(found.metadata))
    np.testing.assert_array_equal(again.distances().values, found.distances().values)
    assert again.distances().heads == found.distances().heads
    found.save(tmp_path / "s.csv")
    assert len(pd.read_csv(tmp_path / "s.csv")) == len(found.table)


def test_the_metadata_says_what_was_measured(found):
    about = found.metadata
    assert about["model"] == "BertForPreTraining" and about["segments"] == len(TEXTS)
    assert about["tokens"] > 100 and len(about["corpus"]["fingerprint"]) == 32
    assert about["version"] == hs.__version__ and about["complete"] is True


def test_pictures_of_every_statistic(found):
    for name in found.statistics:
        drawn = found.plot(name).axes[0].images[0].get_array()
        np.testing.assert_allclose(drawn.filled(np.nan), found.map(name))
    dots = found.plot("entropy", form="scatter").axes[0].collections[0].get_offsets()
    assert sorted(dots[:, 1]) == pytest.approx(sorted(found.map("entropy").values.ravel()))
    with pytest.raises(BadInput, match="'map' or 'scatter'"):
        found.plot("entropy", form="pie")


def test_bootstrap_intervals_hold_the_mean_and_have_the_errors_width(found):
    rows = found.table[found.table["measure"].isin(["entropy", "self_word", "previous_word"])]
    assert ((rows["low"] <= rows["value"]) & (rows["value"] <= rows["high"])).all()
    width = (rows["high"] - rows["low"]) / (2 * 1.645 * rows["error"])
    assert 0.75 < width.median() < 1.25


def test_moments_merge_in_any_order():
    chance = np.random.default_rng(0)
    values = chance.normal(1e6, 1e-3, (50, 3))  # a large mean would drown a sum of squares
    values[::7, 1] = np.nan
    whole = Moments(3)
    whole.add(np.arange(50), values)
    parts = []
    for start in (0, 10, 37):
        part = Moments(3)
        stop = {0: 10, 10: 37, 37: 50}[start]
        part.add(np.arange(start, stop), values[start:stop])
        parts.append(part)
    for order in ([0, 1, 2], [2, 0, 1]):
        merged = Moments(3)
        for place in order:
            merged.merge(parts[place])
        for one, two in zip(merged.result(), whole.result(), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-6)
    value, error, count = whole.result()
    np.testing.assert_allclose(value, np.nanmean(values, 0))
    np.testing.assert_allclose(error, np.nanstd(values, 0, ddof=1) / np.sqrt(count), rtol=1e-6)


def test_bootstrap_draws_depend_on_the_document_alone():
    def made(order):
        one = BootstrapAccumulator(Moments(1), 1, replicates=20, seed=5)
        for document in order:
            one.add(np.array([document]), np.array([[float(document)]]))
        return one

    forward, backward = made([1, 1, 2, 2, 3, 3]), made([3, 2, 1, 3, 2, 1])
    np.testing.assert_allclose(forward.replicates.sums, backward.replicates.sums)
    assert forward.interval(0.9)[0][0] <= 2 <= forward.interval(0.9)[1][0]


def test_zero_token_types_change_a_pair_and_nothing_else(tiny_bert):
    pairs = [("the cat sat", "on the mat"), ("a dog ran", "to the house")]

    def entropy(corpus, token_types):
        return hs.survey(
            tiny_bert, corpus, ["entropy"], token_types=token_types, progress=False
        ).map("entropy")

    assert not np.allclose(entropy(pairs, "proper"), entropy(pairs, "zeros"))
    alone = [first for first, _ in pairs]
    np.testing.assert_array_equal(entropy(alone, "proper"), entropy(alone, "zeros"))


def test_a_survey_of_a_scope_without_heads_sees_them_uniform(tiny_bert):
    found = hs.survey(tiny_bert.without(heads=[(1, 2)]), TEXTS, progress=False)
    uniform = found.map("entropy_uniform")
    assert math.isclose(found.map("entropy")[1, 2], uniform[1, 2], rel_tol=1e-5)
    assert (found.map("entropy")[0] < uniform[0] - 0.01).all()


def test_a_model_is_left_as_it_was_found(tiny_llama):
    def found() -> tuple[object, list[list[int]]]:
        # transformers keeps hooks of its own on a model once its attentions were asked for
        hooks = [list(module._forward_hooks) for module in tiny_llama.model.modules()]
        return tiny_llama.model.config.to_dict(), hooks

    before = found()
    hs.survey(tiny_llama, TEXTS[:3], progress=False)
    assert found() == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"statistics": ["entropi"]}, "did you mean entropy"),
        ({"statistics": []}, "at least one statistic"),
        ({"statistics": ["induction"]}, "not defined for the encoder"),
        ({"limit": 0}, "at least 1"),
        ({"interval": 95}, "between 0 and 1"),
        ({"engine": "dask"}, "'local' or 'ray'"),
        ({"segments": "words"}, "'documents' or 'pairs'"),
        ({"token_types": "ones"}, "'proper' or 'zeros'"),
        ({"max_tokens": 2}, "at least 8 tokens"),
        ({"layout": "pages"}, "layout= is 'auto', 'lines'"),
        ({"output": "no/such/folder/s.parquet"}, "does not exist"),
    ],
)
def test_misuse_is_told_in_a_sentence(tiny_bert, options, sentence):
    with pytest.raises(BadInput, match=sentence):
        hs.survey(tiny_bert, TEXTS, progress=False, **options)


def test_what_is_not_there_is_told_in_a_sentence(found, tmp_path):
    with pytest.raises(BadInput, match="no measure 'nothing'"):
        found.map("nothing")
    with pytest.raises(BadInput, match="not measured for decoder"):
        found.map("entropy", kind="decoder")
    with pytest.raises(BadInput, match=r"written as \.parquet or \.csv"):
        found.save(tmp_path / "s.xlsx")
    with pytest.raises(BadInput, match="no file"):
        hs.Survey.load(tmp_path / "absent.parquet")
    (tmp_path / "broken.parquet").write_text("text")
    with pytest.raises(HeadscopeError, match="not a Parquet file"):
        hs.Survey.load(tmp_path / "broken.parquet")

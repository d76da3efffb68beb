"""What every statistic must satisfy; each is found, never named."""

from __future__ import annotations

import re

import numpy as np
import pytest

import headscope as hs
from headscope.corpus.text.segments import Segment
from headscope.statistics.discovery import discover, measurable, register_statistics
from headscope.statistics.significance import FEWEST
from headscope.statistics.statistic import Statistic
from headscope.surveys.loop import Measurer
from headscope.surveys.options import Options
from headscope.surveys.reducer import Reducer
from headscope.surveys.run import survey_reducers
from headscope.surveys.table import survey_of
from tests.statistics.plain import ELSEWHERE, FORMULAS, eager_copy, maps_of
from tests.surveys.measuring import measured

FAMILIES = ["tiny_bert", "tiny_gpt2", "tiny_llama", "tiny_t5", "tiny_deberta"]
TEXTS = [
    ("I went to the store. The cat sat on the mat, and the dog ran.", "At the store, he ran."),
    ("At the store, I bought fresh strawberries and a dog.", "She said that it was red."),
    ("red green blue house tree, that it was in of one two three red green.", None),
    ("the cat sat on the cat", "the mat and the cat"),
    ("a tree", None),
    ("he ran to the house and the dog sat", "it was a red house"),
]
SEGMENTS = [Segment(number, number, *pair) for number, pair in enumerate(TEXTS)]
OURS = [s for s in discover().values() if type(s).__module__.startswith("headscope.statistics.")]


@pytest.fixture(params=FAMILIES)
def scope(request) -> hs.Scope:
    return request.getfixturevalue(request.param)


def reducers_for(scope: hs.Scope) -> list[Reducer]:
    return survey_reducers(measurable(scope, "all")[0], Options())


def table_of(scope, parts=(SEGMENTS,), most_tokens=2048):
    found = reducers_for(scope)
    for part in parts:
        merge(found, measured(scope, reducers_for(scope), part, most_tokens))
    table = survey_of(found, {}).table
    return table.set_index(["kind", "measure", "layer", "head"]).sort_index()


@pytest.fixture(scope="module")
def tables():
    return {}


def table_for(tables, scope):
    if scope.name not in tables:
        tables[scope.name] = table_of(scope)
    return tables[scope.name]


@pytest.mark.parametrize("statistic", OURS, ids=lambda s: s.name)
def test_a_statistic_says_what_it_is(statistic: Statistic):
    measure = statistic.described()
    assert re.fullmatch(r"[a-z_]+", measure.name)
    assert measure.title and measure.unit and measure.formula
    assert measure.sentence.endswith(".") and len(measure.sentence) <= 120
    assert re.search(r"\b(19|20)\d\d\b", measure.paper), "its paper and year"


def test_every_statistic_is_held_to_its_formula():
    standard = {s.name for s in discover().values() if s.standard}
    assert {s.name for s in OURS} | standard == set(FORMULAS) | ELSEWHERE


def test_values_are_those_of_the_formulas(scope, tables):
    table = table_for(tables, scope)
    model = eager_copy(scope)
    found = [maps_of(scope, model, text, pair) for text, pair in TEXTS]
    checked = set()
    for name, formula in FORMULAS.items():
        for kind in scope.kinds:
            if (kind, name) not in {key[:2] for key in table.index}:
                continue
            per_document = [formula(maps[kind]) for maps in found]
            values = np.stack([v for v in per_document if v is not None])  # documents L H
            rows = table.loc[(kind, name)]
            shape = values.shape[1:]
            np.testing.assert_allclose(
                rows["value"].to_numpy().reshape(shape), values.mean(0), atol=2e-5, rtol=2e-5
            )
            assert (rows["count"] == len(values)).all()
            error = np.full(shape, np.nan)  # too few documents tell no error
            if len(values) >= FEWEST:
                error = values.std(0, ddof=1) / np.sqrt(len(values))
            np.testing.assert_allclose(
                rows["error"].to_numpy().reshape(shape), error, atol=2e-5, rtol=1e-3
            )
            checked.add(name)
    assert len(checked) >= 12


def test_values_do_not_depend_on_how_texts_are_batched(scope, tables):
    alone = table_of(scope, most_tokens=1)  # one text a batch, nothing padded
    _same(table_for(tables, scope), alone)


def test_values_do_not_depend_on_how_the_corpus_is_split_or_merged(scope, tables):
    parts = [SEGMENTS[3:], SEGMENTS[1:3], SEGMENTS[:1]]
    _same(table_for(tables, scope), table_of(scope, parts=parts))


def test_values_stay_in_their_bounds(scope, tables):
    table = table_for(tables, scope).reset_index()
    for name, rows in table.groupby("measure"):
        low, high = discover()[str(name)].bounds
        assert (rows["value"] >= low - 1e-6).all(), name
        assert (rows["value"] <= high + 1e-6).all(), name
        assert (rows["error"].dropna() >= 0).all(), name


def test_values_do_not_depend_on_the_size_of_blocks(scope, tables, monkeypatch):
    monkeypatch.setattr("headscope.statistics.kernels.blocks.MOST", 64)
    _same(table_for(tables, scope), table_of(scope))


def test_a_statistic_survives_being_kept_and_recalled(scope):
    found = measured(scope, reducers_for(scope), SEGMENTS)
    merge(found, Measurer(scope, reducers_for(scope), seed=0).repeats())
    again = reducers_for(scope)
    for reducer, kept in zip(again, found, strict=True):
        reducer.restore(kept.state())
    before, after = (survey_of(reducers, {}).table for reducers in (found, again))
    assert before.equals(after)


def merge(into, others) -> None:
    for reducer, other in zip(into, others, strict=True):
        reducer.merge(other)


def test_two_statistics_of_one_name_are_refused():
    class Again(Statistic):
        """A second one."""

        name = "entropy"
        unit = "nats"

    assert discover()["entropy"]
    with pytest.raises(ValueError, match="Two measures are called 'entropy'"):
        register_statistics(Again)


def _same(one, two):
    assert list(one.index) == list(two.index)
    for column in ("value", "error"):
        np.testing.assert_allclose(one[column], two[column], atol=1e-4, rtol=1e-4)
    assert (one["count"] == two["count"]).all()

"""Every result of heads answers to the same names; a new subclass is covered by being made here."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import headscope
import headscope as hs
from headscope.corpus.sample import OPINIONS, STORIES
from headscope.corpus.treebanks.treebank import Treebank
from headscope.errors import BadInput
from headscope.results import COLUMNS, HeadResult
from headscope.tasks.files import read_task
from tests.tiny import tiny_scope

TEXTS = ["the cat sat on the mat and the dog sat", "a dog saw the cat", "he saw the dog run"]
quiet = {"progress": False}


@pytest.fixture(scope="module")
def results() -> dict[str, HeadResult]:
    """One of each class, by the class's name."""
    bert, other = tiny_scope("BertModel"), tiny_scope("BertModel")
    judge = tiny_scope("BertForSequenceClassification")
    task = read_task(OPINIONS)
    trees = list(Treebank(STORIES))[:12]
    made = [
        hs.survey(bert, TEXTS, ["entropy", "sep"], interval=0.9, **quiet),
        hs.patterns(bert, TEXTS, segments="documents", **quiet),
        hs.compare(bert, other, TEXTS, statistics=["entropy"], **quiet),
        hs.ablate(judge, task, draws=10, limit=8, **quiet),
        hs.importance(judge, task, limit=8, **quiet),
        hs.probe.dependency(bert, "sample", minimum=5, **quiet),
        hs.probe.coreference(bert, "sample", **quiet),
        hs.probe.relations(bert, "sample", shuffles=5, **quiet),
        hs.probe.features(bert, "sample", **quiet),
        hs.probe.all_heads(bert, trees, trees, trees, probes=["attention"], epochs=1,
                           vectors="embeddings", **quiet),
    ]  # fmt: skip
    return {type(result).__name__: result for result in made}


FOLDERS = ("probes", "edits", "patterns", "surveys", "finetuning")


def classes() -> list[str]:
    """Every result class of those folders."""
    homes = tuple(f"headscope.{folder}" for folder in FOLDERS)
    for entry in pkgutil.walk_packages(headscope.__path__, "headscope."):
        if entry.name.startswith(homes):
            importlib.import_module(entry.name)
    return sorted(one.__name__ for one in _leaves(HeadResult) if one.__module__.startswith(homes))


def _leaves(kind: type) -> list[type]:
    """The classes that nothing is made of any more."""
    below = kind.__subclasses__()
    return [leaf for one in below for leaf in _leaves(one)] if below else [kind]


@pytest.mark.parametrize("name", classes())
def test_a_result_answers_to_the_protocol(results, name, tmp_path):
    assert name in results, f"make a {name} in this file's fixture"
    found = results[name]
    table = found.table
    assert tuple(table.columns[: len(COLUMNS)]) == COLUMNS
    assert not table.duplicated(["kind", "layer", "head", "measure"]).any()
    for measure in found.measures:
        rows = table[(table["measure"] == measure) & table["head"].notna()]
        if rows.empty:
            continue  # whole layers have no heads
        values = found.map(measure)
        for row in rows.itertuples():  # the map is the table, cell by cell
            np.testing.assert_equal(values[int(row.layer), int(row.head)], float(row.value))
        assert np.isfinite(values).sum() == rows["value"].notna().sum()
    top = found.top(n=3)
    assert len(top) == 3 and top["measure"].nunique() == 1
    assert isinstance(found.plot(), Figure)
    assert "<table" in found._repr_html_()
    with pytest.raises(BadInput, match="there are"):
        found.map("nonsense")
    with pytest.raises(BadInput):
        found.map(found.measures[0], kind="cross")


@pytest.mark.parametrize("name", classes())
def test_a_saved_result_comes_back_whole(results, name, tmp_path):
    assert name in results, f"make a {name} in this file's fixture"
    found = results[name]
    found.save(tmp_path / "r.parquet")
    again = type(found).load(tmp_path / "r.parquet")
    pd.testing.assert_frame_equal(again.table, found.table, check_dtype=False)
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "r.parquet"), found.table, check_dtype=False
    )
    for field in dataclasses.fields(found):
        one, two = getattr(found, field.name), getattr(again, field.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, two)
    found.save(tmp_path / "r.csv")
    assert len(pd.read_csv(tmp_path / "r.csv"))
    with pytest.raises(BadInput):
        found.save(tmp_path / "r.xlsx")
    (tmp_path / "x.parquet").write_bytes(b"nonsense")
    with pytest.raises(BadInput):
        type(found).load(tmp_path / "x.parquet")
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix == ".parquet") == [
        "r.parquet", "x.parquet",
    ]  # fmt: skip

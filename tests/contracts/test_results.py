"""Every result of heads answers to the same names; a new subclass is covered by being made here."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import random

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure

import headscope
import headscope as hs
from headscope.errors import BadInput
from headscope.results import COLUMNS, HeadResult
from tests.contracts.made_results import TEXTS, made_results
from tests.contracts.test_few_units import claims


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, HeadResult]:
    return made_results(tmp_path_factory.mktemp("results"))


def classes() -> list[str]:
    """Every result class there is; each is public."""
    for entry in pkgutil.walk_packages(headscope.__path__, "headscope."):
        if not entry.name.endswith("__main__"):
            importlib.import_module(entry.name)
    return sorted(one.__name__ for one in _leaves(HeadResult) if one.__module__.startswith("heads"))


def _leaves(kind: type) -> list[type]:
    """The classes that nothing is made of any more."""
    below = kind.__subclasses__()
    return [leaf for one in below for leaf in _leaves(one)] if below else [kind]


@pytest.mark.parametrize("name", classes())
def test_a_result_class_is_public(name):
    assert name in hs.results.__all__ and getattr(hs.results, name).__name__ == name


# made of six units or more; all others of fewer
SURE = ("Ablation", "AllHeadsResult", "DependencyResult", "FoundHeads", "OverCheckpoints",
        "RelationsResult", "ScoreParts")  # fmt: skip


@pytest.mark.parametrize("name", classes())
def test_a_result_of_few_units_has_no_p_value_interval_or_error(results, name):
    assert (claims(results[name]) > 0) == (name in SURE)


@pytest.mark.parametrize("name", classes())
def test_a_result_answers_to_the_protocol(results, name, tmp_path):
    assert name in results, f"make a {name} in this file's fixture"
    found = results[name]
    table = found.table
    assert tuple(table.columns[: len(COLUMNS)]) == COLUMNS
    of_heads = table[table["head"].notna()]
    assert not of_heads.duplicated(["kind", "layer", "head", "measure"]).any()
    for measure in found.measures:
        kind = table[table["measure"] == measure]["kind"].dropna().iloc[0]
        rows = of_heads[(of_heads["measure"] == measure) & (of_heads["kind"] == kind)]
        if rows.empty:
            continue  # whole layers have no heads
        values = found.map(measure, kind)
        assert isinstance(values, xr.DataArray) and values.dims == ("layer", "head")
        for row in rows.itertuples():  # the map is the table, cell by cell
            there = values.sel(layer=int(row.layer), head=int(row.head))
            np.testing.assert_equal(float(there), float(row.value))
        assert np.isfinite(values).sum() == rows["value"].notna().sum()
    top = found.top(n=3)
    assert len(top) == 3 and top["measure"].nunique() == 1
    assert isinstance(found.plot(), Figure)
    assert "<table" in found._repr_html_() or name == "Atlas"  # which shows its view
    assert len(repr(found)) < 200 and repr(found).startswith("<") and "\n" not in repr(found)
    with pytest.raises(BadInput, match="there are"):
        found.map("nonsense")
    with pytest.raises(BadInput):
        found.map(found.measures[0], kind="cross")
    with pytest.raises(BadInput):  # the number of heads given for the measure
        found.top(5)
    with pytest.raises(BadInput):
        found.top(n="5")


ENDINGS = {"Atlas": ".atlas", "AtlasComparison": ".zip"}


@pytest.mark.parametrize("name", classes())
def test_a_saved_result_comes_back_whole_by_its_class_and_by_hs_open(results, name, tmp_path):
    found = results[name]
    path = tmp_path / f"r{ENDINGS.get(name, '.parquet')}"
    found.save(path)
    for again in (type(found).load(path), hs.open(path)):
        assert type(again) is type(found)
        pd.testing.assert_frame_equal(again.table, found.table, check_dtype=False)
        if dataclasses.is_dataclass(found):
            for field in dataclasses.fields(found):
                one, two = getattr(found, field.name), getattr(again, field.name)
                if isinstance(one, np.ndarray):
                    np.testing.assert_array_equal(one, two)
    if name != "Atlas":  # which may have a name of any ending
        with pytest.raises(BadInput):
            found.save(tmp_path / "r.xlsx")
    (tmp_path / "x.parquet").write_bytes(b"nonsense")
    for opens in (type(found).load, hs.open):
        with pytest.raises(BadInput):
            opens(tmp_path / "x.parquet")
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, "x.parquet"}


@pytest.mark.parametrize("name", [name for name in classes() if name != "Atlas"])
def test_a_result_written_as_parquet_or_csv_opens_anywhere(results, name, tmp_path):
    found = results[name]
    found.save(tmp_path / "r.parquet")
    found.save(tmp_path / "r.csv")
    plain = pd.read_parquet(tmp_path / "r.parquet")
    pd.testing.assert_frame_equal(plain, found.table, check_dtype=False)
    sheet = hs.open(tmp_path / "r.csv")
    whole = found.measures[0]
    assert isinstance(sheet, hs.results.HeadTable)
    assert whole in sheet.measures and set(sheet.measures) <= set(found.measures)
    if found.table[found.table["measure"] == whole]["head"].notna().any():
        np.testing.assert_allclose(sheet.map(whole), found.map(whole), rtol=1e-6)


SEED = 20261118


@pytest.mark.parametrize("name", ["Survey", "Ablation", "reading"])
def test_a_flipped_bit_anywhere_is_refused(results, name, tmp_path, tiny_bert):
    found = tiny_bert.read(TEXTS[0]) if name == "reading" else results[name]
    path = tmp_path / ("r.safetensors" if name == "reading" else "r.parquet")
    found.save(path)
    sound = path.read_bytes()
    draw = random.Random(SEED)
    for _ in range(60):
        at, bit = draw.randrange(len(sound)), 1 << draw.randrange(8)
        damaged = bytearray(sound)
        damaged[at] ^= bit
        path.write_bytes(damaged)
        for opens in (type(found).load, hs.open):
            with pytest.raises(BadInput):
                opens(path)
    path.write_bytes(sound)
    assert type(hs.open(path)) is type(found)


def test_what_headscope_did_not_write_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "a.csv").write_text("name,age\nx,3\n")
    (tmp_path / "b.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "c.parquet")
    for name in ("a.csv", "b.txt", "c.parquet", "empty", "nowhere"):
        with pytest.raises(BadInput):
            hs.open(tmp_path / name)
    for given in (3, None, b"x"):
        with pytest.raises(BadInput):
            hs.open(given)

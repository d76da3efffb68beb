"""Every file that headscope writes opens with `hs.open`; a new writer fails until it is here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import headscope as hs
from headscope.circuits.followed import Traced
from headscope.circuits.patching.pairs import Pairs
from headscope.files import write_table
from headscope.grounding.monitors.labelled import Labelled
from headscope.results import HeadResult
from tests.contracts.made_results import CLEAN, CORRUPTED, made_results
from tests.tiny import tiny_scope

SOURCE = Path(hs.__file__).parent
WRITES = re.compile(r"\b(?:atomic_path|write_table|write_tensors|write_output)\(")
# what each file with a writer writes, and where that is opened
OPENED_BY = {
    "a result": ("results/storage.py", "probes/*/*.py", "edits/ablate.py", "edits/importance.py",
                 "finetuning/compare.py", "circuits/scores/over_corpus.py", "roles/find.py",
                 "circuits/patching/patch.py"),  # test_results.py
    "a reading": ("reading/storage.py",),  # test_results.py
    "an atlas": ("atlas/file.py", "atlas/compare.py"),  # test_results.py
    "head weights, a monitor": ("grounding/learned.py", "grounding/monitors/monitor.py"),
    "a trace": ("circuits/followed.py",),
    "an export": ("circuits/graph/result.py", "roles/result.py", "budgets/exports.py"),
    "lines": ("circuits/patching/pairs.py", "grounding/monitors/labelled.py"),
    "a table": ("patterns/over_corpus.py", "edits/pruning.py", "grounding/log.py",
                "cli/monitor.py", "cli/probe/features.py", "cli/find.py"),
    "for people": ("figures/style.py", "surfaces/view.py", "studies/report.py", "live/page.py"),
    "kept beside an output": ("runs/*.py", "atlas/example_index.py"),
    "the writers": ("files.py", "cli/ground.py"),
}  # fmt: skip


def test_every_writer_is_known() -> None:
    known = {path for group in OPENED_BY.values() for one in group for path in SOURCE.glob(one)}
    found = {path for path in SOURCE.rglob("*.py") if WRITES.search(path.read_text("utf-8"))}
    assert {str(path.relative_to(SOURCE)) for path in found - known} == set()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, HeadResult]:
    return made_results(tmp_path_factory.mktemp("results"))


@pytest.mark.parametrize(("name", "key"), [("Budget", "order"), ("Edges", "nodes"),
                                           ("FoundHeads", "heads")])  # fmt: skip
def test_what_is_written_for_other_software_opens_as_a_dict(
    results: dict[str, Any], name: str, key: str, tmp_path: Path
) -> None:
    results[name].to_json(tmp_path / "r.json")
    found: Any = hs.open(tmp_path / "r.json")
    assert found["format"].startswith("headscope ") and found[key]


def test_a_trace_comes_back_whole(tmp_path: Path) -> None:
    made = hs.circuits.trace(tiny_scope("GPT2LMHeadModel"), CLEAN, target="mat")
    made.save(tmp_path / "t.json")
    again = hs.open(tmp_path / "t.json")
    assert isinstance(again, Traced) and again == made


def test_lines_come_back(tmp_path: Path) -> None:
    pairs = Pairs("p", (hs.circuits.Pair(CLEAN, CORRUPTED, "mat"),))
    pairs.save(tmp_path / "p.jsonl")
    assert hs.open(tmp_path / "p.jsonl") == pairs
    texts = [f"Town {n} lies by the river. It has {n} old bridges." for n in range(4)]
    hs.monitor.save_labelled(hs.monitor.injected(texts), tmp_path / "l.jsonl")
    again: Any = hs.open(tmp_path / "l.jsonl")
    assert [type(one) for one in again[:2]] == [Labelled, Labelled]
    (tmp_path / "other.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(hs.BadInput, match="not written by headscope"):
        hs.open(tmp_path / "other.jsonl")


def test_a_table_comes_back_and_a_foreign_one_is_refused(tmp_path: Path) -> None:
    table = pd.DataFrame({"disabled": [0, 1], "score": [0.9, 0.8]})
    write_table(table, tmp_path / "curve.parquet")
    pd.testing.assert_frame_equal(hs.open(tmp_path / "curve.parquet"), table)
    table.to_parquet(tmp_path / "foreign.parquet")
    with pytest.raises(hs.BadInput, match="not written by headscope"):
        hs.open(tmp_path / "foreign.parquet")

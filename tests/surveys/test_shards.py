"""A corpus of several files gives one table, whoever reads them: this process, or several."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.corpus.text.documents import Reader
from headscope.corpus.text.sharding import shards_of
from headscope.errors import BadInput
from headscope.statistics.statistic import Statistic
from tests.surveys.measuring import same_numbers

WORDS = "the cat sat on a mat and dog ran to store".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight files of a few texts each, one of them with a corrupt line."""
    path = tmp_path_factory.mktemp("shards")
    chance = np.random.default_rng(0)
    for number in range(8):
        texts = [" ".join(chance.choice(WORDS, chance.integers(3, 60))) for _ in range(9)]
        lines = [json.dumps({"text": text}) for text in texts]
        if number == 5:
            lines.insert(2, "{")
        (path / f"part-{number}.jsonl").write_text("\n".join(lines) + "\n")
    return path


def measured(scope: hs.Scope, folder: Path, **options) -> hs.Survey:
    asked = {"chunk": 4, "interval": 0.9, "max_tokens": 32, "progress": False, **options}
    asked.setdefault("batch_tokens", 64)  # a portion makes several batches
    return hs.survey(scope, folder, ["entropy", "previous_word"], **asked)


def same(one: hs.Survey, other: hs.Survey) -> None:
    same_numbers(one, other)
    for name in ("segments", "documents", "tokens", "left out", "corpus"):
        assert one.metadata[name] == other.metadata[name], name


def test_two_processes_give_the_table_of_one(tiny_bert: hs.Scope, folder: Path) -> None:
    here = measured(tiny_bert, folder)
    assert here.metadata["documents"] == 72
    assert "1 corrupt line" in here.metadata["left out"]
    same(here, measured(tiny_bert, folder, workers=2))


@pytest.mark.slow
def test_texts_of_one_piece_are_cut_here_and_measured_there(tiny_bert: hs.Scope) -> None:
    texts = [" ".join(WORDS[:n]) for n in range(3, 10)] * 4
    here, there = (measured(tiny_bert, texts, workers=n) for n in (None, 2))
    same_numbers(here, there)


class Deadly(Statistic):
    """Kills the process that measures it, once (a test of 2026)."""

    name = "deadly"
    unit = "share"
    feature = "self"
    marker = ""

    def measure(self, rows, grid):
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows.mean("self")


@pytest.mark.slow
def test_a_process_that_is_killed_is_replaced(tiny_bert, folder: Path, tmp_path: Path) -> None:
    deadly = Deadly()
    deadly.marker = str(tmp_path / "killed")
    found = hs.survey(tiny_bert, folder, [deadly], chunk=4, workers=2, progress=False)
    assert Path(deadly.marker).exists()
    here = hs.survey(tiny_bert, folder, ["self_word"], chunk=4, progress=False)
    pd.testing.assert_series_equal(found.table["value"], here.table["value"], rtol=1e-6)


@pytest.mark.parametrize("workers", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_over_shards_goes_on_where_it_stopped(
    tiny_bert: hs.Scope, folder: Path, tmp_path: Path, workers: int | None
) -> None:
    output = tmp_path / "s.parquet"
    seen = []

    def stop(report) -> None:
        seen.append(report.segments)
        if len(seen) == 7:
            raise KeyboardInterrupt

    with pytest.raises(hs.errors.Stopped):
        measured(tiny_bert, folder, output=output, progress=stop)
    after = []
    found = measured(tiny_bert, folder, output=output, workers=workers, progress=after.append)
    assert after[0].segments > seen[-2]
    same(found, measured(tiny_bert, folder))


def test_files_and_row_groups_are_shards(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": [f"the cat {n}" for n in range(10)]})
    frame.to_parquet(tmp_path / "b.parquet", row_group_size=4)
    (tmp_path / "a.txt").write_text("the dog\n")
    found = shards_of(tmp_path, Reader())
    assert [(one.name, one.group) for one in found] == [
        ("a.txt", None),
        ("b.parquet", 0),
        ("b.parquet", 1),
        ("b.parquet", 2),
    ]
    assert len(shards_of(tmp_path / "b.parquet", Reader())) == 3
    assert shards_of(tmp_path / "a.txt", Reader()) is None
    assert shards_of(["the cat"], Reader()) is None
    (tmp_path / "c.parquet").write_text("no")
    with pytest.raises(BadInput, match="not a readable Parquet file"):
        shards_of(tmp_path, Reader())

"""`headscope patterns`: tables on disk, a summary on the terminal, one sentence for misuse."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from headscope.cli import build
from headscope.patterns.evidence import COLUMNS
from headscope.patterns.kinds import KINDS

TEXT = "The ferry left the harbour. By noon the ferry was back.\n\n" * 3


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "c.txt").write_text(TEXT)
    return tmp_path / "c.txt"


def test_the_table_has_every_head_on_every_pattern(corpus: Path, tmp_path: Path) -> None:
    target = tmp_path / "heads.csv"
    result = CliRunner().invoke(build(), ["patterns", str(corpus), "-o", str(target)])
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(target)
    assert list(frame.columns) == COLUMNS
    assert (frame.groupby("pattern").size() == 96).all()
    assert "No label can be given to the 96 heads" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.txt", "heads.csv"]


def test_kinds_are_shares_of_maps_per_head(corpus: Path, tmp_path: Path) -> None:
    target = tmp_path / "kinds.parquet"
    result = CliRunner().invoke(build(), ["patterns", str(corpus), "--kinds", "-o", str(target)])
    assert result.exit_code == 0, result.output
    frame = pd.read_parquet(target)
    assert len(frame) == 96 and frame[list(KINDS)].sum(axis=1).round(6).eq(1).all()
    assert "heterogeneous" in result.output


def test_misuse_is_one_sentence(corpus: Path) -> None:
    for arguments, message in [
        (["patterns", str(corpus), "-o", "heads.txt"], ".csv or .parquet"),
        (["patterns", "nowhere.txt", "-o", "heads.csv"], "no file or folder nowhere.txt"),
    ]:
        result = CliRunner().invoke(build(), arguments)
        assert result.exit_code != 0
        assert message in str(result.exception)

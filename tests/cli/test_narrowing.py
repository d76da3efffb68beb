"""`headscope view` of a long text keeps to what it was told: layers, queries, bytes, memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import headscope as hs
from headscope import cli
from headscope.reading import Reading
from tests.tiny import tiny_scope

TEXT = "the cat sat on the mat and the dog ran to the house " * 4


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small: hs.Scope = tiny_scope("GPT2LMHeadModel")
    monkeypatch.setattr("headscope.reading.load", lambda *given, **options: small)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_layers_and_queries_narrow_what_is_written(place: Path) -> None:
    asked = ["--layers", "1", "--queries", "5:9", "-o", "r.safetensors"]
    assert cli.run(["view", TEXT, *asked]) == 0
    part = Reading.load(place / "r.safetensors").part()
    assert part.numbers == (1,) and len(part.query) == 4


def test_a_budget_leaves_heads_out_of_a_page(place: Path) -> None:
    for budget in ("1MB", "1kB"):
        asked = ["-v", "model", "--budget", budget, "-o", f"{budget}.html"]
        assert cli.run(["view", TEXT, *asked]) == 0
    whole, less = ((place / f"{budget}.html").stat().st_size for budget in ("1MB", "1kB"))
    assert less < whole


def test_what_takes_more_memory_than_allowed_is_said_before_it_is_read(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["view", TEXT, "--memory", "10kB", "-o", "page.html"]) == 2
    assert "This reading would take" in capsys.readouterr().err
    assert not (place / "page.html").exists()

"""Odd surroundings of a command: closed streams, ASCII terminals, settings, -OO; one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headscope import cli
from headscope.errors import FewUnits

ROOT = Path(__file__).parents[2]


def headscope(words: list[str], folder: Path, flags: tuple[str, ...] = (), **settings):
    given = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1", **settings}
    return subprocess.run(
        [sys.executable, *flags, "-m", "headscope", *words],
        cwd=folder, env=given, capture_output=True, timeout=280, check=False,
    )  # fmt: skip


def is_clean(ended) -> bool:
    said = ended.stdout + ended.stderr
    return b"Traceback" not in said and b"not foreseen" not in said


@pytest.mark.parametrize("name", ["--limit", "--max-tokens", "--batch-tokens", "--workers"])
def test_a_number_of_21_digits_is_refused(name, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.txt").write_text("the cat sat .\n")
    assert cli.run(["survey", "c.txt", "-o", "o.csv", name, "9" * 21]) == 2
    assert f"{name} is too large a number" in " ".join(capsys.readouterr().err.split())


def test_too_few_units_are_one_plain_line(tmp_path, monkeypatch, capsys) -> None:
    import warnings

    from headscope.cli.shared.console import plain_warnings

    with plain_warnings():
        for _ in range(2):
            warnings.warn("2 texts are too few.", FewUnits, stacklevel=1)
    said = capsys.readouterr().err
    assert said.strip() == "2 texts are too few."


def test_without_an_interval_a_command_prints_no_nan(tmp_path, monkeypatch, capsys) -> None:
    from headscope.cli.shared.console import tested

    assert tested("nan", "nan", float("nan")) == "(too few for an interval or a p-value)"
    assert tested("-1", "+1", 0.5) == "[-1, +1], corrected p 0.500"


def test_a_setting_that_a_library_cannot_read_is_named(monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_DOWNLOAD_TIMEOUT", "soon")
    error = ValueError("invalid literal for int() with base 10: 'soon'")
    assert "HF_HUB_DOWNLOAD_TIMEOUT is 'soon'" in cli.unforeseen(error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        ((), {"PYTHONIOENCODING": "ascii"}),
        ((), {"HF_HUB_DOWNLOAD_TIMEOUT": "soon"}),
        ((), {"MPLBACKEND": "nope"}),
        ((), {"COLUMNS": "many", "TRANSFORMERS_VERBOSITY": "loud"}),
        (("-OO",), {}),
    ],
)
def test_odd_surroundings_end_in_a_sentence(flags, settings, tmp_path) -> None:
    for words in (["--help"], ["find", "sample", "the", "same", "--limit", "3"]):
        ended = headscope(words, tmp_path, flags, **settings)
        assert is_clean(ended), ended.stderr.decode()


@pytest.mark.slow
def test_closed_streams_end_in_a_sentence(tmp_path) -> None:
    for closed in ("<&-", ">&-", "2>&-"):
        line = f"{sys.executable} -m headscope survey - -o o.csv {closed}"
        given = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"}
        ended = subprocess.run(
            line, shell=True, cwd=tmp_path, env=given, capture_output=True, timeout=280,
            stdin=None if closed == "<&-" else subprocess.DEVNULL, check=False,
        )  # fmt: skip
        assert is_clean(ended) and ended.returncode in (1, 2), ended.stderr.decode()


@pytest.mark.slow
def test_a_name_that_is_not_utf_8_is_written(tmp_path) -> None:
    ended = headscope(["view", "A cat sat.", "-o", "\udcff.html"], tmp_path)
    assert is_clean(ended) and ended.returncode == 0 and len(list(tmp_path.iterdir())) == 1

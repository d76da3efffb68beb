"""The commands of circuits, on the bundled model and on misuse."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

from headscope.cli import build
from headscope.errors import BadInput


def run(*words: str):
    return CliRunner().invoke(build(), list(words), catch_exceptions=True)


def test_a_masked_word_is_taken_apart_on_the_command_line(tmp_path) -> None:
    result = run(
        "attribute", "I went to the [MASK] .", "--target", "door", "-o", str(tmp_path / "a.csv")
    )
    assert result.exit_code == 0, result.output
    assert "What made “door”" in result.output and "unexplained" in result.output
    table = pd.read_csv(tmp_path / "a.csv")
    assert {"head", "mlp", "embedding", "bias"} == set(table["part"])


def test_copying_of_every_head_is_written(tmp_path) -> None:
    result = run("circuits", "copying", "-o", str(tmp_path / "c.csv"))
    assert result.exit_code == 0, result.output
    assert pd.read_csv(tmp_path / "c.csv")["value"].between(-1, 1).all()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("attribute", "a", "-o", "a.txt"), "not as a.txt"),
        (("patch", "nowhere.jsonl", "-o", "p.csv"), "no file nowhere.jsonl"),
        (("patch", "names", "-o", "p.csv", "--what", "souls"), "--what is heads"),
        (("circuits", "magic", "-o", "c.csv"), "copying"),
    ],
)
def test_misuse_is_told_before_a_model_is_opened(words, sentence) -> None:
    result = run(*words)
    assert isinstance(result.exception, BadInput) and sentence in str(result.exception)

"""The commands of circuits, on the bundled model and on misuse."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

import headscope as hs
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


def test_a_score_is_explained_on_the_command_line_and_verified_only_when_asked() -> None:
    plain = run("score", "The cat sat on the mat .", "--layer", "1", "--head", "2")
    assert plain.exit_code == 0, plain.output
    refused = run("score", "The cat sat .", "--layer", "1", "--head", "2", "--verify", "-1")
    assert isinstance(refused.exception, BadInput)


def test_copying_of_every_head_is_written(tmp_path) -> None:
    result = run("circuits", "copying", "-o", str(tmp_path / "c.csv"))
    assert result.exit_code == 0, result.output
    assert pd.read_csv(tmp_path / "c.csv")["value"].between(-1, 1).all()


def test_a_table_of_prompts_is_attributed_on_the_command_line(tmp_path) -> None:
    prompts = ["I went to the {S} and the [MASK] .", "The {S} is by the [MASK] ."]
    rows = {"prompt": prompts * 3, "S": ["dog", "cat", "car", "key", "book", "tree"],
            "answer": ["store"] * 6, "wrong": ["house"] * 6}  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "p.csv", index=False)
    result = run("attribute", str(tmp_path / "p.csv"), "-o", str(tmp_path / "a.csv"))
    assert result.exit_code == 0, result.output
    assert "to 6 prompts" in result.output
    found = pd.read_csv(tmp_path / "a.csv")
    whole = hs.attribute(hs.load(), rows, progress=False).table
    assert set(found["measure"]) == {"logit", "logit:S"}
    assert found["value"].to_numpy() == pytest.approx(whole["value"].to_numpy(), abs=1e-5)


def test_patching_takes_a_metric_and_named_positions_on_the_command_line(tmp_path) -> None:
    pair = {"clean": "I saw the {S} by the [MASK] .", "corrupted": "I saw a {S} by the [MASK] .",
            "answer": "house", "wrong": "river", "S": "dog"}  # fmt: skip
    (tmp_path / "p.jsonl").write_text(json.dumps(pair))
    result = run("patch", str(tmp_path / "p.jsonl"), "--what", "layers", "--metric", "probability",
                 "--positions", "S,end", "-o", str(tmp_path / "p.csv"))  # fmt: skip
    assert result.exit_code == 0, result.output
    assert set(pd.read_csv(tmp_path / "p.csv")["measure"]) == {"patch:S", "patch:end"}


@pytest.mark.parametrize("score", ["positional", "rare_word", "massive_activation"])
def test_what_heads_do_in_texts_is_measured_on_the_command_line(tmp_path, score) -> None:
    table = tmp_path / "c.csv"
    result = run("circuits", score, "--limit", "4", "-o", str(table))
    assert result.exit_code == 0, result.output
    found = pd.read_csv(table)
    assert found["measure"].unique().tolist() == [score] and found["null"].notna().all()
    assert "by chance" in result.output
    layers = hs.load().layers["encoder"]
    assert len(found) == layers * (1 if score == "massive_activation" else 8)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("attribute", "a", "-o", "a.txt"), "not as a.txt"),
        (("patch", "nowhere.jsonl", "-o", "p.csv"), "no file nowhere.jsonl"),
        (("attribute", "nowhere.csv"), "no file nowhere.csv"),
        (("attribute", "nowhere.csv", "-o", "a.html"), "written as .parquet or .csv"),
        (("circuits", "massive_activation", "-o", "c.csv", "--map", "c.svg"), "measure of layers"),
        (
            ("circuits", "positional", "--texts", "no.txt", "-o", "c.csv"),
            "no file or folder no.txt",
        ),
    ],
)
def test_misuse_is_told_before_a_model_is_opened(words, sentence) -> None:
    result = run(*words)
    assert isinstance(result.exception, BadInput) and sentence in str(result.exception)


@pytest.mark.parametrize(
    "words",
    [
        ("patch", "names", "-o", "p.csv", "--what", "souls"),
        ("circuits", "magic", "-o", "c.csv"),
    ],
)
def test_a_choice_that_does_not_exist_is_misuse(words) -> None:
    assert run(*words).exit_code == 2

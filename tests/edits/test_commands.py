"""The commands write tables, and refuse bad input in one sentence."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from headscope import cli
from tests.edits.test_finetune import colours
from tests.tiny import tiny_model, tiny_tokenizer


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A model with a head for two classes, the same pre-trained, and a task file."""
    folder = tmp_path_factory.mktemp("work")
    for name, architecture in (
        ("tuned", "BertForSequenceClassification"),
        ("base", "BertForPreTraining"),
    ):
        tiny_model(architecture).save_pretrained(folder / name)
        tiny_tokenizer().save_pretrained(folder / name)
    task = colours(40, 3)
    rows = "".join(
        f"{text}\t{task.classes[label]}\n"
        for text, label in zip(task.texts, task.labels, strict=True)
    )
    (folder / "task.tsv").write_text("text\tlabel\n" + rows)
    (folder / "texts.txt").write_text("\n".join(task.texts[:12]))
    return folder


def run(monkeypatch, *words) -> int:
    monkeypatch.setattr(sys, "argv", ["headscope", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return int(left.value.code or 0)


def test_ablate_writes_the_map(work, tmp_path, monkeypatch, capsys):
    out, drawn = tmp_path / "a.csv", tmp_path / "a.svg"
    code = run(monkeypatch, "ablate", work / "task.tsv", "--model", work / "tuned", "-o", out,
               "--map", drawn, "--importance")  # fmt: skip
    assert code == 0
    table = pd.read_csv(out)
    assert (table["importance"].notna() == (table["disabled"] == "head")).all()
    assert len(table) == 2 * 4 + 2 and set(table["disabled"]) == {"head", "layer"}
    np.testing.assert_allclose(table["score"], table["baseline"] + table["difference"])
    assert ((table["low"] <= table["difference"]) & (table["difference"] <= table["high"])).all()
    assert drawn.read_text().startswith("<?xml")
    said = capsys.readouterr()
    assert "with nothing disabled" in said.out and str(out) in said.err.replace("\n", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.svg"]


def test_ablate_scores_the_text_itself(work, tmp_path, monkeypatch):
    out = tmp_path / "m.csv"
    code = run(monkeypatch, "ablate", work / "texts.txt", "--model", work / "base", "-o", out,
               "--what", "layers", "--mode", "zero")  # fmt: skip
    assert code == 0 and set(pd.read_csv(out)["metric"]) == {"loss"}


def test_compare_writes_one_row_a_head(work, tmp_path, monkeypatch):
    out = tmp_path / "c.csv"
    code = run(monkeypatch, "compare", work / "base", work / "tuned", work / "texts.txt", "-o", out,
               "--no-statistics")  # fmt: skip
    assert code == 0 and len(pd.read_csv(out)) == 8


def test_finetune_saves_a_model_that_ablate_takes(work, tmp_path, monkeypatch):
    code = run(monkeypatch, "finetune", work / "task.tsv", "--model", work / "base",
               "-o", tmp_path / "new", "--epochs", 1)  # fmt: skip
    assert code == 0 and (tmp_path / "new" / "config.json").exists()
    assert run(monkeypatch, "ablate", work / "task.tsv", "--model", tmp_path / "new",
               "-o", tmp_path / "x.csv", "--what", "layers", "--limit", 8) == 0  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("ablate", "task.tsv", "--model", "tuned", "--text", "review"), "no column 'review'"),
        (("ablate", "nowhere.tsv", "--model", "tuned"), "There is no file"),
        (("ablate", "task.tsv", "--model", "base"), "no classification head"),
        (("ablate", "task.tsv", "--model", "tuned", "--mode", "loud"), "no mode 'loud'"),
        (("ablate", "task.tsv", "--model", "tuned", "--what", "neurons"), "--what is heads"),
        (("ablate", "task.tsv", "--model", "tuned", "--metric", "bleu"), "no metric 'bleu'"),
        (("finetune", "texts.txt", "--model", "base"), "no labels to train on"),
        (("compare", "base", "tuned", "nowhere.txt"), "no file or folder"),
    ],
)
def test_misuse_is_one_sentence_and_exit_code_2(
    work, tmp_path, monkeypatch, capsys, words, sentence
):
    given = [work / word if word in ("task.tsv", "texts.txt", "tuned", "base") else word
             for word in words]  # fmt: skip
    assert run(monkeypatch, *given, "-o", tmp_path / "o.csv") == 2
    said = capsys.readouterr().err
    assert sentence in " ".join(said.split()) and "Traceback" not in said
    assert not (tmp_path / "o.csv").exists()

"""The commands write tables, and refuse bad input in one sentence."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from headscope import cli
from tests.finetuning.test_finetune import colours
from tests.tiny import tiny_model, tiny_tokenizer


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A model with a head for two classes, the same pre-trained, and a task file."""
    folder = tmp_path_factory.mktemp("work")
    for name, architecture in (
        ("tuned", "BertForSequenceClassification"),
        ("base", "BertForPreTraining"),
        ("writer", "GPT2LMHeadModel"),
        ("pairs", "T5ForConditionalGeneration"),
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
    (folder / "wrong.tsv").write_text("review\tstars\n" + rows)
    (folder / "unlabelled.tsv").write_text("text\tlabel\n" + rows + "the cat\t\n")
    (folder / "alike.tsv").write_text("text\tlabel\nthe cat\tyes\nthe dog\tyes\n")
    (folder / "latin.tsv").write_bytes("text\tlabel\ncafé\tyes\n".encode("latin-1"))
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
        (("ablate", "task.tsv", "--model", "base"), "no output layer of classes"),
        (("ablate", "task.tsv", "--model", "tuned", "--mode", "loud"), "no mode 'loud'"),
        (("ablate", "task.tsv", "--model", "tuned", "--what", "neurons"), "--what is heads"),
        (("ablate", "task.tsv", "--model", "tuned", "--metric", "bleu"), "no metric 'bleu'"),
        (("ablate", "wrong.tsv", "--model", "tuned"), "its columns are review, stars: name one"),
        (("ablate", "unlabelled.tsv", "--model", "tuned"), "example 41 has no label"),
        (("ablate", "latin.tsv", "--model", "tuned"), "save it as UTF-8"),
        (("ablate", "task.tsv", "--model", "tuned", "--metric", "pearson"), "does not fit task"),
        (("ablate", "task.tsv", "--model", "tuned", "--metric", "loss"), "does not fit task"),
        (("ablate", "texts.txt", "--model", "base", "--metric", "f1"), "is marked by loss"),
        (
            ("ablate", "task.tsv", "--model", "tuned", "--batch-size", "0"),
            "batch-size is at least 1",
        ),
        (("ablate", "task.tsv", "--model", "tuned", "--limit", "0"), "limit is at least 1"),
        (("ablate", "task.tsv", "--model", "tuned", "--max-tokens", "2"), "at least 8 tokens"),
        (("ablate", "task.tsv", "--model", "tuned", "--map", "m.gif"), "not as gif"),
        (("ablate", "task.tsv", "--model", "tuned", "--device", "gpu"), "no such device"),
        (("ablate", "texts.txt", "--model", "tuned"), "no output layer of words"),
        (
            ("ablate", "texts.txt", "--model", "base", "--task-kind", "next"),
            "choose the kind masked",
        ),
        (("ablate", "texts.txt", "--model", "writer"), "choose the kind next"),
        (("ablate", "texts.txt", "--model", "pairs"), "is an encoder-decoder"),
        (("finetune", "texts.txt", "--model", "base"), "no labels to train on"),
        (("finetune", "wrong.tsv", "--model", "base"), "name one with --text"),
        (("finetune", "alike.tsv", "--model", "base"), "has the label 'yes'"),
        (("finetune", "task.tsv", "--model", "base", "--metric", "pearson"), "does not fit"),
        (("finetune", "task.tsv", "--model", "base", "--epochs", "0"), "at least 1 epoch"),
        (("finetune", "task.tsv", "--model", "base", "--batch-size", "0"), "at least 1 example"),
        (("finetune", "task.tsv", "--model", "base", "--learning-rate", "-1"), "above 0"),
        (("finetune", "task.tsv", "--model", "base", "--warmup", "7"), "share of 0 to 1"),
        (("finetune", "task.tsv", "--model", "base", "--dropout", "3"), "below 1"),
        (("finetune", "task.tsv", "--model", "base", "--device", "gpu"), "no such device"),
        (("finetune", "task.tsv", "--model", "task.tsv"), "is a file"),
        (("compare", "base", "tuned", "nowhere.txt"), "no file or folder"),
        (("compare", "base", "writer", "texts.txt"), "base has encoder attention"),
        (("compare", "base", "tuned", "texts.txt", "--limit", "0"), "limit is at least 1"),
        (("compare", "base", "tuned", "texts.txt", "--max-tokens", "2"), "at least 8 tokens"),
        (("compare", "base", "tuned", "texts.txt", "--map", "m.gif"), "not as gif"),
    ],
)
def test_misuse_is_one_sentence_and_exit_code_2(
    work, tmp_path, monkeypatch, capsys, words, sentence
):
    given = [work / word if (work / word).exists() else word for word in words]
    assert run(monkeypatch, *given, "-o", tmp_path / "o.csv") == 2
    said = capsys.readouterr().err
    assert sentence in " ".join(said.split()) and "Traceback" not in said
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("words", [("ablate", "task.tsv", "--model", "tuned"),
                                   ("compare", "base", "tuned", "texts.txt")])  # fmt: skip
def test_a_table_is_written_by_its_ending_or_not_at_all(work, tmp_path, monkeypatch, capsys, words):
    given = [work / word if (work / word).exists() else word for word in words]
    assert run(monkeypatch, *given, "-o", tmp_path / "o.xlsx") == 2
    assert "is written as .csv or .parquet" in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []
    assert run(monkeypatch, *given, "-o", tmp_path / "o.parquet") == 0
    assert len(pd.read_parquet(tmp_path / "o.parquet")) >= 8


def test_an_encoder_decoder_is_compared_with_itself(work, tmp_path, monkeypatch):
    out = tmp_path / "c.csv"
    assert run(monkeypatch, "compare", work / "pairs", work / "pairs", work / "texts.txt",
               "-o", out) == 0  # fmt: skip
    np.testing.assert_allclose(pd.read_csv(out)["cosine"], 1, atol=1e-5)

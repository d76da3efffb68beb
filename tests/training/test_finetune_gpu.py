"""The command behind docs/performance/finetuning, on a tiny model and a task of a few lines."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from tests.edits.test_sweep import PAIRS, TEXTS
from tests.tiny import tiny_scope
from training.finetune_gpu import report, run


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Two seeds at two learning rates, each in a folder of its own."""
    scope = tiny_scope("BertForPreTraining")
    scope.model.save_pretrained(tmp_path / "model")
    scope.tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "glue/RTE").mkdir(parents=True)
    lines = [
        f"{n}\t{text}\t{pair}\t{'entailment' if n % 2 else 'not_entailment'}"
        for n, (text, pair) in enumerate(zip(TEXTS * 4, PAIRS * 4, strict=True))
    ]
    for part in ("train", "dev"):
        text = "\n".join(["index\tsentence1\tsentence2\tlabel", *lines])
        (tmp_path / f"glue/RTE/{part}.tsv").write_text(text + "\n")
    for rate in ("5e-5", "3e-4"):
        for seed in (0, 1):
            arguments = (
                f"run --glue {tmp_path}/glue --out {tmp_path}/results/{rate}-{seed} "
                f"--model {tmp_path}/model --seeds 1 --first-seed {seed} --rate {rate} "
                "--epochs 1 --tasks RTE --keep none --copies 2"
            )
            monkeypatch.setattr(sys, "argv", arguments.split())
            run.main()
    return tmp_path / "results"


def test_runs_are_kept_and_become_tables_and_figures(results, tmp_path, monkeypatch, capsys):
    kept = json.loads((results / "3e-4-1/results.json").read_text())
    assert kept["recipe"]["learning_rate"] == 3e-4 and kept["seeds"] == [1]
    assert kept["runs"][0]["task"] == "RTE" and "from_scratch" not in kept["runs"][0]
    first = json.loads((results / "5e-5-0/results.json").read_text())
    assert 0 <= first["runs"][0]["from_scratch"]["accuracy"] <= 1
    with np.load(results / "5e-5-0/answers.npz") as answers:
        assert answers["RTE/0/edited"].shape == (2 * 4 + 2, 20, 2)  # every head, every layer
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["report", str(results), "-o", str(out)])
    report.main()
    said = capsys.readouterr().out
    assert "random weights at 5e-05 | fine-tuned at 5e-05" in said and "0.0003" in said
    assert said.count("| RTE | 1 |") == 2  # a row of the second seed for either rate
    written = {path.name for path in out.iterdir()}
    figures = {
        f"{what}-{rate}.svg" for what in ("change", "disabled") for rate in ("5e-05", "0.0003")
    }
    assert written == {"tables.md", *figures}


def test_nothing_to_report_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["report", str(tmp_path), "-o", str(tmp_path / "out")])
    with pytest.raises(SystemExit, match=r"no results\.json"):
        report.main()

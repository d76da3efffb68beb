"""Tokenizer, pairs, steps, checkpoint, resume, evaluation, export, and transformers opens it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForPreTraining, AutoTokenizer

from training import parcel
from training.export import export
from training.schedule import Schedule
from training.train import main

STEPS = 100


def settings(staged: Path, tokenizer_folder: Path, out: Path, *more: str) -> list[str]:
    text = (
        f"--staged {staged} --tokenizer {tokenizer_folder} -o {out} --batch-tokens 1024 --layers 2 "
        "--heads 2 --hidden 32 --inner 64 --compile off --device cpu --log-every 10 --warmup 10 "
        "--lr 4e-3 --survey-inputs 8 --eval-tokens 1024 --eval-lengths 32,64 "
        "--lengths 32:0.5,64:0.5 --final-lengths 64:1.0"
    )
    return [*text.split(), *more]


@pytest.fixture(scope="module")
def run(staged: Path, tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    main(settings(staged, tokenizer_folder, out, "--steps", str(STEPS)))
    return out


def test_training_learns_and_reports_beside_its_baselines(run: Path) -> None:
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert log[-1]["word_loss"] < 0.88 * log[0]["word_loss"]
    results = json.loads((run / "results.json").read_text())
    assert results["steps"] == STEPS and results["tokens"] == STEPS * 1024
    for row in results["held_out"].values():
        assert row["accuracy"] > row["unigram_accuracy"]
        assert 1 < row["bigram_perplexity"] < row["unigram_perplexity"]
    best = results["patterns"]["64"]["best"]["next_word"]
    assert set(best) >= {"layer", "head", "score", "uniform", "lift", "null", "null_best"}
    surveys = [json.loads(line) for line in (run / "surveys.jsonl").read_text().splitlines()]
    assert [row["step"] for row in surveys] == [0, 50, 100, 100]  # 100 is kept, and is the last


def test_a_resumed_run_ends_as_an_unbroken_one(
    run: Path, staged: Path, tokenizer_folder: Path, tmp_path: Path
) -> None:
    import training.train as train

    broken = train.Run(
        train.options_from(settings(staged, tokenizer_folder, tmp_path, "--steps", str(STEPS)))
    )
    broken.encoder.train()
    while broken.step < 50:
        broken.one_step()
    broken.keep()
    main(settings(staged, tokenizer_folder, tmp_path, "--steps", str(STEPS)))
    ours, truth = load_file(tmp_path / "model.safetensors"), load_file(run / "model.safetensors")
    for name, weight in truth.items():
        torch.testing.assert_close(ours[name], weight, rtol=1e-2, atol=1e-3)


def test_a_time_budget_ends_on_time_with_the_rate_at_zero(
    staged: Path, tokenizer_folder: Path, tmp_path: Path
) -> None:
    main(settings(staged, tokenizer_folder, tmp_path, "--seconds", "2"))
    results = json.loads((tmp_path / "results.json").read_text())
    schedule = Schedule(**results["schedule"])
    assert schedule.end == results["steps"]
    assert schedule.rate(results["steps"]) == 0


def test_transformers_opens_the_export(run: Path, tokenizer_folder: Path, tmp_path: Path) -> None:
    parcel.pack(run, tmp_path / "parcel")
    parcel.join(tmp_path / "parcel", tmp_path / "joined.safetensors")
    export(tmp_path / "joined.safetensors", tokenizer_folder, tmp_path / "folder", heads=2)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "folder")
    model, report = AutoModelForPreTraining.from_pretrained(
        tmp_path / "folder", output_loading_info=True
    )
    assert not report["unexpected_keys"] and not report["mismatched_keys"]
    assert type(model).__name__ == "BertForPreTraining"
    encoded = tokenizer("Anna went to the [MASK].", "Anna liked it.", return_tensors="pt")
    assert encoded["token_type_ids"].sum() > 0
    assert model(**encoded).prediction_logits.shape[-1] == len(tokenizer)


def test_the_schedule_warms_up_holds_and_ends_at_zero() -> None:
    schedule = Schedule.for_steps(1.0, warmup=10, decay_share=0.4, steps=100)
    assert schedule.rate(0) == pytest.approx(0.1)
    assert schedule.rate(9) == schedule.rate(59) == 1.0
    assert schedule.rate(80) == pytest.approx(0.5)
    assert schedule.end == 100 and schedule.rate(100) == 0
    schedule.decay_from(80, 10)
    assert schedule.rate(80) == pytest.approx(0.5) and schedule.rate(85) == pytest.approx(0.25)
    assert schedule.end == 90

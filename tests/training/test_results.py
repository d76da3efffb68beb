"""Kept results, and the page and card made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from training.condense import checkpoints
from training.encoder import Encoder, Shape
from training.evaluation.patterns import Tally, targets
from training.evaluation.survey import tables
from training.pairs import Stream
from training.report.page import TEXTS, filled, load
from training.resting import AT_ONCE, RESTING, open_encoder, resting
from training.tokenizer import load_vocabulary


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_table_of_the_page_and_the_card_is_that_of_the_results(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "<!-- table: held_out -->" in text
    assert filled(text, load()) == text, "run python -m training.report"


def test_the_results_hold_what_is_asked_of_them() -> None:
    results = load()
    assert len(results["checkpoints"]["checkpoints"]) >= 8
    for row in results["final"]["held_out"].values():
        assert row["accuracy"] > row["bigram_accuracy"] > row["unigram_accuracy"]
        assert row["perplexity"] < row["bigram_perplexity"] < row["unigram_perplexity"]
    for found in results["final"]["patterns"].values():
        assert len(found["best"]) == 8
        for best in found["best"].values():
            assert best["score"] > best["null_best"] >= best["null"] * 0.99


def stretch(folder: Path, steps: list[int], score: float) -> Path:
    """A run's logs: a rate that falls in its second half, one pattern."""
    folder.mkdir()
    best = {"layer": 0, "head": 1, "score": score, "uniform": 0.1, "mean_of_heads": 0.2}
    row: dict[str, Any] = {"held_out": {}, "length": 64, "inputs": 8, "best_on_masked_inputs": {}}
    row |= {"best": {"next_word": best}, "heads": {"next_word": [[0.0, score]]}}
    lines = [json.dumps(row | {"step": step, "tokens": step * 10}) for step in steps]
    (folder / "surveys.jsonl").write_text("\n".join(lines))
    last = max(steps)
    log = [
        {"step": s, "seconds": s, "tokens_a_second": 5, "lr": 1.0 if s <= last // 2 else 0.5}
        for s in range(1, last + 1)
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, log)))
    return folder


def test_stretches_are_counted_on_and_cut_where_they_were_left(tmp_path: Path) -> None:
    first = stretch(tmp_path / "first", [0, 4, 8, 100], 0.25)
    second = stretch(tmp_path / "second", [0, 4, 12], 0.5)
    ending = {"next_word": {"layer": 0, "head": 1}}
    found = checkpoints([(first, 8), (second, None)], ending)
    rows = found["checkpoints"]
    assert [row["step"] for row in rows] == [0, 4, 8, 12, 20]
    assert [row["tokens"] for row in rows] == [0, 40, 80, 120, 200]
    assert [row["stretch"] for row in rows] == [1, 1, 1, 2, 2]
    assert [row["ending"]["next_word"] for row in rows] == [0.25] * 3 + [0.5] * 2
    assert [part["decay_from"] for part in found["stretches"]] == [None, 6]


@torch.no_grad()
def test_mass_at_rest_is_what_the_survey_counts(
    staged: Path, tokenizer_folder: Path, tmp_path: Path
) -> None:
    vocabulary = load_vocabulary(tokenizer_folder)
    torch.manual_seed(0)
    encoder = Encoder(Shape(len(vocabulary), layers=2, heads=4, hidden=32, inner=64))
    for parameter in encoder.parameters():
        parameter.mul_(8)  # heads that differ
    save_file(encoder.to_bert(), tmp_path / "weights.safetensors")
    again = open_encoder(tmp_path / "weights.safetensors", len(vocabulary), heads=4)
    held_out = Stream.open(staged, "held")
    found = resting(again, held_out, vocabulary, length=32, tokens=AT_ONCE)

    generator = torch.Generator().manual_seed(30_000 + 32)
    pairs = held_out.draw(AT_ONCE // 32, 32, generator)
    every = targets(pairs.tokens, pairs.segments, *tables(vocabulary, "cpu"))
    tally = Tally(2, 4)
    tally.count({name: every[name] for name in RESTING})
    encoder.eval().encode(
        pairs.tokens,
        pairs.segments,
        lambda layer, attention: tally.add(layer, attention, {n: every[n] for n in RESTING}),
    )
    for name in ("delimiter", "punctuation"):
        at = found[name]["layer"], found[name]["head"]
        for part in RESTING:
            assert found[name][part] == pytest.approx(float(tally.scores()[part][at]), abs=1e-5)
        assert found[name][name] == pytest.approx(float(tally.scores()[name].max()), abs=1e-5)
        assert found[name]["uniform"] == pytest.approx(tally.uniform_scores()[name])

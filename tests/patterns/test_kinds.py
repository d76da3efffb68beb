"""Five kinds of map: the shipped network is small, calibrated, and blind to length."""

from __future__ import annotations

import csv
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import torch

from headscope.patterns.kinds import KINDS, classify, map_kinds, shares
from headscope.patterns.kinds.classify import CHANNELS, SIZE, MapClassifier, picture
from headscope.text.tokens import Tokens
from training.kinds.rules import masses, rule

LABELS = Path(__file__).parents[2] / "training" / "kinds"


def soft(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores - scores.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def ideal(kind: str, n: int, seed: int = 0) -> np.ndarray:
    """What each kind looks like when there is no doubt."""
    noise = np.random.default_rng(seed).normal(0, 0.3, (n, n))
    place = np.arange(n)
    if kind == "vertical":
        return soft(noise + 6 * np.isin(place, [0, n - 1])[None])
    if kind == "diagonal":
        return soft(noise + 8 * (place[:, None] - place[None] == 1))
    if kind == "block":
        half = (place > n // 2).astype(int)
        return soft(noise * 0.3 + 4 * (half[:, None] == half[None]))
    diagonal = place[:, None] - place[None] == 1
    return soft(noise + 6 * diagonal + 6 * (place == 0)[None])


@pytest.mark.parametrize(
    ("kind", "n"),
    # one thin column beside a diagonal fades in longer maps; training/kinds/README.md says so
    [(kind, n) for kind in KINDS[:4] for n in (16, 40, 96) if (kind, n) != (KINDS[2], 96)],
)
def test_a_map_without_doubt_is_recognised_at_any_length(kind: str, n: int) -> None:
    probabilities = classify([ideal(kind, n, seed) for seed in range(3)])
    assert [KINDS[best] for best in probabilities.argmax(1)] == [kind] * 3


def test_probabilities_sum_to_one_and_no_maps_give_none() -> None:
    found = classify([ideal("diagonal", 9), ideal("block", 70)])
    assert found.sum(1) == pytest.approx(np.ones(2), abs=1e-5)
    assert classify([]).shape == (0, len(KINDS))


def test_the_network_has_eight_convolutions_and_at_most_a_megabyte() -> None:
    network = MapClassifier()
    assert sum(isinstance(layer, torch.nn.Conv2d) for layer in network.modules()) == 8
    stored = resources.files("headscope.patterns.kinds") / "weights.safetensors"
    assert len(stored.read_bytes()) <= 1_000_000


def test_pictures_have_one_size_and_uniform_attention_has_no_lift() -> None:
    for n in (5, 64, 200):
        drawn = picture(np.full((n, n), 1 / n))
        assert drawn.shape == (CHANNELS, SIZE, SIZE)
        assert drawn[1].abs().max() < 1e-5


def test_every_head_of_a_reading_gets_a_kind_and_shares_sum_to_one(tiny_bert) -> None:
    readings = [tiny_bert.read("i went to the store ."), tiny_bert.read("the cat sat .")]
    frame = map_kinds(readings[0])
    assert len(frame) == tiny_bert.layers["encoder"] * tiny_bert.heads["encoder"]
    of_heads = shares(readings)
    assert (of_heads["documents"] == 2).all()
    assert of_heads[list(KINDS)].sum(axis=1).to_numpy() == pytest.approx(np.ones(len(of_heads)))


def test_the_rules_follow_their_text() -> None:
    words = [f"w{i}" for i in range(24)]
    text = ["[CLS]", *words[:12], "[SEP]", *words[12:], "[SEP]"]
    tokens = Tokens.plain(text, sentence_b_start=14)
    n = len(tokens)
    on_specials = np.full((n, n), 0.01)
    on_specials[:, ~tokens.content] = (1 - 0.01 * tokens.content.sum()) / 3
    assert rule(masses(on_specials, tokens)) == "vertical"
    shifted = np.eye(n, k=-1)
    shifted[0, 0] = 1
    assert rule(masses(shifted, tokens)) == "diagonal"
    own = tokens.segments[:, None] == tokens.segments[None]
    assert rule(masses(own / own.sum(1, keepdims=True), tokens)) == "block"
    assert rule(masses(np.full((n, n), 1 / n), tokens)) == "heterogeneous"


def test_the_labels_are_enough_and_name_texts_and_heads_alone() -> None:
    if not LABELS.exists():
        pytest.skip("the labels are part of a checkout")
    with (LABELS / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 400
    assert {row["label"] for row in rows} == set(KINDS)
    assert len({row["model"] for row in rows}) >= 4
    assert set(rows[0]) == {"model", "layer", "head", "text", "rule", "label"}
    places = {(row["model"], row["layer"], row["head"], row["text"]) for row in rows}
    assert len(places) == len(rows)
    with (LABELS / "second.csv").open() as file:
        second = list(csv.DictReader(file))
    assert len(second) >= 100


def test_no_fold_shares_a_head_or_a_text_between_training_and_test() -> None:
    if not LABELS.exists():
        pytest.skip("the labels are part of a checkout")
    from training.kinds import labels
    from training.kinds.folds import folds

    frame = labels.read()
    heads = list(zip(frame["model"], frame["layer"], frame["head"], strict=True))
    tested = 0
    for train, test in folds(frame):
        assert not {heads[i] for i in train} & {heads[i] for i in test}
        assert not set(frame["text"].iloc[train]) & set(frame["text"].iloc[test])
        tested += len(test)
    assert tested == len(frame)

"""A label of one text has enough queries behind it, and random attention gets none."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from planted import pair, plant, random_attention, repeats, tokens

import headscope as hs
from headscope.patterns.labels import in_order, quick_table, with_corpus
from headscope.patterns.support import LEAST, tails
from headscope.reading import LayerAttention, Part, Reading
from headscope.statistics.features.grid import grid_of
from headscope.views.shared.labels import as_labels, labels_for

HEADS = 12
TEXTS = (
    "The old keeper lit the lamp every evening, and the ships far out knew the rocks were near.",
    "She put the bread in the basket, the basket on the table, and called the children to eat.",
)


def reading_of(weights: torch.Tensor, text, causal: bool) -> Reading:
    kind = "decoder" if causal else "encoder"
    layer = LayerAttention(0, weights=weights[0].numpy())
    return Reading({kind: Part(kind, text, text, (layer,), causal)}, "made up")


def test_random_attention_gets_hardly_any_label() -> None:
    rng = np.random.default_rng(0)
    labelled = heads = 0
    for seed in range(200):
        causal, length = bool(seed % 2), int(rng.integers(4, 41))
        text = repeats(seed, max(1, length // 3)) if causal else pair(seed, max(1, length // 2))
        grid = grid_of([text], causal=causal)
        weights = random_attention(grid, HEADS, seed, sharpness=float(rng.uniform(0.5, 8)))
        found = in_order(quick_table(reading_of(weights, text, causal)))
        labelled += found.groupby(["layer", "head"]).ngroups if len(found) else 0
        heads += HEADS
    assert labelled <= heads / 100


def test_a_planted_head_is_labelled_with_its_count() -> None:
    text = pair(3)
    grid = grid_of([text], causal=False)
    weights = random_attention(grid, 2, 5)
    weights[:, 1] = plant("previous_word", weights[:, 1], grid, 0.9)
    found = in_order(quick_table(reading_of(weights, text, False)))
    (label,) = as_labels(found, "encoder")
    sentences = [text.segments[i] for i in range(len(text)) if text.classes[i] >= 3]
    asked = sum(one == two for one, two in pairwise(sentences))
    assert (label.head, label.text) == (1, "previous word")
    assert label.evidence == f"{asked} of {asked} queries of this text"


def test_a_head_that_always_looks_at_one_word_is_no_induction_head() -> None:
    text = tokens(["a", "the", "b"] + ["a", "c"] * 8, [0] * 19, list(range(19)))
    weights = torch.full((1, 1, 19, 19), 0.0)
    for query in range(19):
        weights[0, 0, query, min(query, 1)] = 1.0
    found = in_order(quick_table(reading_of(weights, text, True)))
    assert "induction" not in set(found["pattern"])


def test_a_sink_is_named_after_what_the_head_does_with_the_rest() -> None:
    text = repeats(1, 12, 1)
    weights = torch.zeros(1, 1, 12, 12)
    for query in range(12):
        weights[0, 0, query, 0] += 0.8
        weights[0, 0, query, max(0, query - 1)] += 0.2
    found = in_order(quick_table(reading_of(weights, text, True)))
    assert list(found["pattern"]) == ["previous_word", "sink"]
    (label,) = as_labels(found, "decoder")
    assert label.evidence.endswith("with what its sink leaves") and not label.rests
    assert label.score > 0.9


def test_the_more_general_of_two_that_tie_comes_first() -> None:
    text = tokens([f"p{i}" for i in range(16)], [0] * 16, [i // 2 for i in range(16)])
    weights = torch.zeros(1, 1, 16, 16)
    for query in range(16):
        weights[0, 0, query, max(0, query - 1)] = 1.0
    found = in_order(quick_table(reading_of(weights, text, True)))
    assert found.iloc[0]["pattern"] == "previous_word"


def test_a_text_too_short_has_no_label_of_its_own() -> None:
    scope = hs.load()
    assert hs.quick_labels(scope.read("the cat")).empty
    shown = labels_for(scope.read("the cat"))
    assert shown is not None and (shown["documents"] > 1).all()


def test_the_corpus_names_what_the_text_does_not() -> None:
    corpus = hs.bundled_labels()
    here = hs.quick_labels(hs.load().read(TEXTS[0]))
    shown = with_corpus(here, corpus)
    assert not shown.duplicated(["kind", "layer", "head"]).any()
    heads = {(row.layer, row.head) for row in corpus.itertuples()}
    assert heads <= {(row.layer, row.head) for row in shown.itertuples()}


def test_tails_are_those_of_a_simulation() -> None:
    rng = np.random.default_rng(1)
    chance = rng.uniform(0, 0.6, (3, 9))
    counts = np.array([2, 4, 5])
    drawn = (rng.random((200_000, 3, 9)) < chance).sum(-1)
    np.testing.assert_allclose(tails(chance, counts), (drawn >= counts).mean(0), atol=5e-3)


def _named(corpus) -> set[tuple[int, int, str]]:
    return {(row.layer, row.head, row.label) for row in corpus.itertuples()}


def _labels_say_what_they_rest_on(scope: hs.Scope, corpus=None) -> None:
    known = set() if corpus is None else _named(corpus)
    for text in TEXTS:
        reading = scope.read(text)
        labels = as_labels(labels_for(reading), scope.kinds[0])
        assert labels
        good = 0
        for one in labels:
            own = re.match(r"(\d+) of (\d+) queries of this text", one.evidence)
            of_text = own is not None and LEAST <= int(own[1]) <= int(own[2])
            good += of_text or (one.layer, one.head, one.text) in known
        assert good >= 0.9 * len(labels)


def test_labels_of_the_bundled_model_say_what_they_rest_on() -> None:
    _labels_say_what_they_rest_on(hs.load(), hs.bundled_labels())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_labels_say_what_they_rest_on(name, request) -> None:
    _labels_say_what_they_rest_on(request.getfixturevalue(name))


def test_a_long_text_s_label_says_that_only_some_queries_were_tested() -> None:
    length = 700  # more than 2^18 pairs
    text = tokens([f"p{i}" for i in range(length)], [0] * length, list(range(length)))
    weights = torch.zeros(1, 1, length, length)
    for query in range(length):
        weights[0, 0, query, max(0, query - 1)] = 1.0
    (label,) = as_labels(in_order(quick_table(reading_of(weights, text, True))), "decoder")
    assert re.fullmatch(r"(\d+) of \1 tested queries of this text", label.evidence)

"""Heads of two readings: how alike they attend, and which is which."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import headscope as hs
from headscope.statistics.distances.alike import Alike, by_distance, overlap, same_words

TEXT = "The cat sat on the mat and the dog ran to the house."


def given(weights: np.ndarray) -> hs.Reading:
    words = ["[CLS]", "straw", "##berries", "red", "[SEP]"]
    return hs.Reading.from_attention([layer[None] for layer in weights], words)


def softmax(scores: np.ndarray) -> np.ndarray:
    made = np.exp(scores - scores.max(-1, keepdims=True))
    return (made / made.sum(-1, keepdims=True)).astype(np.float32)


def by_hand(one: np.ndarray, two: np.ndarray) -> float:
    """Of two maps of [CLS] straw ##berries red [SEP]: words strawberries and red."""
    total = 0.0
    for rows in ([1, 2], [3]):
        found = []
        for weights in (one, two):
            row = weights[rows].astype(float).mean(0)
            words = np.array([row[1] + row[2], row[3]])
            found.append(words / words.sum())
        total += np.sqrt(found[0] * found[1]).sum()
    return total / 2


def test_likeness_is_the_overlap_of_words_by_hand():
    random = np.random.default_rng(0)
    one, two = (softmax(random.normal(size=(2, 3, 5, 5))) for _ in range(2))
    found = overlap(given(one).part(), given(two).part())
    for (i, mine), (j, theirs) in itertools.product(
        enumerate(found.first), enumerate(found.second)
    ):
        assert found.likeness[i, j] == pytest.approx(by_hand(one[mine], two[theirs]), abs=1e-6)


def test_permuted_heads_are_found_again_and_are_wholly_alike(tiny_bert):
    part = tiny_bert.read(TEXT).part()
    order = [2, 0, 3, 1]
    other = hs.Reading.from_attention(
        [part.weights(layer)[None, order] for layer in part.numbers], part.query
    ).part()
    for (layer, head), (theirs, likeness) in overlap(part, other).matched().items():
        assert theirs == (layer, order.index(head))
        assert likeness == pytest.approx(1.0, abs=1e-5)


def test_the_pairing_has_the_largest_sum_there_is():
    random = np.random.default_rng(1)
    likeness = random.random((4, 4))
    heads = tuple((0, head) for head in range(4))
    pairs = Alike(heads, heads, likeness).matched()
    best = max(
        sum(likeness[i, j] for i, j in enumerate(order))
        for order in itertools.permutations(range(4))
    )
    assert sum(value for _, value in pairs.values()) == pytest.approx(best)


def test_words_are_the_same_however_they_are_cut(tiny_bert, tiny_gpt2):
    one, two = tiny_bert.read(TEXT).part(), tiny_gpt2.read(TEXT).part()
    assert same_words(one, two)
    assert not same_words(one, tiny_bert.read("The dog ran.").part())


def looking(offset: int, words: int, mass: float) -> np.ndarray:
    """A head that gives `mass` to the word `offset` away, the rest to the first special token."""
    weights = np.zeros((words + 2, words + 2), np.float32)
    for at in range(words + 2):
        there = at + offset if 1 <= at + offset <= words else 0
        weights[at, there] += mass
        weights[at, 0] += 1 - mass
    return weights


def test_next_word_heads_are_alike_on_different_texts_and_unlike_previous_word_heads():
    def read(words: list[str], mass: float) -> hs.Reading:
        maps = np.stack([looking(offset, len(words), mass) for offset in (1, -1)])
        return hs.Reading.from_attention([maps[None]], ["[CLS]", *words, "[SEP]"])

    one = read("a red dog ran home".split(), 0.9).part()
    two = read("nobody in that old house ever slept well".split(), 0.4).part()
    found = by_distance(one, two).likeness
    assert found[0, 0] > 0.95 and found[1, 1] > 0.95
    assert found[0, 1] < 0.05 and found[1, 0] < 0.05

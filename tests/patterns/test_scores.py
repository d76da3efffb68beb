"""Every pattern score finds the head it was planted in, and its null is what permuting gives."""

from __future__ import annotations

import numpy as np
import pytest

import planted
from headscope.patterns.pattern import MassPattern, RankPattern
from headscope.patterns.scores import pattern_named, patterns

NAMES = sorted(patterns())


@pytest.mark.parametrize("name", NAMES)
def test_the_planted_head_ranks_first(name: str) -> None:
    first = 0
    for seed in range(20):
        grid = planted.grid(name, seed)
        weights = planted.random_attention(grid, 12, seed)
        place = seed % 12
        weights[place] = planted.plant(name, weights[place], grid)
        scores = patterns()[name].score(weights, grid)
        assert scores is not None
        first += int(np.argmax(scores.score) == place)
    assert first == 20


@pytest.mark.parametrize("name", NAMES)
def test_the_null_is_the_mean_and_variance_over_permutations_of_the_keys(name: str) -> None:
    pattern, grid = patterns()[name], planted.grid(name, 3)
    weights = planted.random_attention(grid, 2, 3, sharpness=1.0)
    scores = pattern.score(weights, grid)
    assert scores is not None
    pool = grid.visible
    if isinstance(pattern, MassPattern):
        aim = pattern.targets(grid)
        assert aim is not None
        pool = aim.pool
    elif isinstance(pattern, RankPattern):
        related = pattern.relation(grid)
        assert related is not None
        pool = related[1]
    rng = np.random.default_rng(0)
    drawn = np.empty((500 if isinstance(pattern, RankPattern) else 1500, 2))
    shuffled = weights.copy()
    for trial in range(len(drawn)):
        for i in range(len(pool)):
            keys = np.flatnonzero(pool[i])
            shuffled[:, i, keys] = weights[:, i, rng.permutation(keys)]
        again = pattern.score(shuffled, grid)
        assert again is not None
        drawn[trial] = again.score
    spread = drawn.std(0)
    assert np.abs(drawn.mean(0) - scores.null).max() < 5 * spread.max() / np.sqrt(len(drawn)) + 1e-3
    # the sampling error of a variance from 500 draws is about 6 %; bag of words adds the
    # second-order terms its closed form leaves out
    assert np.allclose(drawn.var(0), scores.variance, rtol=0.2)


@pytest.mark.parametrize("name", [n for n in NAMES if isinstance(patterns()[n], MassPattern)])
def test_uniform_attention_scores_its_own_uniform_and_has_lift_one(name: str) -> None:
    grid = planted.grid(name, 5)
    even = grid.visible / grid.visible.sum(1, keepdims=True)
    scores = patterns()[name].score(even[None].astype(np.float32), grid)
    assert scores is not None
    assert scores.score[0] == pytest.approx(scores.uniform[0], rel=1e-5)


def test_a_score_is_the_mean_target_mass_computed_by_hand() -> None:
    grid = planted.grid("next_word", 1)
    weights = planted.random_attention(grid, 1, 1)
    row = grid.query
    by_hand = [
        weights[0, i, i + 1]
        for i in range(len(row) - 1)
        if row.content[i] and row.content[i + 1] and row.segments[i] == row.segments[i + 1]
    ]
    scores = patterns()["next_word"].score(weights, grid)
    assert scores is not None
    assert scores.score[0] == pytest.approx(np.mean(by_hand), rel=1e-6)


def test_other_sentence_null_is_cross_mass_times_copies_over_words_there() -> None:
    grid = planted.grid("other_sentence", 2)
    weights = planted.random_attention(grid, 1, 2)[0]
    row = grid.query
    words = row.content
    expected: list[float] = []
    for i in np.flatnonzero(words):
        there = words & (row.segments != row.segments[i])
        copies = there & (np.array(row.labels) == row.labels[i])
        if copies.any():
            expected.append(weights[i, there].sum() * copies.sum() / there.sum())
    scores = patterns()["other_sentence"].score(weights[None], grid)
    assert scores is not None
    assert scores.null[0] == pytest.approx(np.mean(expected), rel=1e-5)


def test_a_pattern_is_undefined_rather_than_zero_where_it_cannot_occur() -> None:
    alone = planted.tokens(["[CLS]", "a", "b", "[SEP]"], [0, 0, 0, 0], [-1, 0, 1, -1])
    grid = planted.grid_of(alone)
    weights = planted.random_attention(grid, 1, 0)
    for name in ("identical_word", "other_sentence", "bag_of_words", "induction", "first_token"):
        assert patterns()[name].score(weights, grid) is None


def test_an_unknown_pattern_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no pattern 'sideways'; the patterns are .*next_word"):
        pattern_named("sideways")

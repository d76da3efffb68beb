"""Every pattern score finds the head it was planted in, and its null is what permuting gives."""

from __future__ import annotations

import numpy as np
import planted
import pytest
import torch

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.map_scores import score_maps
from headscope.patterns.pattern import pattern_named, patterns
from headscope.patterns.rank_correlation import RankPattern, Relation
from headscope.patterns.token_pairs import TokenPairs
from headscope.statistics.features.grid import grid_of

NAMES = sorted(patterns())


@pytest.mark.parametrize("name", NAMES)
def test_the_planted_head_ranks_first(name: str) -> None:
    first = 0
    for seed in range(20):
        grid = planted.grid(name, seed)
        weights = planted.random_attention(grid, 12, seed)
        place = seed % 12
        weights[:, place] = planted.plant(name, weights[:, place], grid)
        scores = score_maps(planted.pattern(name), weights, grid)
        assert scores is not None
        first += int(scores.score[0].argmax() == place)
    assert first == 20


@pytest.mark.parametrize("name", NAMES)
def test_the_null_is_the_mean_and_variance_over_permutations_of_the_keys(name: str) -> None:
    pattern, grid = planted.pattern(name), planted.grid(name, 3)
    weights = planted.random_attention(grid, 2, 3, sharpness=1.0)
    scores = score_maps(pattern, weights, grid)
    assert scores is not None
    pool = TokenPairs(grid, slice(0, weights.shape[2])).visible
    if isinstance(pattern, MassPattern):
        pool = pattern.rows_and_keys(grid)[1]
    elif isinstance(pattern, RankPattern):
        assert pattern.pool is not None
        pool = pattern.pool(TokenPairs(grid, slice(0, weights.shape[2])))
    rng = np.random.default_rng(0)
    drawn = np.empty((400, 2))
    shuffled = weights.clone()
    for trial in range(len(drawn)):
        for i in range(pool.shape[1]):
            keys = pool[0, i].nonzero()[:, 0].numpy()
            shuffled[0, :, i, keys] = weights[0, :, i, rng.permutation(keys)]
        again = score_maps(pattern, shuffled, grid)
        assert again is not None
        drawn[trial] = again.score[0]
    tolerance = 5 * drawn.std(0).max() / np.sqrt(len(drawn)) + 1e-3
    assert np.abs(drawn.mean(0) - scores.null[0].numpy()).max() < tolerance
    # the sampling error of a variance from 400 draws is about 7 %; bag of words adds the
    # second-order terms its closed form leaves out
    assert np.allclose(drawn.var(0), scores.variance[0], rtol=0.25)


@pytest.mark.parametrize("name", [n for n in NAMES if not isinstance(patterns()[n], RankPattern)])
def test_uniform_attention_scores_its_own_uniform_and_has_lift_one(name: str) -> None:
    grid = planted.grid(name, 5)
    even = planted.random_attention(grid, 1, 0, sharpness=0.0)
    scores = score_maps(patterns()[name], even, grid)
    assert scores is not None
    assert scores.score.item() == pytest.approx(scores.uniform.item(), rel=1e-5)


def test_uniform_attention_has_no_order() -> None:
    grid = planted.grid("related_word", 5)
    even = planted.random_attention(grid, 1, 0, sharpness=0.0)
    scores = score_maps(planted.pattern("related_word"), even, grid)
    assert scores is not None and scores.score.item() == 0


def test_a_score_is_the_mean_target_mass_computed_by_hand() -> None:
    row = planted.pair(1)
    grid = grid_of([row])
    weights = planted.random_attention(grid, 1, 1)
    by_hand = [
        float(weights[0, 0, i, i + 1])
        for i in range(len(row) - 1)
        if row.content[i] and row.content[i + 1] and row.segments[i] == row.segments[i + 1]
    ]
    scores = score_maps(patterns()["next_word"], weights, grid)
    assert scores is not None
    assert scores.score.item() == pytest.approx(np.mean(by_hand), rel=1e-6)


def test_other_sentence_null_is_cross_mass_times_copies_over_words_there() -> None:
    row = planted.pair(2)
    grid = grid_of([row])
    weights = planted.random_attention(grid, 1, 2)
    expected: list[float] = []
    for i in np.flatnonzero(row.content):
        there = row.content & (row.segments != row.segments[i])
        copies = there & (np.array(row.labels) == row.labels[i])
        if copies.any():
            expected.append(float(weights[0, 0, i, there].sum()) * copies.sum() / there.sum())
    scores = score_maps(patterns()["same_word_other"], weights, grid)
    assert scores is not None
    assert scores.null.item() == pytest.approx(np.mean(expected), rel=1e-5)


def test_bag_of_words_is_own_sentence_mass_times_evenness_there() -> None:
    row = planted.pair(4)
    grid = grid_of([row])
    weights = planted.random_attention(grid, 1, 4)
    expected: list[float] = []
    for i in np.flatnonzero(row.content):
        own = weights[0, 0, i, row.segments == row.segments[i]].double()
        within = own / own.sum()
        expected.append(float(own.sum() * -(within * within.log()).sum() / np.log(len(own))))
    scores = score_maps(patterns()["bag_of_words"], weights, grid)
    assert scores is not None
    assert scores.score.item() == pytest.approx(np.mean(expected), rel=1e-5)


POOLS = {
    "scattered": torch.rand(2, 20, 20, generator=torch.Generator().manual_seed(0)) < 0.8,
    "earlier": torch.ones(2, 20, 20, dtype=torch.bool).tril(-1),
    "other sentence": ((torch.arange(20) < 9)[:, None] != (torch.arange(20) < 9)).expand(2, -1, -1),
}


@pytest.mark.parametrize("name", POOLS)
def test_rank_correlation_agrees_with_scipy(name: str) -> None:
    from scipy import stats

    weights, relation, pool = torch.rand(2, 3, 20, 20), torch.rand(2, 20, 20), POOLS[name]
    found = Relation(relation, pool).correlations(weights)
    for b, h, i in np.ndindex(2, 3, 20):
        keys = pool[b, i]
        if keys.sum() > 2:
            expected = stats.spearmanr(weights[b, h, i, keys], relation[b, i, keys])[0]
            assert found[b, h, i].item() == pytest.approx(expected, abs=1e-5)


def test_equal_weights_are_ranked_by_their_places_in_any_pool() -> None:
    """Where numbers are sorted in stretches and where torch sorts them, the same comes out."""
    weights = torch.randint(0, 4, (2, 3, 20, 20)).float()
    weights[0, 0] = 0.5  # alike everywhere: no order
    for pool in POOLS.values():
        relation = torch.randint(0, 4, (2, 20, 20)).float()
        found = Relation(relation, pool).correlations(weights)
        by_torch = Relation(relation, pool).correlations(weights.clone().requires_grad_())
        torch.testing.assert_close(found, by_torch.detach(), atol=1e-6, rtol=0)
        assert not found[0, 0].any()


def test_padding_changes_no_score() -> None:
    short, long = planted.pair(1), planted.pair(2, length=16)
    alone, both = grid_of([short]), grid_of([short, long])
    weights = planted.random_attention(alone, 3, 0)
    padded = torch.zeros(2, 3, len(long), len(long))
    padded[0, :, : len(short), : len(short)] = weights[0]
    padded[0, :, len(short) :] = 1 / len(
        long
    )  # padded queries attend everywhere, and must not count
    for name in NAMES:
        pattern = planted.pattern(name)
        if pattern.causal:
            continue
        one, two = score_maps(pattern, weights, alone), score_maps(pattern, padded, both)
        assert one is not None and two is not None
        for a, b in zip(one, two, strict=True):
            assert torch.allclose(a[0], b[0], atol=1e-6, equal_nan=True)


def test_a_pattern_is_undefined_rather_than_zero_where_it_cannot_occur() -> None:
    alone = planted.tokens(["[CLS]", "a", "b", "[SEP]"], [0, 0, 0, 0], [-1, 0, 1, -1])
    grid = grid_of([alone])
    weights = planted.random_attention(grid, 1, 0)
    for name in ("same_word", "same_word_other", "bag_of_words", "delimiter_sep2"):
        scores = score_maps(patterns()[name], weights, grid)
        assert scores is not None and scores.score.isnan().all()
    for name in ("induction", "sink"):
        assert score_maps(patterns()[name], weights, grid) is None


def test_an_unknown_pattern_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no pattern 'sideways'; the patterns are .*next_word"):
        pattern_named("sideways")

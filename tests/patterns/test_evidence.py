"""Labels are earned: on random attention they come no more often than the stated error rate."""

from __future__ import annotations

import numpy as np
import planted
import pytest
from scipy import stats

from headscope.patterns.evidence import ERROR_RATE, holm, p_values, table
from headscope.patterns.scores import patterns
from headscope.patterns.tally import Tally

HEADS = 8


def tallies(seed: int, documents: int, plants: dict[str, int] | None = None):  # noqa: ANN201
    found = {name: Tally.empty(1, HEADS) for name in patterns()}
    for document in range(documents):
        for name, pattern in patterns().items():
            number = seed * 1000 + document
            grid = planted.grid(name, number)
            weights = planted.random_attention(grid, HEADS, number)
            if plants and name in plants:
                weights[plants[name]] = planted.plant(name, weights[plants[name]], grid)
            scores = pattern.score(weights, grid)
            if scores is not None:
                found[name].add(0, scores)
    return {("encoder", name): tally for name, tally in found.items()}


def test_on_random_attention_no_more_heads_pass_than_the_error_rate_allows() -> None:
    families, tests, passed, wrong = 60, 0, 0, 0
    for seed in range(families):
        by_name = tallies(seed, documents=6)
        p = np.concatenate([p_values(tally).ravel() for tally in by_name.values()])
        tests += len(p)
        passed += int((p <= 0.05).sum())
        wrong += int(holm(p, 0.05).any())  # size is not asked for: the tests alone must hold
        assert not table(by_name, patterns())["labelled"].any()
    print(f"{passed} of {tests} single tests at 0.05; {wrong} of {families} families at 0.05")
    assert passed <= stats.binom.ppf(0.999, tests, 0.05)
    assert wrong <= stats.binom.ppf(0.999, families, 0.05)


def test_planted_heads_are_labelled_and_only_they() -> None:
    plants = {name: i % HEADS for i, name in enumerate(patterns())}
    frame = table(tallies(7, documents=30, plants=plants), patterns())
    labelled = {(row.pattern, row.head) for row in frame[frame["labelled"]].itertuples()}
    assert labelled == set(plants.items())


def test_holm_agrees_with_the_step_down_rule_done_one_by_one() -> None:
    p = np.random.default_rng(0).beta(0.2, 3, 200)
    expected, open_ = np.zeros(200, bool), True
    for step, i in enumerate(np.argsort(p)):
        open_ = open_ and p[i] <= ERROR_RATE / (200 - step)
        expected[i] = open_
    assert (holm(p) == expected).all()


def test_two_tallies_merge_into_the_tally_of_both() -> None:
    whole = tallies(3, documents=6)[("encoder", "next_word")]
    first, second = Tally.empty(1, HEADS), Tally.empty(1, HEADS)
    for document in range(6):
        grid = planted.grid("next_word", 3000 + document)
        scores = patterns()["next_word"].score(
            planted.random_attention(grid, HEADS, 3000 + document), grid
        )
        assert scores is not None
        (first if document < 2 else second).add(0, scores)
    merged = first + second
    assert merged.score == pytest.approx(whole.score)
    assert merged.excess_squared == pytest.approx(whole.excess_squared)

"""p-values and intervals of planted nulls raise no more false alarms than they claim."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headscope.circuits.patching.result import intervals_of
from headscope.errors import FewUnits
from headscope.statistics.significance import FEWEST
from headscope.tasks.metrics import METRICS
from headscope.tasks.significance import mcnemar, paired_test, sign_flip

SIZES = (1, 2, 3, 5, 10, 30, 100)
EDITS = 60


def null(name: str, n: int, chance: np.random.Generator):
    """A baseline and edits without effect: each answer is as likely in one as in the other."""
    labels = chance.integers(0, 2, n)
    if name == "loss":
        counts = np.full(n, 10.0)
        level = chance.exponential(20.0, n)
        both = [level + chance.standard_t(4, n) * 3 for _ in range(EDITS + 1)]
        answers = [np.stack([one, counts], 1) for one in both]
    elif name == "pearson":
        labels = chance.normal(size=n)
        answers = [(labels + chance.normal(size=n))[:, None] for _ in range(EDITS + 1)]
    else:
        answers = []
        for _ in range(EDITS + 1):
            said = np.where(chance.random(n) < 0.7, labels, 1 - labels)
            answers.append(np.eye(2)[said])
    return answers[0], np.stack(answers[1:]), labels


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::headscope.errors.FewUnits")
@pytest.mark.parametrize("name", ["loss", "accuracy", "f1", "matthews", "pearson", "patch"])
def test_planted_nulls_raise_no_more_false_alarms_than_nominal(name, capsys):
    lines = []
    for n in SIZES:
        p, outside, trials = [], [], 40
        for trial in range(trials):
            chance = np.random.default_rng([trial, n])
            if name == "patch":
                effects = chance.normal(size=(EDITS, n)) * chance.exponential(1.0, n)
                found = intervals_of(effects, chance.exponential(2.0, n) + 0.5, seed=trial)
            else:
                base, edited, labels = null(name, n, chance)
                found = paired_test(METRICS[name], base, edited, labels, draws=2000, seed=trial)
            p.append(found.p)
            outside.append((found.low > 0) | (found.high < 0))
        p, outside = np.stack(p), np.stack(outside)
        if n < FEWEST:
            assert np.isnan(p).all() and not outside.any()
            lines.append(f"{name:9} n={n:3}  refused")
            continue
        alarms, wrong = (p < 0.05).mean(), outside.mean()
        lines.append(f"{name:9} n={n:3}  p < .05: {alarms:.3f}   interval without 0: {wrong:.3f}")
        # edits share a baseline, so trials are the independent units
        slack = 3 * (p < 0.05).mean(1).std() / np.sqrt(trials)
        assert alarms <= 0.05 + max(slack, 0.01), lines[-1]
        width = 3 * outside.mean(1).std() / np.sqrt(trials)
        assert wrong <= 0.05 + max(width, 0.015), lines[-1]
    with capsys.disabled():
        print("\n" + "\n".join(lines))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_examples_have_neither_interval_nor_p_value(n):
    base, edited, labels = null("loss", n, np.random.default_rng(0))
    with pytest.warns(FewUnits, match=f"{n} examples? (is|are) too few"):
        found = paired_test(METRICS["loss"], base, edited, labels)
    for name in ("low", "high", "p", "p_holm", "p_bh", "error"):
        assert np.isnan(getattr(found, name)).all()
    assert np.isfinite(found.difference).all()


def test_two_losses_of_250_have_the_exact_p_value_of_mcnemar():
    before, after = np.ones(250), np.ones((1, 250))
    after[0, :2] = 0
    assert mcnemar(before, after)[0] == stats.binomtest(0, 2, 0.5).pvalue == 0.5


def test_exchanges_equal_every_way_of_exchanging_by_hand():
    chance = np.random.default_rng(3)
    values = chance.normal(0.4, 1, (4, 8))
    expected = []
    for row in values:
        signs = np.array(np.meshgrid(*[[-1, 1]] * 8)).reshape(8, -1)
        sums = np.abs(signs.T @ row)
        expected.append((sums >= abs(row.sum()) - 1e-12).mean())
    np.testing.assert_allclose(sign_flip(values), expected)
    base = np.zeros((8, 2))
    base[:, 1] = 1
    edited = np.stack([np.stack([row, np.ones(8)], 1) for row in values])
    found = paired_test(METRICS["loss"], base, edited, np.zeros(8))
    np.testing.assert_allclose(found.p, expected)


def test_a_real_effect_is_found_with_many_examples():
    chance = np.random.default_rng(5)
    base = np.stack([chance.exponential(2, 60), np.ones(60)], 1)
    edited = base[None].copy()
    edited[0, :, 0] += chance.normal(0.5, 0.3, 60)
    found = paired_test(METRICS["loss"], base, edited, np.zeros(60))
    assert found.p[0] < 0.001 and 0 < found.low[0] < 0.5 < found.high[0] < 1

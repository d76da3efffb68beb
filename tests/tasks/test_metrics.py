"""Metrics and their uncertainty agree with scikit-learn, SciPy and plain resampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sklearn_metrics

from headscope.errors import BadInput
from headscope.tasks.metrics import METRICS, rank_correlation
from headscope.tasks.significance import (
    enough_draws,
    holm,
    paired_test,
    split_half,
)


@pytest.fixture(scope="module")
def two_classes():
    generator = np.random.default_rng(3)
    labels = generator.integers(0, 2, 200)
    scores = generator.normal(size=(200, 2))
    scores[np.arange(200), labels] += 0.8
    return scores, labels


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("accuracy", sklearn_metrics.accuracy_score),
        ("f1", sklearn_metrics.f1_score),
        ("matthews", sklearn_metrics.matthews_corrcoef),
    ],
)
def test_class_metrics_equal_scikit_learn(name, truth, two_classes):
    scores, labels = two_classes
    assert METRICS[name](scores, labels) == pytest.approx(truth(labels, scores.argmax(axis=1)))


def test_correlations_equal_scipy():
    generator = np.random.default_rng(5)
    target = generator.integers(0, 11, 150) / 2  # ties
    guess = (target + generator.normal(size=150))[:, None]
    assert METRICS["pearson"](guess, target) == pytest.approx(
        stats.pearsonr(guess[:, 0], target)[0]
    )
    assert METRICS["spearman"](guess, target) == pytest.approx(
        stats.spearmanr(guess[:, 0], target)[0]
    )
    assert np.isnan(rank_correlation(np.ones(5), np.arange(5.0)))


def test_a_loss_is_the_mean_over_tokens():
    answers = np.array([[6.0, 3], [2.0, 1]])
    assert METRICS["loss"](answers, np.zeros(2)) == 2.0


def test_answers_that_never_vary_have_no_correlation():
    assert METRICS["pearson"](np.ones((5, 1)), np.arange(5.0)) == 0.0


def test_f1_of_three_classes_is_refused():
    with pytest.raises(BadInput, match="two classes"):
        METRICS["f1"](np.zeros((4, 3)), np.zeros(4))


@pytest.mark.parametrize("name", ["accuracy", "f1", "matthews"])
def test_the_fast_bootstrap_equals_resampling_example_by_example(name, two_classes):
    scores, labels = two_classes
    generator = np.random.default_rng(11)
    worse = scores + generator.normal(size=scores.shape)
    found = paired_test(METRICS[name], scores, worse[None], labels, draws=4000, seed=1)
    metric = METRICS[name]
    slow = []
    for _ in range(2000):
        drawn = generator.integers(0, len(labels), len(labels))
        slow.append(metric(worse[drawn], labels[drawn]) - metric(scores[drawn], labels[drawn]))
    assert found.difference[0] == pytest.approx(metric(worse, labels) - metric(scores, labels))
    assert found.low[0] == pytest.approx(np.quantile(slow, 0.025), abs=0.02)
    assert found.high[0] == pytest.approx(np.quantile(slow, 0.975), abs=0.02)


def test_an_edit_that_changes_nothing_is_never_significant(two_classes):
    scores, labels = two_classes
    found = paired_test(METRICS["accuracy"], scores, scores[None], labels, draws=500)
    assert found.difference[0] == 0 and found.p[0] == 1.0


def test_p_values_of_noise_are_spread_evenly():
    """Edits that only add luck must not look like discoveries."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 300)
    right = generator.random((60, 300)) < 0.7  # 60 'heads' that are equally good
    answers = np.zeros((60, 300, 2))
    for i in range(60):
        said = np.where(right[i], labels, 1 - labels)
        answers[i, np.arange(300), said] = 1
    base = np.zeros((300, 2))
    base[np.arange(300), np.where(generator.random(300) < 0.7, labels, 1 - labels)] = 1
    found = paired_test(METRICS["accuracy"], base, answers, labels, draws=4000)
    assert (found.p_holm < 0.05).sum() <= 1
    assert (found.p_bh >= found.p).all() and (found.p_holm >= found.p_bh - 1e-12).all()


@pytest.mark.parametrize("comparisons", [12, 96, 144, 1024])
def test_the_least_p_value_can_survive_correction(comparisons):
    assert 1 / (1 + enough_draws(comparisons)) * comparisons < 0.05


def test_corrections_equal_their_definitions():
    p = np.array([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(holm(p), [0.03, 0.06, 0.06, 0.02])


def test_split_halves_show_that_the_best_of_many_noisy_heads_was_luck():
    generator = np.random.default_rng(2)
    labels = generator.integers(0, 2, 277)

    def answers(accuracy):
        said = np.where(generator.random(277) < accuracy, labels, 1 - labels)
        out = np.zeros((277, 2))
        out[np.arange(277), said] = 1
        return out

    edited = np.stack([answers(0.6) for _ in range(144)])
    found = split_half(METRICS["accuracy"], answers(0.6), edited, labels, splits=50)
    assert found.chosen_best > 0.05
    # what is left out of sample is a fraction of what choosing promised
    assert found.reported_best < found.chosen_best / 2
    edited[7] = answers(0.1)  # one head that truly matters
    found = split_half(METRICS["accuracy"], answers(0.6), edited, labels, splits=50)
    assert found.reported_worst < 0.8 * found.chosen_worst

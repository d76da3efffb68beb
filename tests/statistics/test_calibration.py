"""p-values and intervals hold what they claim, those of every kind of result.

Those of ablations and patching are in tests/tasks/test_calibration.py.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import ndtri

import headscope as hs
from headscope.atlas.collecting.counts import Counts
from headscope.atlas.profiles import _columns, _query_tokens, without_few
from headscope.budgets.result import rise
from headscope.checkpoints.change import change_point
from headscope.corpus.relations.examples import Relation
from headscope.errors import FewUnits
from headscope.grounding.monitors.fit import _Folds, _shuffled, auroc_interval, auroc_of
from headscope.grounding.subsets import subset_scores
from headscope.patterns.evidence import p_values
from headscope.probes.cases import against_baseline
from headscope.roles.find import find_heads
from headscope.roles.together import _interval
from headscope.statistics.accumulator import BootstrapAccumulator, Moments
from headscope.statistics.distances.clusters import layers_apart
from headscope.statistics.significance import (
    FEWEST,
    Replicates,
    holm,
    mean_interval,
    rank_interval,
)
from headscope.tasks.metrics import rank_correlation
from tests.tiny import WORDS, tiny_scope

SIZES = (1, 2, 3, 5, 10, 30, 100)
TRIALS, WIDTH = 60, 40


def survey_interval(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
    """Whether the interval of a mean over documents misses 0."""
    whole = BootstrapAccumulator(Moments(WIDTH), WIDTH, 1000, seed=trial)
    whole.add(np.arange(n), chance.gamma(4, 1, (n, WIDTH)) - 4)
    low, high = whole.interval(0.95)
    return np.where(np.isnan(low), np.nan, (low > 0) | (high < 0))


def probe_interval(right: float):
    """Whether the interval of an accuracy misses the truth; words of a sentence go together."""

    def missed(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
        counts = chance.integers(1, 12, (n, WIDTH)).astype(float)
        share = chance.beta(8 * right, 8 * (1 - right), (n, WIDTH))
        found = Replicates(WIDTH, seed=trial)
        found.add_batch(0, chance.binomial(counts.astype(int), share).astype(float), counts)
        low, high = found.interval(share=True)
        return np.where(np.isnan(low), np.nan, (low > right) | (high < right))

    return missed


def pattern_p(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
    """Attention that knows nothing of the targets: half the heads look down one column."""
    keys, queries = 12, 8
    excess, variance = np.zeros((n, WIDTH)), np.zeros((n, WIDTH))
    for document in range(n):
        for head in range(WIDTH):
            rows = chance.dirichlet(np.full(keys, 0.3), 1 if head % 2 else queries)
            rows = np.broadcast_to(rows, (queries, keys))
            aimed = chance.integers(keys) if head % 2 else chance.integers(0, keys, queries)
            aimed = np.broadcast_to(aimed, queries)
            excess[document, head] = (rows[np.arange(queries), aimed] - 1 / keys).mean()
            variance[document, head] = rows.var(axis=1).sum() / queries**2
    error = excess.std(0, ddof=1) / np.sqrt(n) if n > 1 else np.full(WIDTH, np.nan)
    found = p_values(excess.mean(0), error, variance.mean(0), np.full(WIDTH, float(n)))
    return np.where(np.isnan(found), np.nan, found < 0.05)


def relation_p(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
    """Targets and elements anywhere in texts that were drawn word by word."""
    found: list[Relation] = []
    for _ in range(n):
        words = chance.choice(WORDS, 12)
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        one, other = chance.permutation(12)[:2]
        span = [(int(starts[at]), int(starts[at]) + len(words[at])) for at in (one, other)]
        found.append(Relation(" ".join(words), span[0], (span[1],), ("",), "planted", "here"))
    result = hs.probe.relations(
        tiny_scope("BertModel"), found, shuffles=39, seed=trial, progress=False
    )
    p = result.heads["p"].to_numpy(float)
    return np.where(np.isnan(p), np.nan, p < 0.05)


def linked_p(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
    """Links from anywhere to anywhere in texts that were drawn word by word."""
    documents: list[dict[str, Any]] = []
    for _ in range(n):
        words = chance.choice(WORDS, 12)
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        spans = [[int(at), int(at) + len(word)] for at, word in zip(starts, words, strict=False)]
        order = chance.permutation(12)
        pairs = [[spans[order[at]], spans[order[11 - at]]] for at in range(3)]
        documents.append({"text": " ".join(words), "pairs": pairs})
    found = find_heads(tiny_scope("BertModel"), documents, most_heads=1, seed=trial, progress=False)
    p = found.table.loc[found.table["p"].notna(), "p"].to_numpy(float)
    return p < 0.05 if len(p) else np.full(1, np.nan)


def case_p(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
    """A head and a baseline that are right as often, in sentences of one to eight cases."""
    groups: list[pd.DataFrame] = []
    for _ in range(WIDTH):
        counts = chance.integers(1, 9, n)
        unit, level = np.repeat(np.arange(n), counts), np.repeat(chance.beta(3, 2, n), counts)
        right, baseline = chance.random((2, len(unit))) < level
        groups.append(pd.DataFrame({"u": unit, "right": right, "baseline_right": baseline}))
    found = against_baseline(groups, "u", trial)
    missed = (found["above_low"] > 0) | (found["above_high"] < 0) | (found["p"] < 0.05)
    return np.where(found["p"].isna(), np.nan, missed)


def cluster_p(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
    """n heads of three layers, whose distances know nothing of layers."""
    points = chance.normal(size=(max(n, 2), 3))
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    heads = [(at % 3, at // 3) for at in range(len(points))]
    p = layers_apart(heads, apart, trial, 199)[2]
    return np.array([np.nan if np.isnan(p) else p < 0.05])


def profile_p(alike: str):
    """Tokens chosen as often as uniform attention chooses them, in n texts of 20 queries or so."""

    def alarms(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
        share, queries = chance.dirichlet(np.full(30, 0.5)), np.full(n, 20)
        if alike == "apart":
            count = chance.multinomial(queries, share)  # texts × tokens
        elif alike == "by topic":
            count = np.stack([chance.multinomial(20, chance.dirichlet(2 * share)) for _ in queries])
        else:  # a text's queries all choose one token, and texts differ much in length
            queries = np.minimum((chance.pareto(1.2, n) + 1) * 5, 2000).astype(int)
            count = np.zeros((n, 30), int)
            count[np.arange(n), chance.choice(30, n, p=share)] = queries
        found = _columns(
            np.zeros(30, np.int64), count.sum(0), share * queries.sum(), (count**2.0).sum(0)
        )
        p = without_few(pd.DataFrame({"p": found["p"], "clear": False}), n)["p"]
        return np.where(np.isnan(p), np.nan, p < 0.05)

    return alarms


def query_p(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
    """Six tokens in n texts, each with a level of its own for all its queries' weights."""
    token = chance.integers(0, 6, (n, 20))
    weight = chance.normal(0.5, 0.1, (n, 1)) + chance.normal(0, 0.05, (n, 20))
    counts = Counts(1, 6, 10)
    counts.total += token.size
    drawn = np.unique(token)
    in_text = (token == drawn[:, None, None]).sum(2)  # tokens × texts
    heavy = np.where(token == drawn[:, None, None], weight, 0).sum(2)
    squares = np.where(token == drawn[:, None, None], weight**2, 0).sum((1, 2))
    sums = [in_text.sum(1), heavy.sum(1), squares, (in_text**2).sum(1),
            (in_text * heavy).sum(1), (heavy**2).sum(1)]  # fmt: skip
    counts.queries.add(torch.from_numpy(drawn), torch.tensor(np.array(sums, float)))
    found = pd.DataFrame({"p": _query_tokens(counts)["p"], "clear": False})
    p = without_few(found, n)["p"].to_numpy()
    alarms = np.where(np.isnan(p), np.nan, p < 0.05)
    return np.pad(alarms, (0, 6 - len(p)), constant_values=0.0 if n >= FEWEST else np.nan)


def mean_of_few_interval(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
    """Whether the interval of a mean gain, or of a rank correlation's mean, misses 0."""
    low, high = mean_interval(chance.normal(size=(WIDTH, n)))
    return np.where(np.isnan(low), np.nan, (low > 0) | (high < 0))


def monitor_interval(true: float):
    """Whether the interval of an AUROC misses the truth: two normal scores so far apart."""

    def missed(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
        labels, alone = np.arange(n) % 2 == 0, np.arange(n)
        scores = chance.normal(size=n) + np.sqrt(2) * ndtri(true) * labels
        if n == 1:
            return np.array([np.nan])  # one label alone has no AUROC
        low, high = auroc_interval(scores, labels, alone, chance, 200)
        return np.array([np.nan if np.isnan(low) else not low <= true <= high])

    return missed


def monitor_p(kind: str):
    """A monitor of features that know nothing of the labels, chosen and fitted in each fold."""

    def alarms(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
        if n < FEWEST:
            return np.array([np.nan])  # five folds; tests/grounding/monitors has five groups
        size = {"alone": 1, "pairs": 2, "one label": 4}[kind]
        groups = np.repeat(np.arange(n), size)
        labels = chance.permutation(np.arange(n) % 2 == 0)[groups]
        if kind == "pairs":
            labels = np.tile([True, False], n)
        found = chance.normal(size=(n, 12))[groups] + 0.3 * chance.normal(size=(n * size, 12))
        folds = _Folds(found, groups, 2)
        scores = folds.held_out(labels)
        auroc = auroc_of(scores, labels)
        shuffled = (_shuffled(labels, groups, chance) for _ in range(19))
        null = [auroc_of(folds.held_out(one), one) for one in shuffled]
        low, high = auroc_interval(scores, labels, groups, chance, 100, null)
        p = (1 + sum(one >= auroc for one in null)) / 20
        return np.array([p <= 0.05, low > 0.5 or high < 0.5])

    return alarms


def agreement_interval(true: float):
    """Whether the interval of a rank correlation misses the truth."""
    rank = 6 / np.pi * np.arcsin(true / 2)

    def missed(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
        one = chance.normal(size=n)
        other = true * one + np.sqrt(1 - true**2) * chance.normal(size=n)
        low, high = rank_interval(rank_correlation(one, other) if n > 2 else np.nan, n)
        return np.array([np.nan if np.isnan(low) else not low <= rank <= high])

    return missed


def budget_interval(alike: bool):
    """Whether the interval of a rise of the loss misses 0, in texts of one length or of many."""

    def missed(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
        count = np.full(n, 50.0) if alike else np.minimum((chance.pareto(1.2, n) + 1) * 9, 900)
        before = np.stack([chance.gamma(4, 1, n) * count, count], 1)
        after = before + np.stack([chance.normal(0, 0.05, n) * count, np.zeros(n)], 1)
        _, low, high = rise(before, after)
        return np.array([np.nan if np.isnan(low) else low > 0 or high < 0])

    return missed


def change_interval(size: float):
    """Whether the interval of a change point misses the step at which a level rose."""

    def missed(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
        at = int(chance.integers(2, n - 1)) if n > 3 else 1
        found = change_point(
            np.arange(n), chance.normal(size=n) + size * (np.arange(n) >= at), trial
        )
        return np.array([np.nan if found is None else not found.low <= at <= found.high])

    return missed


def subsets_interval(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
    """Whether intervals miss what three of 40 sources add, or the nothing that the others add."""
    if n < 2:
        return np.full(40, np.nan)  # a Lasso needs two folds
    true = np.zeros(40)
    true[:3] = 6, 3, 1

    def answers(kept: np.ndarray) -> np.ndarray:
        return (kept @ true + chance.normal(0, 1, n))[:, None]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a Lasso that did not converge
        found = subset_scores(40, n, answers, trial)
    low, high = found.low[0], found.high[0]
    return np.where(np.isnan(low), np.nan, (low > true + 1e-9) | (high < true - 1e-9))


def together_interval(n: int, chance: np.random.Generator, trial: int) -> np.ndarray:
    """Whether the interval of chosen heads' precision misses the truth, in n documents."""
    right = 0.6
    counts = chance.integers(1, 12, n)
    hits = chance.binomial(counts, chance.beta(8 * right, 8 * (1 - right), n))
    _, low, high = _interval(
        np.arange(n), hits[:, None].astype(float), counts[:, None].astype(float), True, trial
    )
    return np.array([np.nan if np.isnan(low) else low > right or high < right])


NULLS = {
    "interval of heads together": (together_interval, 600),
    "interval of random subsets": (subsets_interval, 20),
    "interval of a mean gain": (mean_of_few_interval, TRIALS),
    "interval of a budget": (budget_interval(True), 2000),
    "interval of a budget, uneven": (budget_interval(False), 2000),
    "interval of an AUROC, .5": (monitor_interval(0.5), 200),
    "interval of an AUROC, .9": (monitor_interval(0.9), 200),
    "p and interval of a monitor": (monitor_p("alone"), 100),
    "p of a monitor, pairs": (monitor_p("pairs"), 100),
    "p of a monitor, one label": (monitor_p("one label"), 100),
    "interval of an agreement, 0": (agreement_interval(0.0), 400),
    "interval of an agreement, .8": (agreement_interval(0.8), 400),
    "interval of a change, small": (change_interval(1.0), 400),
    "interval of a change, large": (change_interval(3.0), 400),
    "interval of a survey": (survey_interval, TRIALS),
    "interval of a probe, .7": (probe_interval(0.7), TRIALS),
    "interval of a probe, .95": (probe_interval(0.95), TRIALS),
    "p of a pattern": (pattern_p, TRIALS),
    "p of a relation": (relation_p, 20),
    "p of links": (linked_p, 20),
    "p and interval of cases": (case_p, TRIALS),
    "p of clusters": (cluster_p, 200),
    "p of a profile, apart": (profile_p("apart"), 200),
    "p of a profile, by topic": (profile_p("by topic"), 200),
    "p of a query's token": (query_p, 200),
    "p of a profile, one a text": (profile_p("one"), 200),
}


SLOW = ("p of a relation", "p of links", *(name for name in NULLS if "monitor" in name))


@pytest.mark.slow
@pytest.mark.parametrize("name", NULLS)
def test_planted_nulls_raise_no_more_false_alarms_than_nominal(name, capsys):
    one, trials = NULLS[name]
    lines: list[str] = []
    wrong: list[str] = []
    for n in SIZES:
        if n > 30 and name in SLOW:
            continue  # a second per text, or per trial
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewUnits)
            seeds = [(np.random.default_rng([trial, n]), trial) for trial in range(trials)]
            alarms = np.stack([one(n, chance, trial) for chance, trial in seeds])
        if np.isnan(alarms).all():
            lines.append(f"{name:28} n={n:3}  refused")
            continue
        share = np.nanmean(alarms)
        slack = max(3 * np.nanmean(alarms, axis=1).std() / np.sqrt(trials), 0.015)
        lines.append(f"{name:28} n={n:3}  false alarms {share:.3f}")
        if share > 0.05 + slack or (name != "p of clusters" and n < FEWEST):
            wrong.append(lines[-1])
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert not wrong


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_too_few_units_have_no_interval_and_no_p(n):
    found = Replicates(1)
    found.add_batch(0, np.ones((n, 1)), np.ones((n, 1)))
    assert np.isnan(found.interval()).all() and np.isnan(found.interval(share=True)).all()
    # documents that agree exactly have no error, and once had p = 0 for it
    p = p_values(np.array([0.5]), np.array([0.0]), np.array([1e-4]), np.array([float(n)]))
    assert np.isnan(p).all()


def test_all_right_in_every_sentence_is_not_certainty():
    found = Replicates(1)
    found.add_batch(0, np.ones((20, 1)), np.ones((20, 1)))
    low, high = found.interval(share=True)[:, 0]
    assert 0.75 < low < 0.9 and high == 1.0  # Clopper and Pearson: .83


def test_holm_passes_over_what_was_not_tested():
    np.testing.assert_allclose(
        holm(np.array([0.01, np.nan, 0.02])), [0.02, np.nan, 0.02], equal_nan=True
    )

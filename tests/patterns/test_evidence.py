"""Labels are earned: on random attention they come no more often than the stated error rate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import planted
from scipy import stats

from headscope.patterns.as_statistics import PARTS
from headscope.patterns.evidence import ERROR_RATE, table
from headscope.patterns.map_scores import score_maps
from headscope.patterns.pattern import patterns
from headscope.statistics.accumulator import Moments
from headscope.statistics.significance import holm

HEADS = 8


def surveyed(seed: int, documents: int, plants: dict[str, int] | None = None) -> pd.DataFrame:
    """A survey's table of made-up attention, every pattern on its own texts."""
    rows: list[pd.DataFrame] = []
    for name in patterns():
        parts = {part: Moments(HEADS) for part in PARTS}
        grid = planted.grid(name, *(seed * 1000 + document for document in range(documents)))
        weights = planted.random_attention(grid, HEADS, seed)
        if plants and name in plants:
            head = plants[name]
            weights[:, head] = planted.plant(name, weights[:, head], grid)
        scores = score_maps(planted.pattern(name), weights, grid)
        assert scores is not None
        values = {**scores._asdict(), "excess": scores.score - scores.null}
        for part, moments in parts.items():
            moments.add(grid.documents, values[part].double().numpy())
        for part, moments in parts.items():
            value, error, count = moments.result()
            rows.append(
                pd.DataFrame(
                    {
                        "kind": "encoder", "layer": 0, "head": np.arange(HEADS),
                        "measure": name if part == "score" else f"{name}:{part}",
                        "value": value, "error": error, "count": count,
                    }
                )
            )  # fmt: skip
    return pd.concat(rows, ignore_index=True)


def test_on_random_attention_no_more_heads_pass_than_the_error_rate_allows() -> None:
    families, tests, passed, wrong = 60, 0, 0, 0
    for seed in range(families):
        frame = table(surveyed(seed, documents=6), patterns())
        p = frame["p"].to_numpy()
        tests += len(p)
        passed += int((p <= 0.05).sum())
        wrong += int((holm(p) <= 0.05).any())  # size is not asked for: the tests alone must hold
        assert not frame["labelled"].any()
    counts = f"{passed} of {tests} single tests, {wrong} of {families} families at 0.05"
    assert passed <= stats.binom.ppf(0.999, tests, 0.05), counts
    assert wrong <= stats.binom.ppf(0.999, families, 0.05), counts


def test_planted_heads_are_labelled_and_only_they() -> None:
    plants = {name: i % HEADS for i, name in enumerate(patterns())}
    frame = table(surveyed(7, documents=30, plants=plants), patterns())
    labelled = {(row.pattern, row.head) for row in frame[frame["labelled"]].itertuples()}
    assert labelled == set(plants.items())


def test_holm_agrees_with_the_step_down_rule_done_one_by_one() -> None:
    p = np.random.default_rng(0).beta(0.2, 3, 200)
    expected, still = np.zeros(200, bool), True
    for step, i in enumerate(np.argsort(p)):
        still = still and p[i] <= ERROR_RATE / (200 - step)
        expected[i] = still
    assert ((holm(p) <= ERROR_RATE) == expected).all()

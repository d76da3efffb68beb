"""Evidence: when a tally shows a pattern, and how often chance would show it.

Two one-sided tests of "score exceeds its key-permutation null" are made, and the larger p-value
counts. The permutation test knows the null's variance within documents; the t-test over
documents holds even where the rows of a map depend on each other. Holm's step-down over all
heads and patterns of a model keeps the chance that *any* head wrongly passes below `ERROR_RATE`.
A label also asks for size: the pattern's own least score and least lift over uniform attention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headscope.patterns.pattern import Pattern, Values
from headscope.patterns.tally import Tally

if TYPE_CHECKING:
    import pandas as pd

ERROR_RATE = 0.01
COLUMNS = (
    "kind", "layer", "head", "pattern", "score", "uniform", "lift", "null", "error", "p",
    "documents", "labelled",
)  # fmt: skip


def p_values(tally: Tally) -> Values:
    """One-sided p of each head (l h); 1 where fewer than two documents had the pattern."""
    from scipy import stats

    n = np.maximum(tally.documents, 1)
    excess = tally.score - tally.null
    enough = tally.documents >= 2
    spread = np.clip(tally.excess_squared - excess**2 / n, 0, None) / np.maximum(n - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = excess / np.sqrt(n * spread)
        z = excess / np.sqrt(tally.variance)
    by_documents = stats.t.sf(t, np.maximum(n - 1, 1))
    by_permutation = stats.norm.sf(z)
    p = np.maximum(np.nan_to_num(by_documents, nan=1.0), np.nan_to_num(by_permutation, nan=1.0))
    return np.where(enough, p, 1.0)


def holm(p: Values, rate: float = ERROR_RATE) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of the hypotheses are rejected with family-wise error `rate`; p is flat."""
    order = np.argsort(p)
    limits = rate / np.arange(len(p), 0, -1)
    passed = np.minimum.accumulate(p[order] <= limits)
    rejected = np.zeros(len(p), bool)
    rejected[order] = passed
    return rejected


def table(
    tallies: dict[tuple[str, str], Tally],
    patterns: dict[str, Pattern],
    rate: float = ERROR_RATE,
) -> pd.DataFrame:
    """One row per kind, head and pattern, with the columns of `COLUMNS`.

    `tallies` is keyed by (kind, pattern name). `error` is the standard error over documents.
    """
    import pandas as pd

    parts: list[pd.DataFrame] = []
    for (kind, name), tally in tallies.items():
        layers, heads = tally.documents.shape
        n = tally.documents
        some = np.maximum(n, 1)
        mean = tally.score / some
        spread = np.clip(tally.score_squared - some * mean**2, 0, None) / np.maximum(some - 1, 1)
        uniform = tally.uniform / some
        with np.errstate(divide="ignore", invalid="ignore"):
            lift = np.where(uniform > 0, mean / uniform, np.nan)
        grid = np.indices((layers, heads)).reshape(2, -1)
        parts.append(
            pd.DataFrame(
                {
                    "kind": kind, "layer": grid[0], "head": grid[1], "pattern": name,
                    "score": mean.ravel(), "uniform": uniform.ravel(), "lift": lift.ravel(),
                    "null": (tally.null / some).ravel(),
                    "error": np.sqrt(spread / some).ravel(),
                    "p": p_values(tally).ravel(), "documents": n.ravel().astype(int),
                }
            ).query("documents > 0")
        )  # fmt: skip
    if not parts:
        return pd.DataFrame(columns=list(COLUMNS))
    frame = pd.concat(parts, ignore_index=True)
    significant = holm(frame["p"].to_numpy(), rate)
    frame["labelled"] = significant & large(frame, patterns)
    return frame[list(COLUMNS)]


def large(frame: pd.DataFrame, patterns: dict[str, Pattern]) -> np.ndarray:
    """Whether score and lift reach what the pattern's label asks for."""
    cut = frame["pattern"].map({name: p.cut for name, p in patterns.items()}).to_numpy()
    lift = frame["pattern"].map({name: p.lift for name, p in patterns.items()}).to_numpy()
    ratio = frame["lift"].to_numpy()
    return (frame["score"].to_numpy() >= cut) & (np.isnan(ratio) | (ratio >= lift))

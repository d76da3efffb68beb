"""Evidence: when a survey shows a pattern, and how often chance would show it.

Two one-sided tests of "score exceeds its key-permutation null" are made, and the larger p-value
counts. The permutation test knows the null's variance within documents; the t-test over
documents holds even where the rows of a map depend on each other. Holm's step-down over all
heads and patterns of a model keeps the chance that *any* head wrongly passes below `ERROR_RATE`.
A label also asks for size: the pattern's own least score and least lift over uniform attention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.patterns.pattern import Pattern
from headscope.statistics.significance import holm

if TYPE_CHECKING:
    import pandas as pd

ERROR_RATE = 0.01
HEAD = ["kind", "layer", "head"]
COLUMNS = [
    *HEAD, "pattern", "score", "uniform", "lift", "null", "error", "p", "documents", "labelled",
]  # fmt: skip

Values = NDArray[np.float64]


def p_values(excess: Values, error: Values, variance: Values, documents: Values) -> Values:
    """One-sided p of mean excess over documents; 1 where fewer than two documents were defined.

    `error` is the standard error of the excess, `variance` its mean permutation variance.
    """
    from scipy import stats

    with np.errstate(divide="ignore", invalid="ignore"):
        t = excess / error
        z = excess * np.sqrt(documents) / np.sqrt(variance)
    by_documents = stats.t.sf(t, np.maximum(documents - 1, 1))
    by_permutation = stats.norm.sf(z)
    p = np.maximum(np.nan_to_num(by_documents, nan=1.0), np.nan_to_num(by_permutation, nan=1.0))
    return np.where(documents >= 2, p, 1.0)


def table(
    survey: pd.DataFrame, patterns: dict[str, Pattern], rate: float = ERROR_RATE
) -> pd.DataFrame:
    """One row per head and pattern, with the columns of `COLUMNS`, from a survey's table.

    `error` is the standard error of the score over documents.
    """
    import pandas as pd

    by_name: dict[Any, Any] = {
        name: part.set_index(HEAD) for name, part in survey.groupby("measure")
    }
    parts: list[pd.DataFrame] = []
    for name in patterns:
        if name not in by_name or f"{name}:excess" not in by_name:
            continue
        score = by_name[name]
        score = score[score["count"] > 0]
        uniform, null, excess, variance = (
            by_name[f"{name}:{part}"].loc[score.index]
            for part in ("uniform", "null", "excess", "variance")
        )
        even = uniform["value"].to_numpy(float)
        mean = score["value"].to_numpy(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            lift = np.where(even > 0, mean / even, np.nan)
        count = excess["count"].to_numpy(float)
        p = p_values(
            excess["value"].to_numpy(float),
            excess["error"].to_numpy(float),
            variance["value"].to_numpy(float),
            count,
        )
        parts.append(
            score.index.to_frame(index=False).assign(
                pattern=name, score=mean, uniform=even, lift=lift,
                null=null["value"].to_numpy(float), error=score["error"].to_numpy(float),
                p=p, documents=count.astype(int),
            )
        )  # fmt: skip
    if not parts:
        return pd.DataFrame(columns=COLUMNS)
    frame: Any = pd.concat(parts, ignore_index=True)
    frame["labelled"] = (holm(frame["p"].to_numpy(float)) <= rate) & large(frame, patterns)
    return frame[COLUMNS]


def large(frame: pd.DataFrame, patterns: dict[str, Pattern]) -> NDArray[np.bool_]:
    """Whether score and lift reach what the pattern's label asks for."""
    chosen = [patterns[name] for name in frame["pattern"]]
    score = np.array([pattern.least_score for pattern in chosen])
    lift = np.array([pattern.least_lift for pattern in chosen])
    ratio = frame["lift"].to_numpy(float)
    return (frame["score"].to_numpy(float) >= score) & (np.isnan(ratio) | (ratio >= lift))

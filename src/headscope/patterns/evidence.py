"""Evidence: when a survey shows a pattern, and how often chance would show it.

Two one-sided tests of "score exceeds its key-permutation null" are made, and the larger p-value
counts. The permutation test uses the null's variance within documents; the t-test over documents is
valid even if the rows of a map are dependent. Holm's step-down over all heads and patterns of a
model keeps the chance that *any* head wrongly passes below `ERROR_RATE`. A label also requires the
pattern's least score and least lift over uniform attention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.patterns.pattern import Pattern
from headscope.statistics.significance import FEWEST, holm, warn_few

if TYPE_CHECKING:
    import pandas as pd

ERROR_RATE = 0.01
HEAD = ["kind", "layer", "head"]
COLUMNS = [
    *HEAD, "pattern", "score", "uniform", "lift", "null", "error", "p", "documents", "labelled",
]  # fmt: skip

Values = NDArray[np.float64]


def p_values(excess: Values, error: Values, variance: Values, documents: Values) -> Values:
    """One-sided p of mean excess over documents; NaN where fewer than `FEWEST` were defined.

    `error` is the standard error of the excess, `variance` its mean permutation variance.
    """
    from scipy.special import ndtr, stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        t = excess / error
        z = excess * np.sqrt(documents) / np.sqrt(variance)
    # upper tails of Student's t and the normal distribution; scipy.stats takes long to import
    by_documents, by_permutation = stdtr(np.maximum(documents - 1, 1), -t), ndtr(-z)
    p = np.maximum(np.nan_to_num(by_documents, nan=1.0), np.nan_to_num(by_permutation, nan=1.0))
    return np.where(documents >= FEWEST, p, np.nan)


def table(
    survey: pd.DataFrame, patterns: dict[str, Pattern], rate: float = ERROR_RATE
) -> pd.DataFrame:
    """One row per head and pattern, with the columns of `COLUMNS`, from a survey's table.

    `error` is the standard error of the score over documents.
    """
    import pandas as pd

    number = survey.groupby(HEAD, sort=False, observed=True).ngroup().to_numpy()
    heads: Any = survey[HEAD].drop_duplicates()  # ordered by number
    measure, names = pd.factorize(survey["measure"])
    row_of = {name: row for row, name in enumerate(names)}
    numbers = {
        column: _laid_out(survey[column].to_numpy(float), measure, number, (len(names), len(heads)))
        for column in ("value", "error", "count")
    }
    parts: list[pd.DataFrame] = []
    for name in patterns:
        if name not in row_of or f"{name}:excess" not in row_of:
            continue
        there = np.flatnonzero(numbers["count"][row_of[name]] > 0)

        def of(column: str, part: str = "", name: str = name, there: Any = there) -> Values:
            return numbers[column][row_of[name + part]][there]

        mean, even = of("value"), of("value", ":uniform")
        with np.errstate(divide="ignore", invalid="ignore"):
            lift = np.where(even > 0, mean / even, np.nan)
        count = of("count", ":excess")
        p = p_values(
            of("value", ":excess"), of("error", ":excess"), of("value", ":variance"), count
        )
        parts.append(
            heads.iloc[there].assign(
                pattern=name, score=mean, uniform=even, lift=lift,
                null=of("value", ":null"), error=of("error"), p=p, documents=count.astype(int),
            )
        )  # fmt: skip
    if not parts:
        return pd.DataFrame(columns=COLUMNS)
    frame: Any = pd.concat(parts, ignore_index=True)
    if (most := int(frame["documents"].max())) < FEWEST:
        warn_few(most, "documents")
    frame["labelled"] = (holm(frame["p"].to_numpy(float)) <= rate) & large(frame, patterns)
    return frame[COLUMNS]


def _laid_out(
    values: Values, row: NDArray[np.intp], column: NDArray[np.intp], shape: tuple[int, int]
) -> Values:
    """Measures × heads; nan where a measure has no such head."""
    found = np.full(shape, np.nan)
    found[row, column] = values
    return found


def large(frame: pd.DataFrame, patterns: dict[str, Pattern]) -> NDArray[np.bool_]:
    """Whether score and lift reach the pattern's thresholds."""
    which, names = np.unique(frame["pattern"].to_numpy(str), return_inverse=True)[::-1]
    score = np.array([patterns[name].least_score for name in names])[which]
    lift = np.array([patterns[name].least_lift for name in names])[which]
    ratio = frame["lift"].to_numpy(float)
    return (frame["score"].to_numpy(float) >= score) & (np.isnan(ratio) | (ratio >= lift))

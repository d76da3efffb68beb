"""Five folds in which a test map shares neither its head nor its text with any training map."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FOLDS = 5


def folds(
    frame: pd.DataFrame, seed: int = 0
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(train, test) rows; heads are dealt into folds, and texts of the test rows leave training."""
    heads = (
        frame["model"] + " " + frame["layer"].astype(str) + "-" + frame["head"].astype(str)
    ).to_numpy()
    texts = frame["text"].to_numpy()
    names = np.unique(heads)
    dealt = dict(
        zip(
            np.random.default_rng(seed).permutation(names),
            np.arange(len(names)) % FOLDS,
            strict=True,
        )
    )
    fold = np.array([dealt[name] for name in heads])
    for number in range(FOLDS):
        test = np.flatnonzero(fold == number)
        train = np.flatnonzero((fold != number) & ~np.isin(texts, texts[test]))
        yield train, test

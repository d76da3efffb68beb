"""Every case of a probe with its outcome, and heads against a baseline on the same cases.

A case is scored by a head that was chosen on other data. A baseline (a fixed offset, a rule)
answers the same cases, so the two are compared case by case, with texts as units.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.statistics.significance import Replicates, holm, sign_flip


class Text(NamedTuple):
    """The stored parts of a text."""

    where: str
    words: Sequence[str]
    gold: Sequence[Any]  # the annotation with the right answers, as JSON


class Case(NamedTuple):
    """One case of a pick: the word that its head chose, and whether the baseline is right."""

    pick: int
    number: int  # of the text
    text: Text
    at: int  # which of the text's words or mentions
    choice: int  # the word that the head chose
    baseline_right: bool


class Cases:
    """The cases of all picks, added batch by batch and saved in the checkpoint."""

    def __init__(self) -> None:
        self._rows: list[NDArray[np.int32]] = []  # a block per pick and batch
        self._texts: list[Text] = []
        self._first = 0  # number of the batch's first text

    def begin(self, texts: Iterable[Text]) -> None:
        self._first = len(self._texts)
        self._texts += texts

    def add(
        self,
        pick: int,
        row: NDArray[np.int64],
        at: NDArray[np.int64],
        choice: NDArray[np.int64],
        baseline_right: NDArray[np.bool_],
    ) -> None:
        """One pick's cases of a batch; `row` is the text's number in the batch."""
        columns = (np.full(len(row), pick), row + self._first, at, choice, baseline_right)
        self._rows.append(np.stack(columns, axis=1).astype(np.int32))

    def __iter__(self) -> Iterator[Case]:
        """In the order of the text: by text, then by word."""
        rows = self._whole()
        order = np.lexsort((rows[:, 0], rows[:, 2], rows[:, 1]))
        for pick, number, at, choice, right in rows[order].tolist():
            yield Case(pick, number, self._texts[number], at, choice, bool(right))

    def state(self) -> dict[str, NDArray[Any]]:
        kept = json.dumps(self._texts).encode()
        return {"case_rows": self._whole(), "case_texts": np.frombuffer(kept, np.uint8)}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        self._rows = [state["case_rows"]]
        self._texts = [Text(*one) for one in json.loads(state["case_texts"].tobytes())]

    def _whole(self) -> NDArray[np.int32]:
        return np.concatenate([np.zeros((0, 5), np.int32), *self._rows])


def against_baseline(groups: Iterable[pd.DataFrame], unit: str, seed: int) -> pd.DataFrame:
    """Per group of cases: head minus baseline, its interval over units, p-values.

    Signs are exchanged unit by unit (a sentence, a window). Heads and baselines were chosen on
    other data, so p is corrected for the number of groups alone.
    """
    found: list[tuple[float, float, float]] = []
    for own in groups:
        gained = own["right"].to_numpy(float) - own["baseline_right"].to_numpy(float)
        units = np.unique(own[unit].to_numpy(int), return_inverse=True)[1]
        sums = np.bincount(units, gained).astype(np.float64)
        drawn = Replicates(1, seed)
        drawn.add_batch(0, sums[:, None], np.bincount(units).astype(np.float64)[:, None])
        low, high = drawn.interval()[:, 0]
        found.append((low, high, float(sign_flip(sums[None], seed=seed)[0])))
    low, high, p = np.array(found).reshape(-1, 3).T
    columns = {"above_low": low, "above_high": high, "p": p, "p_holm": holm(p)}
    return pd.DataFrame(columns)

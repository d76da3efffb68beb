"""Every case of a dependency probe with its outcome, and heads against the fixed offset on them.

A case is a word, scored by the head that was chosen for its relation on other data. The offset
answers the same cases, so the two are compared case by case, with sentences as units.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus.treebanks.conllu import Sentence
from headscope.statistics.significance import Replicates, holm, sign_flip

COLUMNS = ("pick", "sentence", "word", "choice", "by_offset")
NONE = "(root)"


class Cases:
    """Which word each pick scored, what its head chose, and whether the offset was right."""

    def __init__(self) -> None:
        self._rows: list[NDArray[np.int32]] = []  # a block per pick and batch
        self._sentences: list[Sentence | _Kept] = []
        self._first = 0  # number of the batch's first sentence

    def begin(self, items: Sequence[Sentence]) -> None:
        self._first = len(self._sentences)
        self._sentences += items

    def add(self, pick: int, scored: Tensor, choice: Tensor, by_offset: NDArray[np.bool_]) -> None:
        """One pick's words of a batch: b w, whether scored, and the word its head chose."""
        row, word = (one.numpy() for one in scored.nonzero(as_tuple=True))
        chosen = choice.numpy()[row, word]
        columns = (np.full(len(row), pick), row + self._first, word, chosen, by_offset[row, word])
        self._rows.append(np.stack(columns, axis=1).astype(np.int32))

    def state(self) -> dict[str, NDArray[Any]]:
        kept = json.dumps([[one.where, one.words, one.heads] for one in self._sentences])
        return {
            "case_rows": self._whole(),
            "case_sentences": np.frombuffer(kept.encode(), np.uint8),
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        self._rows = [state["case_rows"]]
        kept = json.loads(state["case_sentences"].tobytes())
        self._sentences = [_Kept(*one) for one in kept]

    def _whole(self) -> NDArray[np.int32]:
        return np.concatenate([np.zeros((0, len(COLUMNS)), np.int32), *self._rows])

    def _ordered(self) -> list[list[int]]:
        """In the order of the text: by sentence, then by word."""
        rows = self._whole()
        return rows[np.lexsort((rows[:, 2], rows[:, 1]))].tolist()

    def table(self, relations: Sequence[str]) -> pd.DataFrame:
        """A row per case; `relations` are the picks' names."""
        columns: dict[str, list[Any]] = {name: [] for name in TABLE}
        for pick, number, word, choice, by_offset in self._ordered():
            one = self._sentences[number]
            governor = one.heads[word]
            values = (
                relations[pick], number, one.where, " ".join(one.words), word, one.words[word],
                governor, NONE if governor < 0 else one.words[governor], choice,
                one.words[choice], choice == governor, bool(by_offset),
            )  # fmt: skip
            for name, value in zip(TABLE, values, strict=True):
                columns[name].append(value)
        return pd.DataFrame(columns)


TABLE = (
    "relation", "sentence", "where", "text", "dependent_at", "dependent", "governor_at",
    "governor", "choice_at", "choice", "right", "baseline_right",
)  # fmt: skip


class _Kept:
    """What is kept of a sentence when a run stops."""

    def __init__(self, where: str, words: list[str], heads: list[int]) -> None:
        self.where, self.words, self.heads = where, words, heads


def against_baseline(cases: pd.DataFrame, relations: Sequence[str], seed: int) -> pd.DataFrame:
    """Per relation: head minus offset on the same cases, its interval over sentences, p-values.

    Signs are exchanged sentence by sentence. Heads and offsets were chosen on other data, so p is
    corrected for the number of relations alone.
    """
    width = int(cases["sentence"].to_numpy(int).max(initial=-1)) + 1
    found: list[tuple[float, float, float]] = []
    for relation in relations:
        own = cases.loc[cases["relation"] == relation]
        gained = own["right"].to_numpy(float) - own["baseline_right"].to_numpy(float)
        sentence = own["sentence"].to_numpy(int)
        sums = np.bincount(sentence, gained, width).astype(np.float64)
        counts = np.bincount(sentence, minlength=width).astype(float)
        there = counts > 0
        drawn = Replicates(1, seed)
        drawn.add_batch(0, sums[there, None], counts[there, None])
        low, high = drawn.interval()[:, 0]
        found.append((low, high, float(sign_flip(sums[None, there], seed=seed)[0])))
    low, high, p = np.array(found).reshape(-1, 3).T
    columns = {"above_low": low, "above_high": high, "p": p, "p_holm": holm(p)}
    return pd.DataFrame(columns)

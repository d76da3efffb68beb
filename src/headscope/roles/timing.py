"""Word times from a map of tokens × moments: dynamic time warping, as in Whisper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.reading.word_times import WordTime, contrast, first_columns, without_pauses
from headscope.roles.maps import UnitBatch
from headscope.roles.scores import Tally

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Timing:
    """The data for timing the words of one sound."""

    words: tuple[str, ...]
    rows: tuple[tuple[int, int], ...]  # of `spoken`, which has one more row for the end
    truth: Floats  # w 2, seconds
    starts: Floats  # of moments
    seconds: float  # of the sound
    pauses: Floats  # n 2
    spoken: slice  # of the map's rows: those that predict words, and the last token's own

    def times(self, maps: Floats) -> Floats:
        """h w 2: when each word starts and ends, by h q k that are standardised over tokens."""
        begin = first_columns(-contrast(maps[:, self.spoken]))
        ends = np.full((len(maps), 1), self.seconds)
        edges = np.concatenate([self.starts[begin], ends], axis=1)
        return np.stack([self._between(one) for one in edges])

    def evenly(self) -> Floats:
        """w 2: the times of tokens that all last equally long."""
        tokens = self.spoken.stop - self.spoken.start
        return self._between(np.linspace(0, self.seconds, tokens + 1))

    def error(self, found: Floats) -> float:
        """The sum over words of the mean absolute error of start and end."""
        return float(np.abs(found - self.truth).mean(1).sum())

    def _between(self, edges: Floats) -> Floats:
        found = tuple(
            WordTime(word, rows, float(edges[rows[0]]), float(edges[rows[1]]))
            for word, rows in zip(self.words, self.rows, strict=True)
        )
        return np.array([[one.start, one.end] for one in without_pauses(found, self.pauses)])


def time_error(maps: Tensor, batch: UnitBatch) -> Tally:
    """Mean absolute error of words' starts and ends, in seconds."""
    sums = np.zeros(maps.shape[:2])
    counts = np.zeros(len(maps))
    for row, one in enumerate(batch.plans):
        timing: Timing = one.extra
        queries, keys = one.right.shape
        counts[row] = len(timing.truth)
        found = timing.times(maps[row, :, :queries, :keys].double().cpu().numpy())
        sums[row] = [timing.error(of_head) for of_head in found]
    return Tally(torch.from_numpy(sums), torch.from_numpy(counts))

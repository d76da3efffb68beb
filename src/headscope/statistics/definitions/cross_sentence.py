"""Attention across the sentence pair."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic, undefined_unless


class CrossSentence(Statistic):
    """Share of attention that goes to the other sentence of a pair, its special tokens included.

    What a head must do to compare two sentences. Undefined for single texts.
    """

    name = "cross_sentence"
    title = "other sentence"
    formula = "Σ_i Σ_(s_j ≠ s_i) α_ij / n"
    paper = "Vig 2019; Kovaleva et al. 2019"
    needs = "a sentence pair"
    unit = "share"

    def features(self) -> tuple[str | Feature, ...]:
        return ("sentence_a", "sentence_b")

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        in_b = grid.query.segments == 1
        across = torch.where(in_b[:, None], rows["sentence_a"], rows["sentence_b"])
        return undefined_unless(in_b.any(1), rows.mean_of(across))

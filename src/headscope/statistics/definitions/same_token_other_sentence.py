"""Attention to the same token in the other sentence."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.statistics.features.grid import Grid
from headscope.statistics.features.named import other_sentence, same_token
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic


class SameTokenOtherSentence(Statistic):
    """Attention to the query's own token where it stands in the other sentence of a pair.

    Σ_(x_j = x_i, s_j ≠ s_i) α_ij, mean over queries whose token does stand there (Vig 2019,
    pattern 4; Kovaleva et al. 2019 on STS-B and RTE). Undefined for single texts and for causal
    attention.
    """

    name = "same_token_other"
    standard = False  # needs a comparison per pair, which a GPU feels
    unit = "share"
    feature = "same_token_other"
    both_directions = True

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        if not bool((grid.query.segments == 1).any()):
            return rows.mean("same_token_other", queries=torch.zeros_like(grid.query.valid))
        every = slice(0, grid.query.ids.shape[1])
        there = (same_token(grid, every) & other_sentence(grid, every)).any(2)
        return rows.mean("same_token_other", queries=there)

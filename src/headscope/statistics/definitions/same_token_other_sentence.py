"""Attention to the same token in the other sentence."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.statistics.features.grid import Grid
from headscope.statistics.features.named import other_sentence, same_token
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic

SPAN = 512  # queries compared with all keys at a time


class SameTokenOtherSentence(Statistic):
    """Attention to the query's own token where it stands in the other sentence of a pair.

    Undefined for single texts and for causal attention.
    """

    name = "same_token_other"
    title = "same token, other sentence"
    formula = "mean over queries whose token stands there of Σ_(x_j = x_i, s_j ≠ s_i) α_ij"
    paper = "Vig 2019, pattern 4; Kovaleva et al. 2019 on STS-B and RTE"
    standard = False  # needs a comparison per pair, which a GPU feels
    needs = "a sentence pair"
    unit = "share"
    feature = "same_token_other"
    both_directions = True

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        if not bool((grid.query.segments == 1).any()):
            return rows.mean("same_token_other", queries=torch.zeros_like(grid.query.valid))
        length = grid.query.ids.shape[1]
        spans = (slice(n, min(length, n + SPAN)) for n in range(0, length, SPAN))
        found = [(same_token(grid, q) & other_sentence(grid, q)).any(2) for q in spans]
        there = torch.cat(found, dim=1)
        return rows.mean("same_token_other", queries=there)

"""How widely a head spreads its attention, and how strongly it prefers one token."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic


class Entropy(Statistic):
    """How widely the head spreads its attention: the mean entropy of its rows.

    They smooth α by 0.0001 before taking the logarithm, which adds at most 0.002 nats; here 0 · ln
    0 is 0 and nothing is smoothed. Compare with `entropy_uniform`, the entropy of attending to
    everything alike.
    """

    name = "entropy"
    title = "entropy"
    formula = "mean_i −Σ_j α_ij ln α_ij"
    paper = "Clark et al. 2019, section 3.3 (figure 4)"
    unit = "nats"
    bounds = (0.0, float("inf"))
    kinds = ("encoder", "decoder", "cross")
    feature = "entropy"


class ClsEntropy(Statistic):
    """Entropy of the row of `[CLS]`: how widely it gathers.

    In the last layer `[CLS]` gathers from the whole text. Undefined for causal attention, whose
    first token sees itself alone.
    """

    name = "entropy_cls"
    title = "entropy of the opening token"
    formula = "−Σ_j α_0j ln α_0j"
    paper = "Clark et al. 2019, section 3.3"
    of_one_text = False
    needs = "a `[CLS]` or its like"
    unit = "nats"
    bounds = (0.0, float("inf"))
    feature = "entropy"
    queries = "cls"
    both_directions = True


class UniformEntropy(Statistic):
    """Entropy a head would have if it attended to every key it can see alike.

    The same for all heads.
    """

    name = "entropy_uniform"
    title = "entropy of uniform attention"
    formula = (
        "ln n for attention both ways and cross attention, mean_i ln(i + 1) for causal attention"
    )
    paper = "Clark et al. 2019, section 3.3 (the dashed line of figure 4)"
    of_one_text = False
    unit = "nats"
    bounds = (0.0, float("inf"))
    kinds = ("encoder", "decoder", "cross")

    def features(self) -> tuple[str | Feature, ...]:
        return ()

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        lengths = grid.key.lengths.double()
        if grid.causal and grid.same:
            longest = int(lengths.max())
            steps = torch.arange(1, longest + 1, device=lengths.device).double().log().cumsum(0)
            level = steps[lengths.long() - 1] / lengths
        else:
            level = lengths.log()
        return level[:, None].expand(-1, len(rows.heads))


class Focus(Statistic):
    """Distance from uniform attention: 0 where a query attends to all it sees alike, 1 to one key.

    Entropy relative to its largest value, so that short and long texts, and the early and late
    queries of a decoder, can be compared. Queries that see one key alone say nothing.
    """

    name = "focus"
    title = "focus"
    formula = "mean_i 1 − H_i / ln(keys i sees)"
    paper = "Clark et al. 2019, section 3.3, relative to its bound"
    unit = "share"
    standard = False
    feature = "entropy"

    def row_values(self, rows: Rows, grid: Grid) -> Tensor:
        seen = _keys_seen(grid).to(rows["entropy"].dtype)
        values = 1 - rows["entropy"] / seen.log()[:, None]
        return values.masked_fill((~grid.query.valid | (seen < 2))[:, None], math.nan)

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        values = self.row_values(rows, grid)
        return rows.mean_of(torch.nan_to_num(values, nan=0.0), queries=~values[:, 0].isnan())


def _keys_seen(grid: Grid) -> Tensor:
    """b t: how many keys each query sees; at least 1 where a query is padding."""
    if grid.causal:
        return grid.query.valid.cumsum(1).clamp_min(1)
    return grid.key.lengths[:, None].expand(-1, grid.query.ids.shape[1]).clamp_min(1)


class Confidence(Statistic):
    """The largest weight of a query, on average; the end-of-sentence token asks nothing.

    Confident heads are the ones worth keeping.
    """

    name = "confidence"
    title = "confidence"
    formula = "mean over i ∉ [SEP] of max_j α_ij"
    paper = "Voita et al. 2019, section 3"
    unit = "share"
    kinds = ("encoder", "decoder", "cross")
    feature = "largest"
    queries = "not_sep"

"""The entropy of attending to everything alike."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic


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

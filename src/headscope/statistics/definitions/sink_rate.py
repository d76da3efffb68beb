"""How often the first token is a sink."""

from __future__ import annotations

from torch import Tensor

from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic


class SinkRate(Statistic):
    """Share of documents in which the head's mean attention to the first token exceeds 0.3.

    With their threshold; averaged over heads it is their Sink_1.
    """

    name = "sink_rate"
    title = "documents with a sink"
    formula = "mean over documents of [mean_i α_(i,0) > 0.3]"
    paper = "Gu et al. 2024"
    of_one_text = False
    unit = "share of documents"
    feature = "first"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return (rows.mean("first") > 0.3).double()

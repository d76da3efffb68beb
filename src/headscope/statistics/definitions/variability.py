"""How much a head's map depends on what the text says, not only on positions."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.statistics.accumulator import Accumulator
from headscope.statistics.features.feature import RowFeature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.map_sample import MapSample
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic

TOKENS = 10  # the paper's N: positions compared across texts


def _corner(weights: Tensor, grid: Grid, queries: slice) -> Tensor:
    corner = weights[..., :TOKENS]
    return torch.nn.functional.pad(corner, (0, TOKENS - corner.shape[-1]))


class Variability(Statistic):
    """How much a head's map depends on what the text says, not only on positions.

    Over the first 10 tokens, attention to the first token left out. 0 for a head that depends on
    position alone. The mean map ᾱ must be known before the deviations, so the value is that of a
    seeded sample of at most 256 documents, which is every document of a smaller corpus.
    """

    name = "variability"
    title = "variability by text"
    formula = "Σ_x Σ_ij |α_ij(x) − ᾱ_ij| / (2 Σ_x Σ_ij α_ij(x)) over texts x"
    paper = "Vig & Belinkov 2019, section 5.4"
    of_one_text = False
    needs = "texts of ten tokens or more"
    unit = "share"
    standard = False
    feature = RowFeature("corner", _corner, width=TOKENS, limit=TOKENS)

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        maps = rows["corner"][:, :, 1:, 1:].double()  # b H t' width
        long_enough = grid.query.lengths >= TOKENS
        full = maps.new_full((maps.shape[0], maps.shape[1], (TOKENS - 1) ** 2), torch.nan)
        if maps.shape[2] == TOKENS - 1:
            full[long_enough] = maps.flatten(2)[long_enough]
        return full

    def accumulator(self, heads: int) -> Accumulator:
        return MapSample(heads, (TOKENS - 1) ** 2)

"""From the rows of a batch to a tally: every statistic measured, one copy off the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from headscope.capture import Kind
from headscope.statistics.feature import Feature
from headscope.statistics.features import resolve
from headscope.statistics.grid import Grid
from headscope.statistics.rows import Rows
from headscope.statistics.statistic import Statistic
from headscope.statistics.tally import Tally


def features_for(chosen: Sequence[Statistic], on: Mapping[Kind, Grid]) -> dict[Kind, list[Feature]]:
    """The features the statistics that apply to each kind will look up."""
    wanted: dict[Kind, list[Feature]] = {}
    for kind, grid in on.items():
        applying = [s for s in chosen if s.applies(kind, grid.causal)]
        if applying:
            wanted[kind] = [resolve(feature) for s in applying for feature in s.features()]
    return wanted


def take(chosen: Sequence[Statistic], rows: Rows, grid: Grid, tally: Tally) -> None:
    applying = [s for s in chosen if s.applies(grid.kind, grid.causal)]
    measured = [statistic.measure(rows, grid) for statistic in applying]
    # one copy from the device for all plain statistics: each copy would wait for the device
    plain = [values for values in measured if values.dim() == 2]
    together = torch.stack([v.double() for v in plain]).cpu() if plain else None
    place = 0
    for statistic, values in zip(applying, measured, strict=True):
        if values.dim() == 2:
            assert together is not None
            values, place = together[place], place + 1
        tally.add(grid.kind, statistic, rows.heads, grid.documents, values)

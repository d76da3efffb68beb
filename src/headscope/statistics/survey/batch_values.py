"""From the rows of a batch to a tally: every statistic measured, one copy off the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.errors import HeadscopeError
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.named import resolve
from headscope.statistics.features.rows import Rows
from headscope.statistics.places.settings import PlaceSettings, place_features
from headscope.statistics.statistic import Statistic
from headscope.statistics.survey.tally import Tally


def features_for(
    chosen: Sequence[Statistic], on: Mapping[Kind, Grid], places: PlaceSettings | None = None
) -> dict[Kind, list[Feature]]:
    """The features the statistics that apply to each kind will look up, and those of places."""
    wanted: dict[Kind, list[Feature]] = {}
    for kind, grid in on.items():
        applying = [s for s in chosen if s.applies(kind, grid.causal)]
        if applying:
            wanted[kind] = [resolve(feature) for s in applying for feature in s.features()]
        if places is not None:
            judged = [s for s in places.statistics if s.applies(kind, grid.causal)]
            extra = place_features(replace(places, statistics=tuple(judged)))
            wanted[kind] = [*wanted.get(kind, []), *(resolve(feature) for feature in extra)]
    return wanted


class Measured:
    """The statistics of a batch, which a GPU may still be computing: their copy is on its way.

    Adding to a tally waits for them. A caller who first gives the device its next batch keeps
    it busy meanwhile.
    """

    def __init__(self, chosen: Sequence[Statistic], rows: Rows, grid: Grid) -> None:
        self._applying = [s for s in chosen if s.applies(grid.kind, grid.causal)]
        self._kind: Kind = grid.kind
        self._heads, self._documents = rows.heads, grid.documents
        values = [statistic.measure(rows, grid) for statistic in self._applying]
        # one copy from the device for all plain statistics: each copy would wait for the device
        plain = [v.double() for v in values if v.dim() == 2]
        self._others = [v for v in values if v.dim() != 2]
        self._together, self._arrived = _to_host(torch.stack(plain)) if plain else (None, None)
        self._is_plain = [v.dim() == 2 for v in values]

    def into(self, tally: Tally) -> None:
        if self._arrived is not None:
            self._arrived.synchronize()
        plain = iter(() if self._together is None else self._together)
        others = iter(self._others)
        for statistic, is_plain in zip(self._applying, self._is_plain, strict=True):
            values = next(plain if is_plain else others)
            tally.add(self._kind, statistic, self._heads, self._documents, values)


class FiniteCheck:
    """Whether a batch's attention is made of numbers; the answer comes with its statistics."""

    def __init__(self, layers: Sequence[int], lost: Tensor) -> None:
        self._layers = layers
        self._lost, self._arrived = _to_host(lost)

    def __call__(self) -> None:
        if self._arrived is not None:
            self._arrived.synchronize()
        for layer, lost in zip(self._layers, self._lost.tolist(), strict=True):
            if lost:
                raise HeadscopeError(
                    f"The attention of layer {layer} is not a number: the model overflows or its "
                    "weights are damaged; load it with dtype='float32', or another checkpoint."
                )


def add_values(chosen: Sequence[Statistic], rows: Rows, grid: Grid, tally: Tally) -> None:
    """Measure every statistic and add it to the tally."""
    Measured(chosen, rows, grid).into(tally)


def _to_host(values: Tensor) -> tuple[Tensor, torch.cuda.Event | None]:
    """The values in main memory, and what tells that they are there."""
    if not values.is_cuda:
        return values, None
    landing = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    landing.copy_(values, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record()
    return landing, arrived

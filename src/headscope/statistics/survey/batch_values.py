"""From the rows of a batch to a tally: every statistic measured, one copy off the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.errors import HeadscopeError
from headscope.statistics.accumulator import Moments
from headscope.statistics.device_copies import Fetched
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

    Adding them up waits for it. A caller who first gives the device its next batch keeps it busy
    meanwhile. Where nothing but mean and spread is asked for, a GPU takes those over the documents
    itself: a processor needs longer for that than for all else it does for a batch.
    """

    def __init__(self, chosen: Sequence[Statistic], rows: Rows, grid: Grid, tally: Tally) -> None:
        self._tally = tally
        self._kind: Kind = grid.kind
        self._heads, self._documents = rows.heads, grid.documents
        self._applying = {s.name: s for s in chosen if s.applies(grid.kind, grid.causal)}
        values = {name: s.measure(rows, grid) for name, s in self._applying.items()}
        tally.heads.setdefault(self._kind, self._heads)
        parts = {name: tally.part(self._kind, name) for name in values}  # in the order of tables
        plain = {name: v.double() for name, v in values.items() if v.dim() == 2}
        self._alone = {name: v for name, v in values.items() if name not in plain}
        self._moments = {
            name: part
            for name, part in parts.items()
            if grid.on_gpu and name in plain and isinstance(part, Moments)
        }
        # one copy from the device for all of them: each copy would wait for the device
        summed = [plain.pop(name) for name in self._moments]
        self._whole, none = list(plain), torch.zeros(0)
        self._values = Fetched.of(torch.stack([*plain.values()]) if plain else none)
        self._sums = Fetched.of(moments_of(torch.stack(summed)) if summed else none)

    def add_up(self) -> None:
        every = {**self._alone, **dict(zip(self._whole, self._values.values, strict=True))}
        for name, values in every.items():
            statistic = self._applying[name]
            self._tally.add(self._kind, statistic, self._heads, self._documents, values)
        sums = self._sums.values
        for place, moments in enumerate(self._moments.values()):
            count, mean, deviations = sums[:, place].numpy()
            moments.add_known(count.astype(np.int64), mean, deviations)


def moments_of(values: Tensor) -> Tensor:
    """3 S H: count, mean and squared deviations over documents of values S b H, nan where one has
    none."""
    defined = ~values.isnan()
    count = defined.sum(1)
    mean = torch.where(defined, values, 0.0).sum(1) / count.clamp_min(1)
    apart = torch.where(defined, values - mean[:, None], 0.0)
    return torch.stack([count.double(), mean, apart.square().sum(1)])


class FiniteCheck:
    """Whether a batch's attention is made of numbers; the answer comes with its statistics."""

    def __init__(self, layers: Sequence[int], lost: Tensor) -> None:
        self._layers = layers
        self._lost = Fetched.of(lost)

    def __call__(self) -> None:
        for layer, lost in zip(self._layers, self._lost.values.tolist(), strict=True):
            if lost:
                raise HeadscopeError(
                    f"The attention of layer {layer} is not a number: the model overflows or its "
                    "weights are damaged; load it with dtype='float32', or another checkpoint."
                )


def add_values(chosen: Sequence[Statistic], rows: Rows, grid: Grid, tally: Tally) -> None:
    """Measure every statistic and add it to the tally."""
    Measured(chosen, rows, grid, tally).add_up()

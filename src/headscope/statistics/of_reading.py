"""Measures of a single reading, by the same code as a survey.

Computed layer by layer and in blocks of queries, so that a reading with only q and k never needs
whole maps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import BadInput
from headscope.measures import every
from headscope.reading import LayerAttention, Part
from headscope.reading.memory import gpu_at_hand
from headscope.statistics.features.feature import resolve
from headscope.statistics.features.grid import Grid, grid_of
from headscope.statistics.features.rows import Rows
from headscope.statistics.kernels.blocks import Plan, Reduced
from headscope.statistics.kernels.of_layers import Counts, from_layers, layer_weights, stretches
from headscope.statistics.statistic import Statistic

MOST = 2**27  # row features in memory at once; pair features are computed again for each such block
MOST_ON_GPU = 2**29
LARGE = 2**27  # so many weights are computed on a GPU, if one is in use
Values = Mapping[str, NDArray[np.float64]]
_known: WeakKeyDictionary[Part, Values] = WeakKeyDictionary()
_counted: WeakKeyDictionary[Part, Mapping[str, Tensor]] = WeakKeyDictionary()


def reading_values(part: Part) -> Values:
    """Every measure of a single text, layers × heads; NaN if undefined.

    Rows are the part's layers, in order. Computed once per part and cached with it.
    """
    if part not in _known:
        chosen = [
            measure.computed_by
            for measure in every().values()
            if measure.of_one_text and isinstance(measure.computed_by, Statistic)
        ]
        # the permutation variance is for tests over many texts; skip it on a processor
        on_gpu = _device(part).type == "cuda"
        made = measure_part(part, [s for s in chosen if on_gpu or not _of_tests(s.name)])
        kept = {name: values for name, values in made.items() if not _of_tests(name)}
        _known[part] = MappingProxyType(kept)
    return _known[part]


def share_values(measured: Part, other: Part) -> None:
    """Share a part's cached measures with another of the same attention: for a long text, measuring
    takes longer than reading."""
    if measured in _known:
        _known[other], _counted[other] = _known[measured], pair_counts(measured)


def _of_tests(name: str) -> bool:
    return name.endswith(":variance")


def pair_counts(part: Part) -> Mapping[str, Tensor]:
    """Per query (1 t) the sum of each pair feature over its keys, where the part was measured."""
    return _counted.get(part, {})


def measure_part(part: Part, statistics: Sequence[Statistic]) -> dict[str, NDArray[np.float64]]:
    """The statistics that apply to the part and are defined for some head."""
    applying = [s for s in statistics if s.applies(part.kind, part.causal)]
    grid = grid_of_part(part, _device(part))
    plan = Plan(grid, [resolve(feature) for s in applying for feature in s.features()])
    found = {s.name: np.full((len(part.layers), part.heads), np.nan) for s in applying}
    place = {number: at for at, number in enumerate(part.numbers)}
    for rows in _rows(part, plan):
        _counted[part] = rows.counts
        layers = [place[layer] for layer, _ in rows.heads]
        heads = [head for _, head in rows.heads]
        for statistic in applying:
            found[statistic.name][layers, heads] = (
                statistic.measure(rows, grid)[0].double().cpu().numpy()
            )
    return {name: values for name, values in found.items() if not np.isnan(values).all()}


def blocks_of_head(part: Part, layer: int, head: int) -> Iterator[tuple[slice, Tensor]]:
    """One head's weights (tq s) in blocks of queries, with the keys that any of them sees."""
    device = _device(part, 1)
    one = part.layer(layer).of_heads([head]).on(device)
    causal = part.causal and part.kind != "cross"
    for queries, keys in stretches(len(part.query), len(part.key), causal, device):
        yield queries, layer_weights(one, queries, keys, device)[0]


def _device(part: Part, heads: int | None = None) -> torch.device:
    """The GPU that this process uses, if the reading is large enough."""
    size = (heads or len(part.layers) * part.heads) * len(part.query) * len(part.key)
    return torch.device("cuda" if size >= LARGE and gpu_at_hand() else "cpu")


def _rows(part: Part, plan: Plan) -> Iterator[Rows]:
    """The row features of a few layers at a time, to limit memory."""
    each = part.heads * len(plan.names) * len(part.query)
    most = MOST_ON_GPU if plan.grid.key.ids.is_cuda else MOST
    step = max(1, most // max(1, each))
    for start in range(0, len(part.layers), step):
        some = part.layers[start : start + step]
        heads = [(layer.layer, head) for layer in some for head in range(_heads(layer))]
        yield _together(plan, heads, *from_layers(some, plan))


def _heads(layer: LayerAttention) -> int:
    heads = layer.shape[0]
    if heads == 0:
        raise BadInput(
            "This reading kept neither the weights nor both q and k; read the text again with "
            'keep=("weights",).'
        )
    return heads


def _together(
    plan: Plan, heads: list[tuple[int, int]], reduced: list[Reduced], counts: Counts
) -> Rows:
    wide = {name: torch.cat([one.wide[name] for one in reduced], 1) for name in reduced[0].wide}
    values = torch.cat([one.values for one in reduced], dim=1)
    return Rows(plan.grid, heads, plan.names, values, wide, counts.found)


def grid_of_part(part: Part, device: torch.device | str = "cpu") -> Grid:
    """The part's tokens, laid out like a survey's batch."""
    same = part.key is part.query or part.kind != "cross"
    keys = None if same else [part.key]
    return grid_of([part.query], keys, part.kind, part.causal, device)

"""Measures of a single reading, by the code that surveys a corpus, so that they cannot differ.

Layer after layer and block after block of queries: a reading that kept q and k alone never has its
maps made whole, however long its text.
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

MOST = 2**27  # row features held at once: what pairs of tokens are is asked anew for every so many
MOST_ON_GPU = 2**29
LARGE = 2**27  # weights from which on a GPU that is at hand makes them
Values = Mapping[str, NDArray[np.float64]]
_known: WeakKeyDictionary[Part, Values] = WeakKeyDictionary()
_counted: WeakKeyDictionary[Part, Mapping[str, Tensor]] = WeakKeyDictionary()


def reading_values(part: Part) -> Values:
    """Every measure that a single text has, layers × heads; nan where it is undefined.

    Rows are the layers the part holds, in their order. Computed once for a part and kept with it.
    """
    if part not in _known:
        chosen = [
            measure.computed_by
            for measure in every().values()
            if measure.of_one_text and isinstance(measure.computed_by, Statistic)
        ]
        # what deals of the weights vary is for tests over many texts; a processor is spared it
        on_gpu = _device(part).type == "cuda"
        made = measure_part(part, [s for s in chosen if on_gpu or not _of_tests(s.name)])
        kept = {name: values for name, values in made.items() if not _of_tests(name)}
        _known[part] = MappingProxyType(kept)
    return _known[part]


def share_values(measured: Part, other: Part) -> None:
    """What is known of a part holds for another of the same attention, which need not be measured
    again: of a long text that takes longer than reading it."""
    if measured in _known:
        _known[other], _counted[other] = _known[measured], pair_counts(measured)


def _of_tests(name: str) -> bool:
    return name.endswith(":variance")


def pair_counts(part: Part) -> Mapping[str, Tensor]:
    """Per query (1 t) the sum of each pair feature over its keys, where the part was measured."""
    return _counted.get(part, {})


def measure_part(part: Part, statistics: Sequence[Statistic]) -> dict[str, NDArray[np.float64]]:
    """Those of the statistics that apply to the part and are defined for some head."""
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
    """One head's weights (tq s) for some queries after another, with the keys any of them sees."""
    device = _device(part, 1)
    one = part.layer(layer).of_heads([head]).on(device)
    causal = part.causal and part.kind != "cross"
    for queries, keys in stretches(len(part.query), len(part.key), causal, device):
        yield queries, layer_weights(one, queries, keys, device)[0]


def _device(part: Part, heads: int | None = None) -> torch.device:
    """A GPU that this process works on, where a reading is large enough to be sent there."""
    size = (heads or len(part.layers) * part.heads) * len(part.query) * len(part.key)
    return torch.device("cuda" if size >= LARGE and gpu_at_hand() else "cpu")


def _rows(part: Part, plan: Plan) -> Iterator[Rows]:
    """The row features of some layers at a time, as many as take little memory."""
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
            "This reading kept neither weights nor q and k; read the text again with "
            'keep=("weights", "q", "k").'
        )
    return heads


def _together(
    plan: Plan, heads: list[tuple[int, int]], reduced: list[Reduced], counts: Counts
) -> Rows:
    wide = {name: torch.cat([one.wide[name] for one in reduced], 1) for name in reduced[0].wide}
    values = torch.cat([one.values for one in reduced], dim=1)
    return Rows(plan.grid, heads, plan.names, values, wide, counts.found)


def grid_of_part(part: Part, device: torch.device | str = "cpu") -> Grid:
    """The part's tokens, laid out as those of a survey's batch are."""
    same = part.key is part.query or part.kind != "cross"
    keys = None if same else [part.key]
    return grid_of([part.query], keys, part.kind, part.causal, device)

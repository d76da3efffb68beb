"""Row features of a reading's layers, all from one softmax per head and query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from headscope.reading import LayerAttention
from headscope.reading.collecting.collector import check_stop
from headscope.reading.memory import available_on
from headscope.statistics.features.feature import tell
from headscope.statistics.features.grid import Grid
from headscope.statistics.kernels.blocks import Plan, Reduced, fill_rows
from headscope.statistics.kernels.columns import Columns

MOST = 2**20  # weights in a block: 4 MB, which fit a processor's cache
ROWS = 64  # queries a block should hold
MOST_ON_GPU = 2**27  # a GPU is faster in few large steps


class Block:
    """Some queries of a text, with the keys that any of them sees and their pair features."""

    def __init__(self, plan: Plan, queries: slice, keys: int) -> None:
        self.queries, self.keys = queries, keys
        self.plan = plan.of_keys(keys)
        self.columns = Columns(self.plan, queries)


def from_layers(layers: Sequence[LayerAttention], plan: Plan) -> tuple[list[Reduced], Counts]:
    """Features of layers of one text, and the sum of each pair feature per query.

    Block by block, and within a block layer by layer, so that pair features are computed once for
    all layers and not stored; a GPU receives as many layers at a time as fit.
    """
    queries, device = plan.grid.query.ids.shape[1], plan.grid.key.ids.device
    reduced = [Reduced(plan, 1, layer.shape[0], queries) for layer in layers]
    counts = Counts(queries, device)
    for some in _at_once(layers, device):
        near = [(layers[at].on(device), reduced[at]) for at in some]
        units = [unit for layer, into in near for unit in _units(layer, into, device)]
        for block in blocks_of(plan, max(layer.shape[0] for layer, _ in units)):
            counts.add(block)
            for layer, into in units:
                check_stop("measures", (some.start + block.queries.start / queries) / len(layers))
                _fill(into, block, layer, device)
    return reduced, counts


def _units(
    layer: LayerAttention, into: Reduced, device: torch.device
) -> Iterator[tuple[LayerAttention, Reduced]]:
    """Heads whose weights are computed together, and the target of their features.

    On a processor, a few whole groups of heads, so that a block holds many queries: many rows with
    one group's keys are faster than few rows with all groups'.
    """
    heads, _, keys = layer.shape
    each = heads // layer.groups
    step = max(1, MOST // (ROWS * keys * each)) * each
    if device.type != "cpu" or step >= heads:
        yield layer, into
        return
    for first in range(0, heads, step):
        chosen = range(first, min(heads, first + step))
        yield layer.of_groups(chosen), into.of_heads(slice(chosen.start, chosen.stop))


def _at_once(layers: Sequence[LayerAttention], device: torch.device) -> Iterator[range]:
    """Neighbouring layers whose q and k take at most a quarter of what a GPU has free."""
    if device.type == "cpu":
        yield range(len(layers))
        return
    room = available_on(device) // 4
    start, taken = 0, 0
    for at, layer in enumerate(layers):
        if at > start and taken + layer.nbytes > room:
            yield range(start, at)
            start, taken = at, 0
        taken += layer.nbytes
    yield range(start, len(layers))


class Counts:
    """Per query, the sum over its keys of each pair feature (tq)."""

    def __init__(self, queries: int, device: torch.device) -> None:
        self._queries, self._device = queries, device
        self.found: dict[str, Tensor] = {}

    def add(self, block: Block) -> None:
        for name, counted in block.columns.counts.items():
            if name not in self.found:
                empty = torch.zeros(1, self._queries, dtype=torch.float64, device=self._device)
                self.found[name] = empty
            self.found[name][0, block.queries] = counted


def blocks_of(plan: Plan, heads: int) -> Iterator[Block]:
    grid = plan.grid
    queries, keys = grid.query.ids.shape[1], grid.key.ids.shape[1]
    causal = grid.causal and grid.same
    for some, seen in stretches(queries, keys, causal, grid.key.ids.device, heads):
        yield Block(plan, some, seen)


def stretches(
    queries: int, keys: int, causal: bool, device: torch.device, heads: int = 1
) -> Iterator[tuple[slice, int]]:
    """As many queries at a time as fit, and how many first keys they see; early queries of a causal
    text see few, so more of them fit."""
    most = (MOST if device.type == "cpu" else MOST_ON_GPU) // heads
    start = 0
    while start < queries:
        stop = min(queries, start + max(1, _fitting(start, most, keys, causal)))
        yield slice(start, stop), min(keys, stop) if causal else keys
        start = stop


def _fitting(start: int, most: int, keys: int, causal: bool) -> int:
    """The largest r with r · (start + r) ≤ most, or r · keys ≤ most."""
    if not causal:
        return most // keys
    return int((-start + (start * start + 4 * most) ** 0.5) / 2)


def _fill(into: Reduced, block: Block, layer: LayerAttention, device: torch.device) -> None:
    grid = block.plan.grid
    weights = _weights(layer, block.queries, block.keys, device, grid)
    columns = block.columns.values(weights[0])
    into.values[0, :, : columns.shape[1], block.queries] = columns
    fill_rows(into, block.plan, grid, weights, slice(0, 1), block.queries)


def layer_weights(layer: LayerAttention, queries: slice, keys: int, device: torch.device) -> Tensor:
    """h tq s in float32, of some queries and the first keys."""
    if layer.has_weights:
        return torch.from_numpy(layer.head_weights(slice(None), queries, keys)).to(device)
    if "sinks" in layer.held:
        return layer.weights_on(device, slice(None), queries, keys)
    return layer.scores_on(device, queries, keys).softmax(-1)


def _weights(
    layer: LayerAttention, queries: slice, keys: int, device: torch.device, grid: Grid
) -> Tensor:
    """1 h tq s; entropy and the largest weight come with the softmax."""
    if layer.has_weights or "sinks" in layer.held:
        return layer_weights(layer, queries, keys, device)[None]
    scores = layer.scores_on(device, queries, keys)[None]
    scores -= scores.amax(-1, keepdim=True)
    weights = scores.softmax(-1)
    largest = weights.amax(-1)
    # −Σ α ln α with ln α = (s − most) + ln (largest α): two sums of what is not negative
    entropy = -largest.log() - scores.mul_(weights).sum(-1)
    tell(grid, weights, entropy=entropy.clamp_min_(0), largest=largest)
    return weights

"""From the rows of a batch to places: candidates first, then the keys of those that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call
from headscope.statistics.definitions.focus import Focus
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.kernels.scores import row_weights
from headscope.statistics.places.counting import count_batch
from headscope.statistics.places.lists import PlaceList, scrambled
from headscope.statistics.places.places import Places
from headscope.statistics.places.settings import TENTHS, PlaceSettings, tenth_of
from headscope.statistics.places.texts import KeptText
from headscope.statistics.statistic import Statistic
from headscope.text.tokens import Tokens

KeptCalls = Sequence[tuple[Call, Tensor | None]]  # calls, and their weights where not rebuilt


def applying(settings: PlaceSettings, kind: str, causal: bool) -> list[Statistic]:
    """The statistics whose rows are judged for one kind of attention."""
    return [s for s in settings.statistics if s.applies(kind, causal)]  # pyright: ignore


def gather(
    places: Places, rows: Rows, grid: Grid, kept: KeptCalls, tokens: Sequence[Tokens]
) -> None:
    """Take in the places of a batch."""
    chosen = applying(places.settings, grid.kind, grid.causal)
    values = [statistic.row_values(rows, grid) for statistic in chosen]
    padding = ~grid.query.valid[:, None]
    every = torch.stack(values).masked_fill(padding, torch.nan).cpu()  # M b H t
    bounds = [statistic.bounds for statistic in chosen]
    _keep_strongest(places, every, grid.documents)
    _keep_tenths(places, every, bounds, grid.documents)
    _look_up_keys(places, grid, kept)
    numbers = {int(number): at for at, number in enumerate(grid.documents)}
    for number in {*places.top.documents().tolist(), *places.tenths.documents().tolist()}:
        if number in numbers and number not in places.texts:
            places.texts[number] = KeptText.of(tokens[numbers[number]])
    places.forget_texts()
    count_batch(places.counts, rows, grid, Focus().row_values(rows, grid))


def _keep_strongest(places: Places, every: Tensor, documents: NDArray[np.int64]) -> None:
    """Each document's best places are candidates; the best of all stay."""
    settings = places.settings
    left = torch.nan_to_num(every, nan=-torch.inf)
    queries: list[Tensor] = []
    values: list[Tensor] = []
    for _ in range(min(settings.per_document, every.shape[-1])):
        best, at = left.max(-1)  # of equal ones the first
        queries.append(at)
        values.append(best)
        left = left.scatter(-1, at[..., None], -torch.inf)
    value = torch.stack(values, -1)  # M b H m
    found = _candidates(value, torch.stack(queries, -1), documents, -value.double(), settings.keys)
    places.top = places.top.merged(found, settings.top)


def _keep_tenths(
    places: Places,
    every: Tensor,
    bounds: Sequence[tuple[float, float]],
    documents: NDArray[np.int64],
) -> None:
    """Of each document and tenth the place with the lowest scramble is a candidate."""
    settings = places.settings
    count, batch, heads, length = every.shape
    queries = np.arange(length, dtype=np.int64)
    chance = torch.from_numpy(scrambled(documents[:, None], queries[None], settings.seed))  # b t
    order = chance.argsort(dim=1)
    rank = order.argsort(dim=1)[:, None].expand(batch, heads, length)
    query = torch.empty(count, batch, heads, TENTHS, dtype=torch.int64)
    value = torch.empty(count, batch, heads, TENTHS)
    for place, (low, high) in enumerate(bounds):
        of = every[place]
        tenth = torch.where(of.isnan(), TENTHS, tenth_of(of, low, high))  # b H t
        first = torch.full((batch, heads, TENTHS + 1), length, dtype=torch.int64)
        first = first.scatter_reduce(2, tenth, rank, "amin")[..., :TENTHS]
        there = torch.zeros(batch, heads, TENTHS + 1, dtype=torch.int64)
        there = there.scatter_add(2, tenth, torch.ones_like(tenth))[..., :TENTHS]
        places.histogram[:, place] += there.sum(0).numpy()
        at = order[:, None].expand(batch, heads, length).gather(2, first.clamp_max(length - 1))
        query[place] = at
        value[place] = of.gather(2, at).masked_fill(first == length, -torch.inf)
    drawn = chance[:, None].expand(batch, heads, length)
    drawn = drawn.expand(count, batch, heads, length).gather(3, query)
    flat = _candidates(
        value[..., None], query[..., None], documents, drawn[..., None], settings.keys
    )
    places.tenths = places.tenths.merged(flat, settings.per_tenth)


def _candidates(
    value: Tensor,  # M b H … m; -inf where there is none
    query: Tensor,
    documents: NDArray[np.int64],
    order: Tensor,
    keys: int,
) -> PlaceList:
    """Places (H M … b·m) that have not been looked up yet."""

    def laid_out(tensor: Tensor) -> NDArray[np.generic]:
        moved = tensor.movedim(1, -2).movedim(1, 0)  # H M … b m
        return moved.reshape(*moved.shape[:-2], -1).numpy()

    there = laid_out(value > -torch.inf)
    numbers = (
        torch.from_numpy(documents).view(1, -1, *([1] * (value.dim() - 2))).expand(value.shape)
    )
    found = PlaceList.empty(there.shape, keys)
    found.document = np.where(there, laid_out(numbers), -1).astype(np.int64)
    found.query = np.where(there, laid_out(query), 0).astype(np.int32)
    found.value = np.where(there, laid_out(value), 0).astype(np.float32)
    found.order = np.where(there, laid_out(order), np.inf).astype(np.float64)
    return found


def _look_up_keys(places: Places, grid: Grid, kept: KeptCalls) -> None:
    """The heaviest keys of the places that came in with this batch."""
    at = {int(number): row for row, number in enumerate(grid.documents)}
    lists = (places.top, places.tenths)
    missing = [np.argwhere((one.document >= 0) & (one.keys[..., 0] < 0)) for one in lists]
    triples = np.concatenate(
        [
            np.stack(
                [
                    index[:, 0],
                    [at[int(n)] for n in one.document[tuple(index.T)]],
                    one.query[tuple(index.T)],
                ],
                axis=1,
            ).reshape(-1, 3)
            for one, index in zip(lists, missing, strict=True)
        ]
    ).astype(np.int64)  # head, row of the batch, query
    if not len(triples):
        return
    wanted, place = np.unique(triples, axis=0, return_inverse=True)
    keys, weights = heaviest(wanted, grid, kept, places.settings.keys)
    start = 0
    for one, index in zip(lists, missing, strict=True):
        of = place.ravel()[start : start + len(index)]
        one.keys[tuple(index.T)], one.weights[tuple(index.T)] = keys[of], weights[of]
        start += len(index)


def heaviest(
    wanted: NDArray[np.int64],  # n 3: head through all layers, row of the batch, query; sorted
    grid: Grid,
    kept: KeptCalls,
    count: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """n × count: the heaviest keys of single rows and their weights; -1 and 0 where there are
    fewer."""
    keys = np.full((len(wanted), count), -1, dtype=np.int32)
    weights = np.zeros((len(wanted), count), dtype=np.float32)
    first = 0
    for call, own in kept:
        heads = call.heads
        inside = np.flatnonzero((wanted[:, 0] >= first) & (wanted[:, 0] < first + heads))
        for row in np.unique(wanted[inside, 1]):
            mine = inside[wanted[inside, 1] == row]
            queries, which = np.unique(wanted[mine, 2], return_inverse=True)
            made = row_weights(call, own, grid, int(row), torch.from_numpy(queries))  # h r s
            chosen = made[torch.from_numpy(wanted[mine, 0] - first), torch.from_numpy(which)]
            value, index = chosen.topk(min(count, chosen.shape[1]), dim=1)
            there = value > 0
            n = value.shape[1]
            keys[mine[:, None], np.arange(n)] = torch.where(there, index, -1).cpu().numpy()
            weights[mine[:, None], np.arange(n)] = torch.where(there, value, 0).cpu().numpy()
        first += heads
    return keys, weights

"""From the rows of a batch to places: candidates first, then the keys of those that are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.statistics.device_copies import Fetched, sent
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.places.counting import count_batch
from headscope.statistics.places.deciles import count_values
from headscope.statistics.places.drawn import Drawn
from headscope.statistics.places.heaviest import Heaviest, KeptCalls
from headscope.statistics.places.lists import PlaceList
from headscope.statistics.places.places import Places
from headscope.statistics.places.settings import PlaceSettings
from headscope.statistics.places.texts import KeptText
from headscope.statistics.statistic import Statistic

TextOf = Callable[[int], KeptText]  # what is kept of a text, by its place in the batch
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def applying(settings: PlaceSettings, kind: str, causal: bool) -> list[Statistic]:
    """The statistics whose rows are judged for one kind of attention."""
    return [s for s in settings.statistics if s.applies(kind, causal)]  # pyright: ignore


def gather(
    places: Places,
    rows: Rows,
    grid: Grid,
    kept: KeptCalls,
    text_of: TextOf,
    key_text_of: TextOf | None = None,
) -> None:
    """Take in the places of a batch; `key_text_of` where keys stand in another text."""
    chosen = applying(places.settings, grid.kind, grid.causal)
    every = [s.row_values(rows, grid) for s in chosen]  # b H t
    if not grid.real_queries.all():
        padding = ~grid.query.valid[:, None]
        every = [values.masked_fill(padding, torch.nan) for values in every]
    into = places.binned(grid.query.ids.device) if grid.on_gpu else places.histogram
    count_values(into, every, [statistic.bounds for statistic in chosen])
    _keep_strongest(places, every, grid)
    strongest, drawn = _strongest(places, grid), _drawn(places, grid)
    _look_up(places, every, grid, Heaviest(grid, kept, places.settings.keys), strongest, drawn)
    if places.settings.text:
        _keep_texts(places, grid, text_of, key_text_of)
    count_batch(places.counts, rows, grid)


def _keep_strongest(places: Places, every: Sequence[Tensor], grid: Grid) -> None:
    """Each document's best places are candidates; the best of all stay."""
    settings = places.settings
    in_order = np.argsort(grid.documents)
    value, query, place = _candidates(settings, every, in_order)
    order = -value.astype(np.float64)
    worst = np.minimum(places.top.order[..., -1], settings.horizon.top(grid.kind, places))
    there = np.isfinite(order) & (order <= worst[..., None])
    if not there.any():
        return
    some = slice(int(np.flatnonzero(there.any(axis=(0, 1)))[-1]) + 1)  # of most batches few
    there, order, value = there[..., some], order[..., some], value[..., some]
    query, place = query[..., some], place[..., some]
    new = PlaceList.empty(there.shape, settings.keys)
    new.order = np.where(there, order, np.inf)
    new.document = np.where(there, grid.documents[in_order][place], -1)
    new.query = np.where(there, query, 0).astype(np.int32)
    new.value = np.where(there, value, 0).astype(np.float32)
    places.top = places.top.merged(new, settings.top)


def _candidates(
    settings: PlaceSettings, every: Sequence[Tensor], in_order: Ints
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:
    """H M n each: value, query and document (its number in that order) of what may stay, in one
    copy; -inf where there is nothing."""
    count = min(settings.per_document, every[0].shape[2])
    found = [_best(values, count) for values in every]
    device = every[0].device
    rows = sent(in_order, device)

    def laid_out(tensors: list[Tensor]) -> Tensor:
        moved = torch.stack(tensors)[:, rows].permute(2, 0, 1, 3)  # H M b m
        return moved.flatten(2)

    value, query = laid_out([of for of, _ in found]), laid_out([at for _, at in found])
    place = torch.arange(value.shape[2], device=device).div_(count, rounding_mode="floor")
    place = place.expand(value.shape)
    if value.shape[2] > 2 * settings.top:  # only so many can stay; of equal ones the first
        value, best = value.sort(dim=2, descending=True, stable=True)
        value, best = value[..., : settings.top], best[..., : settings.top]
        query, place = query.gather(2, best), best // count
    bits = value.float().contiguous().view(torch.int32)
    bits, query, place = Fetched.of(torch.stack([bits, query.int(), place.int()])).values.numpy()
    return bits.view(np.float32), query, place


def _best(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """b H m: the largest of each row, of equal ones the first; -inf where there are fewer."""
    left = torch.nan_to_num(values, nan=-torch.inf)
    found: list[tuple[Tensor, Tensor]] = []
    for rank in range(count):
        if rank:
            left.scatter_(-1, found[-1][1][..., None], -torch.inf)
        best, at = left.max(-1)
        found.append((best, at))
    value, query = zip(*found, strict=True)
    return torch.stack(value, -1), torch.stack(query, -1)


def _strongest(places: Places, grid: Grid) -> tuple[tuple[Ints, ...], Ints, Ints]:
    """The slots of the strongest places that came in with this batch, their rows and queries."""
    top = places.top
    at = np.nonzero((top.document >= 0) & (top.keys[..., 0] < 0))
    in_order = np.argsort(grid.documents)
    row = in_order[np.searchsorted(grid.documents[in_order], top.document[at])]
    return at, row.astype(np.int64), top.query[at].astype(np.int64)


def _drawn(places: Places, grid: Grid) -> tuple[Floats, Ints, Ints]:
    """The places of the batch that are among the lowest of all so far: order, row and query."""
    settings = places.settings
    order = grid.scrambled(settings.seed)
    worst = min(float(places.drawn.order[-1]), settings.horizon.drawn(grid.kind))
    row, query = np.nonzero(grid.real_queries & (order <= worst))
    if len(row) > settings.sample:
        best = np.argsort(order[row, query], kind="stable")[: settings.sample]
        row, query = row[best], query[best]
    return order[row, query], row, query


def _look_up(
    places: Places,
    every: Sequence[Tensor],
    grid: Grid,
    look_up: Heaviest,
    strongest: tuple[tuple[Ints, ...], Ints, Ints],
    drawn: tuple[Floats, Ints, Ints],
) -> None:
    """The heaviest keys of both: of the strongest for their own head, of the drawn for every head.

    They are asked for together, because all rows of a text are made to give one of them.
    """
    settings, heads = places.settings, places.histogram.shape[0]
    (at, of_strongest, its_query), (order, row, query) = strongest, drawn
    codes = look_up.codes(at[0], of_strongest, its_query)
    of_drawn = look_up.codes(np.arange(heads)[None], row[:, None], query[:, None])  # n H
    # all is asked for before anything is waited for
    values = Fetched.of(_values_at(every, row, query))
    keys, weights = look_up(np.concatenate([codes, of_drawn.ravel()]))
    places.top.keys[at], places.top.weights[at] = keys[: len(codes)], weights[: len(codes)]
    if not len(row):
        return
    shape = (len(row), heads, settings.keys)
    new = Drawn(
        order,
        grid.documents[row],
        query.astype(np.int32),
        values.values.numpy(),
        keys[len(codes) :].reshape(shape),
        weights[len(codes) :].reshape(shape),
    )
    places.drawn = places.drawn.merged(new, settings.sample)


def _values_at(every: Sequence[Tensor], row: Ints, query: Ints) -> Tensor:
    """n H M: the values (b H t each) of single places."""
    at = sent(np.stack([row, query]), every[0].device)
    return torch.stack([values[at[0], :, at[1]] for values in every], -1).float()


def _keep_texts(places: Places, grid: Grid, text_of: TextOf, key_text_of: TextOf | None) -> None:
    wanted = places.documents()
    for at in np.flatnonzero(np.isin(grid.documents, [*(wanted - places.texts.keys())])).tolist():
        number = int(grid.documents[at])
        places.texts[number] = text_of(at)
        if key_text_of is not None:
            places.key_texts[number] = key_text_of(at)
    places.forget_texts(wanted)

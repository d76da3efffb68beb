"""What a batch adds to the counts: the key that every query attends to most."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.statistics.definitions.focus import Focus
from headscope.statistics.device_copies import sent
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.places.counts import (
    LENGTHS,
    OFFSETS,
    POSITIONS,
    REACH,
    UNIT,
    Counts,
    whole,
)
from headscope.statistics.places.device_tables import in_units
from headscope.statistics.places.settings import STRONGEST

ONE = int(1 / UNIT)


def count_batch(counts: Counts, rows: Rows, grid: Grid) -> None:
    """Take in a batch."""
    key = rows[STRONGEST].long()
    largest, valid = rows["largest"], grid.query.valid
    positions, lengths = _along((torch.ones_like(largest), largest, _focus(rows, grid)), valid)
    real = grid.real_queries
    chosen = None if real.all() else sent(np.flatnonzero(real), key.device)

    def of_heads(values: Tensor) -> Tensor:
        """H n: those of tokens alone, from b H t."""
        flat = values.movedim(1, 0).flatten(1)
        return flat if chosen is None else flat[:, chosen]

    places = torch.arange(key.shape[2], device=key.device)
    offsets = of_heads((key - places + REACH).clamp(0, OFFSETS - 1)) if grid.same else None
    if grid.on_gpu:
        there = counts.on_device(key.device)
        there.add_along(positions, lengths)
        if offsets is not None:
            there.add_offsets(offsets)
    else:
        counts.positions += positions.numpy()
        counts.lengths += lengths.numpy()
        if offsets is not None:
            counts.add_offsets(offsets.numpy())
    counts.total += int(real.sum())
    if grid.same:
        for n, texts in zip(*np.unique(real.sum(1), return_counts=True), strict=True):
            counts.expected_offsets += texts * _chance_of_offsets(int(n), grid.causal)
    if not counts.of_tokens:
        return
    key_ids = grid.key.ids[:, None].expand(-1, key.shape[1], -1).gather(2, key)
    query_ids = of_heads(grid.query.ids[:, None])[0]
    pairs = (query_ids, of_heads(key_ids), of_heads(largest))
    if grid.on_gpu:
        counts.on_device(key.device).add_pairs(*pairs)
    else:
        counts.add_pairs(*(of.numpy() for of in pairs))
    _count_chance(counts, grid)


def _along(every: Sequence[Tensor], valid: Tensor) -> tuple[Tensor, Tensor]:
    """Sums (of b H t each) by a query's place in its text and by the text's length, in units."""
    lengths = valid.sum(1)
    places = torch.arange(valid.shape[1], device=valid.device)
    tenth = (places[None] * POSITIONS // lengths.clamp_min(1)[:, None]).clamp_max(POSITIONS - 1)
    inside = _one_hot(tenth, POSITIONS) * valid[..., None]  # b t 10
    bucket = _one_hot(lengths.clamp_min(1).log2().long(), LENGTHS)
    summed = [torch.einsum("bht,btp->bhp", of.double(), inside) for of in every]
    by_length = [torch.einsum("bh,bl->hl", of.sum(2), bucket) for of in summed]
    return in_units(torch.stack([of.sum(0) for of in summed])), in_units(torch.stack(by_length))


def _one_hot(places: Tensor, count: int) -> Tensor:
    """torch's own waits for a GPU to see whether all are below the count."""
    return (places[..., None] == torch.arange(count, device=places.device)).double()


def _focus(rows: Rows, grid: Grid) -> Tensor:
    """b H t: 1 − H / ln(keys seen), 0 where there is one key alone."""
    return torch.nan_to_num(Focus().row_values(rows, grid), nan=0.0)


def _count_chance(counts: Counts, grid: Grid) -> None:
    """Which tokens even attention would choose."""
    lengths = grid.real_queries.sum(1)
    keys = lengths if grid.same else grid.key.lengths.cpu().numpy()
    ids = grid.key_ids
    found = ids[np.arange(ids.shape[1]) < keys[:, None]].astype(np.int64)  # text after text
    if grid.same and not grid.causal:  # every key once
        count = np.bincount(found)
        there = np.flatnonzero(count)
        count = count[there]
        counts.chance.add_counted(there, count, count * ONE, count * ONE)
    elif grid.same:
        chances = np.concatenate([_chance_of_keys(n, True) for n in lengths.tolist()])
        counts.chance.add(found, chances)
    else:
        counts.chance.add(found, np.repeat(lengths / np.maximum(keys, 1), keys))
    if grid.on_gpu:
        counts.on_device(grid.key.ids.device).add_together(grid)
    else:
        of_texts = np.split(found, np.cumsum(keys)[:-1])
        _count_together(counts, grid, lengths.tolist(), of_texts)


def _count_together(
    counts: Counts, grid: Grid, lengths: list[int], keys: list[NDArray[np.int64]]
) -> None:
    """Which keys even attention would choose from which query: tokens of one text go together."""
    queries = grid.query.ids.cpu().numpy()
    codes: list[NDArray[np.int64]] = []
    chances: list[NDArray[np.float64]] = []
    for row, (n, of_keys) in enumerate(zip(lengths, keys, strict=True)):
        pairs = queries[row, :n, None] * counts.vocabulary + of_keys[None]
        seen = np.full(n, len(of_keys))
        if grid.causal:
            seen = np.arange(1, n + 1)
        there = np.arange(len(of_keys))[None] < seen[:, None]
        codes.append(pairs[there])
        chances.append(np.repeat(1 / seen, seen))
    counts.add_together(np.concatenate(codes), np.concatenate(chances))


@lru_cache
def _chance_of_keys(length: int, causal: bool) -> NDArray[np.float64]:
    """How often even attention of all queries chooses each place of a text."""
    if not causal:
        return np.ones(length)
    shares = 1 / np.arange(1, length + 1)
    return np.cumsum(shares[::-1])[::-1].copy()  # every later query chooses it with 1 / keys seen


@lru_cache
def _chance_of_offsets(length: int, causal: bool) -> NDArray[np.int64]:
    """How often even attention of all queries goes to each offset, in units."""
    found = np.zeros(OFFSETS)
    back = np.arange(length)
    if causal:
        chosen = _chance_of_keys(length, causal)  # offset -o: the queries from o on
        np.add.at(found, np.maximum(REACH - back, 0), chosen)
        return whole(found)
    for sign in (-1, 1):
        at = np.clip(REACH + sign * back, 0, OFFSETS - 1)
        share = (length - back) / length
        np.add.at(found, at[1:] if sign == 1 else at, share[1:] if sign == 1 else share)
    return whole(found)

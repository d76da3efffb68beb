"""What a batch adds to the counts: the key that every query attends to most."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.statistics.definitions.focus import Focus
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.places.counts import LENGTHS, OFFSETS, POSITIONS, REACH, Counts, whole
from headscope.statistics.places.settings import STRONGEST


def count_batch(counts: Counts, rows: Rows, grid: Grid) -> None:
    """Take in a batch."""
    key = rows[STRONGEST].long().cpu()
    largest, focused = rows["largest"].cpu(), _focus(rows, grid).cpu()
    valid = grid.query.valid.cpu()
    ids = grid.key.ids.cpu()
    batch, heads, length = key.shape
    places = torch.arange(length)
    counted = valid[:, None].expand(batch, heads, length)
    head = torch.arange(heads)[None, :, None].expand(batch, heads, length)
    if grid.same:
        offset = (key - places + REACH).clamp(0, OFFSETS - 1)
        code = (head * OFFSETS + offset)[counted]
        counts.offsets += torch.bincount(code, minlength=heads * OFFSETS).view(heads, -1).numpy()

    lengths = valid.sum(1)
    tenth = (places[None] * POSITIONS // lengths.clamp_min(1)[:, None]).clamp_max(POSITIONS - 1)
    inside = torch.nn.functional.one_hot(tenth, POSITIONS).double() * valid[..., None]  # b t 10
    bucket = torch.nn.functional.one_hot(lengths.clamp_min(1).log2().long(), LENGTHS).double()
    for place, of in enumerate((torch.ones_like(largest), largest, focused)):
        summed = torch.einsum("bht,btp->bhp", of.double(), inside)
        counts.positions[place] += whole(summed.sum(0).numpy())
        counts.lengths[place] += whole(torch.einsum("bh,bl->hl", summed.sum(2), bucket).numpy())

    key_ids = ids[:, None].expand(batch, heads, ids.shape[1]).gather(2, key)
    query_ids = grid.query.ids.cpu()[:, None].expand(batch, heads, length)
    counts.add_pairs(
        head[counted].numpy(),
        query_ids[counted].numpy(),
        key_ids[counted].numpy(),
        largest[counted].double().numpy(),
    )
    counts.total += int(lengths.sum())
    _count_chance(counts, grid, lengths.tolist(), ids)


def _focus(rows: Rows, grid: Grid) -> Tensor:
    """b H t: 1 − H / ln(keys seen), 0 where there is one key alone."""
    return torch.nan_to_num(Focus().row_values(rows, grid), nan=0.0)


def _count_chance(counts: Counts, grid: Grid, lengths: list[int], ids: Tensor) -> None:
    """What even attention would choose."""
    found: list[NDArray[np.int64]] = []
    chances: list[NDArray[np.float64]] = []
    for row, (n, keys) in enumerate(zip(lengths, grid.key.lengths.tolist(), strict=True)):
        found.append(ids[row, :keys].numpy())
        if not grid.same:
            chances.append(np.full(keys, n / max(keys, 1)))
            continue
        chances.append(_chance_of_keys(n, grid.causal))
        counts.expected_offsets += whole(_chance_of_offsets(n, grid.causal))
    counts.chance.add(np.concatenate(found), np.concatenate(chances))
    _count_together(counts, grid, lengths, found)


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


def _chance_of_keys(length: int, causal: bool) -> NDArray[np.float64]:
    """How often even attention of all queries chooses each place of a text."""
    if not causal:
        return np.ones(length)
    shares = 1 / np.arange(1, length + 1)
    return np.cumsum(shares[::-1])[::-1].copy()  # every later query chooses it with 1 / keys seen


def _chance_of_offsets(length: int, causal: bool) -> NDArray[np.float64]:
    """How often even attention of all queries goes to each offset."""
    found = np.zeros(OFFSETS)
    back = np.arange(length)
    if causal:
        chosen = _chance_of_keys(length, causal)  # offset -o: the queries from o on
        np.add.at(found, np.maximum(REACH - back, 0), chosen)
        return found
    for sign in (-1, 1):
        at = np.clip(REACH + sign * back, 0, OFFSETS - 1)
        share = (length - back) / length
        np.add.at(found, at[1:] if sign == 1 else at, share[1:] if sign == 1 else share)
    return found

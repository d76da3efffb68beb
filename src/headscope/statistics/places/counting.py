"""What a batch adds to the counts: the key that every query attends to most."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.places.counts import LENGTHS, OFFSETS, POSITIONS, REACH, Counts
from headscope.statistics.places.settings import STRONGEST


def count_batch(counts: Counts, rows: Rows, grid: Grid, focused: Tensor) -> None:
    """Take in a batch; `focused` is b H t."""
    key = rows[STRONGEST].long().cpu()
    largest, focused = rows["largest"].cpu(), torch.nan_to_num(focused.cpu(), nan=0.0)
    valid = grid.query.valid.cpu()
    ids = grid.key.ids.cpu()
    batch, heads, length = key.shape
    places = torch.arange(length)
    counted = valid[:, None].expand(batch, heads, length)

    offset = (key - places + REACH).clamp(0, OFFSETS - 1)
    head = torch.arange(heads)[None, :, None].expand(batch, heads, length)
    code = (head * OFFSETS + offset)[counted]
    counts.offsets += torch.bincount(code, minlength=heads * OFFSETS).view(heads, -1).numpy()

    lengths = valid.sum(1)
    tenth = (places[None] * POSITIONS // lengths.clamp_min(1)[:, None]).clamp_max(POSITIONS - 1)
    inside = torch.nn.functional.one_hot(tenth, POSITIONS).double() * valid[..., None]  # b t 10
    bucket = torch.nn.functional.one_hot(lengths.clamp_min(1).log2().long(), LENGTHS).double()
    for place, of in enumerate((torch.ones_like(largest), largest, focused)):
        summed = torch.einsum("bht,btp->bhp", of.double(), inside)
        counts.positions[place] += summed.sum(0).numpy()
        counts.lengths[place] += torch.einsum("bh,bl->hl", summed.sum(2), bucket).numpy()

    key_ids = ids[:, None].expand(batch, heads, ids.shape[1]).gather(2, key)
    query_ids = grid.query.ids.cpu()[:, None].expand(batch, heads, length)
    counts.add_pairs(
        head[counted].numpy(),
        query_ids[counted].numpy(),
        key_ids[counted].numpy(),
        largest[counted].double().numpy(),
    )
    counts.total += int(lengths.sum())
    for row, n in enumerate(lengths.tolist()):
        chosen = _chance_of_keys(n, grid.causal)
        counts.chance.add(ids[row, :n].numpy(), chosen)
        counts.expected_offsets += _chance_of_offsets(n, grid.causal)


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

"""Deciles of a measure over all places of a corpus, from counts in fine bins that add up exactly.

A bin is one five-hundredth of the measure's range, so a decile's bounds are known to that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.statistics.places.device_tables import tallied

BINS = 500
DECILES = 10
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def count_values(
    into: Ints | Tensor, every: Sequence[Tensor], bounds: Sequence[tuple[float, float]]
) -> None:
    """Add values (b H t each, nan where there is none) to the counts: of a processor H M BINS, of
    a GPU H M BINS + 1, which are not waited for."""
    heads = into.shape[0]
    for place, (values, (low, high)) in enumerate(zip(every, bounds, strict=True)):
        if isinstance(into, Tensor):
            # bins in 16 bits: a GPU takes as long as there are bytes to move
            found = _places_of(values, low, high).short()
            first = torch.arange(heads, device=into.device)[:, None] * (BINS + 1)
            into[:, place] += tallied(found, first, heads * (BINS + 1)).view(heads, -1)
        else:
            found = bins_of(values, low, high)
            found += (torch.arange(heads) * (BINS + 1))[:, None]
            counted = torch.bincount(found.flatten(), minlength=heads * (BINS + 1))
            into[:, place] += counted.view(heads, BINS + 1)[:, :BINS].numpy()


def bins_of(values: Tensor, low: float, high: float) -> Tensor:
    """Which bin a value lies in, 0 to BINS − 1; BINS where it is nan."""
    return _places_of(values, low, high).long()


def _places_of(values: Tensor, low: float, high: float) -> Tensor:
    """Whole bins and parts of one, from 0 up."""
    scale = BINS / (high - low)
    scaled = (values - low).mul_(scale) if low else values * scale
    return torch.nan_to_num_(scaled.clamp_(0, BINS - 1), nan=BINS)


def bounds_of(counts: Ints, low: float, high: float) -> Floats:
    """… 11: the values between which deciles lie, from counts … BINS; nan where there are none."""
    below = np.concatenate([np.zeros((*counts.shape[:-1], 1)), counts.cumsum(-1)], axis=-1)
    total = below[..., -1:]
    edges = np.linspace(low, high, BINS + 1)
    ranks = np.arange(DECILES + 1) / DECILES * total
    # where a rank falls into a bin, values lie evenly between its edges
    at = np.minimum((below[..., None, :] <= ranks[..., None]).sum(-1) - 1, BINS - 1)
    start = np.take_along_axis(below, at, -1)
    held = np.maximum(np.take_along_axis(counts, at, -1), 1)
    found = (edges[at + 1] - edges[at]) / held * (ranks - start) + edges[at]
    # a run of empty bins has one rank: the ends are those of bins that hold something
    filled = counts > 0
    found[..., 0] = edges[filled.argmax(-1)]
    found[..., -1] = edges[BINS - filled[..., ::-1].argmax(-1)]
    return np.where(total > 0, found, np.nan)


def decile_of_bins(counts: Ints) -> tuple[Ints, Ints]:
    """Of one measure of every head (H BINS): each bin's decile by the middle of its ranks, −1 of an
    empty one; and each decile's bin (H 10), for deciles that lie within a single bin, else −1."""
    upto = counts.cumsum(-1)
    total = upto[:, -1:]
    middle = (2 * upto - counts) * DECILES  # twice, to stay whole
    decile = np.where(counts > 0, np.minimum(middle // np.maximum(2 * total, 1), DECILES - 1), -1)
    centre = (2 * np.arange(DECILES) + 1) * total  # of a decile, times 20
    # all heads at once: each one's ranks lie above those of the heads before
    rows = np.arange(len(counts))[:, None]
    step = rows * (20 * int(total.max(initial=0)) + 1)
    ranks = (20 * upto + step).ravel()
    holds = np.searchsorted(ranks, (centre + step).ravel(), "right").reshape(centre.shape)
    holds -= rows * BINS
    present = np.zeros((len(counts), DECILES + 1), dtype=bool)
    present[np.arange(len(counts))[:, None], decile] = True  # -1, of empty bins, is the last
    alone = ~present[:, :DECILES]
    return decile, np.where(alone, np.minimum(holds, BINS - 1), -1)


def chosen(
    bins: Ints,  # n H: of the drawn places in their order, BINS where the measure has no value
    documents: Ints,  # n
    counts: Ints,  # H BINS
    each: int,
) -> Ints:
    """Rows of head, decile, rank and place: for every head and decile the first drawn places that
    lie in it, of different documents."""
    heads = np.arange(len(counts))
    if not len(bins):
        return np.zeros((0, 4), dtype=np.int64)
    of_bin, single = decile_of_bins(counts)
    of_place = np.append(of_bin, np.full((len(counts), 1), -1), axis=1)[heads, bins]  # n H
    alone = single >= 0  # H 10: such a decile is shown by the places of its bin
    # every head's places one after another, by decile and by bin, in their order within each
    groups = [
        _grouped(of_place + 1, np.tile(np.arange(DECILES) + 1, (len(counts), 1)), DECILES + 1),
        _grouped(bins, np.maximum(single, 0), BINS + 1),
    ]
    order = np.stack([of for of, _, _ in groups])
    at, end = (np.where(alone, groups[1][part], groups[0][part]) for part in (1, 2))
    which = alone.astype(np.int64)
    taken = np.full((each, *alone.shape), -1, dtype=np.int64)  # places, each H 10
    for rank in range(each):
        while True:
            there = at < end
            place = np.where(there, order[which, np.minimum(at, bins.size - 1)], -1)
            seen = (documents[taken[:rank]] == documents[place]) & (taken[:rank] >= 0)
            again = there & seen.any(0)
            if not again.any():
                break
            at = at + again
        taken[rank], at = place, at + 1
    taken = taken.transpose(2, 0, 1)  # 10 each H
    decile, rank, head = np.nonzero(taken >= 0)
    return np.stack([head, decile, rank, taken[decile, rank, head]], axis=1)


def _grouped(values: Ints, wanted: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Places (H · n) of values below `size` (n H) by head and value, in their order within each;
    and where the places of the wanted values (H 10) begin and end."""
    heads = values.shape[1]
    kind = np.uint8 if size <= 256 else np.uint16  # which numpy sorts by their digits
    narrow = np.ascontiguousarray(values.T.astype(kind))
    order = np.argsort(narrow, axis=1, kind="stable")
    codes = narrow + (np.arange(heads) * size)[:, None]
    ends = np.cumsum(np.bincount(codes.ravel(), minlength=heads * size))
    chosen = wanted + (np.arange(heads) * size)[:, None]
    return order.ravel(), np.append(0, ends)[chosen], np.append(0, ends)[chosen + 1]

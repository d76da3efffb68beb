"""Scores of maps of units: precision at one, AUC, and each field's measures."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.roles.maps import LOW, UnitBatch

CELLS = 20_000_000  # compared at a time: bounds the memory of an AUC


@dataclass(frozen=True)
class Tally:
    """Sums and counts of each document: their ratio over all documents is the score."""

    sums: Tensor  # b h
    counts: Tensor  # b


def picks(maps: Tensor, batch: UnitBatch) -> Tensor:
    """b h q: the candidate that each query's score is largest at."""
    return maps.masked_fill(~batch.allowed[:, None], LOW).argmax(-1)


def _at(labels: Tensor, chosen: Tensor) -> Tensor:
    """b h q: whether the chosen candidate is labelled (b q k)."""
    return labels[:, None].expand(-1, chosen.shape[1], -1, -1).gather(3, chosen[..., None])[..., 0]


def precision(batch: UnitBatch, chosen: Tensor) -> Tally:
    """How often the first candidate is right."""
    hits = _at(batch.right, chosen) & batch.cases[:, None]
    return Tally(hits.sum(-1).float(), batch.cases.sum(-1).float())


def shuffled(
    batch: UnitBatch, chosen: Tensor, labels: Tensor, among: Tensor
) -> tuple[Tensor, Tensor]:
    """b h each: the mean label at the picks with labels permuted, and its variance.

    Exact (Hoeffding 1951): the picks stay, the rows of labels (b q k) are permuted among a
    document's queries in `among` (b q). A single query has nothing to exchange; there the label is
    that of a random candidate.
    """
    asked = among.float()
    n = asked.sum(-1)[:, None].clamp_min(1)  # b 1
    label = labels.float() * asked[..., None]
    heads = chosen.shape[1]

    def at_picks(values: Tensor) -> Tensor:  # b k → b h q
        return values[:, None].expand(-1, heads, -1).gather(2, chosen) * asked[:, None]

    at_pick = at_picks(label.sum(1) / n)
    mean = at_pick.sum(-1) / n  # also the grand mean of a[i, j] = label[j, pick(i)]
    counts = torch.zeros(*chosen.shape[:2], label.shape[-1], device=chosen.device)
    counts.scatter_add_(2, chosen, asked[:, None].expand_as(at_pick).contiguous())
    columns = (counts @ label.mT) / n[..., None]  # b h j
    rows = at_pick.square().sum(-1) * n
    squares = at_picks(label.square().sum(1)).sum(-1)
    spread = squares - rows - columns.square().sum(-1) * n + n**2 * mean.square()
    variance = spread.clamp_min(0) / (n - 1).clamp_min(1) / n**2
    free = batch.allowed.sum(-1).clamp_min(1)
    random = (label.sum(-1) / free).sum(-1)[:, None].expand_as(mean)
    square = (label.square().sum(-1) / free).sum(-1)[:, None].expand_as(mean)
    single = (n == 1).expand_as(mean)
    return torch.where(single, random, mean), torch.where(single, square - random**2, variance)


def precision_by_chance(batch: UnitBatch, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """b h each: precision with labels permuted among a document's queries, and its variance."""
    return shuffled(batch, chosen, batch.right, batch.cases)


def alignment_error_by_chance(batch: UnitBatch, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """b h each: the error rate with links permuted among a sentence's words, and its variance."""
    labels = batch.right.float() + batch.possible.float()
    mean, variance = shuffled(batch, chosen, labels, batch.asked)
    proposed = batch.asked.sum(-1)
    share = (proposed / (proposed + batch.right.sum((-1, -2))))[:, None]
    return 1 - mean * share, variance * share**2


def precision_at_fifth_by_chance(batch: UnitBatch, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """b h each: precision at L/5 with contacts drawn among all pairs, and its variance."""
    pairs = batch.allowed.triu(1).sum((-1, -2)).float().clamp_min(1)
    share = (batch.right & batch.allowed).triu(1).sum((-1, -2)) / pairs
    fifth = torch.tensor([max(1, len(one.keys) // 5) for one in batch.plans], device=share.device)
    spread = share * (1 - share) * (pairs - fifth).clamp_min(0) / (pairs - 1).clamp_min(1) / fifth
    shape = chosen.shape[:2]
    return share[:, None].expand(shape), spread[:, None].expand(shape)


def auc(maps: Tensor, batch: UnitBatch) -> Tally:
    """The chance that a right candidate scores above a wrong one of the same query."""
    wrong = batch.allowed & ~batch.possible
    # beside possible links alone there is nothing to rank below
    row, query = (batch.cases & wrong.any(-1)).nonzero(as_tuple=True)
    right, wrong = batch.right[row, query], wrong[row, query]  # u k
    most = int(right.sum(-1).max()) if len(row) else 0
    heads = maps.shape[1]
    sums = torch.zeros(len(batch.plans), heads, device=maps.device)
    size = max(1, CELLS // max(1, heads * maps.shape[-1]))
    for start in range(0, len(row), size):
        some = slice(start, start + size)
        rows = maps[row[some], :, query[some]]  # u h k
        at = right[some].int().topk(most).indices  # u r
        own = rows.gather(2, at[:, None].expand(-1, heads, -1))  # u h r
        others = rows.masked_fill(~wrong[some, None], torch.inf).sort(-1).values
        lower = torch.searchsorted(others, own) + torch.searchsorted(others, own, right=True)
        share = lower / 2 / wrong[some].sum(-1)[:, None, None]  # equal scores count half
        real = right[some].gather(1, at)[:, None]
        sums.index_add_(0, row[some], (share * real).sum(-1))
    return Tally(sums, torch.bincount(row, right.sum(-1).float(), len(batch.plans)))


def precision_at_fifth(maps: Tensor, batch: UnitBatch) -> Tally:
    """Contacts: how many of the L/5 best pairs of a sequence of length L touch."""
    upper = torch.ones(maps.shape[-2:], dtype=torch.bool, device=maps.device).triu(1)
    open_pairs = (batch.allowed & upper)[:, None]
    flat = maps.masked_fill(~open_pairs, LOW).flatten(2)
    lengths = torch.tensor([len(one.keys) for one in batch.plans], device=maps.device)
    fifth = (lengths // 5).clamp_min(1)
    best = flat.topk(int(fifth.max()), dim=-1).indices  # b h r
    labels = batch.right.flatten(1)[:, None].expand(-1, maps.shape[1], -1).gather(2, best)
    counted = torch.arange(best.shape[-1], device=maps.device) < fifth[:, None]  # b r
    hits = (labels & counted[:, None]).sum(-1) / fifth[:, None]
    return Tally(hits.float(), torch.ones(len(batch.plans), device=maps.device))


def alignment_error(batch: UnitBatch, chosen: Tensor) -> Tally:
    """Och and Ney's error rate: 1 − (|A∩S| + |A∩P|) / (|A| + |S|), as sums for the final ratio."""
    asked = batch.asked[:, None]
    agreed = (_at(batch.right, chosen) & asked).sum(-1) + (_at(batch.possible, chosen) & asked).sum(
        -1
    )
    counts = batch.asked.sum(-1) + batch.right.sum((-1, -2))
    return Tally(counts[:, None].float() - agreed.float(), counts.float())

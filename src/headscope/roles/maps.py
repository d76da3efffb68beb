"""Attention between the units of a batch of documents: all heads at once, both directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.probes.word_level import WordIndex
from headscope.roles.plans import Plan

DIRECTIONS = ("query→target", "target→query", "both")
LOW = -1e4  # below any score; a score may be negative once it is corrected


@dataclass(frozen=True)
class UnitBatch:
    """Plans side by side, padded to the same numbers of units."""

    plans: tuple[Plan, ...]
    queries: WordIndex
    keys: WordIndex
    right: Tensor  # b q k
    possible: Tensor  # b q k
    allowed: Tensor  # b q k
    cases: Tensor  # b q
    asked: Tensor  # b q, real rows

    def maps(self, weights: Tensor, cross: bool, valid: Tensor) -> tuple[Tensor, Tensor]:
        """b h t s → two of b h q k: from queries to targets, and back.

        Cross attention has no way back; instead, the target's received attention is divided by its
        total, so the query's share counts. `valid` (b t) are the real queries.
        """
        there = self.queries.average[:, None] @ weights @ self.keys.total[:, None].mT
        if cross:
            given = (valid[:, None, None].to(weights.dtype) @ weights) @ self.keys.total[:, None].mT
            return there, there / given.clamp_min(1e-12)
        back = self.queries.total[:, None] @ weights.mT @ self.keys.average[:, None].mT
        return there, back


def unit_batch(plans: Sequence[Plan], queries: int, keys: int, device: torch.device) -> UnitBatch:
    """Plans of documents whose maps have `queries` rows and `keys` columns."""
    most = max(len(one.queries) for one in plans), max(len(one.keys) for one in plans)

    def padded(name: str) -> Tensor:
        whole = np.zeros((len(plans), *most), bool)
        for row, one in enumerate(plans):
            part = getattr(one, name)
            whole[row, : part.shape[0], : part.shape[1]] = part
        return torch.from_numpy(whole).to(device)

    allowed = padded("allowed")
    cases = np.zeros((len(plans), most[0]), bool)
    asked = np.zeros((len(plans), most[0]), bool)
    for row, one in enumerate(plans):
        cases[row, : len(one.queries)] = one.cases
        asked[row, : len(one.queries)] = one.allowed.any(1)
    return UnitBatch(
        tuple(plans),
        _index([one.queries for one in plans], most[0], queries, device),
        _index([one.keys for one in plans], most[1], keys, device),
        padded("right") & allowed,
        padded("possible") & allowed,
        allowed,
        torch.from_numpy(cases).to(device),
        torch.from_numpy(asked).to(device),
    )


def _index(
    units: Sequence[Sequence[np.ndarray]], most: int, tokens: int, device: torch.device
) -> WordIndex:
    total = np.zeros((len(units), most, tokens), np.float32)
    for row, of_document in enumerate(units):
        for unit, positions in enumerate(of_document):
            total[row, unit, positions] = 1
    whole = torch.from_numpy(total).to(device)
    counts = whole.sum(-1, keepdim=True)
    return WordIndex(whole, whole / counts.clamp_min(1), counts[..., 0] > 0)


def product_corrected(maps: Tensor) -> Tensor:
    """… L L → minus the product of row and column means (correction of Dunn et al. 2008)."""
    rows, columns = maps.sum(-1, keepdim=True), maps.sum(-2, keepdim=True)
    return maps - rows * columns / maps.sum((-1, -2), keepdim=True).clamp_min(1e-12)

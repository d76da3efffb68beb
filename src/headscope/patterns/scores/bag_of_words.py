"""Attention spread uniformly over the query's own sentence: mass × uniformity there.

With m the mass on the sentence S and H the entropy within it, the score m·H/ln|S| equals
(−Σ_S α ln α + m ln m)/ln|S|. Under permutation of the keys the first term is a plain sum and
the second depends on a sum, so mean and variance follow from the delta method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.linalg import vecdot, vector_norm

from headscope.patterns.pattern import Pattern, Scores
from headscope.patterns.token_pairs import TokenPairs, blocks_of_pairs, token_pairs_of
from headscope.statistics.features.feature import EvennessFeature, Feature, surprise
from headscope.statistics.features.grid import PUNCTUATION, Grid
from headscope.statistics.features.rows import Rows

TINY = 1e-30


@dataclass(frozen=True)
class BagOfWords(Pattern):
    formula: ClassVar[str] = "mean over queries of m H / ln |S|, S the query's sentence"

    def features(self) -> tuple[Feature, ...]:
        return (EvennessFeature(self.name, _rows, width=3, own=_own),)

    def row_scores(self, rows: Rows, grid: Grid) -> Tensor:
        parts = [torch.stack(_sizes(pairs)) for pairs in blocks_of_pairs(grid)]
        size, choice = torch.cat(parts, dim=2)
        asked = (grid.query.classes >= PUNCTUATION) & (size > 1) & (size < choice)
        return rows[self.name][..., 0].masked_fill(~asked[:, None], torch.nan)

    def scores(self, rows: Rows, grid: Grid) -> Scores:
        parts = [torch.stack(_sizes(pairs)) for pairs in blocks_of_pairs(grid)]
        size, choice = torch.cat(parts, dim=2)
        asked = (grid.query.classes >= PUNCTUATION) & (size > 1) & (size < choice)
        n = asked.sum(1)[:, None].double()
        summed = (rows[self.name].double() * asked[:, None, :, None]).sum(2)  # b H 3
        score, null, variance = (summed / n[..., None]).unbind(-1)
        even = torch.where(asked, size / choice.clamp(min=1), 0.0).sum(1, keepdim=True) / n
        return Scores(score, even.expand(score.shape), null, variance / n)


def _rows(weights: Tensor, grid: Grid, queries: slice) -> Tensor:
    """Score, null mean and null variance of every row, b h tq 3."""
    key = ("bag_of_words", queries.start, queries.stop)
    if key not in grid.memo:  # the same for every layer
        grid.memo[key] = _sizes(TokenPairs(grid, queries))
    own, seen = grid.memo[key]
    if bool((own == seen).all()):  # with one sentence there is no alternative
        return weights.new_zeros(*weights.shape[:3], 3)
    size, choice = (count[:, None].clamp(min=2) for count in (own, seen))
    surprised = surprise(weights, grid)
    # a row that sees only its own sentence has no alternative either; it counts as 0
    norm = size.log().masked_fill((own == seen)[:, None], torch.inf)
    # invisible keys have no weight, so sums over a row are sums over visible keys
    mass, total = _of_own(weights, grid, queries)
    own_surprise, total_surprise = _of_own(surprised, grid, queries)
    mean = (total * size / choice).clamp(min=TINY)
    factor = size * (choice - size) / (choice * (choice - 1))
    squares = vector_norm(weights, dim=-1).square()
    spread = (squares - total**2 / choice).clamp(min=0)
    null = total_surprise * size / choice + mean * mean.log() + factor * spread / (2 * mean)
    # a key's gradient is its surprise + c · its weight
    c = 1 + mean.log()
    slopes = vector_norm(surprised, dim=-1).square() + c * (
        2 * vecdot(surprised, weights) + c * squares
    )
    bend = (slopes - (total_surprise + c * total) ** 2 / choice).clamp(min=0)
    score = own_surprise + mass * mass.clamp(min=TINY).log()
    return torch.stack([score / norm, null / norm, factor * bend / norm**2], dim=-1)


def _own(grid: Grid, queries: slice) -> Tensor:
    """b tq s: visible keys of the query's own sentence."""
    pairs = token_pairs_of(grid, queries)
    return pairs.visible & pairs.same_segment


def _of_own(values: Tensor, grid: Grid, queries: slice) -> tuple[Tensor, Tensor]:
    """b h tq: sums of values (b h tq s) over the keys of the query's own sentence, and over all."""
    batch, heads, count, keys = values.shape
    sentences = torch.stack([grid.key.segments == n for n in (0, 1)], dim=-1).to(values.dtype)
    rows = values.reshape(batch, heads * count, keys)
    if values.is_cuda or values.requires_grad:
        sums = torch.bmm(rows, sentences)
    else:  # numpy multiplies with so few columns in half the time
        pairs = zip(rows.numpy(), sentences.numpy(), strict=True)
        sums = torch.from_numpy(np.stack([of_text @ columns for of_text, columns in pairs]))
    second = (grid.query.segments[:, queries] == 1)[:, None]
    first_sum, second_sum = sums.view(batch, heads, count, 2).unbind(-1)
    return torch.where(second, second_sum, first_sum), first_sum + second_sum


def _sizes(pairs: TokenPairs) -> tuple[Tensor, Tensor]:
    own = (pairs.visible & pairs.same_segment).sum(2).float()
    return own, pairs.visible.sum(2).float()


bag_of_words = BagOfWords(
    name="bag_of_words",
    label="bag of words",
    about="spreads its attention uniformly over its own sentence",
    least_score=0.6,
    least_lift=1.3,
    causal=False,
)

"""Δ: how much each contributor raises the score of a pattern's targets over all other keys.

With c_ijd what contributor d adds to the score of query i and key j, and J(i) the targets of i,
Δ_id = mean over j in J(i) of c_ijd − mean over the other visible keys. Softmax ignores what is
added to a whole row, and so does Δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from headscope.patterns.explain.contributors import Contributors, Values

SIZES = (1, 2, 4, 8, 16)
MOST_PAIRS = 400  # pairs of queries compared for stability


@dataclass(frozen=True, eq=False)
class Delta:
    """Δ of every query that has a target, and its summaries."""

    by_query: Values  # i c

    @cached_property
    def mean(self) -> Values:
        """Δ̄, c."""
        return self.by_query.mean(0)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Contributors, the largest Δ̄ first."""
        return np.argsort(-self.mean, kind="stable")

    @property
    def total(self) -> float:
        """How much the targets' mean score exceeds the others'."""
        return float(self.mean.sum())

    def share(self, count: int, absolute: bool = False) -> float:
        """Share of ΣΔ̄ (or Σ|Δ̄|) carried by the `count` largest contributors.

        Above 1 if others work against the pattern; NaN if the targets are not favoured.
        """
        values = np.sort(np.abs(self.mean) if absolute else self.mean)[::-1]
        total = values.sum()
        return float(values[:count].sum() / total) if total > 0 else float("nan")

    @cached_property
    def participation(self) -> float:
        """(Σ|Δ̄|)² / ΣΔ̄²: how many contributors take part, 1 to all of them."""
        squares = float((self.mean**2).sum())
        return float(np.abs(self.mean).sum() ** 2 / squares) if squares > 0 else float("nan")

    def enough(self, share: float = 0.8) -> int:
        """The fewest contributors that carry this share of ΣΔ̄."""
        running = np.cumsum(self.mean[self.order])
        if running[-1] <= 0:
            return len(self.mean)
        return int(np.argmax(running >= share * running[-1])) + 1

    def stability(self, count: int, seed: int = 0) -> NeuronStability:
        """Whether the same contributors serve every query."""
        rng = np.random.default_rng(seed)
        n = len(self.by_query)
        tops = [set(np.argsort(-row, kind="stable")[:count]) for row in self.by_query]
        pairs = np.array(list(combinations(range(n), 2)))
        if len(pairs) > MOST_PAIRS:
            pairs = pairs[rng.choice(len(pairs), MOST_PAIRS, replace=False)]
        norms = np.linalg.norm(self.by_query, axis=1)
        jaccard = [len(tops[a] & tops[b]) / len(tops[a] | tops[b]) for a, b in pairs]
        cosine = [
            float(self.by_query[a] @ self.by_query[b] / max(norms[a] * norms[b], 1e-12))
            for a, b in pairs
        ]
        chosen = rng.permutation(n)
        here, rest = Delta(self.by_query[chosen[: n // 2]]), Delta(self.by_query[chosen[n // 2 :]])
        held_out = own = float("nan")
        if n >= 2 and rest.total > 0:
            held_out = float(rest.mean[here.order[:count]].sum() / rest.total)
            own = rest.share(count)
        return NeuronStability(_mean(jaccard), _mean(cosine), held_out, own)


@dataclass(frozen=True)
class NeuronStability:
    """Agreement between queries, and between two halves of them."""

    jaccard: float  # mean overlap of two queries' top sets
    cosine: float  # mean cosine of two queries' Δ
    held_out: float  # share of ΣΔ̄ on half the queries, carried by the top set of the other half
    own: float  # the same with the half's own top set: what `held_out` could be at best


def delta(parts: Contributors, targets: NDArray[np.bool_]) -> Delta:
    """Δ for the targets (t s) of a head; queries without targets, or without others, drop out."""
    aimed = targets & parts.visible
    others = parts.visible & ~aimed
    rows = np.asarray(aimed.any(1) & others.any(1))
    chosen = parts.of_queries(rows)
    return Delta(chosen.means(aimed[rows]) - chosen.means(others[rows]))


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")

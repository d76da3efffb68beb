"""How often every method puts the true document first, on invented facts; nothing is dropped."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import headscope as hs
from headscope.grounding.facts import Fact
from headscope.grounding.ground import ground
from headscope.grounding.learned import HeadWeights


@dataclass(frozen=True)
class Row:
    """One question: by method whether the true document came first, and its rank correlation."""

    kind: str
    first: dict[str, bool]
    rank: dict[str, float]
    supported: bool  # with its documents
    refused: bool  # with the true ones taken away, and the answer kept


def measured(scope: hs.Scope, questions: Sequence[Fact], weights: HeadWeights) -> list[Row]:
    rows: list[Row] = []
    for one in questions:
        options = {"weights": weights, "heads": 0, "shuffles": 1, "exact": "all"}
        found = ground(scope, one.question, list(one.documents), one.answer, **options)
        order = [source.name for source in found.sources]
        scores = {
            name: found.by_source(name).set_index("source")["value"][order].to_numpy()
            for name in found.methods
        }
        first = {name: int(np.argmax(values)) in one.true for name, values in scores.items()}
        rank = {name: _rank(values, scores["exact"]) for name, values in scores.items()}
        left = [text for at, text in enumerate(one.documents) if at not in one.true]
        gone = ground(scope, one.question, left, one.answer, **options)
        rows.append(Row(one.kind, first, rank, _said(found), not _said(gone)))
    return rows


def table(rows: Sequence[Row]) -> str:
    """A line per kind and method: shares with their counts, and rank correlations' intervals."""
    lines = ["kind            method     first     rank correlation with exact (95 %)"]
    chance = random.Random(0)
    for kind in dict.fromkeys(row.kind for row in rows):
        own = [row for row in rows if row.kind == kind]
        for name in own[0].first:
            ranks = [row.rank[name] for row in own if np.isfinite(row.rank[name])]
            draws = sorted(float(np.mean(chance.choices(ranks, k=len(ranks)))) for _ in range(1000))
            first = sum(row.first[name] for row in own)
            lines.append(
                f"{kind:15} {name:10} {first:3}/{len(own):<5} {np.mean(ranks):5.2f} "
                f"[{draws[25]:.2f}, {draws[974]:.2f}]"
            )
        said = sum(row.supported for row in own), sum(row.refused for row in own)
        lines.append(f"{kind:15} supported {said[0]}/{len(own)}, refused {said[1]}/{len(own)}")
    return "\n".join(lines)


def _said(found: hs.Grounding) -> bool:
    whole = found.support[found.support["sentence"] == -1].iloc[0]
    return whole["verdict"] != "not supported"


def _rank(one: np.ndarray, two: np.ndarray) -> float:
    from scipy.stats import spearmanr

    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return float("nan")
    return float(spearmanr(one, two).statistic)

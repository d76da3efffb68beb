"""What a cluster of positions does: the pattern that names it, and what is frequent in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.atlas.behaviours.vectors import Drawn, Matched
from headscope.capture import Kind
from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.pattern import patterns
from headscope.patterns.token_pairs import TokenPairs
from headscope.statistics.features.grid import grid_of

MOST = 10  # rows of each profile of a behaviour
LEAST = 3  # how often something must occur to be listed
ASKED = 0.5  # share of a cluster's queries that must have a target of the pattern that names it

Floats = NDArray[np.float64]


class Targets:
    """The targets of every pattern of attention mass, a text at a time."""

    def __init__(self, kind: Kind, causal: bool) -> None:
        self.kind: Kind = kind
        self.causal = causal
        self.patterns = {
            name: one
            for name, one in patterns().items()
            if isinstance(one, MassPattern)
            and one.targets is not None
            and one.source == "corpus"
            and one.applies(causal)
            and not one.needs_likeness
        }
        self._last: tuple[Drawn, Any] | None = None

    def masses(self, matched: Matched) -> tuple[Floats, Floats]:
        """n × patterns: attention on targets, and that of uniform attention; NaN without one."""
        if self._last is None or self._last[0] is not matched.drawn:
            self._last = matched.drawn, self._of_text(matched.drawn)
        aimed, asked, uniform = self._last[1]
        own = torch.einsum("ns,pns->np", matched.weights, aimed)
        return (
            np.where(asked, own.numpy(), np.nan).astype(np.float64),
            np.where(asked, uniform, np.nan),
        )

    def _of_text(self, drawn: Drawn) -> tuple[Any, Any, Any]:
        grid = grid_of([drawn.tokens], kind=self.kind, causal=self.causal)
        pairs = TokenPairs(grid, slice(0, len(drawn.tokens)))
        rows = torch.from_numpy(drawn.queries)
        seen = pairs.visible[0, rows].sum(1)
        every = list(self.patterns.values())
        aimed = torch.stack(
            [one.aim(pairs)[0].expand(pairs.visible[0].shape)[rows] for one in every]
        )
        pool = torch.stack(
            [one.pool_of(pairs)[0].expand(pairs.visible[0].shape)[rows] for one in every]
        )
        count = aimed.sum(2)
        asked = (count > 0) & (count < pool.sum(2))
        return aimed.float(), asked.T.numpy(), (count / seen.clamp(min=1)).T.numpy()


def named(
    known: Mapping[str, MassPattern], own: Floats, uniform: Floats
) -> tuple[str, float, float, float]:
    """The pattern that names a cluster, its score, its lift over uniform, and who has a target.

    It has the highest score among the patterns that reach their own least score and lift and have a
    target at most positions; "" if there is none.
    """
    best = ("", np.nan, np.nan, np.nan)
    for at, (name, pattern) in enumerate(known.items()):
        asked = np.isfinite(own[:, at])
        if asked.mean() < ASKED:
            continue
        score, chance = own[asked, at].mean(), uniform[asked, at].mean()
        lift = score / max(chance, 1e-12)
        fits = score >= pattern.least_score and lift >= pattern.least_lift
        if fits and not score <= best[1]:
            best = (name, float(score), float(lift), float(asked.mean()))
    return best


def profile(inside: NDArray[np.bool_], values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """What is frequent in a cluster, beside what the head's positions in all would give."""
    rows: list[dict[str, Any]] = []
    share = inside.mean()
    for name, column in values.items():
        every = Counter(column)
        own = Counter(one for one, here in zip(column, inside, strict=True) if here)
        frequent = [(one, count) for one, count in own.most_common(MOST) if count >= LEAST]
        for one, count in frequent:
            expected = share * every[one]
            rows.append(
                {"profile": name, "name": str(one), "count": count, "expected": expected,
                 "lift": count / expected}
            )  # fmt: skip
    return rows

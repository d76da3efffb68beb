"""Separator-matching neurons: a few neurons where a special token's key is large, and where the
queries of all tokens take the same sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headscope.patterns.explain.contributors import BIAS, Values
from headscope.patterns.explain.explanation import explain
from headscope.patterns.explain.targets import targets_of
from headscope.statistics.features.grid import grid_of

if TYPE_CHECKING:
    from headscope.capture import Kind
    from headscope.reading import Reading


@dataclass(frozen=True)
class SeparatorMatching:
    """How a head finds its special token."""

    neurons: tuple[int, ...]  # those that raise its score most
    key_share: float  # share of the special key's squared length that lies in these neurons
    even_share: float  # their share if all neurons were alike
    kurtosis: float  # excess kurtosis of the special key's values: high when few are large
    other_kurtosis: float  # the median of the other keys'
    sign_agreement: float  # how often a query has the special key's sign in these neurons

    @property
    def words(self) -> str:
        return (
            f"{len(self.neurons)} neurons ({', '.join(map(str, self.neurons))}) hold "
            f"{self.key_share:.0%} of the special key's squared length, where an even spread "
            f"would hold {self.even_share:.0%}; queries share its sign there "
            f"{self.sign_agreement:.0%} of the time (50% by chance); kurtosis {self.kurtosis:.1f} "
            f"against {self.other_kurtosis:.1f} for other keys."
        )


def separator_matching(
    reading: Reading,
    layer: int,
    head: int,
    pattern: str = "delimiter",
    *,
    size: int = 4,
    kind: Kind | None = None,
) -> SeparatorMatching:
    """Look for separator-matching neurons; `pattern` says which special token is meant."""
    found = explain(reading, layer, head, pattern, kind=kind, size=size)
    part = reading.part(kind)
    one = part.layer(layer)
    assert one.q is not None and one.k is not None  # explain has asked for them
    q = one.q[head].astype(np.float64)
    k = one.k[head // (len(one.q) // len(one.k))].astype(np.float64)
    grid = grid_of([part.query], kind=part.kind, causal=part.causal)
    aimed = targets_of(found.pattern, grid)
    asking, special = aimed.any(1), aimed.any(0)
    neurons = [n for c in found.delta.order[:size] for n in found.parts.neurons[c] if n != BIAS]
    lengths = (k**2).sum(1)
    agree = [
        float((np.sign(q[asking][:, neurons]) == np.sign(k[j, neurons])).mean())
        for j in np.flatnonzero(special)
    ]
    return SeparatorMatching(
        neurons=tuple(neurons),
        key_share=float(((k[special][:, neurons] ** 2).sum(1) / lengths[special]).mean()),
        even_share=len(neurons) / k.shape[1],
        kurtosis=float(_kurtosis(k[special]).mean()),
        other_kurtosis=float(np.median(_kurtosis(k[~special]))),
        sign_agreement=float(np.mean(agree)),
    )


def _kurtosis(rows: Values) -> Values:
    centred = rows - rows.mean(1, keepdims=True)
    return (centred**4).mean(1) / (centred**2).mean(1) ** 2 - 3

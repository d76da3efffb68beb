"""Copying: whether what a head moves raises the very token it was moved from.

The circuit of a head from token to logit is W_E W_V W_O W_U, a vocabulary × vocabulary matrix.
Its eigenvalues other than zero are those of W_O (W_U W_E) W_V, head size × head size, so the large
matrix is never made (Elhage et al. 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headscope.circuits.weights.matrices import head_weights, vocabulary
from headscope.results import HeadResult, tidy

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

CHUNK = 8192  # tokens of the vocabulary at a time


@dataclass(frozen=True)
class Copying(HeadResult):
    """Σλ / Σ|λ| of every head's circuit from token to logit: 1 copies, −1 suppresses."""

    model: str
    scores: pd.DataFrame
    note: str

    @property
    def table(self) -> pd.DataFrame:
        return self.scores

    @property
    def title(self) -> str:
        return f"Copying heads of {self.model}"


def copying(scope: Scope) -> Copying:
    """The copying score of every head, from its weights alone."""
    import pandas as pd

    weights = head_weights(scope)
    into, out = vocabulary(scope)
    through = unembed_embed(into, out)
    rows: list[tuple[int, int, float]] = []
    for number, layer in enumerate(weights.layers):
        small = layer.o.double() @ through @ layer.v.double()  # h d d
        rows += [(number, head, value) for head, value in enumerate(eigen_score(small).tolist())]
    frame = pd.DataFrame(rows, columns=["layer", "head", "value"])
    note = f"Left out: {', '.join(weights.left_out)}."
    return Copying(scope.name, tidy(frame, kind=weights.kind, measure="copying"), note)


def unembed_embed(into: Tensor, out: Tensor) -> Tensor:
    """m m: W_U W_E, summed over the vocabulary in chunks."""
    total = torch.zeros(out.shape[1], into.shape[1], dtype=torch.float64)
    for start in range(0, len(into), CHUNK):
        some = slice(start, start + CHUNK)
        total += (out[some].T @ into[some]).double().cpu()
    return total.to(into.device)


def eigen_score(matrices: Tensor) -> Tensor:
    """…: Σ Re λ / Σ |λ| of matrices … d d; 0 where all are zero."""
    values = torch.linalg.eigvals(matrices.double().cpu())
    size = values.abs().sum(-1)
    return torch.where(size > 0, values.real.sum(-1) / size.clamp(min=1e-300), 0.0)

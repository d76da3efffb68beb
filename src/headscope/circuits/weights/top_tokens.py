"""What a head writes for each token and looks for from each, by its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headscope.circuits.logits.target import token_id
from headscope.circuits.weights.matrices import LayerWeights, head_weights, vocabulary
from headscope.errors import BadInput
from headscope.results import HeadResult, tidy
from headscope.text.spelling import listed

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope


def ov_tokens(
    scope: Scope, layer: int, head: int, token: str | None = None, n: int = 10
) -> pd.DataFrame:
    """What a head that attends to a token writes: the tokens it raises most.

    Parameters
    ----------
    scope
        The model.
    layer, head
        The head, counted from 0.
    token
        The token that the head attends to; the whole vocabulary if left out.
    n
        How many rows to return, 10 by default.

    Returns
    -------
    pandas.DataFrame
        The columns seen, written and value, largest first.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.circuits.ov_tokens(hs.load(), 2, 3, token="cat", n=3)
    >>> list(found["seen"])
    ['cat', 'cat', 'cat']
    """
    weights, into, out = _at(scope, layer, head)
    read = weights.v[head] @ weights.o[head]
    return _strongest(scope, into @ read, out, token, n, ("seen", "written"))


def qk_tokens(
    scope: Scope, layer: int, head: int, token: str | None = None, n: int = 10
) -> pd.DataFrame:
    """What a head looks for from a token, positions aside: the tokens whose keys fit best.

    Parameters
    ----------
    scope
        The model.
    layer, head
        The head, counted from 0.
    token
        The token that attends; the whole vocabulary if left out.
    n
        How many rows to return, 10 by default.

    Returns
    -------
    pandas.DataFrame
        The columns query, key and value, largest first.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.circuits.qk_tokens(hs.load(), 2, 3, token="cat", n=3)
    >>> list(found.columns)
    ['query', 'key', 'value']
    """
    weights, into, _ = _at(scope, layer, head)
    ask = into @ weights.q[head] + weights.q_bias[head]
    keys = into @ weights.k[head] + weights.k_bias[head]
    return _strongest(scope, ask, keys, token, n, ("query", "key"))


def _at(scope: Scope, layer: int, head: int) -> tuple[LayerWeights, Tensor, Tensor]:
    found = head_weights(scope)
    if not 0 <= layer < len(found.layers) or not 0 <= head < found.heads:
        raise BadInput(
            f"There is no head {layer}-{head}; {scope.name} has layers 0 to "
            f"{len(found.layers) - 1} and heads 0 to {found.heads - 1}."
        )
    into, out = vocabulary(scope)
    return found.layers[layer], into, out


def _strongest(
    scope: Scope, left: Tensor, right: Tensor, token: str | None, n: int, names: tuple[str, str]
) -> pd.DataFrame:
    """The largest entries of left rightᵀ (or of one row), a chunk of rows at a time."""
    import pandas as pd

    only = None if token is None else token_id(scope, token)
    rows = torch.arange(len(left)) if only is None else torch.tensor([only])
    best = torch.full((0,), 0.0)
    positions = torch.zeros(0, 2, dtype=torch.long)
    step = max(1, CHUNK * 64 // len(right))  # a few million products at a time
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        values = left[some] @ right.T
        top = torch.topk(values.flatten(), min(n, values.numel()))
        at = torch.stack([some[top.indices // len(right)], top.indices % len(right)], 1)
        best, positions = torch.cat([best, top.values.cpu()]), torch.cat([positions, at.cpu()])
        kept = torch.topk(best, min(n, len(best)))
        best, positions = kept.values, positions[kept.indices]

    def named(ids: Tensor) -> list[str]:
        return list(listed(scope.tokenizer, ids.tolist()))

    return pd.DataFrame(
        {names[0]: named(positions[:, 0]), names[1]: named(positions[:, 1]), "value": best.tolist()}
    )


# Copying: whether what a head moves from a token raises that token.
#
# The circuit of a head from token to logit is W_E W_V W_O W_U, a vocabulary × vocabulary matrix.
# Its eigenvalues other than zero are those of W_O (W_U W_E) W_V, head size × head size, so the
# large matrix is never made (Elhage et al. 2021).

CHUNK = 8192  # tokens of the vocabulary at a time


@dataclass(frozen=True, eq=False, repr=False)
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
    """The copying score of every head, from its weights alone.

    Parameters
    ----------
    scope
        The model; it needs an output layer over its vocabulary.

    Returns
    -------
    Copying
        Σλ / Σ|λ| of every head's circuit from token to logit: 1 copies, −1 suppresses.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.circuits.copying(hs.load())
    >>> bool(found.table["value"].between(-1, 1).all())
    True
    """
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

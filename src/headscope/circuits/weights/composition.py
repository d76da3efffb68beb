"""Composition: how much of what one head writes a later head reads.

‖W_OV W_QK‖ / (‖W_OV‖ ‖W_QK‖) for queries, the same with W_QKᵀ for keys and W_OV for values (Elhage
et al. 2021), in Frobenius norms, which need only head size × head size products. Two random
matrices of the same shape score about 1/√width; the excess is reported beside the score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.arguments import need_list
from headscope.circuits.weights.matrices import HeadWeights, head_weights
from headscope.errors import BadInput
from headscope.results import HeadResult, tidy

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

Through = Literal["q", "k", "v"]
THROUGH: tuple[Through, ...] = ("q", "k", "v")
DRAWN = 200  # random pairs behind the baseline


@dataclass(frozen=True, eq=False, repr=False)
class Composition(HeadResult):
    """For every head, the earlier head it reads most; `pairs` has all pairs."""

    model: str
    kind: str
    scores: dict[str, NDArray[np.float32]]  # q, k, v: l h l′ h′, writer first; NaN elsewhere
    baseline: dict[str, tuple[float, float]]  # mean and deviation of random matrices
    note: str

    @property
    def title(self) -> str:
        return f"Composition of heads of {self.model}"

    @property
    def table(self) -> pd.DataFrame:
        """Each head's strongest writer: value, baseline, and the writing head."""
        import pandas as pd

        frames: list[Any] = []
        for name, scores in self.scores.items():
            layers, heads = scores.shape[:2]
            for layer in range(1, layers):
                before = np.nan_to_num(scores[:layer, :, layer], nan=-1.0)  # l h h′
                best = before.reshape(-1, heads).argmax(0)
                frames.append(
                    pd.DataFrame(
                        {
                            "layer": layer,
                            "head": np.arange(heads),
                            "measure": f"{name}_composition",
                            "value": before.reshape(-1, heads).max(0),
                            "baseline": self.baseline[name][0],
                            "from_layer": best // heads,
                            "from_head": best % heads,
                        }
                    )
                )
        return tidy(pd.concat(frames, ignore_index=True), kind=self.kind)

    def pairs(self, through: Through = "k", n: int = 10) -> pd.DataFrame:
        """The strongest pairs: writer, reader, score, and standard deviations above random."""
        import pandas as pd

        if through not in self.scores:
            raise BadInput(f"through= is q, k or v, not {through!r}.")
        scores = self.scores[through]
        mean, spread = self.baseline[through]
        order = np.argsort(np.nan_to_num(-scores, nan=np.inf), axis=None)[:n]
        at = np.unravel_index(order, scores.shape)
        names = ("from_layer", "from_head", "layer", "head")
        found = dict(zip(names, at, strict=True))
        value = scores[at]
        return pd.DataFrame({**found, "value": value, "above_random": (value - mean) / spread})


def composition(scope: Scope, through: tuple[Through, ...] = THROUGH) -> Composition:
    """How much every head reads of what every earlier head writes, from weights alone.

    Parameters
    ----------
    scope
        The model; it needs at least two layers.
    through
        Inputs of the later head: any of "q", "k" and "v"; all three by default.

    Returns
    -------
    Composition
        A score for every pair of heads beside that of random matrices; `pairs` lists the strongest.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.circuits.composition(hs.load(), through=("k",))
    >>> list(found.pairs("k", n=2).columns)
    ['from_layer', 'from_head', 'layer', 'head', 'value', 'above_random']
    """
    need_list(through, "through", "('q', 'k')")
    for name in through:
        if name not in THROUGH:
            raise BadInput(f"through= is q, k or v, not {name!r}.")
    weights = head_weights(scope)
    if len(weights.layers) < 2:
        raise BadInput(
            f"Heads compose across layers, and {scope.name} has only one; use a model "
            "with two or more."
        )
    made = {name: _scores(weights, name) for name in through}
    baseline = {name: _random(weights, name) for name in through}
    note = f"Left out: {', '.join(weights.left_out)}."
    return Composition(scope.name, weights.kind, made, baseline, note)


def _scores(weights: HeadWeights, through: Through) -> NDArray[np.float32]:
    layers, heads = len(weights.layers), weights.heads
    scores = np.full((layers, heads, layers, heads), np.nan, dtype=np.float32)
    written = [_wide(one.v, one.o) for one in weights.layers]
    for late in range(1, layers):
        tall = _tall(*_reader(weights, late, through))
        for early in range(late):
            scores[early, :, late] = _pairwise(written[early], tall).cpu().numpy()
    return scores


def _reader(weights: HeadWeights, late: int, through: Through) -> tuple[Tensor, Tensor]:
    """h m d and h d m: the two factors of the matrix that reads the stream."""
    layer = weights.layers[late]
    if through == "v":
        return layer.v, layer.o
    first, second = (layer.q, layer.k) if through == "q" else (layer.k, layer.q)
    return first, second.transpose(1, 2)


def _wide(a: Tensor, b: Tensor) -> Tensor:
    """h d m with the norm of A B in any product: ‖A X‖ = ‖√(AᵀA) X‖."""
    return _root(a.transpose(1, 2) @ a) @ b


def _tall(c: Tensor, d: Tensor) -> Tensor:
    """h m d of the norm of C D: ‖X D‖ = ‖X √(D Dᵀ)‖."""
    return c @ _root(d @ d.transpose(1, 2))


def _pairwise(wide: Tensor, tall: Tensor) -> Tensor:
    """h h′: ‖A B C D‖ / (‖A B‖ ‖C D‖) for every writer A B and reader C D."""
    middle = torch.einsum("hdm,gme->hgde", wide, tall)
    sizes = wide.flatten(1).norm(dim=1)[:, None] * tall.flatten(1).norm(dim=1)[None]
    return middle.flatten(2).norm(dim=2) / sizes.clamp(min=1e-30)


def _root(gram: Tensor) -> Tensor:
    """The symmetric square root of a positive semidefinite matrix."""
    values, vectors = torch.linalg.eigh(gram.double())
    root = vectors * values.clamp(min=0).sqrt()[..., None, :] @ vectors.transpose(-1, -2)
    return root.to(gram.dtype)


def _random(weights: HeadWeights, through: Through) -> tuple[float, float]:
    """Mean and standard deviation of the score of Gaussian matrices of the model's shapes."""
    one = weights.layers[0]
    generator = torch.Generator().manual_seed(0)
    count = max(2, int(DRAWN**0.5))

    def drawn(like: Tensor) -> Tensor:
        return torch.randn(count, *like.shape[1:], generator=generator)

    reads, rest = _reader(weights, 0, through)
    made = _pairwise(_wide(drawn(one.v), drawn(one.o)), _tall(drawn(reads), drawn(rest)))
    return float(made.mean()), float(made.std())

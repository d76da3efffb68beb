"""q and k of families that compute attention themselves, read from their matrix product.

Such a family multiplies q and k, adds something, and takes a softmax. The product is seen as it
happens. The softmax's input minus the scaled product is the bias and the mask. Nothing is assumed
about the family, and the weights can be made again exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import torch
from torch import Tensor

PRODUCTS = {
    torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm, torch.baddbmm,
    Tensor.baddbmm, torch.einsum,
}  # fmt: skip
_BEHIND_A_SUM = {torch.baddbmm, Tensor.baddbmm}
HIDDEN = -5_000.0  # families hide a key with -10,000 and less; no bias is as large
_ROWS = 64  # entries of a layer from which its scaling is estimated


@dataclass(frozen=True)
class Scores:
    """What went into the softmax of a call."""

    q: Tensor  # b h t d
    k: Tensor  # b g s d
    scaling: float
    bias: Tensor | None  # b h t s, 0 where a key is hidden
    seen: Tensor | None  # b h t s bool, True where a query may look; None: everywhere


class Products:
    """The products an attention module has taken since its last softmax."""

    def __init__(self) -> None:
        self._taken: list[tuple[Tensor, Tensor, tuple[int, ...]]] = []

    def note(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        named: dict[str, Any] | None,
        result: Tensor,
    ) -> None:
        if func is torch.einsum:
            pair = _of_einsum(args)
        elif func in _BEHIND_A_SUM:
            pair = (*args[1:], *((named or {}).get(name) for name in ("batch1", "batch2")))[:2]
        else:
            pair = args[:2]
        if pair is not None and len(pair) == 2 and all(isinstance(one, Tensor) for one in pair):
            a, b = cast("tuple[Tensor, Tensor]", pair)
            self._taken.append((a, b, tuple(result.shape)))

    def scores_of(self, into: Tensor, weights: Tensor) -> Scores | None:
        """The scores behind a softmax; None if no product explains them. weights: b h t s."""
        taken, self._taken = self._taken, []
        # the first that fits: products with positions come after the one of contents
        for a, b, shape in taken:
            # heads may be folded into the batch for the product only
            fits = shape[-2:] == tuple(into.shape)[-2:] and prod(shape) == into.numel()
            if fits and a.dim() >= 3:
                batch, heads = weights.shape[:2]
                q, k = _with_heads(a, batch, heads), _with_heads(b, batch, heads)
                if q is not None and k is not None and q.shape[1] == heads:
                    return _explained(q, k.transpose(-1, -2), into.reshape(weights.shape))
        return None


def _of_einsum(args: tuple[Any, ...]) -> tuple[Tensor, Tensor] | None:
    """The operands of an einsum over a single axis, ordered as in a matrix product."""
    if len(args) != 3 or not isinstance(args[0], str) or "->" not in args[0]:
        return None
    sides, to = args[0].replace(" ", "").split("->")
    left, _, right = sides.partition(",")
    inner = (set(left) & set(right)) - set(to)
    if len(inner) != 1 or len(to) != 4 or len(left) != 4 or len(right) != 4:
        return None
    (d,) = inner
    if set(to[:3]) | {d} != set(left) or {to[0], to[1], to[3], d} != set(right):
        return None
    first = args[1].permute([left.index(axis) for axis in (*to[:3], d)])
    second = args[2].permute([right.index(axis) for axis in (*to[:2], d, to[3])])
    return first, second


def _with_heads(operand: Tensor, batch: int, heads: int) -> Tensor | None:
    """b h r c, also if heads are folded into the batch or share one operand."""
    if operand.dim() == 4:
        shared = operand.shape[1] in (1, heads)
        return operand.expand(batch, -1, -1, -1) if shared else None
    if operand.shape[0] != batch * heads:
        return None
    return operand.reshape(batch, heads, *operand.shape[1:])


def _explained(q: Tensor, k: Tensor, into: Tensor) -> Scores:
    product = q.float() @ k.float().transpose(-1, -2)
    scores = into.float()
    seen = scores > HIDDEN
    scaling = _scaling(product, scores, seen, q.shape[-1])
    rest = torch.where(seen, scores - product * scaling, 0.0)
    size = float(torch.where(seen, scores, 0.0).abs().max())
    # rounding of the scores themselves is not a bias
    rounding = (2e-6 if into.dtype == torch.float32 else 1e-2) * max(1.0, size)
    return Scores(
        q,
        k,
        scaling,
        rest if float(rest.abs().max()) > rounding else None,
        None if bool(seen.all()) else seen,
    )


def _scaling(product: Tensor, scores: Tensor, seen: Tensor, dim: int) -> float:
    """The factor that explains most: one a family would write where one is near.

    Any factor would do, since the rest counts as bias; the right one leaves the least of it.
    """
    some = torch.linspace(0, product.shape[2] - 1, min(_ROWS, product.shape[2])).long()
    there = seen[0][:, some]
    x, y = product[0][:, some][there].double(), scores[0][:, some][there].double()
    spread = x - x.mean()
    slope = float((spread * (y - y.mean())).sum() / (spread.square().sum() + 1e-30))
    written = [1.0, dim**-0.5, (2 * dim) ** -0.5, (3 * dim) ** -0.5]
    near = min(written, key=lambda one: abs(one - slope))
    exact = bool((y - slope * x).abs().max() <= 1e-5 * max(1.0, float(y.abs().max())))
    return slope if exact and abs(near - slope) > 1e-4 * abs(slope) else near

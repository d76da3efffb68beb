"""Singular vectors of a head's circuits: the directions it matches or moves.

W_Q W_Kᵀ and W_V W_O are width × width matrices of rank d. Their singular vectors come from two
thin QR decompositions and one of d × d, so the large matrices are never made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from headscope.arguments import need_count, need_scope
from headscope.capture.stack import hidden_of
from headscope.circuits.unrolled import unrolled
from headscope.circuits.weights.matrices import head_weights, vocabulary
from headscope.circuits.wiring import wiring
from headscope.errors import BadInput
from headscope.models.own_thread import only_here
from headscope.text.spelling import listed

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

Circuit = Literal["qk", "ov"]
TOKENS = 6  # named on either side


@dataclass(frozen=True)
class Directions:
    """left diag(values) rightᵀ is the circuit: rows of the stream × columns of the stream."""

    left: Tensor  # m d: of the query (qk), or of the input (ov)
    values: Tensor  # d, largest first
    right: Tensor  # m d: of the key (qk), or of the output (ov)


def directions(first: Tensor, second: Tensor) -> Directions:
    """The singular vectors of first secondᵀ, both m d."""
    (left, upper), (right, lower) = (torch.linalg.qr(one.double()) for one in (first, second))
    u, values, v = torch.linalg.svd(upper @ lower.T)
    return Directions(left @ u, values, right @ v.T)


def singular(
    scope: Scope,
    layer: int,
    head: int,
    circuit: Circuit = "ov",
    *,
    text: str | None = None,
    n: int = 5,
) -> pd.DataFrame:
    """A head's strongest directions, with the tokens on both sides.

    Parameters
    ----------
    scope
        A model of words, from `hs.load`.
    layer, head
        The head, both counted from 0.
    circuit
        "qk", what its queries match in keys (positions aside), or "ov", what it reads and writes.
    text
        A text: the column `used` then has each direction's share of the head's work on it.
    n
        How many directions, strongest first.

    Returns
    -------
    pandas.DataFrame
        `value` (singular value), `share` (of the sum of squares), `left` and `right` (tokens of the
        query and the key, or read and written), and `used` with a text. A direction has two ends:
        `left_opposite` and `right_opposite` are the other one.

    Examples
    --------
    >>> import headscope as hs
    >>> len(hs.circuits.singular(hs.load(), 2, 3, "ov", n=3))
    3
    """
    import pandas as pd

    need_scope(scope)
    need_count(n, "n")
    weights = head_weights(scope)
    if not 0 <= layer < len(weights.layers) or not 0 <= head < weights.heads:
        raise BadInput(
            f"There is no head {layer}-{head}; {scope.name} has layers 0 to "
            f"{len(weights.layers) - 1} and heads 0 to {weights.heads - 1}."
        )
    of = weights.layers[layer]
    sides = (of.q[head], of.k[head]) if circuit == "qk" else (of.v[head], of.o[head].T)
    found = directions(*sides)
    into, out = vocabulary(scope)
    read, written = into.double(), (into if circuit == "qk" else out).double()
    rows: list[dict[str, Any]] = []
    for at in range(min(n, len(found.values))):
        left, right = read @ found.left[:, at], written @ found.right[:, at]
        rows.append(
            {
                "direction": at,
                "value": float(found.values[at]),
                "share": float(found.values[at] ** 2 / found.values.square().sum()),
                "left": _tokens(scope, left),
                "right": _tokens(scope, right),
                "left_opposite": _tokens(scope, -left),
                "right_opposite": _tokens(scope, -right),
            }
        )
    frame = pd.DataFrame(rows)
    if text is not None:
        frame["used"] = _used(scope, text, layer, circuit, found)[: len(frame)].tolist()
    return frame


def _tokens(scope: Scope, values: Tensor) -> tuple[str, ...]:
    ids = values.topk(min(TOKENS, len(values))).indices.tolist()
    return listed(scope.tokenizer, ids)


def _used(scope: Scope, text: str, layer: int, circuit: Circuit, found: Directions) -> Tensor:
    """d: each direction's share of the scores' size (qk), or of the output's (ov)."""
    stream = _stream(unrolled(scope), text, layer)
    size = found.values * (stream @ found.left).square().mean(0).sqrt()
    if circuit == "qk":
        return _share(size * (stream @ found.right).square().mean(0).sqrt())
    return _share(size.square())


def _share(sizes: Tensor) -> Tensor:
    return sizes / sizes.sum().clamp(min=1e-300)


@torch.no_grad()
def _stream(scope: Scope, text: str, layer: int) -> Tensor:
    """t m: a layer's input, at the scale of the norm before its attention."""
    wired = wiring(scope)
    seen: list[Tensor] = []

    def keep(module: nn.Module, args: Any, kwargs: Any) -> None:
        seen.append(hidden_of(args[0] if args else kwargs["hidden_states"])[0].double())

    handle = wired.stack.layers[layer].register_forward_pre_hook(only_here(keep), with_kwargs=True)
    try:
        scope.forward(scope.encode([text]).inputs)
    finally:
        handle.remove()
    stream = seen[0]
    if id(wired.stack.attention[layer]) in wired.before_attention:
        stream = stream / stream.square().mean(-1, keepdim=True).sqrt().clamp(min=1e-12)
    return stream

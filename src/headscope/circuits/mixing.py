"""Mixing: how much of each token is in each token after an attention block, residual included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.capture.stack import hidden_of
from headscope.circuits.frozen_norm import tried
from headscope.circuits.outputs import LayerOutputs, head_outputs
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import wiring
from headscope.errors import HeadscopeError
from headscope.models.own_thread import only_here

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Text


@torch.no_grad()
def mixing(scope: Scope, text: Text, text_pair: Text | None = None) -> dict[int, NDArray[Any]]:
    """How much of each token is in each token after a layer's attention block.

    Norms of Σ_h α_ij v_j W_h, with the residual x_i where i = j, through the norm that follows
    where there is one (Kobayashi et al. 2021). All heads of a layer together, because the residual
    belongs to no single head.

    Parameters
    ----------
    scope
        The model.
    text
        The text.
    text_pair
        A second text, or what the decoder of an encoder–decoder reads.

    Returns
    -------
    dict
        For each layer an array, tokens × tokens: row i holds what token i is made of.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.circuits.mixing(hs.load(), "the cat sat")
    >>> found[0].shape
    (5, 5)
    """
    scope = unrolled(scope)
    wired = wiring(scope)
    entered: dict[int, Tensor] = {}
    norms: dict[int, list[tuple[nn.Module, Tensor]]] = {}
    handles: list[Any] = []
    for number, layer in enumerate(wired.stack.layers):

        def enter(module: nn.Module, args: Any, kwargs: Any, number: int = number) -> None:
            entered[number] = hidden_of(args[0] if args else kwargs["hidden_states"])[0].float()

        handles.append(layer.register_forward_pre_hook(only_here(enter), with_kwargs=True))
        for norm in (one for one in wired.norms if any(one is part for part in layer.modules())):

            def seen(module: nn.Module, given: Any, number: int = number) -> None:
                norms.setdefault(number, []).append((module, given[0][0].float()))

            handles.append(norm.register_forward_pre_hook(only_here(seen)))
    try:
        found = head_outputs(scope, text, text_pair)
    finally:
        for handle in handles:
            handle.remove()
    own = {at[1]: layer for at, layer in found.items() if at[0] == wired.stack.kind}
    if not own:
        raise HeadscopeError(f"The outputs of the heads of {scope.name} could not be read.")
    return {
        number: _mixed(layer, entered[number], norms.get(number, []))
        for number, layer in own.items()
    }


def _mixed(
    layer: LayerOutputs, residual: Tensor, norms: list[tuple[nn.Module, Tensor]]
) -> NDArray[Any]:
    moved = torch.einsum("hsd,hdm->hsm", layer.spread, layer.projection)
    summed = residual + layer.written
    after = next(
        (norm for norm, given in norms if given.shape == summed.shape
         and torch.allclose(given, summed, rtol=1e-3, atol=1e-4)), None,
    )  # fmt: skip
    rows: list[Tensor] = []
    for query in range(layer.weights.shape[1]):
        parts = torch.einsum("hs,hsm->sm", layer.weights[:, query], moved)
        parts[query] += residual[query]
        if after is not None:
            gain, _, centred = tried(after.forward, parts)
            whole = summed[query] - summed[query].mean() if centred else summed[query]
            parts = parts - parts.mean(-1, keepdim=True) if centred else parts
            parts = parts * gain / whole.square().mean().sqrt()
        rows.append(parts.norm(dim=-1))
    return torch.stack(rows).cpu().numpy()

"""The mask and the positional bias of a call, found once for all layers that share them."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.capture.call import Call, allowed
from headscope.reading.weights.shapes import Bias, Mask

Found = tuple[Bias | None, Mask | None]


class Positional:
    """Layers of a pass are handed the same tensors; what was made of them is made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[list[Tensor], Found]] = {}

    def of(self, call: Call, row: int, t: int, s: int) -> Found:
        mask = call.given_mask
        if mask is None and call.bias is None:
            return None, Mask((t, s)) if call.implied_causal and t > 1 else None
        sources = [one for one in (mask, call.bias) if one is not None]
        # the tensors are kept, so that no other can take their place in memory meanwhile
        at = (*(id(one) for one in sources), call.bias is None, row, t, s)
        if at not in self._known:
            self._known[at] = (sources, _find(call, mask, row, t, s))
        bias, found = self._known[at][1]
        if mask is None and call.implied_causal:
            found = Mask((t, s))
        return bias, found


def _find(call: Call, mask: Tensor | None, row: int, t: int, s: int) -> Found:
    added = None if call.bias is None else _of(call.bias, row, t, s)
    found = None
    if mask is not None:
        given = _of(mask, row, t, s)
        seen = allowed(given)
        found = Mask.of(seen[0])
        if given.dtype != torch.bool:
            # an additive mask with finite values in it (ALiBi) is a bias too
            finite = torch.where(seen, given, torch.zeros_like(given))
            if bool(finite.any()):
                added = finite if added is None else added + finite
    return None if added is None else Bias.of(added.expand(call.heads, t, s)), found


def _of(tensor: Tensor, row: int, t: int, s: int) -> Tensor:
    return tensor[min(row, tensor.shape[0] - 1), :, :t, :s]

"""Which kind and layer a call is: by name for the kind, by order of computation for the layer.

Order rather than `layer_idx`, because ALBERT runs one module L times and several families
carry no index at all.
"""

from __future__ import annotations

import re
from collections import Counter

from torch import nn

from headscope.capture.call import Kind

_CROSS = re.compile(r"cross_?att|crossattention|encoder_attn|encdecattention|enc_dec|xattn", re.I)
_DECODER = re.compile(r"(^|\.)(text_)?decoder(\.|$)", re.I)


class Numbering:
    """Counts the calls of each kind within one forward pass."""

    def __init__(self, model: nn.Module) -> None:
        self._two_stacks = bool(getattr(model.config, "is_encoder_decoder", False))
        self._next: Counter[Kind] = Counter()
        self._was_causal: dict[int, bool] = {}

    def start(self) -> None:
        self._next.clear()

    def remember_causal(self, module: nn.Module, causal: bool | None) -> bool:
        """A single cached query cannot show whether a module is causal; an earlier pass did."""
        if causal is None:
            return self._was_causal.get(id(module), False)
        self._was_causal[id(module)] = causal
        return causal

    def kind(self, module: nn.Module, name: str, causal: bool) -> Kind:
        if getattr(module, "is_cross_attention", False) or _CROSS.search(name):
            return "cross"
        if self._two_stacks:
            return "decoder" if causal or _DECODER.search(name) else "encoder"
        return "decoder" if causal else "encoder"

    def take(self, kind: Kind) -> int:
        layer = self._next[kind]
        self._next[kind] += 1
        return layer

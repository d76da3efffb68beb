"""Which kind and layer a call is: by name for the kind, by order of computation for the layer.

Order rather than `layer_idx`, because ALBERT runs one module L times and several families
carry no index at all. In hybrid models, whose layers do not all attend, the layer that is running
tells its number (`mixed_layers.py`).
"""

from __future__ import annotations

import re
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from headscope.capture.call import Kind, allowed

_CROSS = re.compile(
    r"cross_?att|crossattention|encoder_attn|encdecattention|enc_dec|xattn|multihead_attn$", re.I
)
# names of the text model beside a tower for pictures or sound
_LANGUAGE = re.compile(r"(^|\.)language_model(\.|$)")
_DECODER = re.compile(r"(^|\.)(text_)?decoder(\.|$)", re.I)


class Numbering:
    """Counts the calls of each kind within one forward pass."""

    def __init__(self, model: nn.Module) -> None:
        self.two_stacks = bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))
        configuration = getattr(model, "config", None)
        self.two_towers = any(
            hasattr(configuration, f"{sense}_config") for sense in ("vision", "audio")
        )
        self._next: Counter[Kind] = Counter()
        self._running: int | None = None
        self._was_causal: dict[int, bool] = {}
        self._masks: list[tuple[weakref.ref[Tensor], bool]] = []

    def start(self) -> None:
        self._next.clear()
        self._masks.clear()

    def running(self, layer: int | None) -> None:
        """Note the layer of a hybrid model that has begun; None when it has ended."""
        self._running = layer

    def forbids_the_future(self, mask: Tensor) -> bool:
        """Whether a dense square mask lets no query look past itself; layers share their masks."""
        for known, answer in self._masks:
            if known() is mask:
                return answer
        answer = not bool(allowed(mask).triu(1).any())
        self._masks.append((weakref.ref(mask), answer))
        return answer

    def grows_by_row(self, mask: Tensor) -> bool:
        """Whether a mask hides the future, not only padding, which would make all rows alike."""
        seen = allowed(mask)
        return self.forbids_the_future(mask) and bool((seen != seen[..., -1:, :]).any())

    def causal_as_known(self, module: nn.Module, causal: bool | None) -> bool:
        """A single cached query cannot show whether a module is causal; an earlier pass did."""
        if causal is None:
            return self._was_causal.get(id(module), False)
        self._was_causal[id(module)] = causal
        return causal

    def kind(self, module: nn.Module, name: str, causal: bool) -> Kind:
        if getattr(module, "is_cross_attention", False) or _CROSS.search(name):
            return "cross"
        if self.two_towers and _LANGUAGE.search(name):
            return "decoder"  # even if pictures or a prefix are attended to from both sides
        if self.two_stacks:
            return "decoder" if causal or _DECODER.search(name) else "encoder"
        return "decoder" if causal else "encoder"

    def next_layer(self, kind: Kind) -> int:
        """The number of the attending layer; never one that was used before."""
        layer = max(self._next[kind], self._running or 0)
        self._next[kind] = layer + 1
        return layer


# Which layer of a hybrid model is running: only some of its layers attend.
#
# If all layers of a stack are alike, calls are counted. If they differ (Jamba, Qwen3-Next, Zamba,
# …), hooks note which layer runs, and a call gets the model's own number.

_ATTENTION = re.compile(r"att", re.I)
_mixed_stacks: WeakKeyDictionary[nn.Module, list[nn.ModuleList]] = WeakKeyDictionary()


def watch_layers(model: nn.Module, running: Callable[[int | None], None]) -> list[Any]:
    """Hooks that tell the number of each layer as it starts, and None as it ends."""
    if model not in _mixed_stacks:
        _mixed_stacks[model] = mixed_stacks(model)
    handles: list[Any] = []
    for stack in _mixed_stacks[model]:
        for number, layer in enumerate(stack):

            def enter(module: nn.Module, arguments: Any, number: int = number) -> None:
                running(number)

            def leave(module: nn.Module, arguments: Any, output: Any) -> None:
                running(None)

            handles.append(layer.register_forward_pre_hook(enter))
            handles.append(layer.register_forward_hook(leave, always_call=True))
    return handles


def mixed_stacks(model: nn.Module) -> list[nn.ModuleList]:
    """The lists of layers of different make, some of which attend.

    Stages that hold lists of layers of their own (Swin) are none: there, calls are counted.
    """
    lists = [one for one in model.modules() if isinstance(one, nn.ModuleList) and _attends(one)]
    inside = {id(inner) for outer in lists for inner in outer.modules() if inner is not outer}
    staged = {id(outer) for outer in lists for inner in lists if _holds(outer, inner)}
    return [one for one in lists if id(one) not in inside and id(one) not in staged and _mixed(one)]


def _mixed(stack: nn.ModuleList) -> bool:
    made_of = [Counter(type(part).__name__ for part in layer.modules()) for layer in stack]
    return any(one != made_of[0] for one in made_of)


def _attends(module: nn.Module) -> bool:
    return any(_ATTENTION.search(type(part).__name__) for part in module.modules())


def _holds(outer: nn.Module, inner: nn.Module) -> bool:
    return inner is not outer and any(part is inner for part in outer.modules())

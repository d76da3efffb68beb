"""What every reading of pictures and sounds does: inputs on the model's device, collect, name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from headscope.capture.call import Call
from headscope.media.places import Places
from headscope.reading.collecting.collector import Collector
from headscope.reading.collecting.keeping import Keeping, Layer
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope

Whole = frozenset[Layer]


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is to be kept of which layers."""

    keeping: Keeping
    layers: Collection[int] | None

    def collector(self, whole: Whole) -> Collector:
        return Collector(None, None, self.keeping, self.layers, {}, whole)


def collected(read: Callable[[Whole], dict[str, Collector]]) -> dict[str, Collector]:
    """Read once; once more, keeping maps, where weights do not come out of q and k."""
    found = read(frozenset())
    wrong = frozenset[Layer]().union(*(one.not_rebuilt() for one in found.values()))
    return read(wrong) if wrong else found


def rows_of(call: Call) -> int:
    """How many inputs, tiles or windows a call attends over, each apart."""
    return call.q.shape[0] if call.q is not None else call.weights.shape[0]


def tensors_of(inputs: Any) -> dict[str, Tensor]:
    return {name: value for name, value in inputs.items() if isinstance(value, Tensor)}


def moved(scope: Scope, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    kind = next(scope.model.parameters()).dtype
    return {
        name: value.to(scope.device, kind) if value.is_floating_point() else value.to(scope.device)
        for name, value in inputs.items()
    }


def placed_tokens(places: Places) -> Tokens:
    return dataclasses.replace(Tokens.plain(places.names()), places=places)

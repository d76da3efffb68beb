"""Steps that readings of pictures and sounds share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from headscope.capture.call import Call
from headscope.errors import BadInput
from headscope.media.positions import Positions
from headscope.reading.collecting.collector import Collector
from headscope.reading.collecting.keeping import Keeping, Layer, WhatToKeep
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope


Whole = frozenset[Layer]


@dataclasses.dataclass(frozen=True)
class Asked:
    """What to keep, and of which layers."""

    keeping: Keeping
    layers: Collection[int] | None

    @staticmethod
    def of(keep: WhatToKeep, memory: str | int | None, layers: Collection[int] | None) -> Asked:
        return Asked(Keeping.of(keep, memory), layers)

    def collector(self, whole: Whole) -> Collector:
        return Collector(None, None, self.keeping, self.layers, {}, whole)


def collected(read: Callable[[Whole], dict[str, Collector]]) -> dict[str, Collector]:
    """Read once; once more with maps if weights from q and k differ."""
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


def positioned_tokens(positions: Positions) -> Tokens:
    return dataclasses.replace(Tokens.plain(positions.names()), positions=positions)


# The model's processor, which turns a picture or a sound into inputs.


def processor_of(scope: Scope, what: str) -> Any:
    """The processor the scope was loaded with, or the one in the model's folder."""
    if scope.processor is not None:
        return scope.processor
    if "processor" not in scope.shared:
        scope.shared["processor"] = _opened(scope.model.config._name_or_path)
    found = scope.shared["processor"]
    if found is None:
        raise BadInput(
            f"{scope.name} came without a processor for {what}; put its "
            f"preprocessor_config.json into the model's folder, or pass it: hs.load(model, "
            f"processor=processor)."
        )
    return found


def _opened(source: str) -> Any:
    if not source:
        return None
    from transformers import AutoFeatureExtractor, AutoImageProcessor, AutoProcessor

    for family in (AutoProcessor, AutoImageProcessor, AutoFeatureExtractor):
        try:
            found = family.from_pretrained(source, trust_remote_code=False)
        except (OSError, ValueError, KeyError, ImportError, TypeError, AttributeError):
            continue
        if not hasattr(found, "convert_tokens_to_ids"):  # a text model's processor is a tokenizer
            return found
    return None


def feature_extractor_of(processor: Any) -> Any:
    """The part of a processor that takes sound, or None."""
    inner = getattr(processor, "feature_extractor", None)
    if inner is not None:
        return inner
    return processor if hasattr(processor, "sampling_rate") else None

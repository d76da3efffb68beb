"""The model's own processor: what turns a picture or a sound into what the model takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.reading.scope import Scope


def processor_of(scope: Scope, what: str) -> Any:
    """The processor the scope was loaded with, or the one in the model's folder."""
    if scope.processor is not None:
        return scope.processor
    if "processor" not in scope.shared:
        scope.shared["processor"] = _opened(scope.model.config._name_or_path)
    found = scope.shared["processor"]
    if found is None:
        raise BadInput(
            f"{scope.name} came without a processor for {what}; put its preprocessor_config.json "
            "into the model's folder, or hand it over: hs.load(model, processor=processor)."
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

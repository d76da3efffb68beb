"""Models that compare pictures with texts (CLIP, SigLIP): two towers, each readable by itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def tower_for(model: Any, given: Collection[str]) -> Any:
    """What reads inputs of these names: one tower where the other has nothing to read."""
    reads, sees = getattr(model, "text_model", None), getattr(model, "vision_model", None)
    if reads is None or sees is None or ("pixel_values" in given) == ("input_ids" in given):
        return model
    return sees if "pixel_values" in given else reads

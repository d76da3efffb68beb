"""Circuits: what a head writes and how heads feed each other.

    hs.attribute(scope, "The capital of France is", target=("Paris", "London"))
    hs.circuits.copying(scope) · hs.circuits.composition(scope)
    hs.circuits.patch(scope, clean, corrupted, metric)

Names load what they need on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope.circuits.logits.attribute import attribute as attribute
    from headscope.circuits.logits.attribution import Attribution as Attribution
    from headscope.circuits.mixing import mixing as mixing
    from headscope.circuits.names.named import named as named
    from headscope.circuits.outputs import head_outputs as head_outputs
    from headscope.circuits.patching.pairs import Pair as Pair
    from headscope.circuits.patching.pairs import Pairs as Pairs
    from headscope.circuits.patching.pairs import read_pairs as read_pairs
    from headscope.circuits.patching.patch import patch as patch
    from headscope.circuits.patching.path import path_patch as path_patch
    from headscope.circuits.patching.ready import task as task
    from headscope.circuits.patching.result import Patching as Patching
    from headscope.circuits.saliency.inputs import inputs as inputs
    from headscope.circuits.weightings import weighted as weighted
    from headscope.circuits.weightings import with_weightings as with_weightings
    from headscope.circuits.weights.composition import composition as composition
    from headscope.circuits.weights.copying import copying as copying
    from headscope.circuits.weights.top_tokens import ov_tokens as ov_tokens
    from headscope.circuits.weights.top_tokens import qk_tokens as qk_tokens

_HOMES = {
    "Attribution": "logits.attribution",
    "Pair": "patching.pairs",
    "Pairs": "patching.pairs",
    "Patching": "patching.result",
    "attribute": "logits.attribute",
    "composition": "weights.composition",
    "copying": "weights.copying",
    "head_outputs": "outputs",
    "inputs": "saliency.inputs",
    "patch": "patching.patch",
    "path_patch": "patching.path",
    "mixing": "mixing",
    "read_pairs": "patching.pairs",
    "task": "patching.ready",
    "named": "names.named",
    "weighted": "weightings",
    "with_weightings": "weightings",
    "ov_tokens": "weights.top_tokens",
    "qk_tokens": "weights.top_tokens",
}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'headscope.circuits' has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__

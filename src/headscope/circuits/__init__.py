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
    from headscope.circuits.attribute import attribute as attribute
    from headscope.circuits.attribution import Attribution as Attribution
    from headscope.circuits.outputs import head_outputs as head_outputs

_HOMES = {
    "Attribution": "attribution",
    "attribute": "attribute",
    "head_outputs": "outputs",
}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'headscope.circuits' has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__

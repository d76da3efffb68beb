"""Circuits: what a head writes and how heads feed each other.

    hs.attribute(scope, "The capital of France is", target=("Paris", "London"))
    hs.circuits.copying(scope) · hs.circuits.composition(scope)
    hs.patch(scope, clean, corrupted, metric)

Names load what they need on first use; `__init__.pyi` lists them.
"""

from headscope.front_door import attach

__all__ = attach(__name__)  # pyright: ignore[reportUnsupportedDunderAll]

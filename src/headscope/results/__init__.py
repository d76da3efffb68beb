"""Results: the interface of every table of heads, its file format, and every class.

Classes load on first use; `__init__.pyi` lists them.
"""

from headscope.front_door import attach

__all__ = attach(__name__)  # pyright: ignore[reportUnsupportedDunderAll]

"""Results: what every table of heads answers to, how it is kept in one file, and every class.

Classes load on first use; `__init__.pyi` lists them.
"""

from headscope.front_door import attach

__all__ = attach(__name__)  # pyright: ignore[reportUnsupportedDunderAll]

"""See, measure and explain what every attention head of a Transformer does.

    import headscope as hs
    reading = hs.load().read("I went to the store.", "At the store, I bought fresh strawberries.")
    hs.head_view(reading)

Names load what they need on first use, so that `import headscope` stays light. They are listed
in `__init__.pyi`, which editors and type checkers read.
"""

from headscope._version import __version__
from headscope.front_door import VIEWS, attach, view_functions

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "__version__",
    *attach(__name__, {function: (VIEWS, function) for function in view_functions().values()}),
]

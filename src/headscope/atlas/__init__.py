"""The atlas: every head over a corpus, from any number to the texts behind it.

The package is also a function: `hs.atlas(scope, corpus, output="model.atlas")` makes one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from headscope.callable_package import make_callable

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas as Atlas

make_callable(__name__, "headscope.atlas.make")


def __getattr__(name: str) -> object:
    """`Atlas`, imported on first use."""
    if name != "Atlas":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.atlas").Atlas

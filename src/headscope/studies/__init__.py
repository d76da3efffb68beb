"""Studies: a paper's experiments run end to end on any model, each giving a `Report`.

Every folder here is a study: `studies/vig/study.py` holds a function of its name under `@study`, so
that `hs.studies.vig(scope, data=None, *, limit=None, output=None, …) -> Report` is a run like any
other. Its parts are beside it. Studies are found automatically, and loaded when they are used.
"""

from __future__ import annotations

from headscope.discovery import names
from headscope.front_door import attach

STUDIES = tuple(name for name in names(__name__) if "study" in names(f"{__name__}.{name}"))

__all__ = attach(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__, {name: (f"{__name__}.{name}.study", name) for name in STUDIES}
)

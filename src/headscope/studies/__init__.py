"""Studies: a paper's experiments run end to end on any model, each giving a `Report`.

Every folder here is a study: `studies/vig/study.py` holds
a function of its name under `@study`, so that `vig(scope, data=None, *, limit=None, output=None,
restart=False, progress=True, command=None) -> Report` is a run like any other. What it is made of
lies beside it. Nothing is listed by hand. Studies are imported at once so that `studies.vig` is
the function, never the folder; they keep heavy imports inside their functions.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import cast

from headscope.studies.report import Report as Report
from headscope.studies.report import Section as Section

Study = Callable[..., Report]


def _discover() -> dict[str, Study]:
    found: dict[str, Study] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg:
            home = import_module(f"{__name__}.{module.name}.study")
            found[module.name] = cast(Study, getattr(home, module.name))
    return found


STUDIES: dict[str, Study] = _discover()
globals().update(STUDIES)

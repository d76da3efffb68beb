"""Studies: a paper's experiments run end to end on any model, each giving a `Report`.

Every folder here is a study: `studies/vig/study.py` holds a function of its name under `@study`, so
that `vig(scope, data=None, *, limit=None, output=None, restart=False, progress=True, command=None)
-> Report` is a run like any other. Its parts are beside it, and studies are found automatically.
They are imported at once, so that `studies.vig` is the function and not the folder; heavy imports
are inside their functions.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from headscope.discovery import names
from headscope.studies.pieces import Section as Section
from headscope.studies.report import Report as Report

Study = Callable[..., Report]


def _discover() -> dict[str, Study]:
    homes = (name for name in names(__name__) if "study" in names(f"{__name__}.{name}"))
    return {
        name: cast(Study, getattr(import_module(f"{__name__}.{name}.study"), name))
        for name in homes
    }


STUDIES: dict[str, Study] = _discover()
globals().update(STUDIES)

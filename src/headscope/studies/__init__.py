"""Studies: a paper's experiments run end to end on any model, each giving a `Report`.

Every module here that defines a function of its own name is a study (folders that begin with an
underscore hold what a study is made of): `studies/vig.py` holds
`vig(scope, data=None, *, limit=None, steps=None, command=None) -> Report`. Nothing is listed by
hand. Modules are imported at once so that `studies.vig` is the function, never the module; they
keep heavy imports inside their functions.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import cast

from headscope.studies.report import Report as Report
from headscope.studies.report import Section as Section
from headscope.studies.steps import Steps as Steps

Study = Callable[..., Report]


def _discover() -> dict[str, Study]:
    found: dict[str, Study] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_"):
            continue
        study = getattr(import_module(f"{__name__}.{module.name}"), module.name, None)
        if callable(study):
            found[module.name] = cast(Study, study)
    return found


STUDIES: dict[str, Study] = _discover()
globals().update(STUDIES)

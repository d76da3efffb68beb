"""A package that is also a function: `hs.patterns(scope, corpus)` beside `hs.patterns.labels`."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def make_callable(package: str, home: str) -> None:
    """Calling the package calls the function of the same name in `home`, imported when needed."""
    name = package.rpartition(".")[2]

    class CallablePackage(ModuleType):
        @property
        def _function(self) -> Any:
            """What a call calls; the reference describes it."""
            return getattr(import_module(home), name)

        @property
        def __signature__(self) -> Any:
            """The function's own: what a notebook shows for `hs.patterns?`, and completes."""
            from inspect import signature

            return signature(self._function)

        def __call__(self, *given: Any, **named: Any) -> Any:
            return self._function(*given, **named)

    sys.modules[package].__class__ = CallablePackage

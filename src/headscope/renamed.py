"""Names that were public and changed: accepted with a warning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accept arguments by their old names: `@renamed(max_length="max_tokens")`."""

    def around(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            options: dict[str, Any] = named
            for old in [name for name in options if name in names]:
                warnings.warn(
                    f"{old}= is now called {names[old]}=.", DeprecationWarning, stacklevel=2
                )
                options[names[old]] = options.pop(old)
            return function(*given, **options)

        return call

    return around

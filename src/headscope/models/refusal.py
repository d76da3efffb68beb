"""Families that a function cannot handle are refused in a sentence, never by a traceback."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch

from headscope.errors import HeadscopeError, first_line

P = ParamSpec("P")
R = TypeVar("R")
_FOREIGN = (TypeError, ValueError, LookupError, RuntimeError, AttributeError)


def refuses(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function of a scope: what the family's own code raises when it is run in parts is refused.

    `what` says what cannot be done: "This model cannot be patched".
    """

    def around(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except (HeadscopeError, torch.OutOfMemoryError):
                raise
            except _FOREIGN as error:
                scope: Any = args[0] if args else kwargs.get("scope")
                if not hasattr(scope, "model"):
                    raise
                raise HeadscopeError(
                    f"{scope.name} cannot be {what}: {type(scope.model).__name__} does not run in "
                    f"parts ({first_line(error)})."
                ) from error

        return guarded

    return around

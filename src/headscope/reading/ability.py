"""What a family cannot do: tried once per model, on a few tokens, and reported as an error.

An error in the trial is a refusal. An error in the call itself is never caught: it is a bug.
`tests/contracts/refused.py` lists which families refuse what, so that a bug cannot pass as a
refusal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import nn

from headscope.errors import FOREIGN, HeadscopeError, first_line

if TYPE_CHECKING:
    from headscope.reading import Scope

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Ability(Generic[T]):
    """A requirement of functions on a model, such as a stack that runs from the middle."""

    functions: tuple[str, ...]  # the functions that need it
    done: str  # "patched": what cannot be done with a model that lacks it
    trial: Callable[[Scope], T]  # its result is cached with the model
    _known: WeakKeyDictionary[nn.Module, T | str] = field(
        default_factory=lambda: WeakKeyDictionary[nn.Module, Any](), init=False, repr=False
    )

    def of(self, scope: Scope) -> T:
        """The trial's result; raises its refusal."""
        found = self._found(scope)
        if isinstance(found, str):
            raise HeadscopeError(found)
        return found

    def refusal(self, scope: Scope) -> str | None:
        """Why the model cannot do it; None if it can."""
        found = self._found(scope)
        return found if isinstance(found, str) else None

    def _found(self, scope: Scope) -> T | str:
        model: nn.Module = scope.model
        if model not in self._known:
            self._known[model] = self._tried(dataclasses.replace(scope, edits=()))
        return self._known[model]

    def _tried(self, scope: Scope) -> T | str:
        try:
            return self.trial(scope)
        except torch.OutOfMemoryError:
            raise
        except HeadscopeError as refused:
            return str(refused)
        except FOREIGN as error:
            return (
                f"{scope.name} cannot be {self.done}: {type(scope.model).__name__} does not run as "
                f"that needs ({first_line(error)})."
            )

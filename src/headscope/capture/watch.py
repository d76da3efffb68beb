"""Look at one module as it runs: what a family file needs to translate its attention."""

from __future__ import annotations

import contextlib
import inspect
import threading
from typing import Any

from torch import Tensor, nn

from headscope.capture import active, tap
from headscope.capture.products import Scores
from headscope.capture.validity import Valid


class Watch(contextlib.AbstractContextManager[None]):
    """Hooks around one module for the length of a capture, quiet in other threads.

    `before` may change the named arguments of the module, `after` its output. Between the two
    the softmax tap is closed: the family file reads these weights itself.
    """

    closes_tap = True

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._parameters = inspect.signature(module.forward)
        self._thread = threading.get_ident()
        self._undo = contextlib.ExitStack()
        self._running = contextlib.ExitStack()

    def before(self, given: dict[str, Any]) -> None:
        """Look at, or change, the arguments by name."""

    def after(self, given: dict[str, Any], output: Any) -> Any:
        """The output to use; it is None if the module failed."""
        return output

    def __enter__(self) -> None:
        if active.doors_of(self.module):
            return  # an outer door already watches, and shows every call to the inner ones
        enter = self.module.register_forward_pre_hook(self._enter, with_kwargs=True)
        leave = self.module.register_forward_hook(self._leave, always_call=True)
        self._undo.callback(enter.remove)
        self._undo.callback(leave.remove)

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def _enter(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        # options are missing while another thread removes its hooks
        if threading.get_ident() != self._thread or options is None:
            return None
        self._given = dict(zip(self._parameters.parameters, arguments, strict=False)) | options
        self.before(self._given)
        if self.closes_tap:
            self._running.enter_context(active.tap_closed())
        return (), self._given

    def _leave(self, module: nn.Module, arguments: Any, output: Any) -> Any:
        if threading.get_ident() != self._thread:
            return None
        self._running.close()
        return self.after(self._given, output)

    @property
    def scores_wanted(self) -> bool:
        """Whether a door asks for what the scores are made of."""
        return any(door.scores for door in active.doors_of(self.module))

    def show(
        self,
        weights: Tensor,
        real: Tensor,
        scores: Scores | None = None,
        values: Tensor | None = None,
    ) -> Tensor:
        """Show dense weights (b h t s) with their real tokens (b t); what comes back counts."""
        valid: Valid = (real, real)
        return tap.show_weights(
            self.module, weights, "family", lambda door, kind: valid, scores, values
        )

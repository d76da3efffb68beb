"""Forward passes of a model under a scope's edits."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from headscope.capture import Again, Call, Output, Queries, Sink, capture
from headscope.capture.call import Answer
from headscope.capture.interface import apply
from headscope.errors import FOREIGN, HeadscopeError, first_line
from headscope.interrupts import safe_point, stopped_safely
from headscope.models.evaluation import evaluating, tower_for
from headscope.models.placement import check_gradients
from headscope.text.tokenise import Batch

if TYPE_CHECKING:
    from headscope.reading.scope import Scope

Edit = Callable[[Call], "Tensor | Queries | Again | Call | None"]
Run = Callable[..., Any]  # inputs and options of a forward pass in, the model's output out


@runtime_checkable
class AtModules(Protocol):
    """An edit of a model's modules, not only of its attention."""

    @property
    def of_input(self) -> bool: ...
    def standing(self, scope: Scope) -> contextlib.AbstractContextManager[None]: ...


@contextlib.contextmanager
def captured(scope: Scope, sink: Sink, lazy: bool, scores: bool) -> Generator[object]:
    """Show calls to `sink` while the model runs, after the scope's edits."""
    if not lazy and "compared" not in scope.shared:  # compares it with the plain model
        scope.shared["compared"] = True
        with contextlib.suppress(HeadscopeError):  # it needs special inputs
            _ = scope.description
    with (
        evaluating(scope.model),
        edits_standing(scope),
        capture(scope.model, edits_first(scope.edits, sink), lazy=lazy, scores=scores) as door,
    ):
        yield door


@contextlib.contextmanager
def passes(
    scope: Scope, sink: Sink | None, *, lazy: bool, scores: bool, gradients: bool
) -> Generator[Run]:
    """See `Scope.passes`."""
    door: Any = None
    running: list[Callable[[], Any]] = []  # the current pass

    def run(inputs: Batch | Mapping[str, Tensor], **options: Any) -> Any:
        tensors = scope.accepted(inputs.inputs if isinstance(inputs, Batch) else inputs)
        tower = tower_for(scope.model, tensors)
        if tower is not scope.model and door is not None:
            door.start_pass(tensors)  # this does not run the model itself, whose passes are counted
        safe_point()
        running[:] = [lambda: tower(**tensors, **options)]
        output = tower(**tensors, **options)
        running.clear()
        return output

    try:
        with stopped_safely(), contextlib.ExitStack() as stack:
            stack.enter_context(evaluating(scope.model))
            if gradients:
                check_gradients(scope.model)
            else:
                stack.enter_context(torch.no_grad())
            if sink is not None or scope.edits:
                see = sink or _see_nothing
                shown = scope.capture(see, lazy=lazy or sink is None, scores=scores)
                door = stack.enter_context(shown)
            yield run
    except FOREIGN as error:
        if running and not isinstance(error, (HeadscopeError, torch.OutOfMemoryError)):
            _need_running(scope, running[0])
        raise


def _need_running(scope: Scope, alone: Callable[[], Any]) -> None:
    """Raise an error for inputs on which the plain model fails too."""
    try:
        with evaluating(scope.model), torch.no_grad():
            alone()
    except FOREIGN as error:
        raise HeadscopeError(
            f"{scope.name} fails on these inputs ({first_line(error)}); check "
            "that the tokenizer is the model's own, or use scope.capture with other inputs."
        ) from error


def edits_first(edits: tuple[Edit, ...], sink: Sink) -> Sink:
    """Edits first, one after another; the sink sees their result."""
    if not edits:
        return sink

    def edit_and_show(call: Call) -> Answer:
        changed, call = edited_call(edits, call)
        shown = sink(call)
        return changed if shown is None else shown

    return edit_and_show


def edited_call(edits: Iterable[Edit], call: Call) -> tuple[Answer, Call]:
    """The reply to the model after all edits of a call, and the edited call.

    An edit that changes keys or values returns a call with the new ones.
    """
    changed: Answer = None
    values = call.v
    for edit in edits:
        answer = edit(call)
        if isinstance(answer, Call):
            call = answer
            changed = call.weights if call.edited else changed
        elif answer is not None:
            changed, call = answer, call.after(answer)
    if call.v is not values:
        assert call.v is not None
        return Output(apply(call.weights, call.v)), call
    return changed, call


@contextlib.contextmanager
def edits_standing(scope: Scope) -> Generator[None]:
    """Install the edits of modules while the block runs."""
    with contextlib.ExitStack() as undo:
        at_modules = [edit for edit in scope.edits if isinstance(edit, AtModules)]
        # the outermost hook sees a module's input first and its output last
        for edit in reversed(at_modules):
            if edit.of_input:
                undo.enter_context(edit.standing(scope))
        for edit in at_modules:
            if not edit.of_input:
                undo.enter_context(edit.standing(scope))
        yield


def _see_nothing(call: Call) -> None:
    del call

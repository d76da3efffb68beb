"""A sweep: one batch under many single-layer edits; shared work is done once.

For an edit of layer l, the layers below l are replaced by their outputs in the plain pass. At layer
l the attention is computed once for all edits of that layer, which differ only in some heads'
outputs. From there on, the edits run side by side as copies of the batch. The last layer and the
output layer are computed only at positions that reach the answers. Models that cannot be divided
like this run whole. The code that runs is always the model's own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from headscope.capture import Call, Kind, Output, capture
from headscope.capture.call import Answer
from headscope.capture.interface import apply
from headscope.capture.stack import Stack, hidden_of, repeated, with_hidden
from headscope.edits.disable import Disabled
from headscope.edits.modes import Instead
from headscope.edits.modes import mode as find_mode
from headscope.edits.sweep.answer_positions import OutputRows, output_layer, positions_read
from headscope.edits.sweep.split_layer import Edited, SlicedLast, SplitLayer
from headscope.interrupts import stopped_safely
from headscope.models.evaluation import evaluating
from headscope.models.own_thread import only_here, standing_in
from headscope.reading.describe import trial_inputs
from headscope.reading.passes import edited_call, edits_standing

if TYPE_CHECKING:
    from headscope.reading import Scope

TRIED = 6  # layers, spread over the stack, at which a sweep is compared with whole passes
_tried: WeakKeyDictionary[nn.Module, dict[Kind, bool]] = WeakKeyDictionary()

OnCall = Callable[[Call, bool], Tensor | Output | None]


class Sweep:
    """One batch under many edits: `with Sweep(...) as sweep: sweep.answers(layer, edits, 4)`."""

    wants_scores = False  # families that compute attention themselves need not show q and k
    anywhere = False  # answers may depend on positions without a gradient

    def __init__(
        self,
        scope: Scope,
        stack: Stack,
        inputs: dict[str, Tensor],
        read: Callable[[Any, int], Tensor],  # the model's output for so many copies -> c·b o
        instead: Instead,
        weights: object = None,
    ) -> None:
        self.scope, self.stack, self.instead, self.weights = scope, stack, instead, weights
        self.inputs = scope.accepted(inputs)
        self.batch = len(next(iter(inputs.values())))
        self.baseline: Tensor  # b o
        self.last: SlicedLast | None = None  # the last layer cut to the positions that matter
        self._scored: OutputRows | None = None  # the output layer, cut likewise
        self.on_call: OnCall | None = None  # the current pass's callback for calls
        self._read = read
        self._outputs: list[Any] = []  # what each layer returned in the plain pass
        self._encoded: Any = None  # what the encoder returned, for a decoder's layers
        self._settings = _without_cache(scope.model)
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Sweep:
        try:
            self._open.enter_context(stopped_safely())
            self._open.enter_context(torch.no_grad())
            self._open.enter_context(evaluating(self.scope.model))
            self._open.enter_context(edits_standing(self.scope))
            self._door = self._open.enter_context(
                capture(self.scope.model, self._sink, lazy=True, scores=self.wants_scores)
            )
            self._plain_pass()
            look = self._positions_read()
            if look is not None:
                self.last = self._sliced_last(look)
                self._scored = self._output_rows(look)
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def answers(self, layer: int, edits: Sequence[Edited], copies: int) -> Tensor:
        """e b o: the answers with these heads of `layer` disabled, `copies` edits at a time."""
        cut = SplitLayer(self, layer)
        found: list[Tensor] = []
        for start in range(0, len(edits), copies):
            some = edits[start : start + copies]
            with contextlib.ExitStack() as undo:
                undo.enter_context(self._reusing(layer, len(some)))
                undo.enter_context(standing_in(self.stack.layers[layer], cut.edited(some)))
                if self.last is not None and layer < len(self.stack.layers) - 1:
                    undo.enter_context(standing_in(self.stack.layers[-1], self.last.forward))
                flat = self._run(len(some))
            found.append(flat.reshape(len(some), self.batch, *flat.shape[1:]))
        return torch.cat(found)

    def replacement(self, call: Call) -> Tensor:
        """b t h d: the outputs that disabled heads have instead of their own."""
        assert call.v is not None
        instead = self.instead(call, self.weights)
        return apply(instead.expand_as(call.weights), call.v)

    @contextlib.contextmanager
    def asking(self, on_call: OnCall) -> Generator[None]:
        """Show the stack's calls to `on_call` for a while."""
        self.on_call = on_call
        try:
            yield
        finally:
            self.on_call = None

    @contextlib.contextmanager
    def one_copy(self) -> Generator[None]:
        """While a layer runs for one copy of the batch, use that copy's padding mask."""
        before = self._door.padding
        self._door.padding = {name: mask[: self.batch] for name, mask in before.items()}
        try:
            yield
        finally:
            self._door.padding = before

    def _sink(self, call: Call) -> Answer:
        """The scope's own edits first, then the current pass's callback."""
        layer = self.stack.layer_of(call)
        if layer is not None:
            call = dataclasses.replace(call, layer=layer)
        replaced, call = edited_call(self.scope.edits, call)
        if layer is None or self.on_call is None or call.kind != self.stack.kind:
            return replaced
        wanted = self.on_call(call, replaced is not None)
        return replaced if wanted is None else wanted

    def _run(self, copies: int) -> Tensor:
        inputs = repeated(self.inputs, self.batch, copies)
        with contextlib.ExitStack() as undo:
            if self._scored is not None:
                undo.enter_context(standing_in(self._scored.layer, self._scored.forward))
            return self._read(self.scope.model(**inputs, **self._settings), copies)

    def _plain_pass(self) -> None:
        def keep_layer(module: nn.Module, given: Any, output: Any) -> None:
            self._outputs.append(output)

        def keep_encoder(module: nn.Module, given: Any, output: Any) -> None:
            self._encoded = output

        handles = [
            layer.register_forward_hook(only_here(keep_layer)) for layer in self.stack.layers
        ]
        if self.stack.before is not None:
            handles.append(self.stack.before.register_forward_hook(only_here(keep_encoder)))
        try:
            self.baseline = self._run(1)
        finally:
            for handle in handles:
                handle.remove()

    @contextlib.contextmanager
    def _reusing(self, below: int, copies: int, hidden: Tensor | None = None) -> Generator[None]:
        """Replace the layers below `below` (and the encoder before them)."""
        with contextlib.ExitStack() as undo:
            if self.stack.before is not None:
                encoded = repeated(self._encoded, self.batch, copies)
                undo.enter_context(standing_in(self.stack.before, lambda *a, **k: encoded))
            if below:
                given = repeated(self._outputs[below - 1], self.batch, copies)
                if hidden is not None:
                    given = with_hidden(given, hidden)
                for layer in self.stack.layers[:below]:
                    undo.enter_context(standing_in(layer, lambda *a, **k: given))
            yield

    def _positions_read(self) -> Tensor | None:
        """b p: the answers' positions in the last layer; None if they are most of it."""
        if self.anywhere:
            return None
        hidden = hidden_of(self._outputs[-1]).detach().clone().requires_grad_()
        with torch.enable_grad(), self._reusing(len(self.stack.layers), 1, hidden):
            return positions_read(self._run(1), hidden)

    def _sliced_last(self, look: Tensor) -> SlicedLast | None:
        """The last layer cut to the answers' positions, if that gives the same answers."""
        sliced = SlicedLast(self, look)
        try:
            with (
                self._reusing(len(self.stack.layers) - 1, 1),
                standing_in(self.stack.layers[-1], sliced.forward),
            ):
                return sliced if self._unchanged(self._run(1)) else None
        except Exception:  # a layer that cannot take a shorter input is run whole
            return None

    def _output_rows(self, look: Tensor) -> OutputRows | None:
        """The output layer, cut on the same condition."""
        layer = output_layer(self.scope.model)
        if layer is None:
            return None
        self._scored = OutputRows(layer, look, hidden_of(self._outputs[-1]).shape[1])
        try:
            with self._reusing(len(self.stack.layers), 1):
                return self._scored if self._unchanged(self._run(1)) else None
        except Exception:  # as above
            return None
        finally:
            self._scored = None

    def _unchanged(self, answers: Tensor) -> bool:
        return torch.allclose(answers, self.baseline, rtol=1e-4, atol=1e-5)


def _without_cache(model: nn.Module) -> dict[str, Any]:
    """A key-value cache would be filled only by the layers that run; none is needed."""
    accepted = inspect.signature(model.forward).parameters
    return {"use_cache": False} if "use_cache" in accepted else {}


def can_be_swept(scope: Scope, stack: Stack) -> bool:
    """Whether a sweep gives the answers of whole passes, tested once on a few tokens.

    Families that pass on more than the hidden state, or have examples along another axis, cannot
    run from the middle. A model that fails or gives other numbers runs whole.
    """
    known = _tried.setdefault(scope.model, {})
    if stack.kind not in known:
        plain = dataclasses.replace(scope, edits=())
        try:
            known[stack.kind] = _agrees(plain, stack)
        except Exception:  # a family's own code, run in a way its authors did not intend
            known[stack.kind] = False
    return known[stack.kind]


def _agrees(scope: Scope, stack: Stack) -> bool:
    trial = trial_inputs(scope.model)
    given = {name: one.repeat(2, *[1] * (one.dim() - 1)) for name, one in trial.items()}
    several = range(len(stack.layers))
    step = max(1, -(-len(several) // TRIED))
    chosen = sorted({*several[::step], several[-1]})
    calls: list[Call] = []
    scope.forward(given, calls.append, lazy=True)
    heads = {call.layer: call.heads for call in calls if call.kind == stack.kind}
    edits = [(layer, (head,)) for layer in chosen for head in sorted({0, heads[layer] - 1})]
    whole = [
        _first(scope.edited(Disabled(stack.kind, ((layer, some[0]),), "zero")).forward(given), 1)
        for layer, some in edits
    ]
    with Sweep(scope, stack, given, _first, find_mode("zero")) as sweep:
        for layer in chosen:
            here = [number for number, edit in enumerate(edits) if edit[0] == layer]
            made = sweep.answers(layer, [edits[number][1] for number in here], 2)
            for one, number in zip(made, here, strict=True):
                if not torch.allclose(one, whole[number], rtol=1e-3, atol=1e-4):
                    return False
    return True


def _first(output: Any, copies: int) -> Tensor:
    """c·b o: the first of a model's outputs."""
    found: Any = next(one for one in output.values() if isinstance(one, Tensor) and one.dim() > 1)
    return found.float().flatten(1)

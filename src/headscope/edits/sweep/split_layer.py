"""A layer cut at its attention, so that its edits share work."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture import Call, Output, active
from headscope.capture.call import ReadAt
from headscope.capture.interface import apply
from headscope.capture.output_projection import same_numbers
from headscope.capture.stack import (
    StoppedPass,
    first_rows,
    hidden_of,
    replace_hidden,
    run_attention_only,
    with_hidden,
)
from headscope.edits.sweep.answer_positions import can_be_sliced, heads_at, rows
from headscope.models.own_thread import forward_of, only_here, standing_in

if TYPE_CHECKING:
    from headscope.edits.sweep.sweep import Sweep


Heads = tuple[int, ...]


@dataclass(frozen=True)
class Replaced:
    """An edit of some heads at some queries only."""

    heads: Heads
    queries: tuple[int, ...]


Edited = Heads | Replaced


class SplitLayer:
    """One layer of a sweep: computes every head's own and disabled output once."""

    def __init__(self, sweep: Sweep, layer: int) -> None:
        self._sweep, self._layer = sweep, layer
        self._module = sweep.stack.layers[layer]
        self._attention = sweep.stack.attention[layer]
        self._whole: Callable[..., Any] = forward_of(self._module)
        self._own: Tensor | None = None  # b t h d
        self._disabled: Tensor | None = None  # b t h d
        self._step: OutputStep | None = None
        self._read_at: ReadAt = "interface"
        self._prepared = False

    def edited(self, edits: Sequence[Edited]) -> Callable[..., Any]:
        """The layer's forward for `len(edits)` copies of the batch, one edit each."""

        def forward(*args: Any, **kwargs: Any) -> Any:
            self._prepare(len(edits), args, kwargs)
            if self._own is None:
                with self._sweep.asking(lambda call, _: self._weights(call, edits)):
                    return self._whole(*args, **kwargs)
            last = self._sweep.last if self._layer == len(self._sweep.stack.layers) - 1 else None
            if self._step is not None and last is not None:
                look = last.look.repeat(len(edits), 1)
                heads = self._heads(edits, last.look)
                return last.rest(self._step, heads, look, args, kwargs)
            heads = self._heads(edits, None)
            if self._step is not None:
                returned = self._step.returned(heads)
                with standing_in(self._attention, lambda *a, **k: returned):
                    return self._whole(*args, **kwargs)
            with self._sweep.asking(lambda call, _: Output(heads)):
                return self._whole(*args, **kwargs)

        return forward

    def _prepare(self, copies: int, args: Any, kwargs: Any) -> None:
        if self._prepared:
            return
        batch = self._sweep.batch
        few = first_rows((args, kwargs), batch * copies, batch)

        def note(call: Call, replaced: bool) -> None:
            if call.v is not None:
                self._own = apply(call.weights, call.v)
                self._disabled = self._sweep.replacement(call)
                self._read_at = call.read_at

        def own() -> Tensor | None:
            return self._own

        with self._sweep.asking(note), self._sweep.one_copy():
            self._step = find_output_step(self._whole, self._attention, few[0], few[1], own)
        twice = self._attention in active.asked_twice
        if self._step is None and (self._read_at != "interface" or twice):
            self._own = None  # a softmax, or two sets of values, take other weights and no outputs
        self._prepared = True

    def _heads(self, edits: Sequence[Edited], look: Tensor | None) -> Tensor:
        """e·b t h d: the head outputs of every copy, its disabled heads replaced."""
        own, disabled = self._own, self._disabled
        assert own is not None and disabled is not None
        queries = torch.arange(own.shape[1], device=own.device).expand(len(own), -1)
        if look is not None:
            own, disabled, queries = rows(own, look), rows(disabled, look), look
        stacked = own[None].repeat(len(edits), 1, 1, 1, 1)
        for copy, edit in enumerate(edits):
            if isinstance(edit, Replaced):
                here = torch.isin(queries, torch.tensor(edit.queries, device=own.device))
                for head in edit.heads:
                    stacked[copy, :, :, head][here] = disabled[:, :, head][here]
            else:
                stacked[copy, :, :, list(edit)] = disabled[:, :, list(edit)]
        return stacked.flatten(0, 1)

    def _weights(self, call: Call, edits: Sequence[Edited]) -> Tensor:
        """e·b h t s: for families whose heads' outputs cannot be replaced."""
        queries, device = call.weights.shape[2], call.weights.device
        chosen = torch.zeros(len(edits), call.heads, queries, dtype=torch.bool, device=device)
        for copy, edit in enumerate(edits):
            if isinstance(edit, Replaced):
                heads, at = edit.heads, edit.queries
            else:
                heads, at = edit, tuple(range(queries))
            for head in heads:
                chosen[copy, head, list(at)] = True
        chosen = chosen.repeat_interleave(self._sweep.batch, dim=0)[:, :, :, None]
        instead = self._sweep.instead(call, self._sweep.weights)
        if instead.shape[0] == self._sweep.batch:  # one copy's weights, from another run
            instead = instead.repeat(len(edits), 1, 1, 1)
        return torch.where(chosen, instead, call.weights)


class SlicedLast:
    """The last layer, computed only at the answers' positions."""

    def __init__(self, sweep: Sweep, look: Tensor) -> None:
        self.look = look  # b p
        self._sweep = sweep
        self._attention = sweep.stack.attention[-1]
        self._whole: Callable[..., Any] = forward_of(sweep.stack.layers[-1])
        self._step: OutputStep | None = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        hidden: Tensor = args[0] if args else kwargs["hidden_states"]
        look = self.look.repeat(len(hidden) // len(self.look), 1)
        if self._step is None:
            self._step = self._find_output_step(args, kwargs)
        heads: list[Tensor] = []

        def stop(call: Call, replaced: bool) -> None:
            heads.append(heads_at(call, look, replaced))
            raise StoppedPass

        with self._sweep.asking(stop), contextlib.suppress(StoppedPass):
            self._whole(*args, **kwargs)
        return self.rest(self._step, heads[0], look, args, kwargs)

    def rest(self, step: OutputStep, heads: Tensor, look: Tensor, args: Any, kwargs: Any) -> Any:
        """The layer after its attention, at the selected positions; zeros elsewhere."""
        hidden: Tensor = args[0] if args else kwargs["hidden_states"]
        returned = step.returned(heads)
        args, kwargs = replace_hidden(args, kwargs, lambda whole: rows(whole, look))
        with standing_in(self._attention, lambda *a, **k: returned):
            output = self._whole(*args, **kwargs)
        short = hidden_of(output)
        full = short.new_zeros(*hidden.shape[:2], short.shape[-1])
        full.scatter_(1, look[:, :, None].expand_as(short), short)
        return with_hidden(output, full)

    def _find_output_step(self, args: Any, kwargs: Any) -> OutputStep:
        own: list[Tensor] = []

        def note(call: Call, replaced: bool) -> None:
            if not can_be_sliced(call):
                raise StoppedPass
            assert call.v is not None
            own.append(apply(call.weights, call.v))

        with self._sweep.asking(note):
            step = find_output_step(self._whole, self._attention, args, kwargs, lambda: own[0])
        if step is None:
            raise ValueError("the layer cannot be run from its attention on")
        return step


# The output step: how the heads' outputs become what an attention module returns.
#
# Either the module returns them unchanged (BERT, whose output projection is a separate module) or
# it ends in one linear map (Llama, GPT-2). Both are checked on real numbers; any other module has
# no such step and runs as a whole.


@dataclass(frozen=True)
class OutputStep:
    """`returned(heads)` is what the attention module would return for these head outputs."""

    linear: nn.Module | None
    example: Any  # an output of the module, for its nesting

    def returned(self, heads: Tensor) -> Any:  # b t h d
        flat = heads.reshape(*heads.shape[:2], -1)
        return with_hidden(self.example, flat if self.linear is None else self.linear(flat))


def find_output_step(
    layer: Callable[..., Any],
    attention: nn.Module,
    args: Any,
    kwargs: Any,
    heads: Callable[[], Tensor | None],
) -> OutputStep | None:
    """Run the layer through its attention; `heads` returns the head outputs seen meanwhile."""
    used: list[tuple[nn.Module, Tensor, Tensor]] = []

    def note(module: nn.Module, given: Any, output: Any) -> None:
        if given and isinstance(given[0], Tensor) and isinstance(output, Tensor):
            used.append((module, given[0], output))

    handles = [child.register_forward_hook(only_here(note)) for child in attention.children()]
    try:
        returned = run_attention_only(layer, attention, args, kwargs)
    finally:
        for handle in handles:
            handle.remove()
    seen, result = heads(), hidden_of(returned)
    if seen is None:
        return None
    flat = seen.reshape(*seen.shape[:2], -1)
    if _same(result, flat.reshape(result.shape) if result.numel() == flat.numel() else flat):
        # with an identity projection both fit; the last child then changed nothing
        return OutputStep(None, returned)
    # dropout may follow the projection; it does nothing in evaluation mode
    for module, given, output in reversed(used):
        if not isinstance(module, nn.Dropout) and _same(given, flat) and _same(output, result):
            return OutputStep(module, returned)
    return None


def _same(a: Tensor, b: Tensor) -> bool:
    # strict, because answers under edits are computed with the result
    return same_numbers(a, b, 1e-5)

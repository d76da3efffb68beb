"""The output step: how the heads' outputs become what an attention module returns.

Either the module returns them as they are (BERT, whose output projection is a module of its own)
or it ends in one linear map (Llama, GPT-2). Both are found by looking and checked on real
numbers; a module that does anything else has no such step, and is then run as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from headscope.capture.output_projection import same_numbers
from headscope.edits.sweep.layers import hidden_of, run_attention_only, with_hidden


@dataclass(frozen=True)
class OutputStep:
    """`returned(heads)` is what the attention module would return for these head outputs."""

    linear: nn.Module | None
    example: Any  # what the module returned once: the nesting to keep

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
    """Run the layer as far as its attention; `heads` gives the head outputs seen meanwhile."""
    used: list[tuple[nn.Module, Tensor, Tensor]] = []

    def note(module: nn.Module, given: Any, output: Any) -> None:
        if given and isinstance(given[0], Tensor) and isinstance(output, Tensor):
            used.append((module, given[0], output))

    handles = [child.register_forward_hook(note) for child in attention.children()]
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
        # with an identity projection both readings fit; the last child then changed nothing
        return OutputStep(None, returned)
    # dropout may stand between the projection and the end; it does nothing outside training
    for module, given, output in reversed(used):
        if not isinstance(module, nn.Dropout) and _same(given, flat) and _same(output, result):
            return OutputStep(module, returned)
    return None


def _same(a: Tensor, b: Tensor) -> bool:
    # stricter than for a picture of norms: answers under edits are computed with what is found
    return same_numbers(a, b, 1e-5)

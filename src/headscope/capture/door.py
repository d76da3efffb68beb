"""`capture`: open a door on a model for the length of a `with` block."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Generator
from typing import Any

from torch import Tensor, nn

from headscope.capture import active, families
from headscope.capture.call import Call, Output, Sink
from headscope.capture.numbering import Numbering
from headscope.capture.switch import switched
from headscope.capture.tap import SoftmaxTap
from headscope.errors import AttentionNotRead


class Door:
    """One open capture: the modules it watches, the sink it shows calls to, the layer numbers."""

    def __init__(self, model: nn.Module, sink: Sink, lazy: bool) -> None:
        self.sink = sink
        self.lazy = lazy
        self.names = {id(module): name for name, module in model.named_modules()}
        self.numbering = Numbering(model)
        self.passes = 0
        self.calls = 0

    def placed(self, call: Call, valid: Callable[[bool], tuple[Tensor, Tensor]]) -> Call:
        """The call with its kind and layer as this door counts them."""
        kind = self.numbering.kind(call.module, self.names[id(call.module)], call.causal)
        cross = kind == "cross"
        return dataclasses.replace(
            call,
            kind=kind,
            layer=self.numbering.take(kind),
            causal=call.causal and not cross,
            lazy_valid=lambda: valid(cross),
        )

    def show(self, call: Call) -> Tensor | Output | None:
        self.calls += 1
        return self.sink(call)


@contextlib.contextmanager
def capture(model: nn.Module, sink: Sink, *, lazy: bool = False) -> Generator[Door]:
    """Show every attention computation of `model` to `sink` while the block runs.

    The sink gets one frozen `Call` per computation. It returns None to leave the model alone,
    a tensor (b h t s) to replace the weights, or an `Output` it computed itself. With `lazy`
    the weights are computed only if the sink asks for them, and the model otherwise runs as
    fast as it does without us. Doors nest: the outer sink is asked first, the inner one sees
    what it made. The model is left as it was found, whatever happens inside.
    """
    door = Door(model, sink, lazy)
    with contextlib.ExitStack() as undo:
        undo.enter_context(switched(model))
        for handle in _watch_passes(model, door):
            undo.callback(handle.remove)
        undo.enter_context(families.taps(model))
        if not any(isinstance(mode, SoftmaxTap) for mode in _active_modes()):
            undo.enter_context(SoftmaxTap())
        active.stack.doors.append(door)
        undo.callback(active.stack.doors.remove, door)
        yield door
    if door.passes and not door.calls:
        raise AttentionNotRead(_nothing_seen(model))


def _active_modes() -> list[Any]:
    from torch.overrides import _get_current_function_mode_stack

    return _get_current_function_mode_stack()


def _watch_passes(model: nn.Module, door: Door) -> list[Any]:
    """Layer numbers start anew with every outermost forward pass of the model or a part of it."""
    from transformers import PreTrainedModel

    depth = 0

    def enter(module: nn.Module, arguments: Any) -> None:
        nonlocal depth
        if door not in active.stack.doors:
            return  # another thread is running this model
        if depth == 0:
            door.passes += 1
            door.numbering.start()
        depth += 1

    def leave(module: nn.Module, arguments: Any, output: Any) -> None:
        nonlocal depth
        if door in active.stack.doors:
            depth -= 1

    handles: list[Any] = []
    for module in model.modules():
        if module is model or isinstance(module, PreTrainedModel):
            handles.append(module.register_forward_pre_hook(enter))
            handles.append(module.register_forward_hook(leave, always_call=True))
    return handles


def _nothing_seen(model: nn.Module) -> str:
    configuration = getattr(model, "config", None)
    implementation = getattr(configuration, "_attn_implementation", None)
    name = type(model).__name__
    if implementation in (None, "eager"):
        return (
            f"{name} computed no attention that can be read; "
            "models without attention heads (Mamba, RWKV, …) have nothing to show."
        )
    return (
        f"{name} runs {implementation} attention that cannot be read, or has no attention heads; "
        "load it with attn_implementation='eager' and try again."
    )

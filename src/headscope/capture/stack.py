"""The stack: a model's list of layers, each with its attention, and how to replace them.

Reusing what comes before an edited layer needs the model cut into layers. Nothing is assumed of
the family: the layers are the one module list whose n-th member holds the attention module that
made the n-th call. A model without such a list (ALBERT runs one module many times) has no stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from headscope.capture import Call, Kind
from headscope.models.own_thread import only_here


@dataclass(frozen=True)
class Stack:
    """The layers of one kind of attention, and the module in each that attends."""

    kind: Kind
    layers: tuple[nn.Module, ...]
    attention: tuple[nn.Module, ...]
    before: nn.Module | None  # the encoder, where the layers are a decoder's

    def layer_of(self, call: Call) -> int | None:
        """The layer of a call, whose own number is wrong while layers are replaced."""
        for number, layer in enumerate(self.layers):
            if any(part is call.module for part in layer.modules()):
                return number
        return None


def find_stack(model: nn.Module, kind: Kind, calls: list[Call]) -> Stack | None:
    """The stack, from the calls of one whole pass; None where the model cannot be cut."""
    attention = [call.module for call in sorted(calls, key=lambda c: c.layer) if call.kind == kind]
    if len({id(module) for module in attention}) != len(attention):
        return None
    for candidate in model.modules():
        if not isinstance(candidate, nn.ModuleList) or len(candidate) != len(attention):
            continue
        members = [{id(part) for part in layer.modules()} for layer in candidate]
        if all(id(module) in parts for module, parts in zip(attention, members, strict=True)):
            two = bool(getattr(model.config, "is_encoder_decoder", False))
            encoder: Any = getattr(model, "get_encoder", lambda: None)()
            before = encoder if two and kind != "encoder" else None
            return Stack(kind, tuple(candidate), tuple(attention), before)
    return None


def tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same nesting of tuples, lists and mappings with every tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        changed = {name: tensors(item, change) for name, item in value.items()}
        return type(value)(**changed) if type(value) is not dict else changed
    if isinstance(value, tuple | list):
        return type(value)(tensors(item, change) for item in value)
    return value


def repeated(value: Any, batch: int, copies: int) -> Any:
    """Repeats everything that has one row per example, `copies` times (copy after copy)."""

    def repeat(tensor: Tensor) -> Tensor:
        if copies == 1 or tensor.dim() == 0 or tensor.shape[0] != batch:
            return tensor
        return tensor.repeat(copies, *[1] * (tensor.dim() - 1))

    return tensors(value, repeat)


def first_rows(value: Any, batch: int, rows: int) -> Any:
    """Cuts everything that has one row per example to the first `rows` of `batch`."""

    def cut(tensor: Tensor) -> Tensor:
        if tensor.dim() == 3 and tensor.shape[0] % batch == 0:
            return tensor[: tensor.shape[0] // batch * rows]  # BLOOM folds heads into the batch
        return tensor[:rows] if tensor.dim() and tensor.shape[0] == batch else tensor

    return tensors(value, cut)


def replace_hidden(args: Any, kwargs: Any, change: Callable[[Tensor], Tensor]) -> tuple[Any, Any]:
    """A layer's arguments with other hidden states."""
    if args:
        return (change(args[0]), *args[1:]), kwargs
    return args, {**kwargs, "hidden_states": change(kwargs["hidden_states"])}


def hidden_of(output: Any) -> Tensor:
    """The hidden states among what a layer returns."""
    return output[0] if isinstance(output, tuple | list) else output


def with_hidden(output: Any, hidden: Tensor) -> Any:
    """What a layer returned, with other hidden states."""
    if isinstance(output, tuple | list):
        return type(output)((hidden, *output[1:]))
    return hidden


class StoppedPass(Exception):
    """Ends a layer's run as soon as its attention is known."""


def run_attention_only(
    layer: Callable[..., Any], attention: nn.Module, args: Any, kwargs: Any
) -> Any:
    """What the layer's attention module returns, without running the rest of the layer."""
    found: list[Any] = []

    def stop(module: nn.Module, given: Any, output: Any) -> None:
        found.append(output)
        raise StoppedPass

    handle = attention.register_forward_hook(only_here(stop))
    try:
        layer(*args, **kwargs)
    except StoppedPass:
        pass
    finally:
        handle.remove()
    return found[0]

"""The second way to read attention: the softmax, where the registered function is ignored.

A torch function mode sees every softmax the model takes; those taken inside an attention module
over its keys are its weights. Its q and k are read from the product it takes of them, where a
door asks for what the scores are made of, and its values from a variable.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from headscope.capture import active
from headscope.capture.call import (
    Again,
    Call,
    Kind,
    Lazy,
    Output,
    Queries,
    ReadAt,
    checked,
    not_numbered,
)
from headscope.capture.products import PRODUCTS, Products, Scores
from headscope.capture.validity import Valid, from_padding
from headscope.errors import AttentionNotRead, HeadscopeError

if TYPE_CHECKING:
    from headscope.capture.door import Door


_SOFTMAX = {torch.softmax, torch.nn.functional.softmax, Tensor.softmax}
_ATTENTION = re.compile(r"att", re.I)
_HEADS = ("num_heads", "num_attention_heads", "n_head", "n_heads", "num_attn_heads")


class SoftmaxTap(TorchFunctionMode):
    """Shows the doors of this thread what attention modules outside the interface compute."""

    def __init__(self) -> None:
        super().__init__()
        self._products = Products()
        self._last: tuple[nn.Module, int, Tensor, Tensor] | None = None  # module, step, own, shown

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if active.stack.tap_closed:
            return result
        if func in PRODUCTS and any(door.scores for door in active.stack.doors):
            caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            if _attention_module(caller, within=True) is not None:
                self._products.note(func, args, kwargs, result)
            return result
        if func not in _SOFTMAX or not _over_keys(args, kwargs, result):
            return result
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        module = _attention_module(caller)
        if module is None:
            return result
        own, step = cast(Tensor, result), _step(caller, module)
        if self._last is not None and _again(self._last, module, step, own):
            return self._last[3]
        into = args[0] if args else (kwargs or {})["input"]
        shown = show(
            module,
            own,
            functools.partial(self._products.scores_of, into),
            functools.partial(values_in, caller, module),
        )
        self._last = (module, step, own, shown)
        return shown


def _again(
    last: tuple[nn.Module, int, Tensor, Tensor], module: nn.Module, step: int, own: Tensor
) -> bool:
    """LiLT weighs its text and its layout by one softmax, taken twice: one attention, shown once.

    A module that runs as several layers takes its softmax at the same step of its code.
    """
    if module is not last[0] or step == last[1] or own.shape != last[2].shape:
        return False
    return own.shape[-1] > 1 and torch.equal(own, last[2])


def _step(frame: Any, module: nn.Module) -> int:
    """How far the module's own code has run."""
    for _ in range(12):
        if frame is None or frame.f_locals.get("self") is module:
            break
        frame = frame.f_back
    return -1 if frame is None else frame.f_lasti


def show(
    module: nn.Module,
    result: Tensor,
    scores_of: Callable[[Tensor], Scores | None],
    values_of: Callable[[Tensor], Tensor | None],
) -> Tensor:
    """Show one softmax of an attention module; what comes back takes its place."""
    weights = _with_heads(module, result)
    if weights is None:
        return result

    def valid(door: Door, kind: Kind) -> Valid:
        return from_padding(*door.padding_of(kind), weights, cross=kind == "cross")

    made_of = scores_of(weights), values_of(weights)
    seen = show_weights(module, weights, "tap", valid, *made_of)
    return result if seen is weights else seen.to(result.dtype).reshape(result.shape)


def show_weights(
    module: nn.Module,
    weights: Tensor,
    read_at: ReadAt,
    valid: Callable[[Door, Kind], Valid],
    scores: Scores | None = None,
    values: Tensor | None = None,
) -> Tensor:
    """Show weights (b h t s) the module has made to every door; the last answer comes back."""
    if active.masks_may_be_implied():
        raise AttentionNotRead(
            f"{type(module).__name__} computes its own attention, while its model uses the "
            f"registered function; capture it with lazy=False."
        )
    seen = base = Call(
        kind="encoder",
        layer=0,
        read_at=read_at,
        module=module,
        q=None if scores is None else scores.q,
        k=None if scores is None else scores.k,
        v=values,
        scaling=None if scores is None else scores.scaling,
        bias=None if scores is None else scores.bias,
        softcap=None,
        sinks=None,
        window=None,
        causal=False,
        lazy_mask=Lazy(lambda: _additive(scores)),
        given_mask=None if scores is None else scores.seen,
        lazy_weights=Lazy.of(weights),
        lazy_valid=not_numbered,
    )
    for door in active.doors_of(module):
        causal = door.numbering.causal_as_known(module, _looks_causal(weights))
        call = dataclasses.replace(seen, causal=causal)
        answer = door.show(door.numbered(call, functools.partial(valid, door)))
        if isinstance(answer, Output | Queries | Again):
            raise HeadscopeError(
                f"{type(module).__name__} exposes its attention weights but not its heads' "
                "output; replace the weights instead."
            )
        if answer is not None:
            seen = seen.with_weights(checked(answer, *weights.shape))
    return weights if seen is base else seen.weights


def _additive(scores: Scores | None) -> Tensor | None:
    if scores is None or scores.seen is None:
        return None
    least = torch.finfo(scores.q.dtype).min
    return torch.zeros_like(scores.seen, dtype=scores.q.dtype).masked_fill(~scores.seen, least)


def _attention_module(frame: Any, within: bool = False) -> nn.Module | None:
    """The innermost watched module whose code is running, if it is an attention module.

    within: a module inside one counts too (SqueezeBERT has modules for its products).
    """
    for _ in range(12):
        if frame is None:
            return None
        owner = frame.f_locals.get("self")
        # a softmax may itself be a module of the attention module (I-BERT's is one of its own)
        if (
            isinstance(owner, nn.Module)
            and "softmax" not in type(owner).__name__.lower()
            and active.doors_of(owner)
        ):
            if _ATTENTION.search(type(owner).__name__):
                return owner
            if not within:
                return None
        frame = frame.f_back
    return None


def _over_keys(args: tuple[Any, ...], kwargs: dict[str, Any] | None, result: Tensor) -> bool:
    """Keys are the last dimension; a softmax over another one is something else."""
    dim = args[1] if len(args) > 1 else (kwargs or {}).get("dim")
    return dim in (None, -1, result.dim() - 1)


def _with_heads(module: nn.Module, result: Tensor) -> Tensor | None:
    """b h t s of a softmax result; None when it is something else (a router, a pooler)."""
    if result.dim() == 4:
        return result
    if result.dim() == 3:  # heads folded into the batch
        heads = next((getattr(module, name) for name in _HEADS if hasattr(module, name)), None)
        if isinstance(heads, int) and result.shape[0] % heads == 0:
            return result.reshape(-1, heads, *result.shape[1:])
    return None


def _looks_causal(weights: Tensor) -> bool | None:
    queries, keys = weights.shape[-2:]
    if queries != keys or queries < 2:
        return None
    return not bool(weights.detach().triu(1).any())


# The values of families that compute attention themselves, read where the module has them.
#
# When such a module takes its softmax, its values are already in a variable, under one of a few
# usual names. What is found must have the shape of values of this very softmax, and
# `tests/contracts/test_families.py` holds it to what the model multiplies.

# a module's variable, and which of its axes are batch, head, key and neuron
_VALUES: dict[str, tuple[int, int, int, int]] = {
    "value_layer": (0, 1, 2, 3),
    "main_value_states": (0, 1, 2, 3),
    "value_states": (0, 1, 2, 3),
    "v_head_h": (1, 2, 0, 3),  # XLNet
    "v_head": (0, 2, 1, 3),  # Funnel
    "value": (0, 1, 2, 3),
    "v": (0, 1, 2, 3),
}
_DEEP = 12  # frames between a module's code and the softmax it takes


def values_in(frame: Any, module: nn.Module, weights: Tensor) -> Tensor | None:
    """b g s d: the values that these weights (b h t s) will be multiplied with; None if unknown."""
    for _ in range(_DEEP):
        if frame is None:
            return None
        known = frame.f_locals
        if known.get("self") is module:
            return next(
                (
                    found
                    for name, axes in _VALUES.items()
                    if (found := _values_by_head(known.get(name), axes, weights)) is not None
                ),
                None,
            )
        frame = frame.f_back
    return None


def _values_by_head(
    found: object, axes: tuple[int, int, int, int], weights: Tensor
) -> Tensor | None:
    if not isinstance(found, Tensor):
        return None
    batch, heads, _, keys = weights.shape
    if found.dim() == 3 and tuple(found.shape[:2]) == (batch * heads, keys):
        return found.reshape(batch, heads, keys, -1)  # heads folded into the batch
    if found.dim() != 4:
        return None
    values = found.permute(*axes)
    fits = values.shape[0] == batch and values.shape[2] == keys and heads % values.shape[1] == 0
    return values if fits else None

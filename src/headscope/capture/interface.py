"""The first way to read attention: the function registered with transformers.

The weights are always the model's own: its file's eager function makes them, so soft-caps,
sinks and whatever a family adds stay exact. We only look at them, or put others in their place.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.capture import active
from headscope.capture.call import Again, Call, Kind, Lazy, Output, Queries, checked, not_numbered
from headscope.capture.switch import NAME, found_by_others, heal, running_implementation
from headscope.capture.validity import Valid, from_mask
from headscope.errors import HeadscopeError

if TYPE_CHECKING:
    from headscope.capture.door import Door


Padding = Callable[[Kind], tuple[Tensor | None, Tensor | None]]
Eager = Callable[..., tuple[Tensor, Tensor | None]]


def register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, attention)
    # without a mask function of the same name the model silently runs unmasked
    AttentionMaskInterface.register(NAME, make_mask)


def make_mask(**arguments: Any) -> Any:
    """The eager mask; sdpa's while every door is lazy, which is None where it can be implied.

    A thread without a door gets the mask its model makes when nobody looks.
    """
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask, sdpa_mask

    found = found_by_others(arguments.get("config"))
    if found is not None and found in ALL_MASK_ATTENTION_FUNCTIONS:
        return ALL_MASK_ATTENTION_FUNCTIONS[found](**arguments)
    if active.masks_may_be_implied():
        if active.stack.unpadded:
            # transformers would read the mask's numbers back from the GPU, which then waits for new
            # work
            arguments["attention_mask"] = None
        return sdpa_mask(**arguments)
    return eager_mask(**arguments)


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    **extras: Any,
) -> tuple[Tensor, Tensor | None]:
    """What the model calls for every attention: its own, shown at each open door on the way."""
    eager = _own_eager_function(module)  # it inspects the calling frames, so call it here
    run = _run_by_others(module, eager)
    if run is not None:
        heal()
        return run(module, query, key, value, attention_mask, **extras)
    doors = active.doors_of(module)
    # decided now: a lazy call may be used after its door has closed
    implied = active.masks_may_be_implied() and _is_causal(module, extras)
    mask = Lazy(lambda: _dense(attention_mask, query, key, implied))
    own = _Own(eager, module, query, key, value, attention_mask, extras, implied, mask)
    if not doors:  # a door of another model that shares this one's configuration
        return own.as_found()
    before = active.stack.last
    if before is not None and before.is_same(module, query, key):
        # DiffLlama weighs two halves of its values by one softmax: one attention, shown once
        active.asked_twice.add(module)
        if before.answered:
            raise HeadscopeError(
                f"{type(module).__name__} applies one softmax to two sets of values, so its "
                "heads' outputs cannot be replaced; replace its attention weights."
            )
        if before.replaced is None:
            return own.with_queries(query if before.queries is None else before.queries).as_found()
        return apply(before.replaced, value), before.replaced

    ran: list[tuple[Tensor, Tensor | None]] = []

    def own_weights() -> Tensor | None:
        ran.append(own.eager())
        return ran[0][1]

    weights = Lazy(own_weights)
    base = own.call(weights)
    seen, output = _shown(base, doors, weights, attention_mask)
    assert seen.q is not None
    replaced = seen.weights if seen.edited and output is None else None
    active.stack.last = active.Seen.of(module, query, key, replaced, seen.q, output is not None)
    if output is not None:
        return output, weights.value
    if seen.edited:
        return apply(seen.weights, value), seen.weights
    return ran[0] if ran and seen is base else own.with_queries(seen.q).as_found()


def _shown(
    base: Call, doors: Sequence[Door], weights: Lazy, attention_mask: Tensor | None
) -> tuple[Call, Tensor | None]:
    """The call after all doors, and the output if one of them computed it."""
    assert base.q is not None and base.k is not None
    query, keys = base.q, base.k.shape[2]
    batch, heads, queries = query.shape[:3]

    def valid(padding: Padding, kind: Kind) -> Valid:
        shape = (batch, queries, keys)
        return from_mask(attention_mask, shape, query.device, kind == "cross", padding(kind)[1])

    seen, output = base, None
    for door in doors:
        causal = _sees_no_future(door, seen, attention_mask)
        padding = functools.partial(door.padding_of, given=door.padding)  # of this very pass
        call = door.numbered(
            dataclasses.replace(seen, causal=causal), functools.partial(valid, padding)
        )
        if not door.lazy:
            weights.get()
        answer = door.show(call)
        if isinstance(answer, Output):
            output = answer.tensor
        elif isinstance(answer, Queries):
            seen, output = seen.with_queries(answer.tensor), None
        elif isinstance(answer, Again):
            with active.tap_closed():  # its softmax is not the model's
                seen, output = seen.after(answer), answer.output()
        elif answer is not None:
            replaced = checked(answer, batch, heads, queries, keys)
            seen, output = seen.with_weights(replaced), None
    return seen, output


@dataclasses.dataclass(frozen=True, eq=False)
class _Own:
    """One attention as the model computes it: by its eager function, or by the one it was found
    with."""

    function: Eager
    module: nn.Module
    query: Tensor
    key: Tensor
    value: Tensor
    given_mask: Tensor | None
    extras: dict[str, Any]
    implied: bool  # an omitted mask means causal
    mask: Lazy

    def eager(self) -> tuple[Tensor, Tensor | None]:
        return self._made(self.query, self.mask.get(), self.extras)

    def _made(
        self, query: Tensor, mask: Tensor | None, extras: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        def run(value: Tensor) -> tuple[Tensor, Tensor | None]:
            return self.function(self.module, query, self.key, value, mask, **extras)

        with active.tap_closed():
            output, weights = run(self.value)
            if weights is None or extras.get("s_aux") is None or self.module.training:
                return output, weights
            return output, mixing_weights(weights, self.value, lambda value: run(value)[0])

    def mask_rows(self, rows: Tensor) -> Tensor | None:
        return _dense_rows(self.given_mask, rows, self.query, self.key, self.implied)

    def eager_rows(self, rows: Tensor) -> Tensor | None:
        """The weights of some queries; None where the function does not give them so."""
        query, key = self.query, self.key
        some = {
            **self.extras,
            "position_bias": _of_rows(self.extras.get("position_bias"), rows, query),
        }
        made = self._made(query[:, :, rows], self.mask_rows(rows), some)[1]
        whole = (query.shape[0], query.shape[1], rows.numel(), key.shape[2])
        return made if made is not None and tuple(made.shape) == whole else None

    def with_queries(self, query: Tensor) -> _Own:
        return self if query is self.query else dataclasses.replace(self, query=query)

    def again(self, query: Tensor) -> Again:
        other = self.with_queries(query)
        return Again(Lazy(lambda: other.eager()[1]), other.eager_rows, lambda: other.as_found()[0])

    def as_found(self) -> tuple[Tensor, Tensor | None]:
        if _ran_fast(self.module, self.extras):
            return _sdpa(
                self.module, self.query, self.key, self.value, self.given_mask, self.extras
            )
        return self.eager()

    def call(self, weights: Lazy) -> Call:
        """The call before a door has numbered it."""
        extras = self.extras
        return Call(
            kind="encoder",
            layer=0,
            read_at="interface",
            module=self.module,
            q=self.query,
            k=self.key,
            v=self.value,
            scaling=_scaling(self.module, self.query, extras),
            bias=extras.get("position_bias"),
            softcap=extras.get("softcap"),
            sinks=extras.get("s_aux"),
            window=_window(self.module, extras),
            causal=_is_causal(self.module, extras),
            lazy_mask=self.mask,
            lazy_weights=weights,
            lazy_valid=not_numbered,
            given_mask=self.given_mask,
            implied_causal=self.implied and self.given_mask is None,
            lazy_rows=self.eager_rows,
            lazy_mask_rows=self.mask_rows,
            again=self.again,
        )


def apply(weights: Tensor, value: Tensor) -> Tensor:
    """The output (b t h d) that given weights (b h t s) make of the values (b g s d)."""
    groups = value.shape[1]
    batch, heads, queries, keys = weights.shape
    grouped = weights.to(value.dtype).reshape(batch, groups, (heads // groups) * queries, keys)
    mixed = (grouped @ value).reshape(batch, heads, queries, value.shape[-1])
    return mixed.transpose(1, 2).contiguous()


def _run_by_others(module: nn.Module, eager: Eager) -> Eager | None:
    """The model's own function, where this thread has no door open on it."""
    from transformers import AttentionInterface

    found = found_by_others(getattr(module, "config", None))
    return eager if found == "eager" else AttentionInterface().get(found)


def _ran_fast(module: nn.Module, extras: dict[str, Any]) -> bool:
    """Whether the model was found with a fused attention that sdpa can stand in for."""
    found = running_implementation(getattr(module, "config", None))
    plain = extras.get("softcap") is None and extras.get("s_aux") is None
    return found not in (None, "eager") and plain


def _sdpa(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    extras: dict[str, Any],
) -> tuple[Tensor, Tensor | None]:
    from transformers import AttentionInterface

    options = {**extras, "output_attentions": False}
    return AttentionInterface()["sdpa"](module, query, key, value, mask, **options)


def _own_eager_function(module: nn.Module) -> Eager:
    """The eager function the module's own file names as its default."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    for _ in range(4):  # decorators may stand between the module's forward and us
        for name in frame.f_code.co_names:
            if "eager" in name and callable(frame.f_globals.get(name)):
                return frame.f_globals[name]
        if frame.f_back is None:
            break
        frame = frame.f_back
    for ancestor in type(module).__mro__:
        home = sys.modules.get(ancestor.__module__)
        if home is not None and hasattr(home, "eager_attention_forward"):
            return home.eager_attention_forward
    raise HeadscopeError(
        f"{type(module).__name__} has no eager attention function, so its weights cannot be "
        f"computed; load it with attn_implementation='eager'."
    )


def _dense(mask: Tensor | None, query: Tensor, key: Tensor, implied_causal: bool) -> Tensor | None:
    """The additive mask an eager function needs, also where sdpa's was boolean or implied."""
    every = torch.arange(query.shape[2], device=query.device)
    return _dense_rows(mask, every, query, key, implied_causal)


def _dense_rows(
    mask: Tensor | None, rows: Tensor, query: Tensor, key: Tensor, implied_causal: bool
) -> Tensor | None:
    """The same of some queries alone."""
    least = torch.finfo(query.dtype).min
    queries, keys = query.shape[2], key.shape[2]
    if mask is not None:
        shown = _of_rows(mask, rows, query)
        assert shown is not None
        if shown.dtype != torch.bool:
            return shown
        return torch.zeros_like(shown, dtype=query.dtype).masked_fill(~shown, least)
    if implied_causal and queries > 1:
        last = rows[:, None] + (keys - queries)
        future = torch.arange(keys, device=query.device) > last
        return torch.zeros(1, 1, *future.shape, dtype=query.dtype, device=query.device).masked_fill(
            future, least
        )
    return None


def _of_rows(tensor: Tensor | None, rows: Tensor, query: Tensor) -> Tensor | None:
    """Some queries' rows of a mask or a bias (b h t s); a single row for all stays as it is."""
    queries = query.shape[2]
    if tensor is None or tensor.dim() < 4 or tensor.shape[2] != queries or rows.numel() == queries:
        return tensor
    return tensor[:, :, rows]


def _sees_no_future(door: Door, call: Call, mask: Tensor | None) -> bool:
    """Causality by the mask: a module may say "causal" and get a two-way mask, or say nothing and
    get a causal one."""
    if mask is None or mask.shape[-1] != mask.shape[-2] or mask.shape[-1] < 2:
        return call.causal
    if call.causal:
        return door.numbering.forbids_the_future(mask)
    return not door.says_what_is_causal and door.numbering.grows_by_row(mask)


def _is_causal(module: nn.Module, extras: dict[str, Any]) -> bool:
    stated = extras.get("is_causal")
    return bool(getattr(module, "is_causal", False) if stated is None else stated)


def _scaling(module: nn.Module, query: Tensor, extras: dict[str, Any]) -> float:
    stated = extras.get("scaling")
    if stated is None:
        stated = getattr(module, "scaling", None)
    return float(query.shape[-1] ** -0.5 if stated is None else stated)


def _window(module: nn.Module, extras: dict[str, Any]) -> int | None:
    window = extras.get("sliding_window", getattr(module, "sliding_window", None))
    return window if isinstance(window, int) else None


# The weights that values are mixed with, where a family takes its sinks out of the output.
#
# Granite's sliding layers give rows that sum to one and then scale what they mixed by the share
# that the sink left over. That equals an extra logit in the softmax, so it is shown as gpt-oss
# shows its own: the weights times that share. Mixing values of one in the family's way gives the
# share.

Mixed = Callable[[Tensor], Tensor]  # values (b g s d) in, what the family's function makes of them


def mixing_weights(weights: Tensor, value: Tensor, mixed: Mixed) -> Tensor:
    """b h t s as the output is made of them; those that leave room for a sink are so already."""
    total = weights.float().sum(-1, keepdim=True)
    tolerance = 1e-4 if weights.dtype == torch.float32 else 1e-2
    if bool((total < 1 - tolerance).any()):
        return weights
    share = mixed(value.new_ones(*value.shape[:3], 1)).transpose(1, 2).float()  # b h t 1
    return (weights * (share / total)).to(weights.dtype)

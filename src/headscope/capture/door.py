"""`capture`: open a door on a model for the length of a `with` block."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import re
import weakref
from collections.abc import Callable, Generator, Iterable
from types import CodeType, FunctionType
from typing import Any

from torch import Tensor, nn

from headscope.capture import active, families
from headscope.capture.call import Answer, Call, Kind, Sink
from headscope.capture.interface import register
from headscope.capture.numbering import Numbering, watch_layers
from headscope.capture.switch import running_implementation, switched
from headscope.capture.tap import SoftmaxTap
from headscope.capture.validity import Valid
from headscope.errors import AttentionNotRead
from headscope.interrupts import safe_point, stopped_safely

_PADDING = ("attention_mask", "decoder_attention_mask")
# models that attend differently if their masks are made for their eager code (AIMv2, PaliGemma)
masks_as_run: weakref.WeakSet[nn.Module] = weakref.WeakSet()
_without_own_softmax: weakref.WeakSet[nn.Module] = weakref.WeakSet()


class Door:
    """One open capture: the modules it watches, the sink it shows calls to, the layer numbers."""

    def __init__(self, model: nn.Module, sink: Sink, lazy: bool, scores: bool) -> None:
        self.sink = sink
        self.lazy = lazy
        self.scores = scores
        self.model = model
        named = dict(model.named_modules())  # computed once: it makes a GPU wait
        self.modules = list(named.values())
        fast = running_implementation(getattr(model, "config", None)) not in (None, "eager")
        implied = fast and (lazy or model in masks_as_run)
        self.implies_masks = implied and only_interface(self.modules) and self.says_what_is_causal
        self.numbering = Numbering(model)
        self.passes = 0
        self.calls = 0
        self.padding: dict[str, Tensor] = {}  # the two-dimensional masks this pass was given
        self._names = {id(module): name for name, module in named.items()}
        self._looked_again = False
        self._decoder_valid: Callable[[], Valid] | None = None

    @functools.cached_property
    def says_what_is_causal(self) -> bool:
        """Whether modules tell which of them see no future; else only their masks do."""
        return says_what_is_causal(self.modules)

    def watches(self, module: nn.Module) -> bool:
        """Whether the module is part of the model, also when a pass has only just made it."""
        if id(module) in self._names:
            return True
        if not self._looked_again:
            self._names = {id(one): name for name, one in self.model.named_modules()}
            self._looked_again = True
        return id(module) in self._names

    def start_pass(self, given: dict[str, Any]) -> None:
        self.passes += 1
        self.numbering.start()
        self._looked_again = False
        self._decoder_valid = None
        self.padding = {
            name: given[name] for name in _PADDING if isinstance(given.get(name), Tensor)
        }

    def end(self) -> None:
        """Drop references to the last pass: they hold this door, and the door what the sink keeps.

        Otherwise a large reading would stay in memory until Python collects cycles, beside the next
        one.
        """
        self._decoder_valid = None

    def padding_of(
        self, kind: Kind, given: dict[str, Tensor] | None = None
    ) -> tuple[Tensor | None, Tensor | None]:
        """The masks given for the queries and for the keys of a kind."""
        masks = self.padding if given is None else given
        own, decoder = (masks.get(name) for name in _PADDING)
        if not self.numbering.two_stacks:
            return own, None if kind == "cross" else own
        return own if kind == "encoder" else decoder, decoder if kind == "decoder" else own

    def numbered(self, call: Call, valid: Callable[[Kind], Valid]) -> Call:
        """The call with its kind and layer as this door counts them."""
        kind = self.numbering.kind(call.module, self._names[id(call.module)], call.causal)
        of_call = functools.partial(valid, kind)
        if kind == "decoder":
            self._decoder_valid = of_call
        if kind == "cross" and self._decoder_valid is not None:
            of_call = functools.partial(_with_queries, of_call, self._decoder_valid)
        return dataclasses.replace(
            call,
            kind=kind,
            layer=self.numbering.next_layer(kind),
            causal=call.causal and kind != "cross",
            lazy_valid=of_call,
        )

    def show(self, call: Call) -> Answer:
        safe_point()
        self.calls += 1
        with active.tap_closed():  # a softmax inside the sink is not another call
            return self.sink(call)


def _with_queries(cross: Callable[[], Valid], decoder: Callable[[], Valid]) -> Valid:
    """A cross mask does not tell real queries; the decoder's own attention does."""
    queries, keys = cross()
    known = decoder()[0]
    return known if known.shape == queries.shape else queries, keys


@contextlib.contextmanager
def capture(
    model: nn.Module, sink: Sink, *, lazy: bool = False, scores: bool = False
) -> Generator[Door]:
    """Show every attention computation of `model` to `sink` while the block runs.

    The sink gets one frozen `Call` per computation. It returns None to leave the model alone, a
    tensor (b h t s) to replace the weights, `Queries` to attend with, or an `Output` (or an
    `Again`, with the weights behind it) it computed itself. With `lazy` the weights are computed
    only if the sink asks for them, and the model otherwise runs as fast as it does without us.
    Doors nest: the outer sink is asked first, and the inner one sees its result. The model is left
    as it was found, whatever happens inside. With `scores`, families that compute attention
    themselves give q, k, bias and mask too, at the cost of another product of q and k.

    Ctrl-C inside the block is raised as the next call is shown, or at the end.

    In training mode the weights are those after dropout, which the model multiplies with its
    values, as its `output_attentions` gives them.
    """
    door = Door(model, sink, lazy, scores)
    with stopped_safely(), contextlib.ExitStack() as undo:
        register()
        undo.enter_context(switched(door.modules))
        running = functools.partial(_if_open, door)
        for handle in (*_watch_passes(door), *watch_layers(model, running)):
            undo.callback(handle.remove)
        undo.enter_context(families.taps(door.modules))
        # the tap sees every operation, which costs time; a model that may not need it is watched
        # for one pass only
        needed = not (door.implies_masks and model in _without_own_softmax)
        if needed and not any(isinstance(mode, SoftmaxTap) for mode in _active_modes()):
            undo.enter_context(SoftmaxTap())
        active.stack.doors.append(door)
        undo.callback(active.stack.doors.remove, door)
        undo.callback(setattr, active.stack, "last", None)
        undo.callback(door.end)
        yield door
    if door.passes and not door.calls:
        raise AttentionNotRead(_nothing_seen(model))
    if door.passes and door.implies_masks:
        _without_own_softmax.add(model)


def _if_open(door: Door, layer: int | None) -> None:
    """Another thread may be running the same layers."""
    if door in active.stack.doors:
        door.numbering.running(layer)


def _active_modes() -> list[Any]:
    from torch.overrides import _get_current_function_mode_stack  # pyright: ignore[reportPrivateUsage]

    return _get_current_function_mode_stack()


def _watch_passes(door: Door) -> list[Any]:
    """Layer numbers start anew with every outermost forward pass of the model or a part of it."""
    from transformers import PreTrainedModel

    depth = 0

    def enter(
        module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any] | None = None
    ) -> None:
        nonlocal depth
        if door not in active.stack.doors or options is None:
            return  # another thread runs this model, or is removing its hooks
        if depth == 0:
            door.start_pass(_by_name(module, arguments, options))
        depth += 1

    def leave(module: nn.Module, arguments: Any, output: Any) -> None:
        nonlocal depth
        if door in active.stack.doors:
            depth -= 1

    handles: list[Any] = []
    for module in door.modules:
        if module is door.model or isinstance(module, PreTrainedModel):
            handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
            handles.append(module.register_forward_hook(leave, always_call=True))
    return handles


def _by_name(
    module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
) -> dict[str, Any]:
    if not arguments:
        return options
    names = list(inspect.signature(module.forward).parameters)
    return {**dict(zip(names, arguments, strict=False)), **options}


def _nothing_seen(model: nn.Module) -> str:
    name = type(model).__name__
    implementation = getattr(getattr(model, "config", None), "_attn_implementation", None)
    if implementation not in (None, "eager", "sdpa"):
        return (
            f"{name} runs {implementation} attention, which cannot be read; "
            "load it with attn_implementation='eager' and try again."
        )
    own = sorted(
        {type(one).__name__ for one in model.modules() if "Attention" in type(one).__name__}
    )
    if own and implementation == "sdpa":  # Data2Vec and SAM have a module for it
        return (
            f"{name} calls sdpa in code of its own ({own[0]}), which returns no attention weights; "
            f"load it with attn_implementation='eager' and try again."
        )
    if own:  # YOSO hashes, I-BERT may compute in integers
        return (
            f"{name} computes its attention ({own[0]}) without a visible softmax, so its "
            f"weights cannot be read."
        )
    return (
        f"{name} computed no attention that can be read; "
        "models without attention heads (Mamba, RWKV, …) have nothing to show."
    )


# Whether all attention of a model goes through the registered function.
#
# Only then may a mask be left out where the fused attention implies it: a module that takes its
# own softmax would silently see the future, and so would one that does not say it is causal.

_ATTENTION = re.compile(r"att", re.I)
_DISPATCH = "ALL_ATTENTION_FUNCTIONS"


def only_interface(modules: Iterable[nn.Module]) -> bool:
    dispatching = False
    for module in modules:
        found = _attention_names(module)
        dispatches = _DISPATCH in found
        # GPT-2 has both ways, and takes its own softmax only if configured to upcast it
        own = not dispatches or getattr(module, "reorder_and_upcast_attn", True)
        if own and any("softmax" in name.lower() for name in found):
            return False
        dispatching |= dispatches
    return dispatching


def says_what_is_causal(modules: Iterable[nn.Module]) -> bool:
    """Whether an omitted causal mask can be told from no mask.

    A family that runs sdpa must say for each module whether it is causal. Other families may leave
    that to their masks, as the decoder of BigBird-Pegasus does.
    """
    from transformers import PreTrainedModel

    every = list(modules)
    attending = [one for one in every if _DISPATCH in _attention_names(one)]
    if any(not hasattr(one, "is_causal") for one in attending):
        return False
    runs_sdpa = all(
        getattr(one, "_supports_sdpa", False) for one in every if isinstance(one, PreTrainedModel)
    )
    return runs_sdpa or all(one.is_causal for one in attending)


def _attention_names(module: nn.Module) -> set[str]:
    return _used_names(type(module)) if _ATTENTION.search(type(module).__name__) else set()


@functools.cache
def _used_names(kind: type) -> set[str]:
    """Every name the methods of a class use."""
    found: set[str] = set()
    for base in kind.__mro__:
        if base is nn.Module:
            break
        for method in vars(base).values():
            function = getattr(method, "__wrapped__", method)
            if isinstance(function, FunctionType):
                found |= _used(function.__code__)
    return found


def _used(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*(_used(one) for one in inner))

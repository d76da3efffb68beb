"""Every activation by its name: read it, or replace it while the model runs.

NAMES holds the names; they are the same in every family and refer to the stack that answers. `.3`
at the end means layer 3 alone. `wiring` finds an activation's module by running the model, not by a
family's spelling. docs/reference/activations.md has the table.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.capture import Call, Queries
from headscope.capture.softmax import weights_of
from headscope.capture.stack import hidden_of, replace_hidden, with_hidden
from headscope.circuits.frozen_norm import tried
from headscope.circuits.wiring import Wiring, wiring
from headscope.edits.disable import Disabled, means_of
from headscope.errors import BadInput, HeadscopeError
from headscope.models.own_thread import forward_of, standing_in
from headscope.reading.inputs.decoder_text import encode_both

if TYPE_CHECKING:
    import xarray as xr

    from headscope.reading import Scope
    from headscope.text.tokenise import Text

Function = Callable[..., Tensor | None]  # (activation) or (activation, layer) -> the replacement
AT_CALLS = ("attention.q", "attention.k", "attention.v", "attention.weights")
NAMES: dict[str, tuple[tuple[str, ...], str]] = {
    "stream.before": (("token", "stream"), "the residual stream as a layer is given it"),
    "stream.after": (("token", "stream"), "the residual stream as a layer leaves it"),
    "attention.q": (("head", "query", "size"), "queries, as they are multiplied (after rotation)"),
    "attention.k": (("group", "key", "size"), "keys, as they are multiplied (after rotation)"),
    "attention.v": (("group", "key", "value_size"), "values"),
    "attention.weights": (("head", "query", "key"), "attention, after softmax"),
    "attention.heads": (
        ("token", "head", "value_size"),
        "what heads give the output projection",
    ),
    "attention.output": (("token", "stream"), "what the output projection gives"),
    "mlp.inner": (("token", "inner"), "what the MLP's last map is given"),
    "mlp.output": (("token", "stream"), "what the MLP's last map gives"),
    "norm.scale": (("norm", "token"), "what each norm of a layer divides by, in running order"),
}
PADDED = ("token", "query", "key")
READ_ONLY = ("norm.scale",)


@dataclass(frozen=True)
class NamedEdit:
    """An edit of one activation, in one layer or in all; part of a scope's edits."""

    name: str
    layer: int | None  # None: every layer
    function: Function

    def __call__(self, call: Call) -> Tensor | Queries | Call | None:
        """Edit q, k, v or the weights of a call."""
        if self.name not in AT_CALLS or not self.of(call.layer):
            return None
        own = _shown(call, self.name)
        made = self.changed(own, call.layer)
        if made is own or torch.equal(made, own):
            return None
        if self.name == "attention.weights":
            return made
        if self.name == "attention.v":
            return dataclasses.replace(call, v=made)
        if self.name == "attention.q" and call.again is not None and not call.edited:
            return Queries(made)
        assert call.q is not None and call.k is not None
        q, k = (made, call.k) if self.name == "attention.q" else (call.q, made)
        rows = torch.arange(q.shape[2], device=q.device)
        weights = weights_of(call, q, k, rows).to(q.dtype)
        return dataclasses.replace(call.with_weights(weights), q=q, k=k)

    @property
    def of_input(self) -> bool:
        """Whether the activation is a module's input rather than its output."""
        return self.name in ("stream.before", "attention.heads", "mlp.inner")

    def of(self, layer: int) -> bool:
        return self.layer is None or self.layer == layer

    def changed(self, own: Tensor, layer: int) -> Tensor:
        made = _asked(self.function, own, layer)
        if made is None:
            return own
        if not isinstance(made, Tensor) or made.shape != own.shape:  # pyright: ignore[reportUnnecessaryIsInstance]
            given = tuple(getattr(made, "shape", ())) or type(made).__name__
            raise BadInput(
                f"The edit of {self.name} returned {given} instead of {tuple(own.shape)}; return a "
                "tensor of the same shape, or None to leave it."
            )
        return made.to(own)

    @contextlib.contextmanager
    def standing(self, scope: Scope) -> Generator[None]:
        """Hook the activation's modules while the block runs."""
        if self.name in AT_CALLS:
            yield
            return
        found = wiring(scope)
        with contextlib.ExitStack() as undo:
            for layer in range(len(found.stack.layers)):
                if self.of(layer):
                    for module, make in _modules(scope, found, layer, self.name):
                        around = make(forward_of(module), _Change(self, layer))
                        undo.enter_context(standing_in(module, around))
            yield


def _shown(call: Call, name: str) -> Tensor:
    """A call's activation of that name; weights are computed here, so that the model need not."""
    if name == "attention.weights":
        if call.q is None:
            return call.weights
        found = call.weights_of(torch.arange(call.q.shape[2], device=call.q.device))
        return call.weights if found is None else found
    own = getattr(call, name[-1])
    if own is None:
        raise HeadscopeError(
            f"{type(call.module).__name__} does not expose {name}: its attention is read at the "
            f"softmax."
        )
    return own


@dataclass(frozen=True)
class _Change:
    edit: NamedEdit
    layer: int

    def __call__(self, own: Tensor) -> Tensor:
        return self.edit.changed(own, self.layer)


Around = Callable[[Callable[..., Any], Callable[[Tensor], Tensor]], Callable[..., Any]]


def _modules(scope: Scope, found: Wiring, layer: int, name: str) -> list[tuple[nn.Module, Around]]:
    """The modules of a layer's activation, and the hook for each."""
    whole = found.stack.layers[layer]
    writers = [one for one in found.cuts[layer] if id(one) in found.writers]
    heads = [one for one in writers if _kind(found, one) == found.stack.kind]
    mlps = [one for one in writers if id(one) not in found.projections]
    if name == "norm.scale":
        inside = [norm for norm in found.norms if any(norm is one for one in whole.modules())]
        return [(norm, _scale_of(scope)) for norm in inside]
    chosen, around = {
        "stream.before": ([whole], _given),
        "stream.after": ([whole], _output),
        "attention.heads": (heads, _heads(found) if heads else _output),
        "attention.output": (heads, _output),
        "mlp.inner": (mlps[-1:], _given),
        "mlp.output": (mlps[-1:], _output),
    }[name]
    if not chosen:
        raise HeadscopeError(
            f"Layer {layer} of {scope.name} has no {name}: no module of its own writes it."
        )
    return [(module, around) for module in chosen]


def _kind(found: Wiring, module: nn.Module) -> str | None:
    projection = found.projections.get(id(module))
    return None if projection is None else projection.kind


def _given(forward: Callable[..., Any], change: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    def around(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = replace_hidden(args, kwargs, change)
        return forward(*args, **kwargs)

    return around


def _output(forward: Callable[..., Any], change: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    def around(*args: Any, **kwargs: Any) -> Any:
        output = forward(*args, **kwargs)
        return with_hidden(output, change(hidden_of(output)))

    return around


def _heads(found: Wiring) -> Around:
    count = next(one.heads for one in found.projections.values() if one.kind == found.stack.kind)

    def make(forward: Callable[..., Any], change: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
        def around(flat: Tensor, *args: Any, **kwargs: Any) -> Any:
            made = change(flat.reshape(*flat.shape[:2], count, -1))
            return forward(made.reshape(flat.shape), *args, **kwargs)

        return around

    return make


def _scale_of(scope: Scope) -> Around:
    width = int(scope.model.get_input_embeddings().weight.shape[-1])

    def make(forward: Callable[..., Any], change: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
        def around(x: Tensor, *args: Any, **kwargs: Any) -> Any:
            y = forward(x, *args, **kwargs)
            if x.dim() == 3 and x.shape[-1] == width:
                gain, shift, centred = tried(forward, x)
                base = x.float() - x.float().mean(-1, keepdim=True) if centred else x.float()
                wanted, base = y.float() - shift, base * gain
                change((base * base).sum(-1) / (wanted * base).sum(-1))
            return y

        return around

    return make


def _asked(function: Function, own: Tensor, layer: int) -> Tensor | None:
    return function(own, layer) if _takes_layer(function) else function(own)


def _takes_layer(function: Function) -> bool:
    import inspect

    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [one for one in taken if one.default is one.empty and one.kind in (0, 1)]
    return len(needed) > 1


def named_edit(scope: Scope, name: str, function: Function) -> NamedEdit:
    """The edit of the activation of that name, with a layer's number at its end or without."""
    if not callable(function):
        raise BadInput("An edit is a function that takes an activation and returns another.")
    base, layer = parsed(scope, name)
    if base in READ_ONLY:
        raise BadInput(f"{base} can be read but not edited; edit stream.before instead.")
    return NamedEdit(base, layer, function)


def parsed(scope: Scope, name: str) -> tuple[str, int | None]:
    """A name and its layer, None for all layers."""
    base, _, last = name.rpartition(".") if isinstance(name, str) else ("", "", "")  # pyright: ignore
    if not last.isdigit():
        base, last = name, ""
    layers = len(wiring(scope).stack.layers)
    if base not in NAMES:
        raise BadInput(f"There is no activation {name!r}; there are {', '.join(NAMES)}.")
    if last and int(last) >= layers:
        raise BadInput(f"There is no layer {last}; {scope.name} has layers 0 to {layers - 1}.")
    return base, int(last) if last else None


# Reading: edits that record activations and change nothing.


@dataclass
class _Kept:
    by_layer: dict[int, list[Tensor]] = field(default_factory=dict[int, list[Tensor]])

    def __call__(self, own: Tensor, layer: int) -> None:
        self.by_layer.setdefault(layer, []).append(own.detach().float().cpu())


def read_activations(scope: Scope, text: Text | list[Text], names: Iterable[str]) -> xr.Dataset:
    """The named activations of one pass under the scope's edits; nothing else is kept."""
    import xarray as xr

    names = names if isinstance(names, str) else tuple(names)
    if isinstance(names, str) or not names:
        raise BadInput(f"Give names as a list; there are {', '.join(NAMES)}.")
    several = isinstance(text, list)
    texts: Sequence[Text] = text if several else [text]  # pyright: ignore[reportAssignmentType]
    if scope.encoder_decoder:
        batch, tokens = encode_both(scope, texts, [None] * len(texts))
    else:
        batch = scope.encode(texts)
        tokens = batch.tokens
    asked = {name: parsed(scope, name) for name in names}
    kept = {name: _Kept() for name in asked}
    edits = [NamedEdit(*asked[name], one) for name, one in kept.items()]
    dataclasses.replace(scope, edits=(*scope.edits, *edits)).forward(batch.inputs)
    lengths = [len(one) for one in tokens]
    found: dict[str, xr.DataArray] = {}
    for name, one in kept.items():
        dims, values = NAMES[asked[name][0]][0], _stacked(scope, name, one, len(texts))
        _blank(values, dims, lengths)
        array = xr.DataArray(values, dims=("text", "layer", *dims))
        if asked[name][1] is not None:
            array = array.isel(layer=0)
        found[name] = array if several else array.isel(text=0)
    made = xr.Dataset(found, attrs={"model": scope.name})
    if "layer" in made.dims:
        made = made.assign_coords(layer=np.arange(made.sizes["layer"]))
    return made if several else made.assign_attrs(tokens=list(tokens[0].labels))


def _stacked(scope: Scope, name: str, kept: _Kept, texts: int) -> NDArray[np.float32]:
    """text layer …: an activation of every layer."""
    if not kept.by_layer:
        raise HeadscopeError(f"{scope.name} does not expose {name} while it runs.")
    norms = name.startswith("norm.scale")
    each = [
        torch.stack(some, dim=1) if norms else some[-1] for _, some in sorted(kept.by_layer.items())
    ]
    if each[0].dim() == 2:  # OPT's MLP receives the tokens of all texts in one row
        each = [one.reshape(texts, -1, one.shape[-1]) for one in each]
    if len({one.shape for one in each}) > 1:
        raise HeadscopeError(
            f"The layers of {scope.name} have {name} of different sizes; ask for one layer: "
            f"{name}.0."
        )
    return torch.stack(each, dim=1).numpy()


def _blank(values: NDArray[np.float32], dims: tuple[str, ...], lengths: list[int]) -> None:
    """NaN at the padding of texts shorter than the longest."""
    for row, length in enumerate(lengths):
        for axis, dim in enumerate(dims):
            if dim in PADDED and length < values.shape[axis + 2]:
                index = [slice(None)] * (axis + 1)
                values[(row, *index, slice(length, None))] = np.nan


def mean_outputs(scope: Scope, off: Disabled, given: object) -> NamedEdit:
    """Heads give their mean output over some texts, or given means (layer head size)."""
    kind = wiring(scope).stack.kind
    if off.kind != kind:
        raise BadInput(
            f"The mode mean_output replaces the outputs of {kind} heads, not of "
            f"{off.kind} heads; pass kind='{kind}'."
        )
    means = torch.from_numpy(given if isinstance(given, np.ndarray) else means_of(scope, given))

    def put(own: Tensor, layer: int) -> Tensor | None:
        heads = [head for at, head in off.heads if at == layer]
        if not heads:
            return None
        made = own.clone()
        made[:, :, heads] = means[layer, heads].to(own)
        return made

    return NamedEdit("attention.heads", None, put)

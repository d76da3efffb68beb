"""The weights of every head as matrices on the residual stream, found by running the model.

An attention module receives each direction of the stream in turn; the q, k and v it computes are
the rows of W_Q, W_K and W_V, however the family stores, fuses or groups them. At the first position
a rotary embedding does not rotate, so W_Q and W_K are those of a token and itself. The matrices
include the gain of the norm before the attention, but not its scale, which depends on the text, nor
the scale of norms on q and k.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.arguments import need_scope
from headscope.capture import Call, Kind, capture
from headscope.capture.output_projection import projection_module, weight_of
from headscope.capture.stack import StoppedPass, hidden_of, replace_hidden
from headscope.circuits.frozen_norm import is_norm, tried
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import Wiring, wiring
from headscope.errors import BadInput, HeadscopeError
from headscope.interrupts import stopped_safely
from headscope.models.limits import token_vectors
from headscope.models.own_thread import forward_of, only_here, standing_in
from headscope.reading.ability import Ability
from headscope.reading.describe import trial_inputs

if TYPE_CHECKING:
    from headscope.reading import Scope


@dataclass(frozen=True)
class LayerWeights:
    """One layer's heads; keys and values are repeated for the heads that share them."""

    q: Tensor  # h m d
    k: Tensor  # h m d
    v: Tensor  # h m d
    o: Tensor  # h d m
    q_bias: Tensor  # h d
    k_bias: Tensor  # h d
    v_bias: Tensor  # h d
    rotates: bool  # q and k of one vector differ by position


@dataclass(frozen=True)
class HeadWeights:
    """Every layer of one kind of attention, and what the matrices leave out."""

    kind: Kind
    layers: tuple[LayerWeights, ...]
    left_out: tuple[str, ...]

    @property
    def heads(self) -> int:
        return self.layers[0].q.shape[0]


def head_weights(scope: Scope) -> HeadWeights:
    """The matrices of the stack that answers (a decoder's own attention, else the encoder's)."""
    need_scope(scope)
    scope = unrolled(scope)
    AS_MATRICES.of(scope)
    wired = wiring(scope)
    calls, given = _calls(scope, wired)
    layers = [_try_layer(scope, wired, call, given[id(call.module)]) for call in calls]
    left_out = ["the scale of the norms"]
    if any(_inner_norms(call.module) for call in calls):
        left_out.append("the scale of the norms on q and k")
    if scope.description.positional_bias:
        left_out.append("what positions add to the scores")
    if any(layer.rotates for layer in layers):
        left_out.append("the rotation of positions")
    if wired.transformed:
        left_out.append("the transform before the output layer")
    return HeadWeights(calls[0].kind, tuple(layers), tuple(left_out))


def _first_and_last(scope: Scope) -> None:
    if not scope.description.reads_values:
        raise HeadscopeError(
            f"{scope.name} does not expose its queries, keys and values, so the weights of its "
            "heads cannot be separated."
        )
    wired = wiring(scope)
    calls, given = _calls(scope, wired)
    for call in (calls[0], calls[-1]):
        _try_layer(scope, wired, call, given[id(call.module)])


AS_MATRICES = Ability(
    ("copying", "composition", "ov_tokens", "qk_tokens"), "read as matrices", _first_and_last
)


@stopped_safely()
def _calls(scope: Scope, wired: Wiring) -> tuple[list[Call], dict[int, tuple[Any, Any]]]:
    """The calls of a trial pass, and each attention module's arguments."""
    calls: list[Call] = []
    given: dict[int, tuple[Any, Any]] = {}

    def keep(module: nn.Module, args: Any, kwargs: Any) -> None:
        given[id(module)] = (args, kwargs)

    handles = [
        module.register_forward_pre_hook(only_here(keep), with_kwargs=True)
        for module in wired.stack.attention
    ]
    try:
        with torch.no_grad(), capture(scope.model, calls.append, lazy=True):
            scope.model(**trial_inputs(scope.model), **_without_cache(scope.model))
    finally:
        for handle in handles:
            handle.remove()
    own = [call for call in calls if call.kind == wired.stack.kind]
    return sorted(own, key=lambda call: call.layer), given


def _without_cache(model: Any) -> dict[str, Any]:
    import inspect

    known = inspect.signature(model.forward).parameters
    return {"use_cache": False} if "use_cache" in known else {}


@torch.no_grad()
def _try_layer(scope: Scope, wired: Wiring, call: Call, given: tuple[Any, Any]) -> LayerWeights:
    module = call.module
    args, kwargs = given
    width = hidden_of(args[0] if args else kwargs["hidden_states"]).shape[-1]
    example = args[0] if args else kwargs["hidden_states"]
    directions = torch.cat([torch.eye(width), torch.zeros(1, width)]).to(example)
    tokens = example.shape[1]
    args, kwargs = replace_hidden(
        args, kwargs, lambda _: directions[:, None].expand(-1, tokens, -1).contiguous()
    )
    seen: list[Call] = []

    def stop(found: Call) -> None:
        seen.append(found)
        raise StoppedPass

    with stopped_safely(), contextlib.ExitStack() as undo:
        for norm in _inner_norms(module):
            undo.enter_context(standing_in(norm, _gain_only(norm)))
        undo.enter_context(capture(scope.model, stop, lazy=True, scores=True))
        undo.enter_context(contextlib.suppress(StoppedPass))
        module(*args, **kwargs)
    tried_call = seen[0]
    made = (tried_call.q, tried_call.k, tried_call.v)
    if any(one is None or len(one) != len(directions) for one in made):  # CTRL takes q, k and v
        raise HeadscopeError(
            f"{type(module).__name__} computes its queries, keys and values from different "
            f"inputs, so the weights of its heads cannot be separated; attribute or patch on a "
            f"text instead."
        )
    assert tried_call.q is not None and tried_call.k is not None and tried_call.v is not None
    q, q_bias = _matrix(tried_call.q, call.heads)
    k, k_bias = _matrix(tried_call.k, call.heads)
    v, v_bias = _matrix(tried_call.v, call.heads)
    linear = projection_module(scope.model, module, call.heads * v.shape[-1])
    if linear is None:
        raise HeadscopeError(f"The output projection of {type(module).__name__} was not found.")
    o = weight_of(linear).float().reshape(call.heads, v.shape[-1], -1)
    norm = wired.before_attention.get(id(module))
    if norm is not None:  # the norm's β is part of the biases
        shift = _tried(norm, directions)[1].to(q)
        q_bias, k_bias, v_bias = (
            bias + torch.einsum("m,hmd->hd", shift, matrix)
            for bias, matrix in ((q_bias, q), (k_bias, k), (v_bias, v))
        )
    before = norm_before(wired, call)
    after = norm_after(wired, call, linear)
    q, k, v = (before(one.transpose(1, 2)).transpose(1, 2) for one in (q, k, v))
    first, second = tried_call.q[:, :, 0], tried_call.q[:, :, 1]
    turned = not torch.allclose(first, second, rtol=1e-3, atol=1e-4 * float(first.abs().max()))
    return LayerWeights(q, k, v, after(o), q_bias, k_bias, v_bias, turned)


def _matrix(made: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    """h m d and h d: rows minus the zero vector's, which is the bias."""
    rows = made[:, :, 0].float()  # m+1 g d, at the first position
    spread = rows.repeat_interleave(heads // rows.shape[1], dim=1).transpose(0, 1)
    return spread[:, :-1] - spread[:, -1:], spread[:, -1]


def _inner_norms(module: nn.Module) -> list[nn.Module]:
    return [part for part in module.modules() if is_norm(part)]


def _gain_only(norm: nn.Module) -> Callable[..., Tensor]:
    forward = forward_of(norm)

    def gained(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        gain, _, _ = tried(forward, x)
        return x * gain.to(x.dtype)

    return gained


Map = Callable[[Tensor], Tensor]


def norm_before(wired: Wiring, call: Call) -> Map:
    """Rows of a matrix that reads the stream through the norm in front of an attention module.

    x ↦ (x − mean) γ read by W is x ↦ x W′ with W′ = γ W, its columns centred if the norm centres.
    """
    return _of_norm(wired.before_attention.get(id(call.module)), reads=True)


def norm_after(wired: Wiring, call: Call, linear: nn.Module) -> Map:
    """A matrix that writes through the norm after the projection (Gemma's second norm)."""
    return _of_norm(wired.after_projection.get(id(linear)), reads=False)


def _of_norm(norm: nn.Module | None, *, reads: bool) -> Map:
    """On vectors along the last axis: the gain, and minus the mean if the norm subtracts it.

    Reading through a norm and writing through it take the two steps in opposite order.
    """
    if norm is None:
        return lambda x: x

    def mapped(x: Tensor) -> Tensor:
        gain, _, centred = _tried(norm, x)
        x = x * gain if reads else x
        if centred:
            x = x - x.mean(-1, keepdim=True)
        return x if reads else x * gain

    return mapped


def _tried(norm: nn.Module, like: Tensor) -> tuple[Tensor, Tensor, bool]:
    try:
        return tried(norm.forward, like)
    except RuntimeError:
        own = next((weight.dtype for weight in norm.parameters()), like.dtype)
        if own == like.dtype:
            raise
        # torch's layer norm accepts only its weights' precision
        return tried(norm.forward, like.to(own))


def vocabulary(scope: Scope) -> tuple[Tensor, Tensor]:
    """v m and v m: the embedding of every token, and the direction its logit reads.

    The gain of the last norm is part of the directions.
    """
    from headscope.circuits.logits.target import word_layer

    layer = word_layer(scope)
    if layer is None:
        raise BadInput(
            f"{scope.name} has no output layer of words, so no token can be read from its heads; "
            "load the model as it was pretrained."
        )
    table = token_vectors(scope.model)
    assert table is not None  # a model of words has one
    into, out = table.float(), weight_of(layer).T.float()
    if into.shape[1] != out.shape[1] or out.shape[1] != _stream_width(scope):
        raise HeadscopeError(
            f"{scope.name} maps its embeddings to another width, so tokens cannot be read from "
            "its weights alone."
        )
    return into, _of_norm(wiring(unrolled(scope)).last_norm, reads=True)(out)


def _stream_width(scope: Scope) -> int:
    wired = wiring(unrolled(scope))
    found = (one for layer in wired.cuts for one in layer if id(one) in wired.projections)
    first = next(found, None)
    if first is None:
        raise HeadscopeError(
            f"The output projection of {scope.name}'s heads was not found, so tokens cannot be "
            "read from its weights."
        )
    return weight_of(first).shape[1]

"""The logit lens: what the model would answer if it stopped after each layer."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.capture.output_projection import weight_of
from headscope.circuits.logits.attribution import PartOfLogit, Tokenwise, head_name
from headscope.circuits.logits.target import difference, logits_of
from headscope.interrupts import stopped_safely
from headscope.models.evaluation import evaluating
from headscope.models.own_thread import forward_of, standing_in
from headscope.reading.predict import likeliest
from headscope.text.spelling import listed

if TYPE_CHECKING:
    from headscope.circuits.linear_pass import Leaf, Trace
    from headscope.circuits.logits.solve import Solved
    from headscope.circuits.logits.target import Question
    from headscope.circuits.wiring import Wiring
    from headscope.reading import Scope


SHOWN = 3


@torch.no_grad()
def logit_lens(
    scope: Scope, wiring: Wiring, asked: Question, solved: Solved
) -> tuple[tuple[Tokenwise, ...], tuple[float, ...]]:
    """After each layer: the likeliest answers with their probabilities, and the target's logit.

    The model's own last norm and output layer read the stream as each layer left it.
    """
    if asked.output_layer is None:
        return (), ()
    seen: list[Tokenwise] = []
    targets: list[float] = []
    for hidden in solved.traced.hidden:
        # one position may be all that was kept; the others are not used
        every = hidden.expand(-1, len(asked.query), -1)
        beside = solved.traced.beside
        given = every if beside is None else (every, *beside)
        logits = _read_out(scope, wiring, asked, given)
        best = likeliest(scope, logits.float().softmax(-1), SHOWN)
        seen.append(Tokenwise(tuple(p.token for p in best), tuple(p.probability for p in best)))
        targets.append(float(difference(logits, solved.ids[0])))
    return tuple(seen), tuple(targets)


def _read_out(scope: Scope, wiring: Wiring, asked: Question, given: Any) -> torch.Tensor:
    layer, at = asked.output_layer, asked.position
    assert layer is not None and at is not None
    own, here = forward_of(layer), slice(at, at + 1)

    def one_position(states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return own(states[:, here], *args, **kwargs)

    with stopped_safely(), evaluating(scope.model), contextlib.ExitStack() as undo:
        for one in wiring.stack.layers:
            undo.enter_context(standing_in(one, lambda *_, **__: given))
        if wiring.stack.before is not None:  # the encoder's output no longer changes
            own_encoder = forward_of(wiring.stack.before)
            undo.enter_context(standing_in(wiring.stack.before, own_encoder))
        undo.enter_context(standing_in(layer, one_position))
        output = scope.model(**scope.accepted(asked.inputs), **_plain(scope))
    return logits_of(scope, output, True, at)[0]


def _plain(scope: Scope) -> dict[str, Any]:
    import inspect

    accepted = inspect.signature(scope.model.forward).parameters
    return {"use_cache": False} if "use_cache" in accepted else {}


# The tokens a head's output raises and lowers here.


@torch.enable_grad()
def promoted(
    scope: Scope,
    wiring: Wiring,
    traced: Trace,
    logits: Tensor,
    heads: Sequence[PartOfLogit],
    count: int,
) -> dict[str, tuple[Tokenwise, Tokenwise]]:
    """For each head the `count` tokens it raises and lowers most, in logits."""
    leaves = _leaves(wiring, traced)
    chosen: list[tuple[Kind | None, int | None, int | None]] = [
        (p.kind, p.layer, p.head) for p in heads if (p.kind, p.layer) in leaves
    ]
    if not chosen:
        return {}
    pulled = torch.zeros_like(logits, requires_grad=True)  # 1 v
    values = [leaves[kind, layer].value for kind, layer, _ in chosen]
    # the gradient of ⟨pulled, logits⟩ at a leaf is linear in `pulled`, so its own gradient along a
    # head's output is what that head adds to every logit
    slopes = torch.autograd.grad(
        (pulled * logits).sum(), values, create_graph=True, materialize_grads=True
    )
    found: dict[str, tuple[Tokenwise, Tokenwise]] = {}
    for (kind, layer, head), slope in zip(chosen, slopes, strict=True):
        assert kind is not None and layer is not None and head is not None
        written = _written(leaves[kind, layer], head, wiring)
        (added,) = torch.autograd.grad((slope * written).sum(), pulled, retain_graph=True)
        found[head_name(kind, layer, head)] = _extremes(scope, added[0], count)
    return found


def _leaves(wiring: Wiring, traced: Trace) -> dict[tuple[Kind | None, int | None], Leaf]:
    found: dict[tuple[Kind | None, int | None], Leaf] = {}
    for leaf in traced.leaves:
        projection = None if leaf.module is None else wiring.projections.get(id(leaf.module))
        if projection is not None:
            found[projection.kind, projection.layer] = leaf
    return found


def _written(leaf: Leaf, head: int, wiring: Wiring) -> Tensor:
    """b t hidden: what one head wrote into the stream."""
    assert leaf.module is not None and leaf.given is not None
    heads = wiring.projections[id(leaf.module)].heads
    weight = weight_of(leaf.module)
    size = weight.shape[0] // heads
    own = slice(head * size, (head + 1) * size)
    given = leaf.given.reshape(*leaf.value.shape[:2], -1)
    return (given[..., own] @ weight[own].to(given.dtype)).to(leaf.value.dtype)


def _extremes(scope: Scope, added: Tensor, count: int) -> tuple[Tokenwise, Tokenwise]:
    count = min(count, added.numel())
    up, down = torch.topk(added, count), torch.topk(-added, count)

    def named(ids: Tensor, values: Tensor) -> Tokenwise:
        return Tokenwise(listed(scope.tokenizer, ids.tolist()), tuple(values.tolist()))

    return named(up.indices, up.values), named(down.indices, -down.values)

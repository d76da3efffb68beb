"""The logit lens: what the model would say if it stopped after each layer."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch

from headscope.circuits.logits.attribution import Tokenwise
from headscope.circuits.logits.target import difference, logits_of
from headscope.edits.sweep.layers import standing_in
from headscope.interrupts import stopped_safely
from headscope.models.evaluation import evaluating
from headscope.reading.predict import likeliest

if TYPE_CHECKING:
    from headscope.circuits.logits.attribute import Solved
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
        # of one position where that is all that was kept: the others say nothing here
        every = hidden.expand(-1, len(asked.query), -1)
        beside = solved.traced.beside
        given = every if beside is None else (every, *beside)
        logits = _read_out(scope, wiring, asked, given)
        best = likeliest(scope, logits.float().softmax(-1), SHOWN)
        seen.append(Tokenwise(tuple(p.token for p in best), tuple(p.probability for p in best)))
        targets.append(float(difference(logits, solved.ids)))
    return tuple(seen), tuple(targets)


def _read_out(scope: Scope, wiring: Wiring, asked: Question, given: Any) -> torch.Tensor:
    layer, at = asked.output_layer, asked.position
    assert layer is not None and at is not None
    own, here = layer.forward, slice(at, at + 1)

    def one_position(states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return own(states[:, here], *args, **kwargs)

    with stopped_safely(), evaluating(scope.model), contextlib.ExitStack() as undo:
        for one in wiring.stack.layers:
            undo.enter_context(standing_in(one, lambda *_, **__: given))
        if wiring.stack.before is not None:  # what the encoder says changes nothing any more
            own_encoder = wiring.stack.before.forward
            undo.enter_context(standing_in(wiring.stack.before, own_encoder))
        undo.enter_context(standing_in(layer, one_position))
        output = scope.model(**scope.accepted(asked.inputs), **_plain(scope))
    return logits_of(scope, output, True, at)


def _plain(scope: Scope) -> dict[str, Any]:
    import inspect

    accepted = inspect.signature(scope.model.forward).parameters
    return {"use_cache": False} if "use_cache" in accepted else {}

"""The cheap estimate: a gate between a head's own attention and its restricted one.

At 1 the head attends as it does, at 0 to sink and window alone (DuoAttention's gate). The slope of
the loss at 1 says, to first order, what closing the gate costs: one backward pass for all heads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.budgets.heads import KeyValueHeads
from headscope.capture import Call, Output
from headscope.capture.interface import apply
from headscope.edits.disable import LARGE
from headscope.edits.modes.streaming import instead, without_maps
from headscope.edits.slopes_by_layer import Gates, slopes_at
from headscope.runs import State

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.runs import Run
    from headscope.tasks.questions import Questions


def estimated_costs(
    scope: Scope, questions: Questions, heads: KeyValueHeads, sizes: tuple[int, int], run: Run
) -> NDArray[np.float64]:
    """layer × key-value head: the estimated rise of a token's loss."""
    part = run.part(f"gate-{questions.name}")
    state = part.recall()
    total = np.zeros((max(heads.layers) + 1, heads.groups))
    done, count = 0, 0
    if state is not None:
        total, done = state.arrays["total"], int(state.position["done"])
        count = int(state.position["count"])

    def now() -> State:
        return State({"done": done, "count": count}, {"total": total})

    title = f"Estimating costs on {questions.name}"
    run.tell(done, len(questions.batches), title=title)
    for inputs, targets in questions.batches[done:]:

        def loss(output: Any, targets: Tensor = targets) -> Tensor:
            return questions.losses(output, targets).sum()

        slopes = _slopes(scope, inputs, loss, heads, sizes)
        with part.step(now):
            for layer, slope in slopes.items():
                total[layer] -= slope
            count, done = count + int((targets != -100).sum()), done + 1
        run.tell(done, len(questions.batches), title=title)
    return total / max(1, count)


def _slopes(
    scope: Scope,
    inputs: dict[str, Tensor],
    loss: Any,
    heads: KeyValueHeads,
    sizes: tuple[int, int],
) -> dict[int, NDArray[np.float64]]:
    gates: Gates = {}
    every = tuple(range(heads.groups * heads.per_group))

    def gate(call: Call) -> Output:
        assert call.q is not None and call.v is not None
        one = call.q.new_ones(1, heads.groups, 1, 1).requires_grad_()
        gates[call.kind, call.layer] = one
        open_at = one.repeat_interleave(heads.per_group, 1).transpose(1, 2)  # 1 1 h 1
        lazily = without_maps(call, every, sizes) if call.map_bytes > LARGE else None
        if lazily is not None and call.again is not None:
            own, few = call.again(call.q).output(), lazily.output()
        else:
            own, few = apply(call.weights, call.v), apply(instead(call, sizes), call.v)
        return Output(own * open_at + few * (1 - open_at))

    found = slopes_at(scope, inputs, loss, gate, gates)
    return {layer: one[0, :, 0, 0].double().cpu().numpy() for (_, layer), one in found.items()}

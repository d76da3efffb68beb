"""Head importance from one backward pass, and its agreement with disabling.

A gate ξ scales every head's output; the absolute gradient of the loss at ξ = 1 measures how much
the head matters (Michel et al. 2019). Scaling a head's weights by ξ scales its output alike, so the
gate is on the captured weights and works for every model that can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from headscope.capture import Call, Kind, Output
from headscope.edits.answers import Asked, as_questions, questions_identity
from headscope.edits.disable import LARGE, chosen_kind
from headscope.edits.slopes_by_layer import slopes_at
from headscope.errors import HeadscopeError
from headscope.files import check_table
from headscope.models.loading_report import check_weights
from headscope.reading.ability import Ability
from headscope.results import HeadResult, tidy
from headscope.results.storage import write_output
from headscope.runs import ProgressCallback, Run, State, scope_identity
from headscope.tasks.questions import Questions

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope


@dataclass(frozen=True, eq=False, repr=False)
class Importance(HeadResult):
    """Mean |∂loss/∂ξ| of every head, and the mean signed gradient."""

    kind: Kind
    size: np.ndarray  # layer head, the mean absolute gradient over examples (or tokens); NaN
    # in layers of a hybrid model that do not attend
    slope: np.ndarray  # layer head, the mean gradient: what removing the head saves, to first order
    count: int = 0  # examples (or tokens) averaged over

    @property
    def title(self) -> str:
        return "Head importance"

    @property
    def normalised(self) -> np.ndarray:
        """Each layer scaled to unit length, as in the paper's pruning experiments."""
        length = np.sqrt((self.size**2).sum(axis=1, keepdims=True))
        return self.size / np.maximum(length, 1e-20)

    @property
    def table(self) -> pd.DataFrame:
        """Tidy: the measures importance, normalised and slope."""
        long = self.heads.melt(["layer", "head"], var_name="measure", value_name="value")
        return tidy(long, kind=self.kind, count=self.count)

    @property
    def heads(self) -> pd.DataFrame:
        """A row per head: importance, normalised, slope."""
        import pandas as pd

        layer, head = np.indices(self.size.shape)
        every = pd.DataFrame(
            {
                "layer": layer.ravel(),
                "head": head.ravel(),
                "importance": self.size.ravel(),
                "normalised": self.normalised.ravel(),
                "slope": self.slope.ravel(),
            }
        )
        return every.dropna(subset=["importance"], ignore_index=True)

    def ranked(self) -> list[tuple[int, int]]:
        """All heads, the least important first."""
        order = np.argsort(self.normalised, axis=None, kind="stable")
        heads = self.size.shape[1]
        there = np.isfinite(self.size).sum()  # NaN comes last
        return [(int(at) // heads, int(at) % heads) for at in order[:there]]


def importance(
    scope: Scope,
    task: Asked,
    *,
    metric: object = None,
    per: Literal["example", "token"] = "example",
    kind: Kind | None = None,
    seed: int = 0,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> Importance:
    """Gate slopes of every head over a task: how much each matters, to first order.

    Parameters
    ----------
    scope
        The model.
    task
        A task, a path to one, questions, or pairs of prompts, of which the clean ones are used.
    metric
        What to differentiate instead of the task's loss: a metric's name or a function of the
        logits, as in `hs.ablate`. Better answers count as less loss.
    per
        What absolute gradients are averaged over: "example" or "token".
    kind
        The attention to measure; the model's own if it has one kind.
    seed
        Seed of the masked words.
    limit
        How many examples at most.
    output
        File for the table; a stopped run resumes from the checkpoint beside it.
    restart
        Whether to discard a stopped run's checkpoint.
    progress
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Importance
        Every head's mean absolute gradient, and its mean signed gradient.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.importance(hs.load(), "sample", limit=4, progress=False)
    >>> found.size.shape
    (12, 8)
    """
    kind = chosen_kind(scope, kind)
    if output is not None:
        check_table(output, "Importance")
    check_weights(scope.model, scope.name)
    WEIGHED.of(scope)
    questions = as_questions(scope, task, limit, seed, metric)
    identity = {**scope_identity(scope), **questions_identity(questions), "settings": [per, kind]}
    with Run(output, identity, restart=restart, progress=progress) as run:
        found = weigh_heads(run, scope, questions, per, kind)
        if output is not None:
            write_output(found, output, found.heads)
    return found


def weigh_heads(
    run: Run, scope: Scope, questions: Questions, per: Literal["example", "token"], kind: Kind
) -> Importance:
    """Head importance as a part of a run, which saves the sums over batches."""
    part, title = run.part("importance"), f"Weighing heads on {questions.name}"
    state = part.recall()
    attending = list(scope.layer_numbers[kind])
    size = np.zeros((len(attending), scope.heads[kind]))
    slope, done, count = np.zeros_like(size), 0, 0
    if state is not None:
        size, slope = state.arrays["size"], state.arrays["slope"]
        done, count = state.position["batches"], state.position["count"]

    def now() -> State:
        return State({"batches": done, "count": count}, {"size": size, "slope": slope})

    run.tell(done, len(questions.batches), title=title)
    for inputs, targets in questions.batches[done:]:

        def loss(output: Any, targets: Tensor = targets) -> Tensor:
            return questions.losses(output, targets).sum()

        found, real = gate_slopes(scope, inputs, loss, kind, per)
        if any((kind, layer) not in found for layer in attending):  # GIT without a picture
            raise HeadscopeError(
                f"{scope.name} attends to these texts differently than to the trial inputs "
                f"({' and '.join(scope.kinds)} attention), so its heads cannot be ranked."
            )
        slopes = torch.stack([found[kind, layer] for layer in attending])  # l b h t|1
        with part.step(now):
            size = size + slopes.abs().sum(dim=(1, 3)).cpu().double().numpy()
            slope = slope + slopes.sum(dim=(1, 3)).cpu().double().numpy()
            count, done = count + real, done + 1
        run.tell(done, len(questions.batches), title=title)
    if not np.isfinite(size).all():
        raise HeadscopeError(
            "The gradient of the loss is NaN: the model overflows; load it with dtype='float32'."
        )
    whole = np.full((2, scope.layers[kind], scope.heads[kind]), np.nan)
    whole[:, attending] = np.stack([size, slope]) / max(count, 1)
    return Importance(kind, whole[0], whole[1], count)


def gate_slopes(
    scope: Scope,
    inputs: dict[str, Tensor],
    loss: Callable[[Any], Tensor],
    kind: Kind | None = None,
    per: Literal["example", "token"] = "example",
    **options: Any,
) -> tuple[dict[tuple[Kind, int], Tensor], int]:
    """Per kind and layer b h t|1: ∂loss/∂ξ for every example (and query), of all kinds if none is
    named; and the number to average over. For a long text the gate is on heads' outputs, so that no
    map is made.
    """
    gates: dict[tuple[Kind, int], Tensor] = {}
    real = 0

    def gate(call: Call) -> Tensor | Output | None:
        nonlocal real
        if kind is not None and call.kind != kind:
            return None
        like = call.weights if call.q is None else call.q
        b, h, t, _ = like.shape
        one = like.new_ones(b, h, t if per == "token" else 1, 1).requires_grad_()
        gates[call.kind, call.layer] = one
        real = b if per == "example" else int(call.valid_queries.sum())
        if call.map_bytes > LARGE and call.again is not None and not call.edited:
            assert call.q is not None
            return Output(call.again(call.q).output() * one.transpose(1, 2))
        return call.weights * one

    slopes = slopes_at(scope, inputs, loss, gate, gates, **options)
    return {at: one[..., 0] for at, one in slopes.items()}, real


def _has_slopes(scope: Scope) -> None:
    def loss(output: Any) -> Tensor:
        made: Any = (one for one in output.values() if isinstance(one, Tensor) and one.dim() > 1)
        return next(made).float().sum()

    for inputs in scope.trials:
        gate_slopes(scope, dict(inputs), loss)


WEIGHED = Ability(("importance",), "weighed by gradients", _has_slopes)
